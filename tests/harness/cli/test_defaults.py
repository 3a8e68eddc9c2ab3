"""Where options come from: command line, plan file, environment, project file; and what ``--dry-run`` says of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import run_command
from harness.plan import Plan

SYSTEM = """
[[roles]]
command = "server {mode} {rate}"
port = 7000
[client]
command = "cat"
[options.mode]
default = "sync"
choices = ["sync", "async"]
[options.rate]
default = 1
"""


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def project(text: str) -> None:
    Path("harness.toml").write_text(text)


def dry(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    assert run_command([*words, "--dry-run", "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def as_json(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(plan.to_json()))
    return found


def test_the_command_line_comes_before_the_plan_the_environment_and_the_project(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project("[run]\nrate = 1\nkeys = 1\ninterval = 1\ntime-limit = 100\nstore = 'there'\n")
    Path("plan.toml").write_text("rate = 2\nkeys = 2\n")
    for name, value in (("RATE", "3"), ("KEYS", "3"), ("INTERVAL", "3")):
        monkeypatch.setenv(f"HARNESS_RUN_{name}", value)
    found = dry(capsys, "run", "--plan", "plan.toml", "--rate", "4")
    assert [found["plan"][name] for name in ("rate", "keys", "interval", "time_limit")] == [4.0, 2, 3.0, 100.0]
    assert {name: found["origins"][name] for name in ("rate", "keys", "interval", "time_limit", "store")} == {
        "rate": "command line", "keys": "--plan", "interval": "HARNESS_RUN_INTERVAL", "time_limit": "harness.toml",
        "store": "harness.toml",
    }  # fmt: skip
    assert dry(capsys, "run")["plan"]["rate"] == 3.0
    found = dry(capsys, "--no-defaults", "run", "--seed", "1")
    assert found["plan"] == as_json(Plan(seed=1))
    assert set(found["origins"]) == {"seed", "dry_run", "as_json"}


def test_the_project_may_name_the_system_and_its_options(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project(
        "[run]\nsystem = 'zookeeper'\nversion = '3.9.4'\nnemesis = ['kill-all', 'bridge']\n[run.weights]\nbridge = 2"
    )
    plan = dry(capsys, "run")["plan"]
    assert (plan["system"], plan["version"], plan["nemesis"]) == ("zookeeper", "3.9.4", ["kill-all", "bridge"])
    assert plan["weights"] == {"bridge": 2.0}
    assert dry(capsys, "run", "--system", "dledger", "--timers", "stock")["plan"]["options"]["timers"] == "stock"
    monkeypatch.setenv("HARNESS_RUN_SYSTEM", "dledger")
    monkeypatch.setenv("HARNESS_RUN_TIMERS", "stock")
    assert dry(capsys, "run")["plan"]["options"]["timers"] == "stock"


def test_a_plan_of_a_system_that_is_a_file_keeps_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    Path("kv.toml").write_text(SYSTEM)
    plan = Plan(seed=3, system="kv.toml", options={"mode": "async", "rate": 5})
    Path("plan.json").write_text(json.dumps(plan.to_json()))
    assert dry(capsys, "run", "--plan", "plan.json")["plan"] == as_json(plan)
    Path("plan.toml").write_text("system = 'kv.toml'\nseed = 3\nmode = 'async'\n[options]\nrate = 5\n")
    assert dry(capsys, "run", "--plan", "plan.toml")["plan"] == as_json(plan)
    assert dry(capsys, "run", "--plan", "plan.toml", "--mode", "sync")["plan"]["options"]["mode"] == "sync"


def test_a_plan_of_another_system_than_the_default_is_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    plan = Plan(seed=3, system="zookeeper", version="3.9.5")
    Path("plan.json").write_text(json.dumps(plan.to_json()))
    assert dry(capsys, "run", "--plan", "plan.json")["plan"] == as_json(plan)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[rnu]\nrate = 1", "harness.toml: there is no command 'rnu'; did you mean run?"),
        ("run = 1", "harness.toml: run must be a table"),
        ("[run]\nrat = 1", "harness.toml: [run]: there is no key 'rat'; did you mean rate?"),
        ("[run]\nrate = 'x'", "harness.toml: [run]: rate must be a number"),
        ("[run]\ntest-count = 'x'", "harness.toml: [run] test-count: 'x' is not a valid integer"),
        ("[run", "harness.toml: not TOML"),
    ],
)
def test_what_is_wrong_in_the_project_file_is_one_line(
    text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    project(text)
    assert run_command(["run", "--dry-run"]) == 254
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_a_bad_value_is_reported_with_where_it_is_from(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who gives no --mode looks for it in vain on the command line."""
    Path("kv.toml").write_text(SYSTEM)
    Path("plan.toml").write_text("system = 'kv.toml'\nmode = 'asink'\n")

    def said(*words: str) -> str:
        assert run_command(["run", "--dry-run", *words]) == 254
        return capsys.readouterr().err.split("'asink' is not one of 'sync', 'async'")[1]

    assert said("--system", "kv.toml", "--mode", "asink") == "; see harness run --help\n"
    assert said("--plan", "plan.toml") == " (from --plan); see harness run --help\n"
    project("[run]\nsystem = 'kv.toml'\nmode = 'asink'\n")
    assert said() == " (from harness.toml); see harness run --help\n"
    monkeypatch.setenv("HARNESS_RUN_MODE", "asink")
    assert said() == " (from HARNESS_RUN_MODE); see harness run --help\n"


