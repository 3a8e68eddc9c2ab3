"""Excerpts of the nodes' logs around a moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from history import RunFiles, node_logs
from history.records.log_words import LogWords
from tests.support.reports.log_words import declare

LOG = """2026-03-01T02:00:01.000Z INFO  [a] early
2026-03-01 02:00:10,500 WARN  [b] [n1] [HeartBeatTimeOut]
    at some.Class
2026-03-01T02:00:10.600Z INFO  [c] Complete closure, term=1
no time at all
2026-03-01T02:00:11.000Z ERROR [d] broken
2026-03-01T02:01:00.000Z INFO  [e] late
"""


def test_log_excerpts_are_tied_to_the_run_and_free_of_noise(tmp_path: Path) -> None:
    (tmp_path / "nodes" / "n1").mkdir(parents=True)
    (tmp_path / "nodes" / "n1" / "register.log").write_text(LOG)
    declare(RunFiles(tmp_path))
    found = node_logs.excerpt(RunFiles(tmp_path), "2026-03-01T02:00:00Z", 10, 12)
    assert [line.seconds for line in found] == pytest.approx([10.5, 10.5, 10.6, 11])
    assert [line.level for line in found] == ["WARN", "", "", "ERROR"]
    assert node_logs.excerpt(RunFiles(tmp_path), "not a time", 10, 12) == []
    assert [line.level for line in node_logs.excerpt(RunFiles(tmp_path), "2026-03-01T02:00:00Z", 10, 12, limit=2)] == [
        "WARN",
        "ERROR",
    ]


def test_what_a_line_means_is_said_by_the_system_in_the_results(tmp_path: Path) -> None:
    files, texts = RunFiles(tmp_path), ("x zxid went back", "x Complete closure", "x [Push-n2] Change state")
    _log(files, "n1", [(11.0, f"INFO  {text}") for text in texts])

    def seen() -> list[tuple[str, int, bool]]:
        found = node_logs.excerpt(files, "2026-03-01T02:00:00Z", 10, 12)
        return [(line.text.partition(" x ")[2], line.weight, line.of_replication) for line in found]

    assert seen() == [
        ("zxid went back", 0, False),
        ("Complete closure", 0, False),
        ("[Push-n2] Change state", 0, False),
    ]
    declare(files)
    assert seen() == [("zxid went back", 0, False), ("[Push-n2] Change state", 0, True)]
    declare(files, LogWords(milestones="went back", noise="@", replication="#"))
    spoilt = files.results.read_text().replace('"@"', '"("').replace('"#"', '"(?i)push"')
    files.results.write_text(spoilt)
    found = {text: (weight, moved) for text, weight, moved in seen()}
    assert found["zxid went back"] == (2, False), "and what is no expression is as if it were not declared"
    assert len(found) == 3
    files.results.write_text("[1]")
    assert {weight for _, weight, _ in seen()} == {0}


@pytest.mark.parametrize("text", ["(", "(?i)went back"], ids=["no expression", "flags for all of a longer one"])
def test_words_that_no_report_could_use_are_refused_where_they_are_declared(text: str) -> None:
    with pytest.raises(ValueError, match=r"milestones is not a regular expression: .*write flags as \(\?i:"):
        LogWords(milestones=text)
    assert LogWords(milestones="(?i:went back)").milestones == "(?i:went back)"


@pytest.mark.parametrize(
    "dated",
    [
        "[7] 2026/03/01 {} [WRN]",
        "7:S 01 Mar 2026 {} #",
        '{{"level":"warn","ts":"2026-03-01T{}Z"}}',
        "W0301 {} 7 a.go:1]",
    ],
    ids=["nats", "redis", "etcd", "glog"],
)
def test_dates_of_other_systems_are_tied_to_the_run(tmp_path: Path, dated: str) -> None:
    (tmp_path / "nodes" / "n1").mkdir(parents=True)
    clocks = (f"02:{n // 60:02d}:{n % 60:02d}.500" for n in range(2400))
    lines = "".join(f"{dated.format(clock)} slow {'x' * 60}\n" for clock in clocks)
    (tmp_path / "nodes" / "n1" / "server-console.log").write_text(lines)
    found = node_logs.excerpt(RunFiles(tmp_path), "2026-03-01T02:00:00Z", 2000, 2002)
    assert [(line.seconds, line.times) for line in found] == [(2000.5, 2)]
    assert node_logs.seconds_of(lines.splitlines()[9], "2026-03-01T02:00:00Z") == 9.5


def test_a_long_log_is_searched_by_bisection(tmp_path: Path) -> None:
    (tmp_path / "nodes" / "n1").mkdir(parents=True)
    lines = [
        f"2026-03-01T02:{n // 60000:02d}:{n // 1000 % 60:02d}.{n % 1000:03d}Z INFO line {n} {'x' * 90}"
        for n in range(0, 300_000, 20)
    ]
    (tmp_path / "nodes" / "n1" / "register.log").write_text("\n".join(lines) + "\n")
    found = node_logs.excerpt(RunFiles(tmp_path), "2026-03-01T02:00:00Z", 200.0, 200.1)
    (line,) = found
    assert (round(line.seconds, 3), line.times) == (200.0, 6)


def test_rotated_logs_are_searched_too(tmp_path: Path) -> None:
    (tmp_path / "nodes" / "n1").mkdir(parents=True)
    for name, clock in (("register.log.1", "10"), ("register.log", "11"), ("register.log.gz", "11")):
        (tmp_path / "nodes" / "n1" / name).write_text(f"2026-03-01T02:00:{clock}.000Z WARN  [x] in {name}\n")
    found = node_logs.excerpt(RunFiles(tmp_path), "2026-03-01T02:00:00Z", 9, 12)
    assert [line.file for line in found] == ["register.log.1", "register.log"]


def _log(files: RunFiles, node: str, lines: list[tuple[float, str]]) -> None:
    (files.nodes / node).mkdir(parents=True)
    text = "".join(f"2026-03-01 02:00:{at:06.3f} {rest}\n" for at, rest in lines)
    (files.nodes / node / "register.log").write_text(text)


def test_an_excerpt_is_centred_on_its_event_and_counts_what_it_leaves_out(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    letters = [f"{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(400)]
    _log(files, "n1", [(10 + n / 100, f"INFO line {letters[n]}") for n in range(400)])
    _log(files, "n2", [(10.5, "WARN [ChangeRoleToLeader] early"), (12.9, "WARN [TRUNCATE] late"), (12.1, "INFO x")])
    _log(files, "n3", [(12.0, "ERROR not asked for")])
    found = node_logs.around(files, "2026-03-01T02:00:00Z", (12.0, 12.0), ["n1", "n2", "n4", "n1"], (1.6, 1.0), 30)
    assert found.nodes == ("n1", "n2", "n4")
    assert found.silent == ("n4",)
    mine = [line for line in found.lines if line.node == "n1"]
    assert len(mine) == 10
    assert min(line.seconds for line in mine) < 12.0 < max(line.seconds for line in mine)
    assert max(abs(line.seconds - 12.0) for line in mine) <= 0.051
    assert [line.seconds for line in found.lines if line.node == "n2"] == pytest.approx([10.5, 12.1, 12.9])
    assert found.left_out == 261 - 10
    assert [line.seconds for line in found.lines] == sorted(line.seconds for line in found.lines)


def test_an_excerpt_keeps_the_occurrence_nearest_to_its_event_and_only_the_head_of_a_stack_trace(
    tmp_path: Path,
) -> None:
    files = RunFiles(tmp_path)
    trace = "ERROR java.io.IOException: full\n\tat a.b.C.d(C.java:1)\n\tat a.b.E.f(E.java:2)"
    _log(files, "n1", [(at, f"INFO append {round(at * 10)}") for at in (1.0, 1.9, 2.9)] + [(2.95, trace)])
    found = node_logs.around(files, "2026-03-01T02:00:00Z", (2.0, 2.0), ["n1"], (2.0, 1.0), 30)
    assert [line.seconds for line in found.lines] == pytest.approx([1.9, 2.95])
    assert [line.times for line in found.lines] == [3, 1]
    assert found.left_out == 2
    nowhere = node_logs.around(files, "", (2.0, 2.0), ["n1"], (2.0, 1.0), 30)
    assert (nowhere.lines, nowhere.nodes) == ((), ())


def test_lines_that_name_different_nodes_are_not_counted_as_one(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    lines = [(10 + n / 100, f"WARN [Push-n{n % 2 * 2 + 3}] term 4 entry {n}") for n in range(100)]
    _log(files, "n1", lines)
    found = node_logs.excerpt(files, "2026-03-01T02:00:00Z", 9, 12)
    assert [(line.text.partition("[")[2][:7], line.times) for line in found] == [("Push-n3", 50), ("Push-n5", 50)]


def test_nodes_of_many_are_distinguished_and_long_numbers_are_still_counted(tmp_path: Path) -> None:
    """``n100`` and ``n101`` are names; the 1234 of ``entry1234`` is none, though it is glued to a word as well."""
    files = RunFiles(tmp_path)
    _log(
        files,
        "n1",
        [(10 + n / 100, f"WARN [Push-n{100 + n % 2}] broker-{7 + n % 2} entry{n + 1000}") for n in range(80)],
    )
    for node in ("n100", "n101", "n102", "broker-7", "broker-8"):
        (files.nodes / node).mkdir()
    for found in (
        node_logs.excerpt(files, "2026-03-01T02:00:00Z", 9, 12),
        node_logs.around(files, "2026-03-01T02:00:00Z", (10.0, 10.0), ["n1"], (1.0, 2.0), 30).lines,
        node_logs.by_second(files, "2026-03-01T02:00:00Z", 9, 12),
    ):
        assert [(line.text.partition("[")[2][:22], line.times) for line in found] == [
            ("Push-n100] broker-7 en", 40),
            ("Push-n101] broker-8 en", 40),
        ]


def test_of_many_kinds_of_lines_one_that_is_repeated_very_often_is_kept(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    kinds = [(10 + n / 100, f"WARN {chr(97 + n)}") for n in range(20)]
    _log(files, "n1", [*kinds, *((11 + n / 2000, f"WARN stuck at {n}") for n in range(node_logs.OFTEN))])
    _log(files, "n2", [*kinds, *((11 + n / 2000, f"WARN stuck at {n}") for n in range(node_logs.OFTEN - 1))])
    found = node_logs.excerpt(files, "2026-03-01T02:00:00Z", 9, 12, limit=10)
    assert [line.node for line in found if "stuck" in line.text] == ["n1"]
