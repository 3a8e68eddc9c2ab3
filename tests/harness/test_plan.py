"""The plan: frozen, complete, refused in one line that names the option and the mend."""

from __future__ import annotations

import json
import re
import shlex
import sys
from dataclasses import FrozenInstanceError, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cli.run import run
from harness.errors import UsageError
from harness.execution.schedules import scripted
from harness.plan import Plan, field_of, option_of, validate
from harness.store import create_run
from harness.systems.dledger import SYSTEM

OTHERS: dict[str, Any] = {
    "nemesis": ("kill-one", "pause-all"),
    "weights": {"kill-one": 2.5},
    "tracks": 2,
    "fault_options": {"loss": 0.4, "delay_ms": 100.0},
    "beyond_quorum": True,
    "cluster": "inventory:my nodes.toml",
    "nodes": 3,
    "version": "0.3.2",
    "workload": "cas-register",
    "concurrency": 3,
    "rate": 123.4567891,
    "loop": "open",
    "keys": 2,
    "time_limit": 90.0,
    "interval": 5.5,
    "shortest_fault": 0.1,
    "warm_up": 0.0,
    "client_timeout": 1.25,
    "recovery_time": 30.0,
    "ready_timeout": 20.0,
    "check_deadline": 5.0,
    "stop_on_violation": True,
    "restart_at_end": True,
    "spark": False,
    "spark_master": "local[2]",
    "spark_conf": {"spark.executor.memory": "2g", "spark.jars.packages": "org.a:a:1,org.b:b:2"},
    "unsafe_test_mode": True,
    "planted_bug": "stale-reads",
}


OPTIONS: dict[str, Any] = {
    "snapshot": True,
    "snapshot_threshold": 7,
    "timers": "stock",
    "store_type": "MEMORY",
    "read_mode": "unsafe",
    "client_follows": "node",
}


