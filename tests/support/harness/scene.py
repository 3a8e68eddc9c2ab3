"""A run whose conductor is real and everything else fake."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from checker import check_operations
from harness.execution.conductor import Conductor
from harness.execution.context import RunContext
from harness.execution.probes import ProbeLog
from harness.execution.standstills import Standstills
from harness.plan import Plan
from harness.runstate import MOMENTS, RunState
from harness.systems.dledger.client import RegisterClient
from harness.systems.dledger.status import StatusProber
from history import Event, Header, HistoryWriter, Operation, pair, read_history
from tests.support.harness.toy_nemesis import ToyNemesis
from tests.support.harness.toy_register import ToyRegister

PLAN = Plan(
    seed=1, nemesis=("toy",), concurrency=5, rate=400.0, keys=3, warm_up=0.1, time_limit=0.4, interval=0.1,
    client_timeout=0.3, recovery_time=2.0,
)  # fmt: skip


#: ``end`` is recorded where the files are closed.
RESTART = ("restarting", "restarted", "restarted-recovered", "restarted-reads", "restarted-quiet")


REACHED = tuple(moment for moment in MOMENTS if moment not in (*RESTART, "end"))


SHORT = replace(PLAN, warm_up=0.02, time_limit=0.1)


@dataclass
class WatchedState(RunState):
    """Calls back at every moment of the run when it is reached."""

    on_reach: Callable[[str], None] = field(default=lambda moment: None)

    def reach(self, moment: str, time: int) -> None:
        super().reach(moment, time)
        self.on_reach(moment)


class Scene:
    """One run in its own directory; tests change what they want to be different before :meth:`run`."""

    def __init__(self, root: Path, register: ToyRegister, plan: Plan = SHORT, nemesis: Any = ToyNemesis) -> None:
        self.register, self.path = register, root / "history.jsonl"
        started = time.monotonic_ns()
        self.history = HistoryWriter(self.path, Header(), started_ns=started, clock=time.monotonic_ns)
        self.probes = ProbeLog(root / "probes.jsonl")
        self.state = WatchedState(root / "run.json")
        self.system = ToySystem(register, plan)
        self.standstills = Standstills()
        self.context = RunContext(plan, self.system, self.history, self.probes, self.state, self.standstills, started)
        self.conductor = Conductor(self.context, lambda record: self._keep(nemesis(record)))

    def _keep(self, nemesis: ToyNemesis) -> ToyNemesis:
        self.nemesis = nemesis
        return nemesis

    def run(self) -> Scene:
        began = time.monotonic()
        self.conductor.run()
        self.seconds = time.monotonic() - began
        self.history.close()
        self.probes.close()
        self.events = read_history(self.path).events
        return self

    @property
    def operations(self) -> list[Operation]:
        return pair(self.events)

    @property
    def client_events(self) -> list[Event]:
        return [event for event in self.events if event.process != "nemesis"]

    def verdicts(self, model: str = "register") -> set[str]:
        return set(self.verdict_by_key(model).values())

    def verdict_by_key(self, model: str = "register") -> dict[str | int | None, str]:
        by_key: dict[str | int | None, list[Operation]] = defaultdict(list)
        for operation in self.operations:
            by_key[operation.key].append(operation)
        return {key: check_operations(found, model, deadline_s=10).verdict for key, found in by_key.items()}


class ToySystem:
    """Records what was done to it; starting it raises ``fails``."""

    def __init__(self, register: ToyRegister, plan: Plan) -> None:
        self.register = register
        self.names = self.serving = self.members = register.names
        self.plan = plan
        self.steps: list[str] = []
        self.fails: Exception | None = None

    def kill(self, nodes: Any) -> None:
        assert tuple(nodes) == self.register.names
        self.steps.append("kill")

    def start(self, nodes: Any) -> None:
        assert tuple(nodes) == self.register.names
        self.steps.append("start")
        if self.fails is not None:
            raise self.fails

    def clients(self, number: int) -> list[RegisterClient]:
        return self.register.clients(number, self.plan.client_timeout)

    def probers(self) -> dict[str, StatusProber]:
        return self.register.probers()

    def await_leader(self) -> str:
        self.steps.append("await_leader")
        return "n1"
