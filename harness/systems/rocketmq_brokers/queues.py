"""Judge queues: logs of unique messages whose replicas can all be read, but may be behind.

Operations, by queue (their ``key``):

========  ==============  =============================================================================================
``f``     value           result
========  ==============  =============================================================================================
``send``  the payload     its offset in the queue
``pull``  a place         ``first``: the place, ``payloads`` from there on, ``end``: the offset of the next message
                          there, ``own``: [place, offset] of messages whose stored offset differs from their place
``read``                  the same for the whole queue, at the end of a run, and ``positions`` in the commit log
========  ==============  =============================================================================================

The checker's model of a log decides what it can: sends are appends, and every message that was read is a get.  It finds
two payloads at one offset, two offsets of one payload, offsets that contradict the order of sends, gaps that no send
can fill, and messages that were never sent, or whose send failed.  A message that a replica does not show is not
treated as missing from the log, because the replica may be behind.  In addition, there are comparisons in linear time:

- ``lost-message``: a message was acknowledged or read before the nodes came to rest, or before all brokers were
  restarted at the end of a run, and then no replica has it, although all have caught up.
- ``missing-on-replica``: such a message is beyond the end of one replica that has caught up, and not beyond another's.
- ``hole``: in the read at the end, a replica shows nothing for two seconds at a place below the end that it reports.
- ``misplaced``: a message is at a place of the queue that is not its offset.
- ``end-went-back``: a replica reported an end, and then the same process reported a lower one.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from checker import check_operations
from harness.systems.api import Evidence
from harness.systems.rocketmq_brokers import words
from harness.systems.rocketmq_brokers.words import LOST, QUEUE_KINDS, ShownMessage, end
from history import Check, Counterexample, Operation, Probe, Verdict
from history.records.finding import Kind, contradictions
from history.records.verdicts import KeyVerdict, worst

_SEVERITIES: Final = (Kind(LOST, "data lost"), Kind("missing-on-replica", "missing on nodes"))
#: The figure of probes that says when a node's process started (ms since 1970).
BOOTED: Final = "booted"


def queues_check(evidence: Evidence) -> Check:
    """Check that every queue is one log, and that the replicas have what they must have."""
    queues: defaultdict[Any, list[Operation]] = defaultdict(list)
    for operation in sorted(evidence.operations, key=lambda operation: operation.invoke_index):
        queues[operation.key].append(operation)
    lives = Lives(evidence.probes)
    examples: list[Counterexample] = []
    lost = 0
    verdicts: list[Verdict] = []
    unknown: list[str] = []
    for key, mine in queues.items():
        queue = Queue(str(key), mine, evidence)
        judged = check_operations(list(queue.as_log()), "log")
        verdicts.append(judged.verdict)
        if judged.verdict == "unknown":
            unknown.append(words.undecided(key, judged))
        if unread := [node for node in evidence.nodes if node not in queue.last]:
            verdicts.append("unknown")
            unknown.append(words.unread(key, unread))
        lost += len(queue.lost())
        examples += [*queue.recorded(judged), *_first_of_each_kind(queue.comparisons(lives))]
    acknowledged = sum(operation.f == "send" and operation.outcome == "ok" for operation in evidence.operations)
    verdicts += [] if acknowledged else ["unknown"]
    examples.sort(key=lambda example: (example.kind != LOST, example.completed_at))
    summary = words.queues_seen(lost, examples, unknown, _counts(queues))
    verdict = "invalid" if examples else worst(verdicts)
    explained = words.WORDS | {
        example.kind: QUEUE_KINDS[example.kind] for example in examples if example.kind in QUEUE_KINDS
    }
    findings = contradictions("queues", examples, _SEVERITIES)
    return Check("queues", "check", verdict, words.REQUIRED["queues"], summary, findings, tuple(examples), explained)


def _first_of_each_kind(examples: Iterable[Counterexample]) -> list[Counterexample]:
    first: dict[str, Counterexample] = {}
    for example in examples:
        first.setdefault(example.kind, example)
    return list(first.values())


def _counts(queues: Mapping[Any, Sequence[Operation]]) -> tuple[int, int, int]:
    """Return how many sends were acknowledged, how many are in doubt, and how many of those a reader found."""
    sends = [(key, one) for key, mine in queues.items() for one in mine if one.f == "send"]
    read = {(key, payload) for key, mine in queues.items() for one in mine if one.f != "send" and one.outcome == "ok"
            for payload in one.result["payloads"]}  # fmt: skip
    doubted = [(key, one.value) for key, one in sends if one.outcome == "info"]
    return sum(one.outcome == "ok" for _, one in sends), len(doubted), sum(one in read for one in doubted)


class Queue:
    """One queue's operations, in the order of their invocations.

    ``last`` is each node's last read of the whole queue; ``seen`` has the first operation that showed each payload at a
    place.
    """

    def __init__(self, key: str, operations: Sequence[Operation], evidence: Evidence) -> None:
        self.key = key
        self.operations = operations
        self.reads = [op for op in operations if op.f != "send" and op.outcome == "ok"]
        self.last = {str(read.node): read for read in self.reads if read.f == "read" and read.node in evidence.nodes}
        self.seen = self._seen()
        self._evidence = evidence
        #: The distance between two events in the log's history, which leaves room for the gets made from one operation.
        self._apart = 2 + max((len(read.result["payloads"]) for read in self.reads), default=0)

    def _seen(self) -> list[ShownMessage]:
        first: dict[tuple[int, Any], ShownMessage] = {}
        for operation in sorted(self.operations, key=lambda operation: operation.end_index):
            for place, payload in _shown(operation):
                first.setdefault((place, payload), ShownMessage(place, payload, operation))
        return sorted(first.values(), key=lambda got: got.place)

    # -- the model of a log ------------------------------------------------------------------------------------------

    def as_log(self) -> Iterator[Operation]:
        """Yield the operations on a ``log``.

        For a message that was read often, only the get that was answered first is used.
        """
        for operation in self.operations:
            if operation.f == "send":
                yield self._moved(operation, 0, f="append")
        number: defaultdict[int, int] = defaultdict(int)
        for got in self.seen:
            if got.by.f != "send":
                number[got.by.invoke_index] += 1
                yield self._moved(got.by, number[got.by.invoke_index], f="get", value=got.place, result=got.payload)

    def _moved(self, op: Operation, number: int, **changed: Any) -> Operation:
        """Give an operation its own place in the log's history, keeping the order of all operations."""
        returned = None if op.return_index is None else op.return_index * self._apart + number
        return replace(op, invoke_index=op.invoke_index * self._apart + number, return_index=returned, **changed)

    def recorded(self, judged: KeyVerdict) -> Iterator[Counterexample]:
        """Yield the counterexamples of the log's history in terms of the recorded operations."""
        by_index = {op.invoke_index: op for op in self.operations}
        for example in judged.counterexamples:
            suspect = example.completing
            ordered = sorted(example.operations, key=lambda op: op is suspect)
            parts = [(by_index[op.invoke_index // self._apart], words.says(op)) for op in ordered]
            yield Counterexample.of_promise(example.kind, example.sentence, *parts)

    # -- comparisons -------------------------------------------------------------------------------------------------

    def comparisons(self, lives: Lives) -> Iterator[Counterexample]:
        yield from self._lost()
        yield from self._missing()
        yield from self._holes()
        yield from self._misplaced()
        yield from self._went_back(lives)

    def _broken(self, kind: str, sentence: str, *parts: tuple[Operation, str]) -> Counterexample:
        return Counterexample.of_promise(kind, f"{self.key}: {sentence}", *parts)

    def _settled(self, read: Operation) -> int:
        """Return the time (ns) before which everything shown must be in this last read; 0 if its replica was behind.

        A replica that has caught up has everything from before the heal, and after a restart of all brokers everything
        from before that.
        """
        moments = self._evidence.moments
        if read.invoked >= moments.get("restarting", math.inf):
            return moments["restarting"] if read.invoked >= moments.get("restarted-recovered", math.inf) else 0
        caught_up = read.node in self._evidence.recovered and read.invoked >= moments.get("final-reads", math.inf)
        return moments.get("healed", 0) if caught_up else 0

    def lost(self) -> list[ShownMessage]:
        """Return what no replica has at the end; empty if some replica was not read then or had not caught up."""
        if set(self.last) != set(self._evidence.nodes):
            return []
        moments = self._evidence.moments
        held = {payload for read in self.last.values() for payload in read.result["payloads"]}
        settled = min(map(self._settled, self.last.values()))
        if settled == moments.get("healed"):  # without faults, whoever acknowledged or showed a message still has it
            settled = max(settled, moments.get("quiet", 0))
        # A read ends at a hole, and does not show what comes after it.
        behind = [range(len(read.result["payloads"]), end(read)) for read in self.last.values()]
        return [
            got for got in self.seen
            if got.payload not in held and got.by.ended < settled and not any(got.place in places for places in behind)
        ]  # fmt: skip

    def _lost(self) -> Iterator[Counterexample]:
        lost = self.lost()
        for got in lost[:1]:
            read = max(self.last.values(), key=lambda read: read.end_index)
            yield self._broken(
                LOST, words.lost(got, len(lost)), (got.by, words.shows(got)), (read, words.lacks(got.payload))
            )

    def _missing(self) -> Iterator[Counterexample]:
        furthest = max((end(read) for read in self.last.values()), default=0)
        for read in self.last.values():
            settled = self._settled(read)
            for got in self.seen:
                if end(read) <= got.place < furthest and got.by.ended < settled:
                    text = words.missing(got, read, furthest)
                    yield self._broken("missing-on-replica", text, (got.by, words.shows(got)), (read, words.ends(read)))
                    break

    def _holes(self) -> Iterator[Counterexample]:
        for node, read in self.last.items():
            if self._settled(read) and (place := len(read.result["payloads"])) < end(read):
                text, part = words.hole(node, place, end(read))
                yield self._broken("hole", text, (read, part))

    def _misplaced(self) -> Iterator[Counterexample]:
        for read in self.reads:
            for place, offset in read.result.get("own", ())[:1]:
                payload = read.result["payloads"][place - read.result["first"]]
                text, part = words.misplaced(read, payload, place, offset)
                yield self._broken("misplaced", text, (read, part))

    def _went_back(self, lives: Lives) -> Iterator[Counterexample]:
        furthest: dict[str, Operation] = {}
        by_end = sorted(self.reads, key=lambda read: read.end_index)
        ended = 0
        for read in self.reads:
            while by_end[ended].end_index < read.invoke_index:
                before, ended = by_end[ended], ended + 1
                node = str(before.node)
                # Compare only within one process: the end that an earlier process named does not count.
                if (known := furthest.get(node)) is None or end(before) >= end(known) or not lives.one(known, before):
                    furthest[node] = before
            earlier = furthest.get(str(read.node))
            if earlier is not None and end(read) < end(earlier) and lives.one(earlier, read):
                text = words.went_back(earlier, read)
                yield self._broken("end-went-back", text, (earlier, words.ends(earlier)), (read, words.ends(read)))


class Lives:
    """The lifetimes of processes, from the probes of their nodes."""

    def __init__(self, probes: Iterable[Probe]) -> None:
        self._times: defaultdict[str, list[int]] = defaultdict(list)
        self._begun: defaultdict[str, list[Any]] = defaultdict(list)
        for probe in sorted(probes, key=lambda probe: probe.time):
            if probe.answered and BOOTED in probe.own:
                self._times[probe.node].append(probe.time)
                self._begun[probe.node].append(probe.own[BOOTED])

    def one(self, earlier: Operation, later: Operation) -> bool:
        """Return whether one process answered both reads, as probes before the earlier and after the later one show."""
        node = str(earlier.node)
        times, begun = self._times[node], self._begun[node]
        before, after = bisect_left(times, earlier.invoked) - 1, bisect_right(times, later.ended)
        return before >= 0 and after < len(times) and begun[before] == begun[after]


def _shown(op: Operation) -> Iterator[tuple[int, Any]]:
    if op.outcome != "ok":
        return iter(())
    if op.f == "send":
        return iter([(op.result, op.value)])
    return enumerate(op.result["payloads"], op.result["first"])
