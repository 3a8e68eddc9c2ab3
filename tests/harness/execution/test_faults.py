"""The nemesis in a run: names and schedules are refused before anything is touched; what the system does wrong is its
own finding, and what cannot be healed is ours."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import HarnessError, NotReadyError, RemoteError, UsageError
from harness.execution import faults as faults_module
from harness.execution.fault_view import RunClock, SystemView, view_of
from harness.execution.faults import Faults
from harness.execution.leftovers import heal_leftovers
from harness.execution.schedules import replayed, scripted
from harness.plan import Plan, validate
from harness.systems import Machine
from harness.systems.api import Surface
from harness.systems.deployment import Deployment
from harness.systems.dledger import processes
from history import Receipt
from nemesis.core.errors import FaultError
from nemesis.core.facts import Facts
from nemesis.core.fault import Targets
from nemesis.core.ports import Command, Completed, StartError
from nemesis.faults.leadership import NO_PROMOTION, Promotes, Transfers
from nemesis.faults.registry import FAULTS
from nemesis.schedule.runner import Runner

PLAN = Plan(seed=1, nemesis=("kill-all", "pause-leader+kill-all"))


with_server = pytest.mark.skipif(
    not all(path.is_file() for path in processes.artifacts(PLAN.setup())[0].paths),
    reason="scripts/bootstrap builds the server",
)


class Nodes:
    """Answers every command with the same code and output."""

    names = ("n1", "n2")
    data_dirs: Mapping[str, str] = {"n1": "/srv/one", "n2": "/srv/two"}

    def __init__(self, code: int = 0, stdout: str = "", *, unreachable: str = "") -> None:
        self.code, self.stdout, self.unreachable = code, stdout, unreachable
        self.sent: list[Command] = []

    def address(self, node: str) -> str:
        return "10.0.0.1"

    def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        self.sent += commands.values()
        if self.unreachable in commands:
            raise RemoteError(self.unreachable, "no route")
        return {node: Completed(node, self.code, self.stdout, "sh: broken", 0.0) for node in commands}


def test_two_at_once_are_two_names_and_take_one_turn() -> None:
    faults = Faults(PLAN)
    assert faults.names == ("kill-all", "pause-leader")
    assert {step.fault for step in faults.schedule} == {"kill-all", "pause-leader"}


def test_the_schedule_is_decided_by_the_seed() -> None:
    assert Faults(PLAN).schedule == Faults(PLAN).schedule
    assert Faults(PLAN).schedule != Faults(replace(PLAN, seed=2)).schedule


SCRIPT = """
[[fault]]
name = "kill-leader"
at = 3.0
for = 4.0
"""


def test_a_script_takes_the_place_of_the_cycle_and_lives_in_the_plan(tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text(SCRIPT)
    plan = scripted(Plan(seed=1), tmp_path / "script.toml")
    assert plan.nemesis == ("kill-leader",)
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert [(step.at_s, step.action) for step in Faults(again).schedule] == [(3.0, "inject"), (7.0, "heal")]


@pytest.mark.parametrize(
    ("text", "said"), [("[[fault]]\nat = 1", "fault[0].name is missing"), (SCRIPT.replace("3.0", "99.0"), "time limit")]
)
def test_a_script_that_cannot_be_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "script.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        scripted(Plan(seed=1), tmp_path / "script.toml")
    assert str(caught.value).startswith("--schedule: ")
    assert said in str(caught.value)


def test_an_unknown_fault_of_a_script_is_refused(tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text(SCRIPT.replace("kill-leader", "kill-leeder"))
    with pytest.raises(UsageError, match="--schedule: there is no nemesis 'kill-leeder'; did you mean"):
        Faults(scripted(Plan(seed=1), tmp_path / "script.toml"))


def test_a_replay_has_the_recorded_targets_at_the_recorded_moments() -> None:
    second = 1_000_000_000
    receipt = Receipt(
        7, "kill-all", "installed", 5 * second, ("n2",), heal_started=9 * second, healed=10 * second, witness={"x": 1}
    )
    plan = replayed(Plan(seed=1), [receipt], 2 * second)
    steps = Faults(Plan.from_json(json.loads(json.dumps(plan.to_json())))).schedule
    assert [(step.at_s, step.action, step.fault) for step in steps] == [
        (3.0, "inject", "kill-all"),
        (7.0, "heal", "kill-all"),
    ]
    assert steps[0].targets == {"nodes": ["n2"]}


def test_a_replay_lasts_until_the_last_recorded_fault() -> None:
    """A harness that stood still injected it after the time limit."""
    second = 1_000_000_000
    late = Receipt(
        1, "kill-all", "installed", 71 * second, ("n2",), heal_started=75 * second, healed=80 * second, witness={"x": 1}
    )
    plan = replayed(Plan(seed=1, time_limit=60.0), [late], 2 * second)
    assert plan.time_limit == 73
    assert [step.at_s for step in Faults(plan).schedule] == [69.0, 73.0]


def test_a_run_without_faults_has_nothing_to_replay() -> None:
    with pytest.raises(UsageError, match="nothing to replay"):
        replayed(Plan(seed=1), [], 0)


def test_no_fault_is_an_empty_schedule() -> None:
    assert Faults(Plan(seed=1)).schedule == []


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_plan_that_is_not_refused_gives_every_fault_its_turn(seed: int, count: int) -> None:
    names = ("kill-all", "pause-leader", "kill-leader")[:count]
    plan = validate(Plan(seed=seed, nemesis=names, interval=10.0, time_limit=20.0 * count))
    steps = Faults(plan).schedule
    assert {step.fault for step in steps if step.action == "inject"} == set(names)
    assert {step.id for step in steps if step.action == "inject"} == {s.id for s in steps if s.action == "heal"}
    assert all(0 < step.at_s < plan.time_limit for step in steps)


@pytest.mark.parametrize(
    ("nemesis", "message"),
    [
        (("kil-all",), "--nemesis: there is no nemesis 'kil-all'; did you mean kill-all"),
        (("kill-all+",), "a fault's name is missing in 'kill-all+'"),
        (("kill-all", "xyzzy"), "there is no nemesis 'xyzzy'; `harness list faults` names them all"),
    ],
)
def test_an_unknown_name_is_refused(nemesis: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Faults(replace(PLAN, nemesis=nemesis))
    assert message in str(caught.value)


def test_a_schedule_that_cannot_be_names_its_options() -> None:
    with pytest.raises(UsageError, match="--interval, --time-limit: no whole cycle"):
        Faults(replace(PLAN, time_limit=5.0))


def test_a_fault_that_cannot_work_here_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults_module, "survey", lambda nodes: Facts({}))
    monkeypatch.setattr(faults_module, "prechecks", lambda ctx, names: {"kill-all": None, "pause-leader": "no pids"})
    with pytest.raises(UsageError, match="--nemesis: pause-leader cannot work on this cluster: no pids"):
        Faults(PLAN).precheck(Nodes(), system())
    monkeypatch.setattr(faults_module, "prechecks", lambda ctx, names: dict.fromkeys(names))
    Faults(PLAN).precheck(Nodes(), system())


@pytest.mark.parametrize(
    ("system", "nemesis", "why"),
    [
        ("zookeeper", "leader-transfer", "this system cannot transfer leadership on request"),
        ("zookeeper", "clock-jump", "this system does not declare that its probes report its clock"),
        ("zookeeper", "isolate-until-snapshot", "the system saves no snapshots in this run$"),
        ("bookkeeper", "isolate-until-snapshot", "the system saves no snapshots in this run$"),
        ("dledger", "isolate-until-snapshot", "it needs --snapshot: without it the servers save no snapshots$"),
    ],
)
def test_a_fault_that_the_system_cannot_take_is_refused_before_there_are_nodes(
    system: str, nemesis: str, why: str
) -> None:
    with pytest.raises(UsageError, match=f"--nemesis: {nemesis} cannot work on this cluster: {why}"):
        Faults(Plan(seed=1, system=system, nemesis=(nemesis,)))
    Faults(Plan(seed=1, system=system, nemesis=("all",), time_limit=3000.0))


def test_all_is_what_can_work_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not named is left out, and said; what was named as well is refused."""
    refused = {"clock-skew": "no libfaketime", "clock-jump": "no libfaketime", "clock-strobe": "no libfaketime"}
    monkeypatch.setattr(faults_module, "survey", lambda nodes: Facts({}))
    monkeypatch.setattr(faults_module, "prechecks", lambda ctx, names: {name: refused.get(name) for name in names})
    faults = Faults(Plan(seed=1, nemesis=("all", "kill-leader@n2"), time_limit=3000.0))
    before = faults.faketime
    assert before
    faults.precheck(Nodes(), system())
    left_out = refused | {"promote-follower": NO_PROMOTION}
    assert faults.left_out == left_out
    assert not faults.faketime
    assert {step.fault for step in faults.schedule} == set(FAULTS) - set(left_out)
    assert {"choose": "n2"} in [step.targets for step in faults.schedule if step.fault == "kill-leader"]
    assert faults.describe() == {"faults_left_out": left_out}
    with pytest.raises(UsageError, match="clock-jump cannot work on this cluster: no libfaketime"):
        Faults(Plan(seed=1, nemesis=("all", "clock-jump"), time_limit=3000.0)).precheck(Nodes(), system())


