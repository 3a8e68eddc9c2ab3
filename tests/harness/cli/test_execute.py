"""A whole run with toys for cluster, nodes, system and Spark: its files, its exit code, and its way out."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest

import reports
from harness.clusters import ClusterStatus, Node, NodeStatus, require_usable
from harness.errors import (
    ClusterBusyError,
    ClusterError,
    HarnessError,
    NotReadyError,
    RemoteError,
    StoreError,
    UsageError,
)
from harness.execution import run as run_module
from harness.execution.log_file import logging_to
from harness.execution.progress import Progress
from harness.execution.run import Run
from harness.plan import Plan
from harness.runstate import RunState
from harness.systems.dledger.client import RegisterClient
from harness.systems.dledger.status import StatusProber
from history import RunFiles, read_history
from history.recording import Recording
from nemesis.core.ports import Command, Completed
from pipeline import SessionError
from reports import ReportOutcome
from tests.support.harness.toy_nemesis import ToyNemesis
from tests.support.harness.toy_register import ToyRegister, quicken

pytestmark = pytest.mark.usefixtures("hangups")

PLAN = Plan(
    seed=1, nodes=3, nemesis=("toy",), concurrency=5, rate=400.0, keys=2, warm_up=0.02, time_limit=0.5, interval=0.2,
    client_timeout=0.3, recovery_time=5.0,
)  # fmt: skip

#: A gate asks for reads and writes, of which a machine with much else to do issues a few a second:
LONGER: Final = replace(PLAN, time_limit=2.0)
#: or a test that is about something else takes any verdict that blames no node.
BLAMELESS: Final = (0, 2)

Event = Callable[[], None]


class World:
    """Everything around a run.  ``steps`` is what was done, in order; ``at`` maps a step to what happens in it."""

    def __init__(self, register: ToyRegister, store: Path) -> None:
        self.register, self.store = register, store
        self.steps: list[str] = []
        self.at: dict[str, Event] = {}
        self.up_before = False
        self.made_anew = False
        self.spark_is_warm = True
        self.orphaned = False
        self.ended: dict[str, list[str]] = {}
        self.passing = False
        self.screen, self.paper = StringIO(), StringIO()
        self.nemesis: ToyNemesis | None = None
        self.refuse: Callable[[str], None] = lambda _spec: None

    def step(self, name: str) -> None:
        self.steps.append(name)
        self.at.get(name, lambda: None)()

    def run(self, plan: Plan = PLAN, **options: Any) -> int:
        self.code, self.files = Run(plan, self.store, Progress(self.screen, results=self.paper), **options).execute()
        return self.code

    def run_well(self) -> None:
        """A run that ends with 0; or with 2 by the two gates that ask whether the machine had time for it."""
        code = self.run(LONGER)
        doubted = {check["name"] for check in self.results["checks"] if check["verdict"] != "valid"}
        assert code == (2 if doubted else 0), self.why
        assert doubted <= {"kept-pace", "operations"}, self.why

    @property
    def said(self) -> str:
        return self.screen.getvalue()

    @property
    def results(self) -> dict[str, Any]:
        return json.loads(self.files.results.read_text())

    @property
    def why(self) -> str:
        """What an unexpected verdict rests on."""
        wrong = [check for check in self.results["checks"] if check["verdict"] != "valid"]
        return f"{self.results['sentence']}\n{wrong}\n{self.said}"


class ToyCluster:
    def __init__(self, world: World) -> None:
        self._world = world
        self.name = "toy"
        names = world.register.names
        self.nodes = tuple(Node(n, "127.0.0.1", "127.0.0.1", 22, "root", Path("key"), None) for n in names)

    def orphaned(self) -> bool:
        return self._world.orphaned

    def up(self, *, passing: bool = False) -> bool:
        self._world.passing = passing
        self._world.step("cluster up")
        return not self._world.made_anew

    def down(self) -> None:
        self._world.step("cluster down")

    def status(self) -> ClusterStatus:
        nodes = [NodeStatus(node.name, node.address, "up") for node in self.nodes if self._world.up_before]
        return ClusterStatus(self.name, tuple(nodes))

    def lock(self) -> AbstractContextManager[None]:
        @contextmanager
        def held() -> Iterator[None]:
            self._world.step("lock")
            try:
                yield
            finally:
                self._world.step("unlock")

        return held()


class ToyRemote:
    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self.names = tuple(node.name for node in nodes)

    def __enter__(self) -> ToyRemote:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def address(self, node: str) -> str:
        return "127.0.0.1"

    def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        return {node: Completed(node, 0, "", "", 0.0) for node in commands}


class ToySystem:
    def __init__(self, world: World) -> None:
        self._world = world
        self.names = world.register.names
        self.processes = {name: ["server"] for name in self.names}
        self.serving = self.members = self.names

    died_starting: frozenset[str] = frozenset()

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: self._world.step(name)  # kill, wipe, install, start

    def ended(self) -> dict[str, list[str]]:
        return self._world.ended

    def await_leader(self) -> str:
        self._world.step("await_leader")
        return "n1"

    def clients(self, number: int) -> list[RegisterClient]:
        return self._world.register.clients(number, PLAN.client_timeout)

    def probers(self) -> dict[str, StatusProber]:
        return self._world.register.probers()

    def describe(self) -> dict[str, str]:
        return {"java": 'openjdk version "21"'}

    def collect(self, into: Path) -> list[str]:
        for name in self._world.register.names:
            (into / name).mkdir(parents=True)
            (into / name / "register.log").write_text("started\n")
        self._world.step("collect")
        return ["n3: no SSH server answered"]


class ToyFaults:
    def __init__(self, world: World) -> None:
        self._world = world

    #: All are planned, and these are tried.
    names = ("memory-pressure",)
    tried: frozenset[str] = frozenset()
    notes: Mapping[str, str] = MappingProxyType({})

    def clean(self, *_: object) -> None:
        self._world.step("clean")

    def precheck(self, *_: object) -> None:
        self._world.step("precheck")

    def prepare(self, *_: object) -> None:
        self._world.step("prepare")

    def describe(self) -> dict[str, Any]:
        return {}

    def runner(self, remote: object, system: object, probes: object, record: Any, clock_ns: object) -> ToyNemesis:
        def recorded(*event: Any) -> None:
            record(*event)
            self._world.at.get("fault", lambda: None)()

        self._world.nemesis = ToyNemesis(recorded, stand_s=0.3, tried={*self.tried})
        return self._world.nemesis


class ToySpark:
    """Never starts; the world notes that it was asked."""

    def __init__(self, world: World) -> None:
        self._world = world
        world.step("warm Spark")

    def get(self, timeout: float = 0.0) -> None:
        """Once before the load; then for the verdict, where it is lost."""
        if self._world.spark_is_warm and "await Spark" not in self._world.steps:
            self._world.step("await Spark")
            return
        self._world.step("conclude")
        raise SessionError("no Java here")

    def stop(self, timeout: float = 0.0) -> None:
        self._world.step("stop Spark")


@pytest.fixture
def register() -> Iterator[ToyRegister]:
    with ToyRegister() as register:
        yield register


@pytest.fixture
def world(register: ToyRegister, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(register, tmp_path / "store")
    quicken(monkeypatch)

    def draw(run: Recording, drawn: object) -> ReportOutcome:
        world.step("draw")
        return ReportOutcome([run.files.report], [])

    for name, toy in {
        "open_cluster": lambda *_, **__: ToyCluster(world),
        "require_usable": lambda spec: world.refuse(spec),
        "Remote": ToyRemote,
        "Deployment": lambda *_: ToySystem(world),
        "fetch": lambda *_: {},
        "Faults": lambda plan: ToyFaults(world),
        "WarmSession": lambda *_, **__: ToySpark(world),
        "draw": draw,
    }.items():
        monkeypatch.setattr(run_module, name, toy)
    return world


def interrupt(number: int = signal.SIGINT) -> Event:
    return lambda: os.kill(os.getpid(), number)


def without_spark(steps: list[str]) -> list[str]:
    return [step for step in steps if "Spark" not in step]


def raising(error: BaseException) -> Event:
    def event() -> None:
        raise error

    return event


# -- runs that come to their end ---------------------------------------------------------------------------------------


def test_a_good_run_is_0_in_good_order_and_everything_is_on_disk(world: World) -> None:
    world.run_well()
    files = world.files
    assert files.root.parent == world.store / PLAN.test
    for path in (files.plan, files.history, files.probes, files.state, files.results, files.summary, files.log):
        assert path.stat().st_size > 0, path
    assert (world.store / "latest").resolve() == files.root
    state = RunState.read(files.state)
    assert (state.ended, state.interrupted, state.failures) == (True, False, [])
    assert state.warnings == ["not collected: n3: no SSH server answered"]
    assert "end" in state.moments
    assert world.results["environment"]["java"] == 'openjdk version "21"'
    assert world.steps == [
        "lock", "warm Spark", "cluster up", "clean", "kill", "wipe", "install", "precheck", "prepare", "start",
        "await_leader", "await Spark", "collect", "kill", "cluster down", "unlock", "conclude", "draw", "stop Spark",
    ]  # fmt: skip
    assert any("judged without Spark" in warning for warning in world.results["warnings"])


def test_the_result_goes_to_standard_output_and_the_rest_to_standard_error(world: World) -> None:
    assert world.run() in BLAMELESS, world.why
    assert (
        world.paper.getvalue()
        == f"{reports.render_brief(world.files, page=False).rstrip()}\nreport: {world.files.report}\n"
    )
    assert "linearizable" not in world.said
    for piece in (str(world.files.root), "n1 became leader after", "  warm-up  ", " after the run"):
        assert piece in world.said


class Gone(StringIO):
    """A pipe whose reader has gone after a while."""

    def write(self, text: str) -> int:
        if self.tell() > 100:
            raise BrokenPipeError(32, "Broken pipe")
        return super().write(text)


def test_readers_that_go_away_cost_the_run_nothing(world: World) -> None:
    world.screen, world.paper = Gone(), Gone()
    world.run_well()
    assert RunState.read(world.files.state).failures == []
    assert world.files.log.read_text().count("output is dropped from now on: [Errno 32] Broken pipe") == 2


def test_nodes_that_were_made_a_moment_ago_are_not_searched_for_leftovers(world: World) -> None:
    world.made_anew = True
    assert world.run() in BLAMELESS, world.why
    assert "clean" not in world.steps


def test_a_run_that_lost_data_is_1(world: World) -> None:
    world.register.forget_every = 1
    assert world.run(LONGER) == 1
    assert world.results["verdict"] == "invalid"


@pytest.mark.slow
def test_a_run_without_recovery_is_1(world: World) -> None:
    world.register.stuck.add("n2")
    assert world.run(replace(PLAN, recovery_time=0.3)) == 1
    assert "recovery: no, n2 stuck at" in world.results["sentence"]


@pytest.mark.parametrize("keep", [False, True])
def test_what_a_killed_run_brought_up_is_taken_down_unless_it_is_to_be_kept(world: World, keep: bool) -> None:
    world.up_before = world.orphaned = True
    world.run(keep_cluster=keep)
    assert ("cluster down" in world.steps) is not keep
    assert world.passing is not keep


@pytest.mark.parametrize(("up_before", "keep"), [(True, False), (False, True), (True, True)])
def test_a_cluster_that_was_up_or_is_to_be_kept_stays_up(world: World, up_before: bool, keep: bool) -> None:
    world.up_before = up_before
    world.run(keep_cluster=keep)
    assert "cluster down" not in world.steps


# -- runs that do not --------------------------------------------------------------------------------------------------


def test_a_server_that_dies_at_start_is_255_with_the_end_of_its_log(world: World) -> None:
    world.at["start"] = raising(
        NotReadyError("the server on n2 exited while starting; the last lines of its log:\nboom")
    )
    assert world.run() == 255
    assert world.said.count("boom") == 1
    assert world.steps[-5:] == ["collect", "kill", "cluster down", "unlock", "stop Spark"]
    assert RunState.read(world.files.state).failures[0].startswith("the server on n2 exited while starting")


@pytest.mark.parametrize(
    ("step", "error", "code"),
    [
        ("lock", ClusterBusyError("pid 4 holds it"), 255),
        ("cluster up", ClusterError("no subnet is free"), 255),
        ("clean", HarnessError("n1: exit 1"), 255),
        ("await_leader", ZeroDivisionError("a bug"), 255),
        ("wipe", OSError(5, "Input/output error"), 255),
    ],
    ids=lambda value: str(value) if isinstance(value, str | int) else type(value).__name__,
)
def test_what_fails_before_the_first_operation_keeps_its_code(
    world: World, step: str, error: Exception, code: int
) -> None:
    world.at[step] = raising(error)
    assert world.run() == code
    assert world.said.count(str(error)) == 1
    assert "start" not in world.steps or step == "await_leader"
    assert not world.files.history.exists()
    assert (world.store / "latest").resolve() == world.files.root
    if step not in ("lock", "cluster up"):
        assert without_spark(world.steps)[-4:] == ["collect", "kill", "cluster down", "unlock"]


@pytest.mark.parametrize("step", ["lock", "cluster up", "install", "precheck"])
def test_what_only_the_cluster_refuses_leaves_nothing_in_the_store(world: World, step: str) -> None:
    world.run()
    before = sorted(world.store.rglob("*")), (world.store / "latest").resolve()
    world.at[step] = raising(UsageError("--nemesis: kill-one cannot work on this cluster"))
    world.steps.clear()
    with pytest.raises(UsageError, match="cannot work on this cluster"):
        world.run()
    assert (sorted(world.store.rglob("*")), (world.store / "latest").resolve()) == before
    assert without_spark(world.steps)[-1] == ("lock" if step == "lock" else "unlock")
    assert world.steps.count("warm Spark") == world.steps.count("stop Spark")


@pytest.mark.parametrize("spec", ["netns", "netns:other"])
def test_without_root_nothing_is_made(world: World, spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    world.refuse = require_usable
    with pytest.raises(UsageError, match="needs root: run the same command with sudo"):
        world.run(replace(PLAN, cluster=spec))
    assert not world.store.exists()
    assert world.steps == []


def test_a_store_that_cannot_be_written_stops_the_run_before_the_cluster(world: World) -> None:
    world.store.touch()
    with pytest.raises(StoreError, match="--store"):
        world.run()
    assert world.steps == []


def test_a_failure_while_it_runs_is_255_and_what_there_is_is_judged(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: ToyNemesis, stop: object) -> None:
        self.inject()
        raise RuntimeError("n2: the connection went away")

    monkeypatch.setattr(ToyNemesis, "run", broken)
    assert world.run() == 255
    assert world.results["harness_failure"] == "nemesis: RuntimeError: n2: the connection went away"
    assert world.results["verdict"] == "unknown"
    assert world.nemesis is not None
    assert not world.nemesis.standing
    assert world.steps[-4:] == ["unlock", "conclude", "draw", "stop Spark"]


@pytest.fixture
def counting(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A machine whose kernel ended one process before the run and one in it."""
    kills = iter((1, 2))

    def look(self: ToyRemote, commands: Mapping[str, Command]) -> dict[str, Completed]:
        said = f"boot\n{next(kills)}\n" if any("oom_kill" in one.argv[-1] for one in commands.values()) else "same\n"
        return {node: Completed(node, 0, said, "", 0.0) for node in commands}

    monkeypatch.setattr(ToyRemote, "run", look)
    return world