def test_other_verbs_take_theirs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    project("[ls]\nstore = 'nowhere'\n[cluster.up]\nnodes = 'many'\n[serve]\nprt = 1\n[run]\nrate = 'x'\n")
    assert run_command(["ls"]) == 254
    assert "nowhere is not a store" in capsys.readouterr().err
    monkeypatch.setenv("HARNESS_LS_STORE", "elsewhere")
    assert run_command(["ls"]) == 254
    assert "elsewhere is not a store" in capsys.readouterr().err
    assert run_command(["cluster", "up"]) == 254
    assert "harness.toml: [cluster.up] nodes: 'many' is not a valid" in capsys.readouterr().err
    assert run_command(["serve"]) == 254
    assert "harness.toml: [serve] there is no option 'prt'; did you mean port?" in capsys.readouterr().err


def test_a_dry_run_shows_plan_and_schedule_and_touches_nothing(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "--seed", "5", "-n", "kill-leader,bridge@leader", "--interval", "8", "--dry-run"]
    assert run_command(words) == 0
    text = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "nemesis kill-leader,bridge@leader command line" in lines
    assert "interval 8.0 command line" in lines
    assert any(line.endswith("inject bridge leader") for line in lines)
    assert run_command(words) == 0
    assert capsys.readouterr().out == text, "the same seed, the same schedule"
    assert list(directory.iterdir()) == []
    found = dry(capsys, *words[:-1])
    assert len(found["schedule"]) == sum(" inject " in line or " heal " in line for line in lines)


def test_a_dry_run_names_the_nodes_that_a_fault_is_certain_to_hit(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    aims = "kill-all,hammer-time@minority,kill-random-processes@all/!n3,pause-majority@n1"
    words = ["run", "--system", "bookkeeper", "--seed", "5", "-n", aims, "--time-limit", "200"]
    assert run_command([*words, "--dry-run"]) == 0
    lines = {" ".join(line.split()[2:]) for line in capsys.readouterr().out.splitlines() if " inject " in line}
    assert {line.removeprefix("inject ") for line in lines} == {
        "kill-all n2 n3 n4 n5",  # n1 has the metadata server
        "hammer-time minority",
        "kill-random-processes n2 n4 n5",
        "pause-majority n1",
    }
    assert dry(capsys, *words)["members"] == ["n2", "n3", "n4", "n5"]


@pytest.mark.parametrize("verb", [["run"], ["suite", "smoke"]], ids=lambda words: str(words[0]))
@pytest.mark.parametrize("spec", ["netns:", "netns:A b", "inventory:none.toml", "vagrant:none", "clouds"])
def test_a_dry_run_refuses_the_clusters_that_a_run_refuses(
    directory: Path, capsys: pytest.CaptureFixture[str], verb: list[str], spec: str
) -> None:
    assert run_command([*verb, "--cluster", spec, "--dry-run"]) == 254
    said = capsys.readouterr()
    assert (said.out, "--cluster" in said.err or "none.toml" in said.err) == ("", True), said.err


def test_a_dry_run_refuses_what_a_run_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", "-n", "bridge", "--time-limit", "1", "--dry-run"]) == 254
    assert "--time-limit 1 leaves no room" in capsys.readouterr().err
    assert run_command(["run", "-n", "bridge@n9x", "--time-limit", "60", "--dry-run"]) == 254
    assert "'n9x' does not choose nodes" in " ".join(capsys.readouterr().err.split())
    for faults in ("partition-leader-minority@n3", "kill-leader,partition-majorities-ring@minority"):
        assert run_command(["run", "-n", faults, "--time-limit", "60", "--dry-run"]) == 254
        assert " cannot be given targets: " in " ".join(capsys.readouterr().err.split())


def test_a_dry_run_of_a_script_repeats_with_that_script(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.toml").write_text('[[fault]]\nname = "kill-leader"\nat = 5\nfor = 5\n')
    assert run_command(["run", "--dry-run", "--schedule", "mine.toml", "--seed", "3"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("--schedule mine.toml")
    assert dry(capsys, "run", "--schedule", "mine.toml", "--seed", "3")["plan"]["command"].endswith("mine.toml")


@pytest.mark.parametrize(
    ("more", "words", "why"),
    [
        (
            '[faults.refused]\nkill-all = "it is one process"',
            ["-n", "kill-all"],
            "kill-all cannot work on this cluster",
        ),
        ("", ["--nodes", "3"], "the role server is for n4; the nodes are n1 n2 n3"),
    ],
)
def test_a_dry_run_refuses_what_the_system_refuses(
    more: str, words: list[str], why: str, capsys: pytest.CaptureFixture[str], directory: Path
) -> None:
    (directory / "kv.toml").write_text(SYSTEM.replace("port = 7000", 'port = 7000\nnodes = ["n1", "n4"]') + more)
    assert run_command(["run", "--dry-run", "--system", str(directory / "kv.toml"), *words]) == 254
    assert why in capsys.readouterr().err


def test_a_default_that_no_option_takes_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project("[run]\npeeks = 'sync'\n")
    assert run_command(["run", "--dry-run"]) == 254
    assert "harness.toml: dledger has no option peeks: leave it out" in capsys.readouterr().err
    dry(capsys, "run", "--system", "zookeeper")
    project("[run]\nsystem = 'zookeeper'\npeeks = 'sync'\n")
    dry(capsys, "run", "--system", "dledger")
    monkeypatch.setenv("HARNESS_RUN_PEEKS", "sync")
    dry(capsys, "run", "--system", "dledger")
    monkeypatch.setenv("HARNESS_RUN_RATES", "7")
    assert run_command(["run", "--dry-run"]) == 254
    assert capsys.readouterr().err.startswith("harness: HARNESS_RUN_RATES: there is no option rates; did you mean rate")
    assert run_command(["--no-defaults", "run", "--dry-run"]) == 0