def parsed(command: str, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """The plan that the command line makes of a command, without running anything."""
    plans: list[Plan] = []

    class Recorder:
        def __init__(self, plan: Plan, *_: object, **__: object) -> None:
            plans.append(plan)

        def execute(self) -> tuple[int, None]:
            return 0, None

    monkeypatch.setitem(sys.modules, "harness.execution.run", SimpleNamespace(Run=Recorder))
    words = shlex.split(command)
    assert words[:2] == ["harness", "run"]
    result = CliRunner().invoke(run, words[2:], standalone_mode=False)
    assert result.exception is None, result.exception
    return plans[0]


def test_the_defaults_are_valid_and_every_field_has_its_twin_here() -> None:
    assert validate(Plan(seed=0)) == Plan(seed=0)
    assert set(OTHERS) == {field.name for field in fields(Plan)} - {"seed", "schedule", "system", "options"}
    assert set(OPTIONS) == {option.name for option in SYSTEM.options}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"concurrency": 0}, "--concurrency must be a whole number from 1 to 1000, not 0"),
        ({"nodes": 0}, "--nodes must be a whole number from 1 to 99, not 0"),
        ({"keys": 0}, "--keys must be a whole number from 1 to 10000, not 0"),
        ({"snapshot_threshold": 0}, "--snapshot-threshold must be a whole number from 1 to 2147483647, not 0"),
        ({"seed": -1}, "--seed must be a whole number from 0 to 9223372036854775807, not -1"),
        ({"warm_up": -0.5}, "--warm-up must be a number from 0 to 3600, not -0.5"),
        ({"warm_up": float("inf")}, "--warm-up must be a number from 0 to 3600, not inf"),
        ({"rate": 0.0}, "--rate must be a number above 0 and at most 10000, not 0.0"),
        ({"rate": float("nan")}, "--rate must be a number above 0 and at most 10000, not nan"),
        ({"time_limit": -1.0}, "--time-limit must be a number above 0 and at most 604800, not -1.0"),
        ({"time_limit": float("inf")}, "--time-limit must be a number above 0 and at most 604800, not inf"),
        ({"interval": 0.0}, "--interval must be a number above 0"),
        ({"client_timeout": 0.0}, "--client-timeout must be a number above 0"),
        ({"recovery_time": 0.0}, "--recovery-time must be a number above 0"),
        ({"ready_timeout": 0.0}, "--ready-timeout must be a number above 0"),
        ({"check_deadline": 0.0}, "--check-deadline must be a number above 0"),
        (
            {"concurrency": 100_000},
            "a whole number from 1 to 1000, not 100000: one process drives all clients",
        ),
        ({"rate": 10_001.0}, "at most 10000, not 10001.0: one process issues all operations"),
        (
            {"keys": 10_001},
            "a whole number from 1 to 10000, not 10001: ",
        ),
        ({"tracks": 21, "nemesis": ("all",)}, "--tracks must be a whole number from 1 to 20, not 21"),
        ({"nodes": 100}, "--nodes must be a whole number from 1 to 99, not 100"),
        ({"snapshot_threshold": 2**31}, "from 1 to 2147483647, not 2147483648"),
        ({"seed": 10**400}, "from 0 to 9223372036854775807, not 1000000000"),
        ({"time_limit": 604_801.0}, "at most 604800, not 604801.0: split a test of more than a week"),
        ({"interval": 1e9}, "--interval must be a number above 0 and at most 604800, not 1000000000.0"),
        ({"warm_up": 3601.0}, "--warm-up must be a number from 0 to 3600, not 3601.0"),
        ({"client_timeout": 1e300}, "--client-timeout must be a number above 0 and at most 3600, not 1e+300"),
        ({"recovery_time": 1e6}, "--recovery-time must be a number above 0 and at most 86400, not 1000000.0"),
        ({"ready_timeout": 3601.0}, "--ready-timeout must be a number above 0 and at most 3600"),
        ({"check_deadline": 1e7}, "--check-deadline must be a number above 0 and at most 604800"),
        ({"shortest_fault": -1.0}, "--shortest-fault must be a number from 0 to 3600, not -1.0"),
        ({"nemesis": ("a",), "shortest_fault": 11.0}, "--shortest-fault 11 is longer than --interval 10"),
        ({"nemesis": ("a",), "interval": 1e-9}, "--interval 1e-09 fits more than 1000000 faults into --time-limit 60"),
        (
            {"nemesis": ("a", "b"), "weights": {"a": 1e308}},
            "--weights.a must be a number above 0 and at most 1000000",
        ),
        ({"planted_bug": "stale-reads"}, "breaks the server on purpose: add --unsafe-test-mode"),
        ({"planted_bug": "stale-reads", "schedule": ({"fault": "bridge"},)}, "add --unsafe-test-mode"),
        (
            {"planted_bug": "typo", "unsafe_test_mode": True},
            "must be one of '', 'ack-before-commit', 'apply-twice', ",
        ),
        (
            {"planted_bug": "forget-in-snapshot", "unsafe_test_mode": True},
            "has no effect without --snapshot: add --snapshot",
        ),
        (
            {"planted_bug": "snapshot-wrong-index", "unsafe_test_mode": True},
            "has no effect without --snapshot: add --snapshot",
        ),
        ({"unsafe_test_mode": True}, "--unsafe-test-mode does nothing without --planted-bug"),
        ({"version": "0.5.0"}, "--system dledger@VERSION must be one of '0.3.2', '0.4.0', not '0.5.0'"),
        (
            {"system": "zookeeper", "version": "3.9.9"},
            "--system zookeeper@VERSION must be one of '3.9.3', '3.9.4', '3.9.5', not '3.9.9'",
        ),
        ({"snapshot": True, "version": "0.3.2"}, "--snapshot needs --dledger-version 0.4.0"),
        (
            {"stop_on_violation": True, "workload": "cas-register"},
            "unlike --workload cas-register: use --workload register or mixed-registers, or drop the option",
        ),
        (
            {"nemesis": ("kill-one",), "time_limit": 15.0},
            "--time-limit 15 leaves no room for a calm and a fault of --interval 10 for each of the 1 in --nemesis",
        ),
        ({"nemesis": ("a", "b", "c", "d")}, "in --nemesis: use at least 80, or a shorter --interval"),
        ({"restart_at_end": True, "store_type": "MEMORY"}, "--restart-at-end needs --store-type FILE"),
        ({"spark_conf": {"fs.s3a.endpoint": "x"}}, "a setting begins with spark. and fits on one line"),
        ({"spark_conf": {"spark.app.name": "a\nb"}}, "fits on one line"),
        ({"spark_conf": {"spark.master": "yarn"}}, "--spark-conf spark.master: use --spark-master yarn instead"),
        ({"spark_conf": {"spark.hadoop.fs.s3a.secret.key": "x"}}, "is a secret, and plans are stored"),
        ({"spark_conf": {"spark.hadoop.fs.azure.account.key.me": "x"}}, "put it in spark-defaults.conf"),
        ({"tracks": 0}, "--tracks must be a whole number from 1 to 20, not 0"),
        ({"tracks": 3, "nemesis": ("a", "b")}, "--tracks 3 is more than the number of turns in --nemesis (2)"),
        ({"nemesis": ("a", "b", "c", "d"), "tracks": 2, "time_limit": 39.0}, "use at least 40"),
        ({"weights": {"b": 1.0}, "nemesis": ("a",)}, "--weights: b is not a turn of --nemesis a"),
        (
            {"weights": {"a": 0.0}, "nemesis": ("a",)},
            "above 0 and at most 1000000, not 0.0: leave out the faults that you do not want",
        ),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        validate(Plan.of({"seed": 1, **changes}))
    text = str(caught.value)
    assert message in text
    assert "\n" not in text


