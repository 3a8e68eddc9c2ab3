"""Every workload against the server in memory: a right one is found right, a broken one is found out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker import check
from harness.generators import Completion, Stream
from harness.plan import Plan
from harness.systems import Machine, Setup
from harness.systems.api import Evidence, Workload
from harness.systems.dledger import SYSTEM
from harness.systems.dledger.objects import request_of
from harness.systems.dledger.outcomes import completion_of
from harness.testing import history_of_workload
from harness.workloads import Invocation
from history import Event, pair
from tests.support.harness.register_twin import BUGS, Bug, RegisterTwin

BY_NAME = {workload.name: workload for workload in SYSTEM.workloads}
#: Those of registers are held by ``tests/harness/test_workloads.py`` and the memory of ``harness.testing``.
NAMES = [name for name in BY_NAME if name not in ("register", "cas-register", "mixed-registers")]
SETUP = Setup(version="0.3.2", nodes=(Machine("n1", "127.0.0.1"),))


def history(workload: Workload, bug: Bug, seed: int, most: int, *, doubts: float = 0.0) -> list[Event]:
    """A main phase and the final reads; a share of the answers of the main phase is lost."""
    twin = RegisterTwin(bug)

    def answers(invocation: Invocation, stream: Stream) -> tuple[Completion, Stream]:
        reply = completion_of(invocation, twin.answer(request_of(invocation, "log")), "n1")
        draw, stream = stream.draw()
        lost = draw < doubts and invocation.f not in workload.reads and not invocation.final
        seconds, stream = stream.draw()
        if lost:
            return Completion(0.001 + seconds / 100, "info", invocation.value), stream
        return Completion(0.001 + seconds / 100, reply.type, reply.value, reply.error), stream

    return history_of_workload(workload, answers, seed=seed, most=most, setup=SETUP)


def verdicts(workload: Workload, events: list[Event]) -> set[str]:
    operations = pair(events)
    evidence = Evidence(setup=SETUP, nodes=("n1",), operations=operations, probes=(), receipts=(), moments={})
    assert isinstance(workload.model, str)
    report = check(events, workload.model)
    return {report.verdict, *(one(evidence).verdict for one in workload.checks)}


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(NAMES), st.integers(0, 2**32), st.sampled_from([0.0, 0.02]))
def test_a_right_server_is_always_right(name: str, seed: int, doubts: float) -> None:
    assert verdicts(BY_NAME[name], history(BY_NAME[name], "", seed, 100, doubts=doubts)) == {"valid"}


@pytest.mark.parametrize("name", NAMES)
def test_a_long_run_of_a_right_server_is_decided(name: str) -> None:
    assert verdicts(BY_NAME[name], history(BY_NAME[name], "", 3, 3000, doubts=0.003)) == {"valid"}


#: The library's own get promises nothing of what is new, so a stale one is no violation.
UNPROMISED: tuple[tuple[str, Bug], ...] = (("append-log", "stale"),)


#: To find these takes more than half a second each.
LONG_SEARCHES = {("bank", "stale"), ("bank", "twice")}
BUGGY = [
    pytest.param(name, bug, marks=[pytest.mark.slow] if (name, bug) in LONG_SEARCHES else [], id=f"{name}-{bug}")
    for name in NAMES
    for bug in BUGS
]


@pytest.mark.parametrize(("name", "bug"), BUGGY)
def test_every_bug_is_found(name: str, bug: Bug) -> None:
    found = verdicts(BY_NAME[name], history(BY_NAME[name], bug, 1, 1500))
    assert ("invalid" in found) == ((name, bug) not in UNPROMISED)


@pytest.mark.parametrize("name", NAMES)
def test_the_gates_ask_for_what_the_workload_does(name: str) -> None:
    workload = BY_NAME[name]
    events = history(workload, "", 5, 600)
    done = {event.f for event in events if event.type == "ok" and event.phase != "final"}
    assert set(workload.kinds) <= done
    assert workload.reads & {event.f for event in events if event.phase == "final"}
    read = {event.key for event in events if event.phase == "final" and event.type == "ok"}
    assert read == {event.key for event in events}
    assert Plan(seed=1, workload=name, version="0.3.2").load is workload