def test_a_process_that_the_kernel_ended_is_no_finding_about_the_system(counting: World) -> None:
    """Also where a fault that takes memory away was planned, and never tried."""
    assert counting.run() == 255
    assert "OOM killer killed processes" in counting.results["harness_failure"]


def test_a_process_that_has_ended_by_the_end_makes_the_run_unknown(world: World) -> None:
    world.ended = {"n2": ["server"]}
    assert world.run(LONGER) == 2, world.why
    (seen,) = [check["seen"] for check in world.results["checks"] if check["name"] == "node-logs"]
    assert "the server of n2 was no longer running at the end" in seen


def test_a_fault_that_takes_memory_away_explains_it(counting: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToyFaults, "tried", frozenset({"memory-pressure"}))
    assert counting.run() in BLAMELESS
    assert any("OOM killer killed processes" in warning for warning in counting.results["warnings"])


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (("1\n5\n", "1\n9\n"), "n2 was rebooted during the run"),
        pytest.param(
            ("1\n5\n", RemoteError("n2", "no SSH server")),
            "not reached at the end of the run: n2: no SSH server",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_node_that_reboots_or_goes_away_is_no_finding_about_the_system(
    world: World, monkeypatch: pytest.MonkeyPatch, answers: tuple[Any, Any], said: str
) -> None:
    """Its server is missing from then on, which would be blamed on the system as ``no-recovery``."""
    started = iter(answers)

    def run(self: ToyRemote, commands: Mapping[str, Command]) -> dict[str, Completed]:
        looked = {n: next(started) if n == "n2" and "boot_id" in c.argv[-1] and "oom_kill" not in c.argv[-1] else ""
                  for n, c in commands.items()}  # fmt: skip
        for answer in looked.values():
            if isinstance(answer, Exception):
                raise answer
        return {node: Completed(node, 0, answer, "", 0.0) for node, answer in looked.items()}

    monkeypatch.setattr(ToyRemote, "run", run)
    world.register.stuck.add("n2")
    assert world.run(replace(PLAN, recovery_time=0.3)) == 255
    assert said in world.results["harness_failure"]
    assert world.results["verdict"] == "unknown", world.why


def test_a_log_that_cannot_be_written_says_nothing_by_itself(capfd: pytest.CaptureFixture[str]) -> None:
    """The history, which is on the same disk, says it; the log's own words were a traceback a line."""
    with logging_to(Path("/dev/full")):
        run_module.log.error("the run failed", exc_info=OSError(28, "No space left on device"))
        run_module.log.warning("again")
    assert capfd.readouterr() == ("", "")


def test_a_disk_that_is_full_at_the_end_is_255_and_no_bug(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run_module, "conclude", full)
    assert world.run() == 255
    assert f"harness failure: No space left on device: make room in {world.store}" in world.said
    assert world.steps[-1] == "stop Spark"


@pytest.mark.parametrize(("lost", "code"), [(True, 1), (False, 255)])
@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("harness.judge.conclude.store_tables", OSError(28, "No space left on device")),
        pytest.param("harness.execution.run.append_to_warehouse", ZeroDivisionError("a bug"), marks=pytest.mark.slow),
        ("harness.execution.run.screen_of", ZeroDivisionError("a bug")),
    ],
)
def test_what_breaks_down_after_the_verdict_does_not_change_it(
    world: World, monkeypatch: pytest.MonkeyPatch, where: str, error: Exception, lost: bool, code: int
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(where, broken)
    world.register.forget_every = 1 if lost else 0
    assert world.run(replace(LONGER, spark=False)) == code, world.said
    assert (world.results["verdict"] == "invalid") == lost
    assert f"harness failure: {error.args[-1]}" in world.said
    assert world.steps.count("draw") == (not isinstance(error, OSError) and "screen_of" not in where)


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


ALL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("number", ALL, ids=lambda number: number.name)
@pytest.mark.parametrize("step", ["clean", "wipe", "install", "start", "await_leader"])
def test_interrupted_before_the_first_operation_it_is_130_collected_and_down(
    world: World, step: str, number: signal.Signals
) -> None:
    world.at[step] = interrupt(number)
    assert world.run() == 130
    assert without_spark(world.steps)[-4:] == ["collect", "kill", "cluster down", "unlock"]
    assert world.steps.count("warm Spark") == world.steps.count("stop Spark")
    assert RunState.read(world.files.state).interrupted


@pytest.mark.parametrize("number", ALL, ids=lambda number: number.name)
def test_interrupted_in_the_main_phase_it_is_healed_collected_judged_and_130(
    world: World, number: signal.Signals
) -> None:
    world.at["fault"] = interrupt(number)
    assert world.run() == 130
    assert world.nemesis is not None
    assert world.nemesis.heals > 0
    assert world.steps[-7:] == ["collect", "kill", "cluster down", "unlock", "conclude", "draw", "stop Spark"]
    assert world.results["verdict"] == "unknown"
    assert next(check for check in world.results["checks"] if check["name"] == "whole")["seen"] == "interrupted"
    assert "no new operations" in world.said
    assert "final-reads" not in RunState.read(world.files.state).moments


@pytest.mark.parametrize("step", ["collect", "cluster down"])
def test_collecting_and_taking_down_cannot_be_torn_in_half(world: World, step: str) -> None:
    world.at[step] = interrupt()
    assert world.run() == 130
    assert world.steps[-7:] == ["collect", "kill", "cluster down", "unlock", "conclude", "draw", "stop Spark"]
    assert "please wait" in world.said


@pytest.mark.parametrize("step", ["conclude", "draw"])
def test_interrupted_while_it_is_judged_the_raw_data_stays(world: World, step: str) -> None:
    world.at[step] = interrupt()
    assert world.run() == 130
    assert f"harness check {world.files.root}" in world.said
    assert world.steps[-1] == "stop Spark"
    assert not read_history(world.files.history).torn


@pytest.mark.parametrize("step", [pytest.param("conclude", marks=pytest.mark.slow), "draw"])
def test_a_terminal_that_goes_away_while_it_is_judged_changes_nothing(world: World, step: str) -> None:
    world.at[step] = interrupt(signal.SIGHUP)
    world.run_well()


class BrokenPipe(StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


def test_a_reader_that_goes_away_costs_nothing(world: World) -> None:
    world.screen = BrokenPipe()
    assert world.run() in BLAMELESS, world.why
    assert world.results["harness_failure"] is None


def test_spark_that_does_not_get_warm_before_the_load_is_not_started_beside_it(world: World) -> None:
    world.spark_is_warm = False
    assert world.run() in BLAMELESS, world.why
    assert world.steps.index("stop Spark") < world.steps.index("collect")
    assert any("judged without Spark" in warning for warning in world.results["warnings"])


def test_the_handlers_and_the_log_are_put_back(world: World) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    world.at["install"] = interrupt()
    world.run()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert "interrupted" in RunFiles(world.files.root).log.read_text()


def test_stopped_at_the_first_violation_it_is_healed_collected_judged_and_1(world: World) -> None:
    world.register.forget_every = 7
    plan = replace(PLAN, keys=1, concurrency=2, time_limit=20.0, spark=False, stop_on_violation=True)
    assert world.run(plan) == 1, world.said
    assert "event " in world.said
    assert world.steps.index("collect") < world.steps.index("cluster down")
    checks = {check["name"]: check for check in world.results["checks"]}
    assert checks["linearizable"]["verdict"] == "invalid"
    assert checks["recovery"]["verdict"] == "unknown"
    assert checks["whole"]["seen"] == "stopped at the first violation, as requested"
    assert read_history(world.files.history).events[-1].time < 15e9
