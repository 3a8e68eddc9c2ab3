"""A good run, and functions that change parts of it."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from harness.judge.judge import judge
from harness.judge.recorded import Recorded
from harness.plan import Plan
from harness.runstate import RunState
from history import Check, KeyVerdict, Operation, Probe, Receipt, Results
from history.columns.operations import from_operations

S = 1_000_000_000
T = TypeVar("T")


def replace(record: T, **changes: Any) -> T:
    """Change fields of a record; operations may be given as objects."""
    if "operations" in changes:
        changes["operations"] = from_operations(changes["operations"])
    return dataclasses.replace(record, **changes)  # type: ignore[type-var]


NODES = ("n1", "n2", "n3")


MOMENTS = {
    "warm-up": 0, "main": 2 * S, "main-end": 60 * S, "healed": 61 * S, "recovered": 64 * S, "final-reads": 64 * S,
    "end": 66 * S,
}  # fmt: skip


def operation(at: float, f: str, *, key: str = "k0", outcome: Any = "ok", phase: Any = "main") -> Operation:
    time = round(at * S)
    return Operation(0, f, key, None, None, outcome, time, time + S // 10, time, time + 1, phase=phase)


def asked_in_vain(seconds: range, *kinds: str, phase: Any = "final") -> tuple[Operation, ...]:
    """Make failing operations of these kinds, one per second, each two seconds long."""
    return tuple(
        replace(operation(at, f, phase=phase, outcome="fail"), returned=at * S + 2 * S) for at in seconds for f in kinds
    )


def receipt(fault: str = "kill-one", **changes: Any) -> Receipt:
    whole = Receipt(
        0, fault, "installed", 20 * S, ("n1",), stood=20 * S, heal_started=30 * S, healed=31 * S, witness={"pid": 1}
    )
    return replace(whole, **changes)


def probe(at: float, node: str, applied: int, role: Any = "follower", term: int = 1) -> Probe:
    return Probe(
        round(at * S), node, role, term, log_end=applied, committed=applied, applied=applied,
        state_index=applied, digest=f"of {applied}",
    )  # fmt: skip


OPERATIONS = (
    operation(1, "write", phase="warm-up"),
    operation(5, "read"),
    operation(25, "write"),
    operation(62, "read", phase="final"),
    operation(62, "write", phase="final"),
    operation(64.5, "read", phase="final"),
)


PROBES = (
    probe(30.5, "n1", 40, "leader"),
    *(probe(33, node, 41) for node in NODES),
    probe(60.5, "n1", 100, "leader"),
    probe(60.6, "n1", 100, "leader"),
    probe(60.8, "n1", 100, "leader"),
    *(probe(63, node, 101) for node in NODES),
)


def good() -> Recorded:
    return Recorded(
        plan=Plan(seed=1, nemesis=("kill-one",), rate=0.05),
        operations=from_operations(OPERATIONS),
        receipts=(receipt(),),
        probes=PROBES,
        state=RunState(moments=dict(MOMENTS), environment={"java": "21"}, warnings=["w"], ended=True),
        nodes=NODES,
        members=NODES,
        log_hits={node: {} for node in NODES},
    )


def check_named(name: str, results: Results) -> Check:
    return next(check for check in results.checks if check.name == name)


KEYS = (KeyVerdict("k0", "valid", "zones", 5, 0.1),)


def asked_all_the_time(recorded: Recorded) -> Recorded:
    """Add a failed probe every second, of a node that no check looks at, to show that the harness was awake."""
    end = max([recorded.state.moments.get("end", 0), *(one.time for one in recorded.probes)])
    awake = [Probe(time, "n9", error="timed out") for time in range(0, end + 1, S)]
    return replace(recorded, probes=tuple(sorted([*recorded.probes, *awake], key=lambda one: one.time)))


def judged(recorded: Recorded, keys: tuple[KeyVerdict, ...] = KEYS) -> Results:
    return judge(asked_all_the_time(recorded) if recorded.probes else recorded, keys, [], {})