@pytest.mark.parametrize("changes", [{}, {"nemesis": ("a", "b", "c")}, {"nemesis": ("a",), "time_limit": 20.0}])
def test_what_can_be_run_is_not_refused(changes: dict[str, Any]) -> None:
    plan = replace(Plan(seed=1), **changes)
    assert validate(plan) is plan


def test_nothing_in_it_can_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Plan(seed=1).seed = 2  # type: ignore[misc]


def test_json_round_trip(tmp_path: Path) -> None:
    plan = Plan(seed=5, options=OPTIONS, **OTHERS)
    (tmp_path / "plan.json").write_text(json.dumps(plan.to_json()))
    assert Plan.read(tmp_path / "plan.json") == plan
    assert plan.to_json()["test"] == "cas-register-kill-one+pause-all-0.3.2-snapshot-planted-bug-stale-reads"


def test_of_every_planted_bug_it_is_known_who_must_name_it() -> None:
    for bug in SYSTEM.planted_bugs:
        plan = validate(Plan(seed=1, planted_bug=bug.name, unsafe_test_mode=True, options=dict(bug.options)))
        assert plan.to_json()["planted_bug_found_by"] == list(bug.found_by) != []
    assert "planted_bug_found_by" not in Plan(seed=1).to_json()


def test_a_plan_with_fields_of_a_later_release_is_read() -> None:
    assert Plan.from_json({**Plan(seed=5).to_json(), "colour": "red"}) == Plan(seed=5)


BEYOND: dict[str, Any] = {
    "nodes": 120, "rate": 20_000.0, "concurrency": 5000, "weights": {"kill-one": 0.0}, "tracks": 50, "warm_up": 9000.0,
}  # fmt: skip


@pytest.mark.parametrize("name", BEYOND)
def test_a_recorded_plan_beyond_todays_bounds_is_read_and_not_run(name: str) -> None:
    plan = Plan(seed=5, nemesis=("kill-one",), **{name: BEYOND[name]})
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    with pytest.raises(UsageError, match=option_of(name)):
        validate(plan)


@pytest.mark.parametrize("odd", [{"rate": "fast"}, {"nodes": 4.5}, {"weights": {"a": "b"}}, {"options": "slow"}])
def test_a_recorded_plan_of_other_types_is_refused(odd: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"{next(iter(odd))}.* must be"):
        Plan.from_json({**Plan(seed=5).to_json(), **odd})


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "5", "{}", '{"format":"harness-plan","version_of_format":3}',
     '{"format":"harness-plan","version_of_format":1}'],
)  # fmt: skip
def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(UsageError, match=r"/plan\.json: not a plan"):
        Plan.read(tmp_path / "plan.json")


@pytest.mark.parametrize("name", sorted({**OTHERS, **OPTIONS}))
def test_the_command_gives_the_same_plan_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needed: dict[str, Any] = {}
    if name in ("interval", "weights", "tracks"):
        needed = {"nemesis": ("kill-one", "pause-all")}
    if name in ("planted_bug", "unsafe_test_mode"):
        needed = {"planted_bug": OTHERS["planted_bug"], "unsafe_test_mode": True}
    plan = Plan.of({"seed": 9, **needed, name: {**OTHERS, **OPTIONS}[name]})
    assert parsed(plan.command(), monkeypatch) == plan


def test_the_command_of_a_plan_in_which_nothing_is_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {**OPTIONS, "store_type": "FILE"}
    plan = Plan(seed=2**32, options=own, **{**OTHERS, "version": "0.4.0", "workload": "register"})
    assert parsed(plan.command(), monkeypatch) == plan


def test_the_name_of_a_test_is_one_folder() -> None:
    assert Plan(seed=1, nemesis=("a@leader/!n2+b",)).test == "register-a@leader~!n2++b-0.4.0"
    many = Plan(seed=1, nemesis=tuple(f"fault-number-{n}" for n in range(40))).test
    assert many.startswith("register-40-faults-0.4.0-")


