"""A kill or a pause under which the system goes on answering counts for nothing."""

from __future__ import annotations

from typing import Any

import pytest

from harness.judge.recorded import Recorded
from harness.judge.went_on import went_on
from history.records.operations import NEVER_MADE, UNAPPLIED
from tests.support.harness.good_run import NODES, S, check_named, good, judged, operation, probe, receipt, replace

ONE = {node: ["server"] for node in NODES}


def run_with(roles: object, nodes: tuple[str, ...] = NODES, **more: Any) -> Recorded:
    """A pause of these nodes that stood from 20 to 30 s."""
    whole = good()
    pause = receipt("hammer-time", nodes=nodes, family="pause")
    state = replace(whole.state, environment={"roles": roles})
    plan = replace(whole.plan, nemesis=("hammer-time",))
    return replace(whole, plan=plan, receipts=(pause,), state=state, **{"operations": (), "probes": (), **more})


DOWN = tuple(replace(probe(at, "n1", -1), error="timed out") for at in (20.5, 24, 29))


@pytest.mark.parametrize(
    ("run", "answered"),
    [
        (run_with(ONE, operations=(operation(25, "write"),)), True),
        (
            run_with(ONE, operations=(operation(25, "read", outcome="fail"), operation(25, "write", outcome="info"))),
            False,
        ),
        # An object that was never made is not asked for; an entry that was not applied was acknowledged all the same.
        (run_with(ONE, operations=(replace(operation(25, "read"), error=NEVER_MADE),)), False),
        (run_with(ONE, operations=(replace(operation(25, "write"), error=UNAPPLIED),)), True),
        # Asked before it stood; answered when it was healed.
        (run_with(ONE, operations=(operation(19.95, "read"), operation(29.95, "read"))), False),
        # The third node, or another process on one of them, may have answered.
        (run_with(ONE, nodes=("n1", "n2"), operations=(operation(25, "write"),)), False),
        (run_with({**ONE, "n1": ["server", "gateway"]}, operations=(operation(25, "write"),)), False),
        (run_with({"n1": ["server"], "n2": [], "n3": []}, nodes=("n1",), operations=(operation(25, "write"),)), True),
        (run_with(ONE, nodes=("n1",), probes=(*DOWN, probe(29.5, "n1", 7))), True),
        # The first answer may be to a question of before; others may answer as they like.
        (run_with(ONE, nodes=("n1",), probes=(probe(20.1, "n1", 7), *DOWN, probe(30.2, "n1", 7))), False),
        (run_with(ONE, nodes=("n1",), probes=(*DOWN, probe(25, "n2", 7), probe(26, "n2", 7))), False),
        (run_with({**ONE, "n1": ["server", "agent"]}, nodes=("n1",), probes=(*DOWN, probe(29.5, "n1", 7))), False),
        # A role may have any name.
        (run_with({**ONE, "n1": ["server, big"]}, nodes=("n1",), probes=(*DOWN, probe(29.5, "n1", 7))), True),
        (run_with({**ONE, "n1": "server"}, nodes=("n1",), probes=(*DOWN, probe(29.5, "n1", 7))), False),
        (run_with({**ONE, "n1": None}, operations=(operation(25, "write"),)), False),
    ],
)
def test_answers_count_where_only_the_victim_can_have_given_them(run: Recorded, answered: bool) -> None:
    assert bool(went_on(run)) == answered


def test_a_run_whose_only_pause_was_not_felt_is_unknown() -> None:
    run = run_with(ONE, operations=good().operations, probes=good().probes)
    gate = check_named("faults", judged(run))
    assert gate.verdict == "unknown"
    assert "1 not felt" in gate.seen
    felt = replace(run, operations=tuple(op for op in run.operations if op.invoked != 25 * S))
    assert check_named("faults", judged(felt)).verdict == "valid"


def test_a_cut_stops_nobody() -> None:
    run = run_with(ONE, operations=(operation(25, "write"),))
    cut = replace(run.receipts[0], fault="partition-random-halves", family="partition")
    assert went_on(replace(run, receipts=(cut,))) == {}