@pytest.mark.parametrize(("nemesis", "under"), [(("clock-skew",), True), (("kill-all",), False)])
def test_the_system_is_started_under_libfaketime_only_for_wrong_clocks(nemesis: tuple[str, ...], under: bool) -> None:
    nodes, given = Nodes(stdout="faketime /usr/lib/faketime.so\n"), list[Any]()
    faults = Faults(Plan(seed=1, nemesis=nemesis))
    faults.prepare(nodes, SimpleNamespace(set_environments=given.append))
    assert bool(given) is under
    assert bool(faults.describe()) is under
    if under:
        assert set(given[0]) == {"n1", "n2"}
        assert given[0]["n1"]["LD_PRELOAD"] == "/usr/lib/faketime.so"
        assert given[0]["n1"]["FAKETIME_FORCE_MONOTONIC_FIX"] == "0"
        assert nodes.sent[-1].argv[-1] == "+0"


def test_weights_tracks_and_options_reach_the_nemesis() -> None:
    plan = Plan(seed=1, nemesis=("kill-all", "bridge"), weights={"bridge": 50.0}, time_limit=2000.0)
    counted = Counter(step.fault for step in Faults(plan).schedule)
    assert counted["bridge"] > 10 * counted["kill-all"] > 0
    both = Faults(replace(plan, weights={}, tracks=2)).schedule
    assert len(both) > 1.8 * len(Faults(replace(plan, weights={})).schedule)


