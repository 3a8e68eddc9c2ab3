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
    probes = sorted((p for p in evidence.probes if p.answered and END in p.own), key=lambda p: p.time)
    wrong = [*moved(probes), *two_states(probes), *outside(probes), *lacking(evidence, probes)]
    starts = {start for case in probes for start in str(case.own.get(STARTS, "")).split()}
    sets = {probe.own[SET_EPOCH] for probe in probes if SET_EPOCH in probe.own}
    parts = replication_seen(wrong, len(starts), len(sets), *disagreement(probes))
    verdict: Verdict = "invalid" if wrong else "valid" if starts and sets else "unknown"
    words = {probe.kind: REPLICATION_KINDS[probe.kind] for probe in wrong}
    return Check(NAME, "check", verdict, REQUIRED[NAME], parts, tuple(wrong), words=words)


def moved(probes: Sequence[Probe]) -> Iterator[Finding]:
    """Yield each epoch that was reported with two starts, with the first two reports that differ."""
    first: dict[str, tuple[str, str]] = {}
    told: set[str] = set()
    for probe in probes:
        for text in str(probe.own.get(STARTS, "")).split():
            epoch, _, start = text.partition(":")
            known, node = first.setdefault(epoch, (start, probe.node))
            if start != known and epoch not in told:
                told.add(epoch)
                nodes = tuple(dict.fromkeys([node, probe.node]))
                yield EpochMoved(nodes=nodes, since=probe.time, epoch=epoch, starts=(known, start))


def _states(probes: Sequence[Probe]) -> list[Probe]:
    return [probe for probe in probes if SET in probe.own]


def _repeated(probes: Sequence[Probe]) -> Iterator[Probe]:
    """Yield each report of a controller that says the same as the report before it on the same node.

    A controller reads set, master and epochs one after another, so a single report may mix two states.
    """
    before: dict[str, Probe] = {}
    for probe in probes:
        known = before.get(probe.node)
        if known is not None and SET in known.own and SET in probe.own and _state(known) == _state(probe):
            yield probe
        before[probe.node] = probe


def two_states(probes: Sequence[Probe]) -> Iterator[Finding]:
    """Yield each epoch that was reported with two different sets, or with two different masters.

    Without a master, a controller keeps the epoch of the last one.
    """
    first: dict[tuple[str, object], tuple[object, str]] = {}
    for probe in _repeated(probes):
        for figure, epoch in ((SET, SET_EPOCH), (MASTER, MASTER_EPOCH)):
            if (shown := probe.own.get(figure)) is None or epoch not in probe.own:
                continue
            known, node = first.setdefault((figure, probe.own[epoch]), (shown, probe.node))
            if shown != known:
                yield TwoStates(
                    nodes=(probe.node,), since=probe.time, figure=figure, of=f"{epoch} {probe.own[epoch]}",
                    first_node=node,
                    states=(str(known), str(shown)),
                )  # fmt: skip
                return


def outside(probes: Sequence[Probe]) -> Iterator[Finding]:
    """Yield the first repeated report of a master that is not in its set."""
    for probe in _repeated(probes):
        if probe.own.get(MASTER) is not None and str(probe.own[MASTER]) not in str(probe.own[SET]).split():
            yield MasterOutside(
                nodes=(probe.node,), since=probe.time, master=str(probe.own[MASTER]), members=str(probe.own[SET])
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
    node_of = {probe.node: probe.node for probe in probes}
    node_of |= {str(probe.own[NUMBER]): probe.node for probe in probes if probe.own.get(NUMBER)}
    states = _states(probes)
    for (members, _, master, _, led), same in groupby(states, key=_state):
        reports = list(same)
        if master is None or len(reports) < 3:
            continue
        begin, end = reports[0].time, reports[-2].time
        sends = sorted(
            (op.ended, positions[op.key, op.value], op.invoked) for op in evidence.operations
            if op.f == "send" and op.outcome == "ok" and op.node == led
            and op.invoked >= begin and op.ended <= end and (op.key, op.value) in positions
        )  # fmt: skip
        for number in str(members).split():
            if number != str(master) and (node := node_of.get(number)) is not None:
                mine = [probe for probe in probes if probe.node == node and begin <= probe.time <= end]
                for _, lived in groupby(mine, key=lambda probe: probe.own[BOOTED]):
                    yield from _lacks(node, list(lived), sends)


def _lacks(node: str, lived: Sequence[Probe], sends: Sequence[tuple[int, int, int]]) -> Iterator[Finding]:
    mine = [send for send in sends if lived and send[2] >= lived[0].time]
    times = [ended for ended, _, _ in mine]
    furthest = list(accumulate((place for _, place, _ in mine), max))
    for before, probe in pairwise(lived):
        acknowledged = bisect_right(times, before.time)
        if acknowledged and furthest[acknowledged - 1] >= _number(probe, END):
            place, end = furthest[acknowledged - 1], _number(probe, END)
            yield MemberLacks(nodes=(node,), since=probe.time, place=place, end=end)
            return


def _number(probe: Probe, name: str) -> int:
    return int(probe.own[name])


def _state(probe: Probe) -> tuple[object, ...]:
    own = probe.own
    return own[SET], own[SET_EPOCH], own.get(MASTER), own.get(MASTER_EPOCH), own.get(MASTER_NODE)


def _positions(operations: Sequence[Operation]) -> dict[tuple[object, object], int]:
    """Return the position in the commit log of each message that was read at the end."""
    positions: dict[tuple[object, object], int] = {}
    for operation in operations:
        if operation.f == "read" and operation.outcome == "ok":
            places = zip(operation.result["payloads"], operation.result.get("positions", ()), strict=False)
            positions.update(((operation.key, payload), place) for payload, place in places)
    return positions


def disagreement(probes: Sequence[Probe]) -> tuple[int, int]:
    """Return how long the newest master and its controller reported sets of different sizes: in total, and at most.

    Times are in ns.  Each report counts as one second.
    """
    master: Probe | None = None
    controller: Probe | None = None
    total = longest = current = 0
    last = 0
    for probe in probes:
        if _differ(master, controller, probe.time):
            current += probe.time - last
            total += probe.time - last
            longest = max(longest, current)
        else:
            current = 0
        last = probe.time
        if IN_SYNC in probe.own and (master is None or _number(probe, EPOCH) >= _number(master, EPOCH)):
            master = probe
        if SET in probe.own and (controller is None or _number(probe, SET_EPOCH) >= _number(controller, SET_EPOCH)):
            controller = probe
    return total, longest


def _differ(master: Probe | None, controller: Probe | None, now: int) -> bool:
    if master is None or controller is None or min(master.time, controller.time) < now - _FRESH:
        return False
    return master.node == controller.own.get(MASTER_NODE) and master.own[IN_SYNC] != controller.own[SET_SLAVES]
