"""``harness ls`` and ``harness diff``."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import run_command
from harness.cli.runs import Since
from harness.terminal.screen import Screen
from history import RunFiles
from reports.text.difference import difference, render_difference
from tests.support.harness.recorded_run import record
from tests.support.reports.stores import many_runs


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty runs, two of each nemesis; every second of 0.3.2, one of another system."""
    root = tmp_path_factory.mktemp("runs") / "store"
    many_runs(root, 40)
    other = root / "kv" / "20260302T000000.000Z-1"
    other.mkdir(parents=True)
    plan = {"system": "mine/kv.toml", "label": "kv local replication async", "workload": "cas-register",
            "nemesis": ["kill-one@n1+packet-loss", "bridge"]}  # fmt: skip
    (other / "plan.json").write_text(json.dumps(plan))
    (other / "run.json").write_text(json.dumps({"failures": ["no SSH"]}))
    return root


def listed(capsys: pytest.CaptureFixture[str], store: Path, *words: str) -> list[dict[str, Any]]:
    assert run_command(["ls", str(store), "--json", "--limit", "0", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["count"] == len(found["runs"])
    runs: list[dict[str, Any]] = found["runs"]
    return runs


def test_the_newest_come_first_and_the_rest_is_counted(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["ls", "--store", str(store), "--limit", "3"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "2026-03-02 00:00  harness failure                   kv/20260302T000000.000Z-1",
        "2026-03-01 00:00  unknown          a                test-19/20260301T000039.000Z-39",
        "2026-03-01 00:00  invalid          inconsistent: a  test-18/20260301T000038.000Z-38",
    ]
    assert said.err == "3 of 41 runs; --limit 0 shows all\n"
    every = [run["started"] for run in listed(capsys, store)]
    assert every == sorted(every, reverse=True)
    assert len(every) == 41


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("--verdict valid", 20),
        ("--verdict valid --verdict unknown", 30),
        ("--verdict harness-failure", 1),
        ("--system dledger", 40),
        ("--system dledger@0.3.2", 20),
        ("--system kv", 1),
        ("--system mine/kv.toml", 1),
        ("--system zookeeper", 0),
        ("--workload cas-register", 1),
        ("--nemesis nemesis-7", 2),
        ("-n packet-loss -n bridge", 1),
        ("-n kill-one -n nemesis-7", 0),
        ("--since 2026-03-01T00:00:30", 11),
        ("--since 2026-03-01T01:00:30+01:00", 11),
        ("--since 2026-03-02", 1),
        ("--since 2026-03-02 --verdict valid", 0),
    ],
)
def test_filters(words: str, count: int, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(listed(capsys, store, *words.split())) == count


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--verdict valid --since 2026-03-02", []),
        ("--system dledgr", ["--system dledgr: no run used it; did you mean dledger?"]),
        ("--workload cas-registr", ["--workload cas-registr: no run used it; did you mean cas-register?"]),
        ("-n bridg -n kill-one", ["--nemesis bridg: no run used it; did you mean bridge?"]),
    ],
)
def test_where_nothing_is_listed_the_reason_is_said_and_no_line_is_empty(
    words: str, why: list[str], store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["ls", str(store), *words.split()]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err.splitlines()[1:]) == ("", why)
    assert re.fullmatch(r"none of \d+ runs", said.err.splitlines()[0])


def test_a_run_of_the_list_is_found_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = record(tmp_path / "store").root
    (one,) = listed(capsys, tmp_path / "store")
    assert (one["run"], one["system"], one["workload"]) == (str(root), "dledger", "register")
    assert run_command(["ls", "--store", str(tmp_path / "store")]) == 0
    name = capsys.readouterr().out.split()[-1]
    assert run_command(["diff", "--store", str(tmp_path / "store"), name, "latest"]) == 0


def test_a_length_of_time_is_before_now() -> None:
    for text, length in (("90m", timedelta(minutes=90)), ("2w", timedelta(weeks=2)), ("3d", timedelta(days=3))):
        assert abs(datetime.now(UTC) - length - Since().convert(text, None, None)) < timedelta(minutes=1)


@pytest.mark.parametrize("text", ["3x", "yesterday", "999999w", ""])
def test_what_is_no_time_is_refused(text: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["ls", str(store), "--since", text]) == 254
    assert "is not a time" in capsys.readouterr().err


def test_no_store_is_254(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["ls", str(tmp_path / "none")]) == 254
    assert "is not a store" in capsys.readouterr().err


# -- diff --------------------------------------------------------------------------------------------------------------