def test_nodes_without_control_groups_are_named_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults_module, "prechecks", lambda ctx, names: dict.fromkeys(names))
    for able, named in (({"n1"}, True), ({"n1", "n2"}, False)):
        can = {node: frozenset({"can:groups"} if node in able else ()) for node in Nodes.names}
        monkeypatch.setattr(faults_module, "survey", lambda nodes, can=can: Facts(dict.fromkeys(Nodes.names, ()), can))
        faults = Faults(PLAN)
        faults.precheck(Nodes(), system())
        assert ("written on n2" in faults.describe().get("processes", "")) == named


def test_a_node_that_the_cluster_does_not_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults_module, "survey", lambda nodes: Facts({}))
    monkeypatch.setattr(faults_module, "prechecks", lambda ctx, names: dict.fromkeys(names))
    plan = Plan(seed=1, nemesis=("kill-leader@alpha",), cluster="inventory:three.toml")
    with pytest.raises(UsageError, match="'alpha' does not choose nodes"):
        Faults(plan).precheck(Nodes(), system())


# -- the system as a nemesis sees it -----------------------------------------------------------------------------------


def system(start: Callable[..., None] = lambda names: None) -> Any:
    surface = processes.surface(replace(PLAN, options={**PLAN.options, "snapshot": True}).setup())
    return SimpleNamespace(start=start, pids=lambda nodes: dict.fromkeys(nodes, 7), surface=surface, members=(), hit={})


def raising(error: Exception) -> Callable[..., None]:
    def start(names: object) -> None:
        raise error

    return start


def test_a_process_that_does_not_come_up_again_is_the_systems_finding() -> None:
    view = SystemView(system(raising(NotReadyError("n1 exited while starting"))), dict)
    with pytest.raises(StartError) as caught:
        view.start(["n1"])
    assert caught.value.reasons == {"n1": "n1 exited while starting"}


