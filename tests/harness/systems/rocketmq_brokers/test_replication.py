"""How brokers with elected masters replicate: a good and a bad twin for each kind of violation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from harness.systems import Machine, Setup
from harness.systems.api import Evidence
from harness.systems.rocketmq_brokers.probes import END
from harness.systems.rocketmq_brokers.replication import disagreement, replication
from history import Check, Operation, Probe

S = 10**9
NODES = ("n1", "n2", "n3")
NUMBERS = {node: number for number, node in enumerate(NODES, 1)}


def broker(at: float, node: str, end: int = 90, starts: str = "1:0", **own: Any) -> Probe:
    """A report of a broker, and of its controller if there is a ``set``."""
    epoch = int(starts.split()[-1].partition(":")[0])
    figures: dict[str, Any] = {
        END: end,
        "epoch": epoch,
        "epoch_starts": starts,
        "broker_id": NUMBERS[node],
        "booted": 5,
    }
    leads = "in_sync_slaves" in own
    return Probe(round(at * S), node, role="leader" if leads else "follower", own={**figures, **own})


def twice(at: float, node: str, **own: Any) -> list[Probe]:
    return [broker(at, node, **own), broker(at + 0.5, node, **own)]


def state(members: str = "1 2 3", set_epoch: int = 7, master: int | None = 1, master_epoch: int = 1) -> dict[str, Any]:
    known = {"set_master": master, "master_epoch": master_epoch, "master_node": f"n{master}"} if master else {}
    return {"set": members, "set_slaves": len(members.split()) - 1, "set_epoch": set_epoch, **known}


def judged(
    probes: Sequence[Probe], operations: Sequence[Operation] = (), controllers: str = "one", all_ack: bool = True
) -> Check:
    nodes = tuple(Machine(node, "") for node in NODES)
    setup = Setup(version="1", options={"controllers": controllers, "all_ack": all_ack}, nodes=nodes)
    return replication(
        Evidence(setup=setup, nodes=NODES, operations=operations, probes=probes, receipts=(), moments={})
    )  # fmt: skip


def kinds(check: Check) -> set[str]:
    assert (check.verdict == "invalid") == bool(check.findings)
    assert {one.kind for one in check.findings} == set(check.words)
    return {one.kind for one in check.findings}


@pytest.mark.parametrize(
    ("kind", "probes"),
    [
        ("", [broker(0, "n1", starts="1:0 2:50", **state()), broker(1, "n2", starts="1:0"),
              broker(2, "n2", starts="1:0 2:50")]),
        ("epoch-moved", [broker(0, "n1", starts="1:0 2:50", **state()), broker(2, "n2", starts="1:0 2:60")]),
        ("epoch-moved", [broker(0, "n1", starts="1:0 2:50", **state()), broker(2, "n1", starts="1:0 2:60")]),
        ("", [broker(0, "n1", **state()), broker(1, "n2", **state()), broker(2, "n2", **state("1 2", 8))]),
        ("", [broker(0, "n1", **state("1 2", 8)), broker(1, "n2", **state())]),
        ("", [broker(0, "n1", **state()), broker(1, "n2", **state("1 2", 8, None)),
              broker(2, "n2", **state("2", 9, 2, 2))]),
        ("two-states-of-one-epoch", [*twice(0, "n1", **state()), *twice(2, "n2", **state("1 2"))]),
        ("two-states-of-one-epoch", [*twice(0, "n1", **state()), *twice(2, "n1", **state("1 2", 8, 2))]),
        ("master-outside-set", twice(0, "n1", **state("2 3"))),
        ("master-outside-set", twice(0, "n1", **state("n2 n3") | {"set_master": "n1"})),
        ("", twice(0, "n1", **state("n1 n3") | {"set_master": "n1"})),
        ("", [*twice(0, "n1", **state(set_epoch=7)), broker(2, "n1", **state(set_epoch=8)),
              *twice(3, "n1", **state("1 2", 8))]),
        ("", [*twice(0, "n1", **state()), broker(2, "n1", **state("2", 8, 1, 2)),
              *twice(3, "n1", **state("2", 8, 2, 2))]),
        ("", [broker(0, "n1", **state("2 3")), broker(1, "n2", **state("2 3"))]),
    ],
    ids=["a slave gets an epoch", "two starts", "a start moves", "a set shrinks", "an old set", "an election",
         "two sets", "two masters", "a master outside", "a master outside, by name", "a master inside, by name",
         "a set that was read before its epoch", "a master that was read before its epoch and set", "on two nodes"],
)  # fmt: skip
def test_epochs_and_sets(kind: str, probes: list[Probe]) -> None:
    assert kinds(judged(probes)) == ({kind} if kind else set())


def test_without_reports_nothing_is_known() -> None:
    assert judged([]).verdict == "unknown"
    assert judged([broker(0, "n1")]).verdict == "unknown"


# -- what is acknowledged is on every broker of the set ----------------------------------------------------------------

SENT = Operation(0, "send", "queue-0", 10, 0, "ok", 2 * S, 3 * S, 0, 1, "n1")
#: The message is in the bytes from 50 on.
READ = Operation(1, "read", "queue-0", None, {"first": 0, "payloads": [10], "end": 1, "positions": [50]}, "ok",
                 90 * S, 91 * S, 2, 3, "n1")  # fmt: skip


def master(*times: float, node: str = "n1", **changed: Any) -> list[Probe]:
    """Reports of a master, with a controller on the same node."""
    return [broker(at, node, 60, in_sync_slaves=2, **state(**changed)) for at in times]


STATES = master(1, 4, 5, 6)


def slave(*ends: tuple[float, int], **own: Any) -> list[Probe]:
    return [broker(at, "n3", end, **own) for at, end in ends]


LACKS = slave((1.5, 40), (3.5, 40), (4.5, 50))


@pytest.mark.parametrize(
    ("probes", "lacks"),
    [
        ([*STATES, *LACKS], True),
        ([*STATES, *slave((1.5, 40), (3.5, 40), (4.5, 60))], False),
        ([*STATES, *slave((1.5, 40), (3.5, 40))], False),
        ([*STATES, *slave((1.5, 40), (2.5, 40), (4.5, 50))], False),
        ([*STATES, *slave((1.5, 40), (3.5, 40)), *slave((4.5, 50), booted=6)], False),
        ([*STATES, *slave((2.5, 40), (3.5, 40), (4.5, 50))], False),
        ([*master(1, 4, 5, 6, members="1 2"), *LACKS], False),
        ([*[one for at in (1, 4, 5, 6) for one in master(at, set_epoch=at)], *LACKS], False),
        ([*master(1, 4, 5, 6, node="n2", master=2), *LACKS], False),
        ([*STATES[:2], *LACKS], False),
    ],
    ids=["it lacks the message", "it has the message", "the report may be older", "the next one may be, too",
         "another process", "a process that is younger than the message", "it is not in the set", "the set changes",
         "another broker acknowledged", "the set may have changed"],
)  # fmt: skip
def test_a_broker_of_the_set_has_what_was_acknowledged(probes: list[Probe], lacks: bool) -> None:
    assert kinds(judged(probes, [SENT, READ])) == ({"acknowledged-without-member"} if lacks else set())


@pytest.mark.parametrize(("members", "lacks"), [("n1 n2 n3", True), ("n1 n2", False)])
def test_a_set_may_consist_of_names(members: str, lacks: bool) -> None:
    named = {**state(members), "set_master": "n1"}
    states = [broker(at, "n1", 60, in_sync_slaves=2, **named) for at in (1, 4, 5, 6)]
    assert kinds(judged([*states, *LACKS], [SENT, READ])) == ({"acknowledged-without-member"} if lacks else set())


def test_only_all_ack_promises_that_and_only_a_single_controller_shows_it() -> None:
    probes = [*STATES, *LACKS]
    assert kinds(judged(probes, [SENT, READ], all_ack=False)) == set()
    assert kinds(judged(probes, [SENT, READ], controllers="all")) == set()


# -- how long the master and the controller disagreed ------------------------------------------------------------------


def test_a_disagreement_lasts_from_one_report_to_another() -> None:
    same = broker(0, "n1", in_sync_slaves=2, **state())
    fewer = [broker(at, "n1", in_sync_slaves=1, **state()) for at in (0.5, 1, 1.5)]
    again = broker(2, "n1", in_sync_slaves=1, **state("1 2", 8))
    assert disagreement([same, *fewer, again, broker(3, "n1", in_sync_slaves=1, **state("1 2", 8))]) == (
        1.5 * S,
        1.5 * S,
    )
    assert disagreement([same, again]) == (0, 0)
    silent = [fewer[0], broker(5, "n2"), broker(5.5, "n2")]
    assert disagreement(silent) == (0, 0), "a report counts for a second"
    elected = broker(0.5, "n2", starts="1:0 2:9", in_sync_slaves=0)
    assert disagreement([same, elected, broker(1, "n3")]) == (0, 0), "the controller has not reported it"
