"""Judge how brokers with elected masters replicate, by what they and their controllers report about epochs and sets.

- ``epoch-moved``: two reports give one epoch different starts.  Replicas find their common part by these starts.
- ``two-states-of-one-epoch``: controllers report two sets, or two masters, with one epoch.  An epoch is granted once.
- ``master-outside-set``: a controller reports a set of brokers in sync without its master.
- ``acknowledged-without-member``: with ``all_ack``, a message was acknowledged, and a broker that was in the set at the
  time did not have it afterwards.  This is judged only with a single controller, because a controller that was deposed
  may report an old set.

A report of a controller about sets and masters counts only if its next report says the same.

How long the master and the controller disagreed about the size of the set is only reported, because nobody promises a
limit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Final

from harness.systems.api import Evidence
from harness.systems.rocketmq_brokers.probes import (
    END,
    EPOCH,
    IN_SYNC,
    MASTER,
    MASTER_EPOCH,
    MASTER_NODE,
    NUMBER,
    SET,
    SET_EPOCH,
    SET_SLAVES,
    STARTS,
)
from harness.systems.rocketmq_brokers.queues import BOOTED
from harness.systems.rocketmq_brokers.words import (
    REPLICATION_KINDS,
    REQUIRED,
    EpochMoved,
    MasterOutside,
    MemberLacks,
    TwoStates,
    replication_seen,
)
from history import Check, Operation, Probe, Verdict
from history.records.finding import Finding

NAME: Final = "replication"
#: Reports older than this (ns) are not compared with newer ones.
_FRESH: Final = 1_000_000_000


def replication(evidence: Evidence) -> Check:
    """Check epochs, sync state sets, and that acknowledged messages are on every broker of the set."""
    probes = sorted((one for one in evidence.probes if one.answered and END in one.own), key=lambda one: one.time)
    wrong = [*moved(probes), *two_states(probes), *outside(probes), *lacking(evidence, probes)]
    starts = {start for one in probes for start in str(one.own.get(STARTS, "")).split()}
    sets = {one.own[SET_EPOCH] for one in probes if SET_EPOCH in one.own}
    seen = replication_seen(wrong, len(starts), len(sets), *disagreement(probes))
    verdict: Verdict = "invalid" if wrong else "valid" if starts and sets else "unknown"
    words = {one.kind: REPLICATION_KINDS[one.kind] for one in wrong}
    return Check(NAME, "check", verdict, REQUIRED[NAME], seen, tuple(wrong), words=words)


def moved(probes: Sequence[Probe]) -> Iterator[Finding]:
    """Yield each epoch that was reported with two starts, with the first two reports that differ."""
    first: dict[str, tuple[str, str]] = {}
    told: set[str] = set()
    for one in probes:
        for text in str(one.own.get(STARTS, "")).split():
            epoch, _, start = text.partition(":")
            known, node = first.setdefault(epoch, (start, one.node))
            if start != known and epoch not in told:
                told.add(epoch)
                nodes = tuple(dict.fromkeys([node, one.node]))
                yield EpochMoved(nodes=nodes, since=one.time, epoch=epoch, starts=(known, start))


def _states(probes: Sequence[Probe]) -> list[Probe]:
    return [one for one in probes if SET in one.own]


def _repeated(probes: Sequence[Probe]) -> Iterator[Probe]:
    """Yield each report of a controller that says the same as the report before it on the same node.

    A controller reads set, master and epochs one after another, so a single report may mix two states.
    """
    before: dict[str, Probe] = {}
    for one in probes:
        known = before.get(one.node)
        if known is not None and SET in known.own and SET in one.own and _state(known) == _state(one):
            yield one
        before[one.node] = one


def two_states(probes: Sequence[Probe]) -> Iterator[Finding]:
    """Yield each epoch that was reported with two different sets, or with two different masters.

    Without a master, a controller keeps the epoch of the last one.
    """
    first: dict[tuple[str, object], tuple[object, str]] = {}
    for one in _repeated(probes):
        for what, epoch in ((SET, SET_EPOCH), (MASTER, MASTER_EPOCH)):
            if (shown := one.own.get(what)) is None or epoch not in one.own:
                continue
            known, node = first.setdefault((what, one.own[epoch]), (shown, one.node))
            if shown != known:
                yield TwoStates(
                    nodes=(one.node,), since=one.time, figure=what, of=f"{epoch} {one.own[epoch]}", first_node=node,
                    states=(str(known), str(shown)),
                )  # fmt: skip
                return


def outside(probes: Sequence[Probe]) -> Iterator[Finding]:
    """Yield the first repeated report of a master that is not in its set."""
    for one in _repeated(probes):
        if one.own.get(MASTER) is not None and str(one.own[MASTER]) not in str(one.own[SET]).split():
            yield MasterOutside(
                nodes=(one.node,), since=one.time, master=str(one.own[MASTER]), members=str(one.own[SET])
            )
            return


def lacking(evidence: Evidence, probes: Sequence[Probe]) -> Iterator[Finding]:
    """Yield the first broker of a set that lacks a message after it was acknowledged by the master of that set.

    The set is the same from one report to another with the same epoch.  Each report was made after the report before it
    on the same node had arrived.  Only brokers that had been running when the message was sent count.
    """
    if not evidence.setup.options["all_ack"] or evidence.setup.options["controllers"] != "one":
        return
    positions = _positions(evidence.operations)
    node_of = {one.node: one.node for one in probes}
    node_of |= {str(one.own[NUMBER]): one.node for one in probes if one.own.get(NUMBER)}
    states = _states(probes)
    for (members, _, master, _, led), same in groupby(states, key=_state):
        reports = list(same)
        if master is None or len(reports) < 3:
            continue
        begin, end = reports[0].time, reports[-2].time
        sends = sorted(
            (one.ended, positions[one.key, one.value], one.invoked) for one in evidence.operations
            if one.f == "send" and one.outcome == "ok" and one.node == led
            and one.invoked >= begin and one.ended <= end and (one.key, one.value) in positions
        )  # fmt: skip
        for number in str(members).split():
            if number != str(master) and (node := node_of.get(number)) is not None:
                mine = [one for one in probes if one.node == node and begin <= one.time <= end]
                for _, lived in groupby(mine, key=lambda one: one.own[BOOTED]):
                    yield from _lacks(node, list(lived), sends)


def _lacks(node: str, lived: Sequence[Probe], sends: Sequence[tuple[int, int, int]]) -> Iterator[Finding]:
    mine = [one for one in sends if lived and one[2] >= lived[0].time]
    times = [ended for ended, _, _ in mine]
    furthest = list(accumulate((place for _, place, _ in mine), max))
    for before, one in pairwise(lived):
        acknowledged = bisect_right(times, before.time)
        if acknowledged and furthest[acknowledged - 1] >= _number(one, END):
            place, end = furthest[acknowledged - 1], _number(one, END)
            yield MemberLacks(nodes=(node,), since=one.time, place=place, end=end)
            return


def _number(one: Probe, name: str) -> int:
    return int(one.own[name])


def _state(one: Probe) -> tuple[object, ...]:
    own = one.own
    return own[SET], own[SET_EPOCH], own.get(MASTER), own.get(MASTER_EPOCH), own.get(MASTER_NODE)


def _positions(operations: Sequence[Operation]) -> dict[tuple[object, object], int]:
    """Return the position in the commit log of each message that was read at the end."""
    found: dict[tuple[object, object], int] = {}
    for one in operations:
        if one.f == "read" and one.outcome == "ok":
            places = zip(one.result["payloads"], one.result.get("positions", ()), strict=False)
            found.update(((one.key, payload), place) for payload, place in places)
    return found


def disagreement(probes: Sequence[Probe]) -> tuple[int, int]:
    """Return how long the newest master and its controller reported sets of different sizes: in total, and at most.

    Times are in ns.  Each report counts as one second.
    """
    master: Probe | None = None
    controller: Probe | None = None
    total = longest = current = 0
    last = 0
    for one in probes:
        if _differ(master, controller, one.time):
            current += one.time - last
            total += one.time - last
            longest = max(longest, current)
        else:
            current = 0
        last = one.time
        if IN_SYNC in one.own and (master is None or _number(one, EPOCH) >= _number(master, EPOCH)):
            master = one
        if SET in one.own and (controller is None or _number(one, SET_EPOCH) >= _number(controller, SET_EPOCH)):
            controller = one
    return total, longest


def _differ(master: Probe | None, controller: Probe | None, now: int) -> bool:
    if master is None or controller is None or min(master.time, controller.time) < now - _FRESH:
        return False
    return master.node == controller.own.get(MASTER_NODE) and master.own[IN_SYNC] != controller.own[SET_SLAVES]