def changed(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**(json.loads(path.read_text()) if path.exists() else {}), **fields}))


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs: the second with another rate and option, slower, and with a check that failed."""
    first = record(tmp_path / "store").root
    second = first.with_name("20260102T000000.000Z-7")
    shutil.copytree(first, second)
    checks = [{"name": name, "kind": "check", "verdict": "valid", "asked": "", "seen": "fine"} for name in ("a", "b")]
    for root, verdict, p99 in ((first, "valid", 10.0), (second, "invalid", 15.0)):
        checks[1] = {**checks[1], "verdict": verdict, "seen": f"it is {verdict}"}
        changed(root / "results.json", verdict=verdict, checks=checks, counts={"all": 100},
                environment={"java": verdict})  # fmt: skip
        changed(root / "run.json", pace={"service_p99_ms": p99})
    plan = json.loads((second / "plan.json").read_text())
    changed(second / "plan.json", rate=50.0, options={**plan["options"], "timers": "stock"}, command="another")
    return first, second


def test_what_differs_and_nothing_else(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    first, second = pair
    assert run_command(["diff", str(first), str(second), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == [str(first), str(second)]
    assert found["plan"] == {"rate": [1.0, 50.0], "options.timers": ["fast", "stock"]}
    assert found["environment"] == {"java": ["valid", "invalid"]}
    assert found["outcome"]["verdict"] == ["valid", "invalid"]
    assert found["checks"] == {"b": [["valid", "it is valid"], ["invalid", "it is invalid"]]}
    assert found["figures"]["service p99 latency, ms"] == [10.0, 15.0]
    assert found["figures"]["operations"] == [100, 100]


def test_as_text(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["diff", *map(str, pair)]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "rate 1.0 50.0" in lines
    assert "b valid: it is valid invalid: it is invalid" in lines
    assert "service p99 latency, ms 10.0 15.0 +50 %" in lines
    assert "operations 100 100" in lines


def test_a_run_and_itself_differ_in_nothing(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["diff", str(pair[0]), str(pair[0]), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [found[part] for part in ("plan", "environment", "outcome", "checks")] == [{}] * 4
    assert run_command(["diff", str(pair[0]), str(pair[0])]) == 0
    assert "\n\nOutcome\nthe same\n" in capsys.readouterr().out


def test_what_only_readers_of_logs_need_is_no_environment(
    pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    of_readers = {"epoch_bits": 40, "log_words": {"elected": "x"}, "words": {"timers": "Raft's"}}
    changed(pair[1] / "results.json", environment={"java": "17", **of_readers})
    assert run_command(["diff", *map(str, pair), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["environment"] == {"java": ["valid", "17"]}


def test_what_differs_in_every_two_runs_is_no_difference(
    pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for number, root in enumerate(pair):
        changed(root / "plan.json", rate=1.0, options={}, label=("", None)[number])
        changed(root / "results.json", verdict="valid", checks=[], sentence=f"{number} operations",
                environment={"nodes": {"n1": f"10.0.{number}.1"}, "roles": {"n1": ("s", ["s"])[number]}})  # fmt: skip
    assert run_command(["diff", *map(str, pair), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [found[part] for part in ("plan", "environment", "outcome", "checks")] == [{}] * 4


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_both_runs_are_shown_whole_at_any_width(pair: tuple[Path, Path], columns: int) -> None:
    words = [f"word{number}" for number in range(60)]
    for root, said in zip(pair, (words, words[::-1]), strict=True):
        changed(root / "results.json", sentence=" ".join(said)[:390], checks=[])
    names = tuple(f"{root}-{'x' * 200}" for root in pair)
    text = render_difference(difference(*map(RunFiles, pair)), (names[0], names[1]), columns)
    assert all(name in text for name in names), "a name is one piece, to be copied"
    rows = text.splitlines()[2:]
    assert max(map(len, rows)) <= columns
    shown = " ".join(rows).split()
    assert [shown.count(word) for word in words[10:50]] == [2] * 40


def test_the_name_of_a_run_is_one_piece_on_a_narrow_terminal(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Screen, "room", property(lambda _: 60))
    assert run_command(["ls", str(store), "--limit", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum((store / line.strip() / "plan.json").exists() for line in lines) == 5


def test_files_that_cannot_be_read_are_empty(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("results.json", "{"), ("run.json", "[]")):
        (pair[1] / name).write_text(text)
    assert run_command(["diff", *map(str, pair)]) == 0
    assert "it is valid" in capsys.readouterr().out


def test_no_such_run_is_254(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["diff", str(pair[0]), "nothing"]) == 254
    assert "no run there" in capsys.readouterr().err