def test_the_shortest_command() -> None:
    assert Plan(seed=3).command() == "harness run --seed 3 --dledger-version 0.4.0"
    two = Plan(seed=3, rate=50.0, nemesis=("a", "b"))
    assert two.command() == "harness run --seed 3 --nemesis a,b --dledger-version 0.4.0 --rate 50"


STEPS: tuple[dict[str, Any], ...] = (
    {"at_s": 4.5, "action": "inject", "fault": "leader-transfer", "id": 0, "targets": {"choose": "n3"}, "when": None,
     "within_s": 0.0, "for_s": None},
    {"at_s": 5.0, "action": "inject", "fault": "kill-leader", "id": 1, "targets": None,
     "when": "n3 leads and log_end(n1) < 6000", "within_s": 10.0, "for_s": 8.0},
    {"at_s": 6.5, "action": "heal", "fault": "leader-transfer", "id": 0, "targets": None, "when": None,
     "within_s": 0.0, "for_s": None},
)  # fmt: skip


def test_the_command_of_a_scripted_run_names_the_file_that_holds_its_schedule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(seed=4, nemesis=("leader-transfer", "kill-leader"), schedule=STEPS, time_limit=60.0, keys=7)
    run = create_run(tmp_path / "a store", plan, datetime(2026, 1, 1, tzinfo=UTC))
    record = json.loads(run.plan.read_text())
    assert f"--schedule '{run.plan}'" in record["command"]
    assert "--nemesis" not in record["command"]
    assert parsed(record["command"], monkeypatch) == plan
    assert Plan.read(run.plan) == plan
    assert shlex.split(record["replay_command"])[-1] == str(run.root)


@pytest.mark.parametrize(
    ("plan", "reported"),
    [
        (Plan(seed=4), "contains no schedule"),
        (Plan(seed=4, schedule=({"at_s": 1.0, "odd": 2},)), r"schedule\[0\]: there is no key .odd.; the choices are"),
    ],
)
def test_a_plan_file_that_holds_no_schedule_is_refused_as_one(plan: Plan, reported: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan.to_json()))
    with pytest.raises(UsageError, match=reported):
        scripted(Plan(seed=1), file)


@settings(max_examples=50)
@given(st.floats(1e-6, 1e9))
def test_no_digit_of_a_number_is_lost_on_the_command_line(rate: float) -> None:
    word = re.search(r"--rate (\S+)", Plan(seed=0, rate=rate).command() + " --rate 200")
    assert word is not None
    assert float(word[1]) == rate


def test_each_purpose_has_its_own_stream_of_random_numbers() -> None:
    plan = Plan(seed=4)
    draws = {purpose: plan.rng(purpose).random() for purpose in ("operations", "targets", "schedule")}
    assert len(set(draws.values())) == 3
    assert plan.rng("operations").random() == draws["operations"]
    assert Plan(seed=5).rng("operations").random() != draws["operations"]


def test_every_field_has_an_option_and_the_way_back() -> None:
    for one in fields(Plan):
        option = option_of(one.name)
        assert option.startswith("--")
        assert field_of(option) == field_of(option.removeprefix("--")) == field_of(one.name) == one.name
    assert (option_of("version"), option_of("time_limit")) == ("--dledger-version", "--time-limit")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"colour": "red"}, "has no option --colour; the choices are client_follows"),
        ({"timer": "fast"}, "did you mean timers"),
        ({"timers": "slow"}, "--timers must be one of 'fast', 'stock', not 'slow'"),
        ({"snapshot": 3}, "--snapshot must be true or false, not 3"),
    ],
)
def test_an_option_that_the_system_does_not_have_or_take_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        validate(Plan(seed=1, options=options))
    assert message in str(caught.value)


def test_a_plan_of_a_system_that_is_not_installed_is_read_and_not_run() -> None:
    plan = Plan.from_json(
        {**Plan(seed=5).to_json(), "system": "elsewhere", "version": "7", "options": {"colour": "red"}}
    )
    assert (plan.test, plan.label) == ("elsewhere-register-no-fault-7", "elsewhere 7")
    words = "--system elsewhere@7 --colour red --workload register"
    assert plan.command() == f"harness run --seed 5 {words}"
    assert Plan.from_json(plan.to_json()) == plan
    with pytest.raises(UsageError, match="there is no system 'elsewhere'"):
        validate(plan)
