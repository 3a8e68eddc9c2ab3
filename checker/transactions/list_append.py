"""Transactions that append to lists and read them: a read shows the order of the appends to its list.

The version order of a key is its longest external read; all other reads must be prefixes of it.  Appends of committed
transactions that no read shows come after it (the *tail*).  Every edge holds in every execution that explains the
answers.  Conversely, any topological order of the graph is a serial execution, because the reads of a key fix all
versions except those of the tail, whose order among themselves no read shows.  So serializability is decided exactly,
with or without sessions and real time.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from checker.kernels import transaction_loops as k
from checker.transactions.anomalies import ABORTED, Contradictions, Example, Ints, Reason, Steps
from checker.transactions.graph import KINDS, Graph
from history.codes import FAIL, OK, READ, WRITE
from history.readers.transactions import TransactionColumns

#: At most this many of the last elements of a list are shown.
_LONGEST: Final = 8
_LOST: Final = "it was lost, or it was appended after all of them"


class ListAppendGraph:
    """Dependencies and contradictions in a history of lists.

    Raises FormatError if a value is appended to a key twice.
    """

    def __init__(self, columns: TransactionColumns) -> None:
        self.columns = c = columns
        self.steps = steps = Steps(c)
        self.loops = steps.loops
        self.external, self.contradicts, self.longest = self.loops.external_reads(
            c.first, c.outcome, c.kind, c.key, c.value, c.begin, c.length, c.elements, steps.previous, len(c.keys)
        )
        self.differs = self.loops.prefixes(c.kind, c.key, c.begin, c.elements, self.external, self.longest)
        # If reads contradict each other, the key's order is not known, and the key gives only wr edges.
        self.broken = np.zeros(len(c.keys), np.bool_)
        self.broken[c.key[self.differs]] = True
        self._orders()
        self._found = Contradictions()
        self.counts, self.contradictions = self._found.counts, self._found.shown
        self._judge_elements()
        self._judge_reads()
        self.graph = self._graph()

    # -- versions -----------------------------------------------------------------------------------------------------

    def _orders(self) -> None:
        """Find the order of each key: its appends (steps; -1: unknown) are in ``order`` from ``start[key]`` on."""
        c, steps = self.columns, self.steps
        self.sizes = np.where(self.longest >= 0, self.external[self.longest], 0).astype(np.int64)
        self.start = np.concatenate([[0], np.cumsum(self.sizes)])
        self.order_key = np.repeat(np.arange(len(c.keys), dtype=np.int32), self.sizes)
        begins = np.where(self.longest >= 0, c.begin[self.longest], 0)
        at = np.arange(self.start[-1]) - self.start[self.order_key] + begins[self.order_key]
        self.order = steps.find(self.order_key, c.elements[at])
        self.unknown = self.order < 0
        place = np.arange(self.order.size) - self.start[self.order_key]
        self.position = np.full(c.kind.size, -1, np.int32)
        # An element that occurs twice counts at its first place.
        self.position[self.order[::-1]] = place[::-1]
        self.repeated = ~self.unknown & (self.position[self.order] != place)
        self.order = np.where(self.repeated, -1, self.order)
        self.different = np.flatnonzero(self.differs)
        parts = [self._contents(step) for step in self.different.tolist()]
        sizes = [part.size for part in parts]
        self.odd_reads = np.repeat(self.different, sizes)
        odd = np.concatenate([np.zeros(0, np.int64), *parts])
        self.odd = steps.find(c.key[self.odd_reads], odd)
        self.committed = steps.committed(np.concatenate([self.order, self.odd]))

    def _contents(self, step: int) -> Ints:
        """Return the external part of a read."""
        c = self.columns
        return c.elements[c.begin[step] : c.begin[step] + self.external[step]]

    # -- anomalies without a cycle ------------------------------------------------------------------------------------

    def _judge_elements(self) -> None:
        """Find what is wrong with the longest read of a key, or with a read that does not fit it."""
        steps, owner, report = self.steps, self.steps.owner, self._found

        def element(text: str) -> Example:
            def example(at: int) -> tuple[tuple[int, ...], str]:
                key = self.order_key[at]
                step = self.longest[key]
                sentence = text.format(self._element(step, at - self.start[key]), self.columns.keys[key])
                return (int(owner[step]),), sentence

            return example

        unknown = "T1 read {0} in {1}, which no transaction appended"
        report.add("unknown-element", np.flatnonzero(self.unknown), element(unknown))
        twice = "T1 read {0} twice in {1}, where it was appended once"
        report.add("duplicate-element", np.flatnonzero(self.repeated), element(twice))
        report.add("unknown-element", np.flatnonzero(self.odd < 0), self._stray)
        report.add("incompatible-order", self.different, self._incompatible)
        failed = steps.failed(self.order)
        behind = np.flatnonzero(failed[:-1] & self._known()[1:] & (self.order_key[1:] == self.order_key[:-1]))
        report.add("dirty-update", behind, self._dirty_update)
        torn, early, again, self.final, self.hidden = self.loops.own_order(
            self.columns.first, self.columns.kind, self.columns.key, steps.previous, self.external, self.contradicts,
            self.position, self.sizes,
        )  # fmt: skip
        known = ~self.broken[self.columns.key]
        report.add("own-order", np.flatnonzero(torn & known & self.committed[owner]), self._torn)
        report.add("future-read", np.flatnonzero(early & known), self._early)
        report.add("duplicate-element", np.flatnonzero(again & known), self._again)

    def _known(self) -> Ints:
        """Return which elements of all orders were appended by a committed transaction."""
        known: Ints = (self.order >= 0) & self.committed[self.steps.owner[self.order]]
        return known

    def _stray(self, at: int) -> tuple[tuple[int, ...], str]:
        step = int(self.odd_reads[at])
        return (int(self.steps.owner[step]),), (
            f"T1 read {self._list(step)} in {self.steps.key(step)}, and no transaction appended all of it"
        )

    def _dirty_update(self, at: int) -> tuple[tuple[int, ...], str]:
        earlier, other = self.order[at], self.order[at + 1]
        return (int(self.steps.owner[earlier]), int(self.steps.owner[other])), (
            f"T1 appended {self.steps.value(earlier)} to {self.steps.key(earlier)} and failed, yet T2 appended "
            f"{self.steps.value(other)} after it"
        )

    def _torn(self, step: int) -> tuple[tuple[int, ...], str]:
        return (int(self.steps.owner[step]),), (
            f"T1 made several appends to {self.steps.key(step)}, and {self.steps.value(step)} does not follow "
            f"the previous one in {self._list(int(self.longest[self.columns.key[step]]))}"
        )

    def _again(self, step: int) -> tuple[tuple[int, ...], str]:
        read, key = self._list(step, whole=True), self.steps.key(step)
        return (int(self.steps.owner[step]),), f"T1 read {read} in {key}, which has one of its own appends twice"

    def _early(self, step: int) -> tuple[tuple[int, ...], str]:
        value, key = self.steps.value(step), self.steps.key(step)
        return (int(self.steps.owner[step]),), f"T1 read {value} in {key} before it appended that value itself"

    def _incompatible(self, step: int) -> tuple[tuple[int, ...], str]:
        longest = int(self.longest[self.columns.key[step]])
        reader, other = int(self.steps.owner[step]), int(self.steps.owner[longest])
        return ((reader,) if reader == other else (reader, other)), (
            f"T1 read {self._list(step)} in {self.steps.key(step)}, and {'T1' if reader == other else 'T2'} read "
            f"{self._list(longest)}: the shorter list is not a prefix of the longer one"
        )

    def _judge_reads(self) -> None:
        c, steps, owner, report = self.columns, self.steps, self.steps.owner, self._found
        self.reads = np.flatnonzero(self.external >= 0)
        fits = ~self.differs[self.reads]
        key, size = c.key[self.reads], self.external[self.reads]
        # The append that made the version read: -1 for the empty list, and if the append is not known.
        self.last = np.full(self.reads.size, -1, np.int32)
        full = fits & (size > 0)
        self.last[full] = self.order[self.start[key[full]] + size[full] - 1]
        self.last[~fits] = self.odd[np.cumsum(self.external[self.different], dtype=np.int64) - 1]
        # For each key, the first append of a failed transaction; and the odd reads that contain one.
        first = np.full(len(c.keys), np.iinfo(np.int64).max)
        failed = np.flatnonzero(steps.failed(self.order))
        np.minimum.at(first, self.order_key[failed], failed - self.start[self.order_key[failed]])
        report.add("G1a", np.flatnonzero(fits & (size > first[key])), lambda at: self._aborted(
            int(self.reads[at]), int(self.order[self.start[key[at]] + first[key[at]]])))  # fmt: skip
        odd = np.flatnonzero(steps.failed(self.odd))
        odd = odd[np.unique(self.odd_reads[odd], return_index=True)[1]]
        report.add("G1a", odd, lambda at: self._aborted(int(self.odd_reads[at]), int(self.odd[at])))
        writer = owner[self.last]
        partly = (self.last >= 0) & ~self.final[self.last] & (writer != owner[self.reads])
        report.add("G1b", np.flatnonzero(partly & (c.outcome[writer] != FAIL)), self._partly)
        report.add("internal", np.flatnonzero(self.contradicts), self._internal)
        self._judge_lost_updates()

    def _aborted(self, read: int, write: int) -> tuple[tuple[int, ...], str]:
        return (int(self.steps.owner[read]), int(self.steps.owner[write])), (
            f"T1 read {self.steps.value(write)} in {self.steps.key(write)}, which T2 appended, and T2 failed: {ABORTED}"
        )

    def _partly(self, at: int) -> tuple[tuple[int, ...], str]:
        step, last = int(self.reads[at]), int(self.last[at])
        return (int(self.steps.owner[step]), int(self.steps.owner[last])), (
            f"T1 read {self._list(step)} in {self.steps.key(step)}: T2's append of {self.steps.value(last)} is there, "
            "and what T2 appended after it is not"
        )

    def _internal(self, step: int) -> tuple[tuple[int, ...], str]:
        return (int(self.steps.owner[step]),), (
            f"T1 read {self._list(step, whole=True)} in {self.steps.key(step)}, which contradicts what it had read or "
            "appended before"
        )

    def _judge_lost_updates(self) -> None:
        """Find pairs of transactions that read the same version of a key and both appended to it."""
        c, steps, owner = self.columns, self.steps, self.steps.owner
        write = np.flatnonzero((c.kind == WRITE) & (steps.previous >= 0) & (c.outcome[owner] == OK))
        read = steps.previous[write]
        # The first append to the key after a read that saw no append of its own.
        updates = (c.kind[read] == READ) & ~self.broken[c.key[write]] & (self.external[read] == c.length[read])
        write, read = write[updates], read[updates]
        version = self.start[c.key[read]] + c.key[read] + self.external[read]
        order = np.argsort(version, kind="stable")
        write, read, version = write[order], read[order], version[order]
        same = np.flatnonzero((version[1:] == version[:-1]) & (owner[write[1:]] != owner[write[:-1]]))

        def lost(at: int) -> tuple[tuple[int, ...], str]:
            values = steps.value(write[at]), steps.value(write[at + 1])
            return (int(owner[write[at]]), int(owner[write[at + 1]])), (
                f"T1 and T2 both read {self._list(read[at])} in {steps.key(read[at])}, then T1 appended {values[0]} "
                f"and T2 {values[1]}: one of them did not see the other"
            )

        self._found.add("lost-update", same, lost)

    # -- dependencies -------------------------------------------------------------------------------------------------

    def _graph(self) -> Graph:
        c, steps, owner = self.columns, self.steps, self.steps.owner
        self.versions = np.flatnonzero(self._known() & ~self.broken[self.order_key])
        writer, key = owner[self.order[self.versions]], self.order_key[self.versions]
        follows = (key[1:] == key[:-1]) & (writer[1:] != writer[:-1])
        written = writer[:-1][follows], writer[1:][follows], k.WW
        reader = owner[self.reads]
        source = owner[self.last]
        made = (self.last >= 0) & self.committed[source] & (source != reader)
        read = source[made], reader[made], k.WR
        unread, latest = self._next_versions(writer, key, reader)
        tail, nodes = self._tail(writer, key, latest)
        orders, nodes = steps.orders(self.committed, nodes)
        return Graph.of(self.loops, [written, read, unread, *tail, *orders], nodes, c.outcome == OK)

    def _next_versions(self, writer: Ints, key: Ints, reader: Ints) -> tuple[Any, Ints]:
        """Return the edges from each read to the writer of the next version, and the reads that have no next version.

        The next version is the first one by a writer other than that of the version read.  ``writer`` and
        ``key`` are those of the versions.
        """
        read_key = self.columns.key[self.reads]
        judged = ~self.broken[read_key]
        at = np.where(judged, self.start[read_key] + self.external[self.reads], 0)
        following = np.searchsorted(self.versions, at)
        # Adjacent versions of one key by one writer are a run; a sentinel follows the last version.
        breaks = np.concatenate([[True], (key[1:] != key[:-1]) | (writer[1:] != writer[:-1])])[: writer.size]
        run = np.append(np.cumsum(breaks), 0)
        begins = np.append(np.flatnonzero(breaks), writer.size)
        before = np.maximum(following - 1, 0)
        inside = (following > 0) & (self.last >= 0) & (run[before] == run[following])
        inside &= self.last == np.append(self.order[self.versions], -2)[before]
        following = np.where(inside, begins[np.minimum(run[before], begins.size - 1)], following)
        there = judged & (np.append(key, -1)[following] == read_key)
        target = writer[following[there]]
        other = target != reader[there]
        return (reader[there][other], target[other], k.RW), self.reads[judged & ~there]

    def _tail(self, writer: Ints, key: Ints, latest: Ints) -> tuple[list[Any], int]:
        """Return the edges to committed appends that no read shows; they come after everything that was read."""
        c, owner, keys = self.columns, self.steps.owner, len(self.columns.keys)
        unseen = np.flatnonzero(self.hidden & ~self.broken[c.key] & self.committed[owner])
        unseen = unseen[np.argsort(c.key[unseen], kind="stable")]
        tail, tail_key = owner[unseen], c.key[unseen]
        newest = np.full(keys, -1, np.int32)
        newest[key] = writer
        after = newest[tail_key]
        written = after[after >= 0], tail[after >= 0], k.WW
        latest = latest[np.argsort(c.key[latest], kind="stable")]
        *rest, nodes = self.loops.tail_edges(
            self._starts(c.key[latest]), owner[latest], self._starts(tail_key), tail, len(c)
        )
        return [written, tuple(rest)], int(nodes)

    def _starts(self, key: Ints) -> Ints:
        """Return where each key begins in a sorted column of keys."""
        return np.concatenate([[0], np.cumsum(np.bincount(key, minlength=len(self.columns.keys)))])

    # -- in words -----------------------------------------------------------------------------------------------------

    def dependency(self, source: int, target: int, kinds: tuple[int, ...], helpers: tuple[int, ...]) -> Reason:  # noqa: ARG002
        kind = kinds[0]
        if kind in (k.PROCESS, k.REALTIME) or (self.steps.started and source == 0):
            return self.steps.in_order(source, KINDS[kind])
        reason = {k.WW: self._overwrote, k.WR: self._saw, k.RW: self._missed}[kind](source, target)
        return KINDS[kind], *reason

    def _pairs(self, source: int, target: int, kinds: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the pairs of steps of two transactions on the same key."""
        key = self.columns.key
        return [
            (one, other)
            for one in self.steps.of(source, kinds[0])
            for other in self.steps.of(target, kinds[1])
            if key[one] == key[other]
        ]

    def _overwrote(self, source: int, target: int) -> tuple[Any, str, tuple[int, int]]:
        distances = []
        for step, other in self._pairs(source, target, (WRITE, WRITE)):
            here, there = self.position[step], self.position[other]
            if here >= 0 and not self.broken[self.columns.key[step]] and (there < 0 or here < there):
                distances.append((there - here if there >= 0 else len(self.order), step, other))
        _, step, other = min(distances)
        key, first, then = self.steps.key(step), self.steps.value(step), self.steps.value(other)
        if self.position[other] < 0:
            sentence = f"{{1}}'s append of {then} to {key} is in no read, so it comes after {{0}}'s {first}: {_LOST}"
        else:
            sentence = f"{{1}} appended {then} to {key} after {{0}} had appended {first}"
        return key, sentence, (step, other)

    def _saw(self, source: int, target: int) -> tuple[Any, str, tuple[int, int]]:
        pairs = self._pairs(source, target, (WRITE, READ))
        fitting = [(step, read) for step, read in pairs if self.columns.value[step] in self._contents(read).tolist()]
        step, read = max(fitting, key=lambda pair: self._contents(pair[1])[-1] == self.columns.value[pair[0]])
        key, value = self.steps.key(step), self.steps.value(step)
        return key, f"{{1}} saw {{0}}'s append of {value} to {key}: it read {self._list(read)}", (step, read)

    def _missed(self, source: int, target: int) -> tuple[Any, str, tuple[int, int]]:
        unseen = []
        for read, other in self._pairs(source, target, (READ, WRITE)):
            there, size = self.position[other], self.external[read]
            if size >= 0 and not self.broken[self.columns.key[read]] and (there < 0 or there >= size):
                unseen.append((there if there >= 0 else len(self.order), read, other))
        _, read, other = min(unseen)
        key, value = self.steps.key(read), self.steps.value(other)
        lost = f", nor did any other read: {_LOST}" if self.position[other] < 0 else ""
        sentence = f"{{0}} did not see {{1}}'s append of {value} to {key}: it read {self._list(read)}{lost}"
        return key, sentence, (read, other)

    def _element(self, step: int, place: int) -> Any:
        return self.columns.value_named(int(self.columns.elements[self.columns.begin[step] + place]))

    def _list(self, step: int, *, whole: bool = False) -> str:
        """Return the list that was read, or only its end if it is long."""
        size = int(self.columns.length[step] if whole else self.external[step])
        shown = [str(self._element(step, place)) for place in range(max(0, size - _LONGEST), size)]
        return f"[{'… ' if size > _LONGEST else ''}{' '.join(shown)}]"
