"""Options of a run from a file: TOML by hand, or the plan of an earlier run."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import run_command
from harness.execution import run as run_module
from harness.plan import Plan

PLANS: list[Plan] = []

TEXT = """
nemesis = ["kill-leader", "bridge+packet-loss", "hammer-time@all/!leader"]
interval = 8
dledger-version = "0.3.2"
beyond-quorum = true
store-type = "MEMORY"
[weights]
kill-leader = 3
[fault-options]
loss = 0.4
[spark-conf]
"spark.jars.packages" = "a:a:1,b:b:2"
"""


class Recorder:
    def __init__(self, plan: Plan, *_: object, **__: object) -> None:
        PLANS.append(plan)

    def execute(self) -> tuple[int, None]:
        return 0, None


@pytest.fixture(autouse=True)
def _recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    PLANS.clear()
    monkeypatch.setattr(run_module, "Run", Recorder)


def planned(path: Path, text: str, *more: str) -> Plan:
    path.write_text(text)
    assert run_command(["run", "--plan", str(path), "--seed", "4", *more]) == 0
    return PLANS[-1]


def test_what_stands_in_the_file_is_the_plan(tmp_path: Path) -> None:
    plan = planned(tmp_path / "plan.toml", TEXT)
    assert plan == Plan(
        seed=4, nemesis=("kill-leader", "bridge+packet-loss", "hammer-time@all/!leader"), interval=8.0,
        version="0.3.2", beyond_quorum=True, options={"store_type": "MEMORY"},
        weights={"kill-leader": 3.0}, fault_options={"loss": 0.4},
        spark_conf={"spark.jars.packages": "a:a:1,b:b:2"},
    )  # fmt: skip


def test_the_command_line_wins(tmp_path: Path) -> None:
    plan = planned(tmp_path / "plan.toml", TEXT, "--interval", "5", "--weights", "kill-leader=9")
    assert (plan.interval, plan.weights, plan.version) == (5.0, {"kill-leader": 9.0}, "0.3.2")
    plan = planned(tmp_path / "plan.toml", TEXT, "--spark-conf", "spark.a=b=c", "--spark-conf", "spark.d=")
    assert plan.spark_conf == {"spark.a": "b=c", "spark.d": ""}


def test_the_plan_of_an_earlier_run_is_a_plan_file(tmp_path: Path) -> None:
    earlier = Plan(
        seed=77, nemesis=("bridge",), weights={"bridge": 2.0}, rate=50.0, spark=False, options={"snapshot": True}
    )
    (tmp_path / "plan.json").write_text(json.dumps(earlier.to_json()))
    assert run_command(["run", "--plan", str(tmp_path / "plan.json")]) == 0
    assert PLANS[-1] == earlier


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("= 3", "neither TOML nor a plan.json"),
        ("shade = 1", "there is no key 'shade'; the choices are "),
        ("fault-option = 1", "there is no key 'fault-option'; did you mean fault-options"),
        ("schedule = []", "there is no key 'schedule'"),
        ("nemesis = [1]", "nemesis[0] must be a string, not 1"),
        ("weights = 3", "weights must be a table of numbers above 0 and at most 1000000, not 3"),
        ("[weights]\nkill-leader = true", "weights.kill-leader must be a number"),
        ('[fault-options]\nloss = "much"', "fault-options.loss must be a number from 0.001 to 1, not 'much'"),
        ("interval = 'long'", "interval must be a number above 0 and at most 604800, not 'long'"),
        ("spark-conf = {'spark.cores.max' = 2}", "spark-conf.spark.cores.max must be a string, not 2"),
        ("spark-conf = {'fs.s3a.endpoint' = 'x'}", "those of Hadoop's file systems begin with spark.hadoop."),
        ("keys = 2.5", "keys must be a whole number from 1 to 10000, not 2.5"),
        ("system = 'zookeeper'\nversion = '3.9.9'", "version must be one of '3.9.3', '3.9.4', '3.9.5', not '3.9.9'"),
        ("version = '9'", "plan.toml: version must be one of '0.3.2', '0.4.0', "),
        ("store-type = 'DISK'", "store-type must be one of 'FILE', 'MEMORY', not 'DISK'"),
    ],
)
def test_a_file_that_cannot_be_is_254_and_named(
    tmp_path: Path, content: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plan.toml").write_text(content)
    assert run_command(["run", "--plan", str(tmp_path / "plan.toml")]) == 254
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not PLANS


def test_a_byte_order_mark_is_no_part_of_the_plan(tmp_path: Path) -> None:
    for name, text in (("plan.toml", TEXT), ("plan.json", json.dumps(Plan(seed=4, keys=7).to_json()))):
        (tmp_path / name).write_bytes(BOM_UTF8 + text.encode())
        assert run_command(["run", "--plan", str(tmp_path / name), "--seed", "4"]) == 0
    assert (PLANS[0].version, PLANS[1].keys) == ("0.3.2", 7)
    assert Plan.read(tmp_path / "plan.json") == PLANS[1]


def test_a_plan_with_recorded_faults_is_for_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    step: dict[str, Any] = {"at_s": 1.0, "action": "inject", "fault": "bridge", "id": 0}
    (tmp_path / "plan.json").write_text(json.dumps(Plan(seed=1, schedule=(step,)).to_json()))
    assert run_command(["run", "--plan", str(tmp_path / "plan.json")]) == 254
    assert "`harness replay` runs it again" in capsys.readouterr().err