def test_a_transfer_is_asked_of_the_leader_in_its_term(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(processes, "BlockingWire", lambda *_: SimpleNamespace(ask=lambda request: {"term": 7}))
    monkeypatch.setattr(processes, "transfer_leadership", lambda *words: asked.append(words))
    setup = PLAN.setup([Machine("n1", "10.0.0.1"), Machine("n2", "10.0.0.2")])
    view = view_of(SimpleNamespace(surface=processes.surface(setup)), dict)
    assert isinstance(view, Transfers)
    view.transfer_leader("n1", "n2")
    assert asked == [(("10.0.0.1", 20911), "n1", "n2", 7)]

    def refused(*_: object) -> None:
        raise ValueError("refused with code 404")

    monkeypatch.setattr(processes, "transfer_leadership", refused)
    with pytest.raises(FaultError, match="n1 did not accept the request: refused with code 404"):
        view.transfer_leader("n1", "n2")


def test_a_promotion_is_asked_of_the_system_and_its_failure_is_the_faults() -> None:
    def promote(dead: str) -> str:
        if dead != "n1":
            raise OSError("n3 does not answer")
        return "n2"

    view = view_of(SimpleNamespace(surface=Surface(peer_ports=(1,), client_port=1, promote=promote)), dict)
    assert isinstance(view, Promotes)
    assert view.promote("n1") == "n2"
    with pytest.raises(FaultError, match="no follower was promoted: n3 does not answer"):
        view.promote("n2")


def test_a_node_that_cannot_be_asked_is_ours() -> None:
    with pytest.raises(RemoteError):
        SystemView(system(raising(RemoteError("n1", "no route"))), dict).start(["n1"])


def test_the_clock_of_the_run_waits_until_it_is_stopped() -> None:
    stop, clock = threading.Event(), RunClock(lambda: 42)
    assert clock.now() == 42
    assert not clock.wait(0.001, stop)
    assert not clock.wait(-5.0, stop)
    stop.set()
    assert clock.wait(60.0, stop)


class Timer:
    """Records what was done with it."""

    def __init__(self, lost: dict[str, str]) -> None:
        self.lost, self.steps = lost, list[str]()

    def __enter__(self) -> Timer:
        self.steps.append("armed")
        return self

    def __exit__(self, *_: object) -> None:
        self.steps.append("over")

    def leave(self) -> None:
        self.steps.append("left")


def leased(plan: Plan, lost: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Timer]:
    timer = Timer(lost)
    monkeypatch.setattr(faults_module, "survey", lambda nodes: Facts({}))
    monkeypatch.setattr(faults_module, "DeadMansTimer", lambda *_: timer)
    monkeypatch.setattr(Runner, "run", lambda self, stop: timer.steps.append("run"))
    runner = Faults(plan).runner(Nodes(), system(), SimpleNamespace(latest={}), lambda *_: None, lambda: 0)  # type: ignore[arg-type]
    return runner, timer


def test_faults_on_machines_of_others_stand_under_a_dead_mans_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    runner, timer = leased(replace(PLAN, cluster="inventory:x.toml"), {}, monkeypatch)
    runner.run(threading.Event())
    assert timer.steps == ["armed", "run", "over"]
    runner._active[1] = FAULTS["kill-all"], Targets(("n1",))
    runner.run(threading.Event())
    assert timer.steps[3:] == ["armed", "run", "left", "over"]


def test_a_timer_that_went_off_is_our_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    runner, _ = leased(replace(PLAN, cluster="inventory:x.toml"), {"n1": "n1: its timer is gone"}, monkeypatch)
    with pytest.raises(HarnessError, match="may have lifted faults: n1: its timer is gone"):
        runner.run(threading.Event())


def test_namespaces_need_no_timer_and_a_run_without_faults_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    for plan in (PLAN, Plan(seed=1, cluster="inventory:x.toml")):
        runner, timer = leased(plan, {}, monkeypatch)
        runner.run(threading.Event())
        assert "armed" not in timer.steps


# -- leftovers ---------------------------------------------------------------------------------------------------------


def test_leftovers_are_reported_line_by_line() -> None:
    assert heal_leftovers(Nodes()).undone == []
    assert heal_leftovers(Nodes(stdout="continued pid 4\n")).undone == ["n1: continued pid 4", "n2: continued pid 4"]


def test_a_node_that_cannot_be_reached_does_not_keep_the_others_from_being_swept() -> None:
    healed = heal_leftovers(Nodes(stdout="continued pid 4\n", unreachable="n1"))
    assert healed.undone == ["n2: continued pid 4"]
    assert healed.failed == ["n1: no route"]
    with pytest.raises(HarnessError, match="could not be removed: n1: no route"):
        healed.check()


def test_every_node_is_swept_where_its_own_data_lies() -> None:
    nodes = Nodes()
    heal_leftovers(nodes)
    places = {("/srv/one/harness", "/srv/one"), ("/srv/two/harness", "/srv/two")}
    assert {command.argv[-2:] for command in nodes.sent} == places


@with_server
def test_faults_strike_where_the_data_of_each_node_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    """What strikes another directory than the system's leaves it untouched, and the run looks good."""
    monkeypatch.setattr(faults_module, "survey", lambda nodes: Facts({}))
    setup = PLAN.setup(Machine(name, "10.0.0.1", Nodes.data_dirs[name]) for name in Nodes.names)
    real = Deployment(PLAN.under_test, setup, Nodes(), lambda: 0.0)  # type: ignore[arg-type]
    settings = Faults(PLAN)._context(Nodes(), real, dict, lambda: 0).settings
    assert settings.data_dir("n2") == "/srv/two"
    command = processes.java_command(setup, "n2")
    assert command[command.index("--data-dir") + 1] == settings.store_dir("n2")


@pytest.mark.parametrize("sweep", [lambda nodes: heal_leftovers(nodes).check(), Faults(PLAN).clean])
def test_a_sweep_that_fails_is_our_failure(sweep: Callable[[Nodes], object]) -> None:
    with pytest.raises(HarnessError, match=r"could not be removed: n1: exit 3: sh: broken"):
        sweep(Nodes(code=3))
