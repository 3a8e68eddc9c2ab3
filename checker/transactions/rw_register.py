"""Transactions that read and write registers, where each value of a key is written once.

A read shows one version but not the versions before it, so the order of versions is inferred from pairs:

- the initial absence comes before every value, and a value that was there at the start before every other;
- what a transaction read comes before what it then wrote, at read committed and above;
- the last version that an earlier transaction of a process touched comes before the first that a later one touched,
  at the levels that keep sessions and exclude G-single; the same holds in real time at the levels that keep it.

A pair counts only at the levels that guarantee it.  (Otherwise the last kind would accuse stores whose reads are merely
stale.) Many orders cannot be known in this way: a violation is proven, but its absence is not.

Each version is a helper node of the graph.  Its writer has a ww edge to it, and transactions that read it and wrote
nothing to the key have an rw edge to it.  It has edges to the writers of later versions.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from checker.kernels import transaction_loops as k
from checker.transactions.anomalies import ABORTED, Contradictions, Example, Ints, Reason, Steps
from checker.transactions.graph import KINDS, Graph
from history.codes import ABSENT, FAIL, NEVER, OK, READ, WRITE
from history.readers.transactions import TransactionColumns

_REASONS: Final = {
    k.CONT: "{0} was there at the start",
    k.CONT_COMMITTED: "{{1}} itself had read {0}",
    k.CONT_PROCESS: "one process saw {0} and later {1}",
    k.CONT_REALTIME: "a transaction that saw {0} had returned before one that saw {1} was invoked",
}


class RwRegisterGraph:
    """Dependencies and contradictions in a history of registers.

    Raises FormatError if a value is written to a key twice.
    """

    def __init__(self, columns: TransactionColumns) -> None:
        self.columns = c = columns
        self.steps = steps = Steps(c)
        self.loops = steps.loops
        self.external, contradicts, self.begin, self.wrote, self.read_first, self.read_last = self.loops.register_reads(
            c.first, c.outcome, c.kind, c.value, steps.previous
        )
        self.installed = (c.kind == WRITE) & (self.wrote[self.begin] == np.arange(c.kind.size))
        self.reads = np.flatnonzero(self.external)
        there = c.value[self.reads] != ABSENT
        self.made = np.full(self.reads.size, -1, np.int32)
        self.made[there] = steps.find(c.key[self.reads[there]], c.value[self.reads[there]])
        self.committed = steps.committed(self.made)
        self._found = Contradictions()
        self.counts, self.contradictions = self._found.counts, self._found.shown
        self._judge(np.flatnonzero(contradicts), there)
        self._number_versions()
        self.graph = self._graph()

    def _judge(self, contradicts: Ints, there: Ints) -> None:
        steps, owner, report, c = self.steps, self.steps.owner, self._found, self.columns
        reader, writer = owner[self.reads], owner[self.made]

        def read(at: int) -> str:
            return f"T1 read {steps.value(self.reads[at])} of {steps.key(self.reads[at])}"

        def one(text: str) -> Example:
            return lambda at: ((int(reader[at]),), f"{read(at)}{text}")

        def two(text: str) -> Example:
            return lambda at: ((int(reader[at]), int(writer[at])), f"{read(at)}{text}")

        other = (self.made >= 0) & (writer != reader)
        failed = c.outcome[writer] == FAIL
        report.add("unknown-element", np.flatnonzero(there & (self.made < 0)), one(", which no transaction wrote"))
        report.add("G1a", np.flatnonzero(other & failed), two(f", which T2 wrote, and T2 failed: {ABORTED}"))
        partly = other & ~failed & ~self.installed[self.made]
        report.add("G1b", np.flatnonzero(partly), two(", which T2 wrote and then overwrote itself"))
        future = (self.made >= 0) & (writer == reader)
        report.add("future-read", np.flatnonzero(future), one(" before it wrote that value itself"))

        def internal(step: int) -> tuple[tuple[int, ...], str]:
            value, key = steps.value(step), steps.key(step)
            sentence = f"T1 read {value} of {key}, which contradicts what it had read or written before"
            return (int(owner[step]),), sentence

        report.add("internal", contradicts, internal)

    # -- versions -----------------------------------------------------------------------------------------------------

    def _number_versions(self) -> None:
        """Number the versions: the initial absence has the number of its key, then come the installed values."""
        c, owner = self.columns, self.steps.owner
        keys = len(c.keys)
        steps = np.flatnonzero(self.installed & self.committed[owner])
        self.version_step = np.concatenate([np.full(keys, -1, np.int32), steps.astype(np.int32)])
        self.version_key = np.concatenate([np.arange(keys, dtype=np.int32), c.key[steps]])
        #: By step: the version that it wrote or read; -1 for none.
        self.version = np.full(c.kind.size, -1, np.int32)
        self.version[steps] = keys + np.arange(steps.size, dtype=np.int32)
        #: By key: the version that was there at the start; -1 for none.
        self.opening = np.full(keys, -1, np.int32)
        if self.steps.started:
            there = steps[owner[steps] == 0]
            self.opening[c.key[there]] = self.version[there]
        absent = c.value[self.reads] == ABSENT
        made = np.where(self.made >= 0, self.version[self.made], -1)
        self.version[self.reads] = np.where(absent, c.key[self.reads], made)

    def _graph(self) -> Graph:
        c, owner, n = self.columns, self.steps.owner, len(self.columns)
        reader, writer = owner[self.reads], owner[self.made]
        depends = (self.made >= 0) & self.committed[writer] & (writer != reader)
        edges: list[tuple[Any, Any, Any]] = [(writer[depends], reader[depends], k.WR)]
        # A version is reached from its writer, and from those that read it and wrote nothing to its key.
        values = np.flatnonzero(self.version_step >= 0)
        edges.append((owner[self.version_step[values]], n + values, k.WW))
        version, update = self.version[self.reads], self.wrote[self.begin[self.reads]]
        pure = (version >= 0) & (update < 0)
        edges.append((reader[pure], n + version[pure], k.RW))
        # The initial absence comes before every value, and what was there at the start before every other value.
        opening = self.opening[self.version_key[values]]
        other = (opening >= 0) & (opening != values)
        earlier = np.concatenate([self.version_key[values], opening[other]])
        later = owner[self.version_step[np.concatenate([values, values[other]])]]
        edges.append((n + earlier, later, k.CONT))
        first = (version >= 0) & (update >= 0) & (self.reads == self.read_first[self.begin[self.reads]])
        edges += self._updates(version[first], update[first], earlier, later)
        nodes = n + self.version_step.size
        pairs, nodes = self._touched(nodes)
        orders, nodes = self.steps.orders(self.committed, nodes)
        return Graph.of(self.loops, [*edges, *pairs, *orders], nodes, c.outcome == OK)

    def _updates(self, version: Ints, write: Ints, earlier: Ints, later: Ints) -> list[tuple[Any, Any, Any]]:
        """Return the edges of transactions that read a version and then wrote: their value comes after that version.

        Two that read the same version did not see each other (lost-update).  ``later`` are writers of versions that
        come after the ``earlier`` ones.
        """
        owner, n = self.steps.owner, len(self.columns)
        order = np.argsort(version, kind="stable")
        version, write = version[order], write[order]
        row = owner[write]
        same = np.flatnonzero(version[1:] == version[:-1])

        def lost(at: int) -> tuple[tuple[int, ...], str]:
            key = self.steps.key(write[at])
            values = self.steps.value(write[at]), self.steps.value(write[at + 1])
            return (int(row[at]), int(row[at + 1])), (
                f"T1 and T2 both read {self._named(version[at])} of {key}, then T1 wrote {values[0]} and T2 "
                f"{values[1]}: one of them did not see the other"
            )

        self._found.add("lost-update", same, lost)
        edges: list[tuple[Any, Any, Any]] = [(n + version, row, k.CONT_COMMITTED)]
        edges += [(row[same], row[same + 1], k.RW), (row[same + 1], row[same], k.RW)]
        # Other updates of the same version are joined to this one above.
        leads = np.flatnonzero(np.append(True, version[1:] != version[:-1])[: version.size])
        leader = np.full(self.version_step.size, -1, np.int32)
        leader[version[leads]] = row[leads]
        source = leader[earlier]
        after = (source >= 0) & (source != later)
        return [*edges, (source[after], later[after], k.RW)]

    def _touched(self, nodes: int) -> tuple[list[tuple[Any, Any, Any]], int]:
        """Return the pairs of versions that processes saw one after the other, and those seen so in real time."""
        c, owner, n = self.columns, self.steps.owner, len(self.columns)
        begin = np.flatnonzero((self.steps.previous < 0) & self.committed[owner])
        read, wrote = self.read_first[begin], self.wrote[begin]
        first = self.version[np.where(read >= 0, read, wrote)]
        last = self.version[np.where(wrote >= 0, wrote, self.read_last[begin])]
        known = (np.maximum(read, wrote) >= 0) & (first >= 0) & (last >= 0)
        begin, first, last = begin[known], first[known], last[known]
        row, key = owner[begin], c.key[begin]
        order = np.lexsort((row, key, c.process[row]))
        here, there = order[:-1], order[1:]
        pairs = (c.process[row[here]] == c.process[row[there]]) & (key[here] == key[there])
        pairs &= (c.outcome[row[here]] == OK) & (last[here] != first[there]) & (self.version_step[first[there]] >= 0)
        here, there = here[pairs], there[pairs]
        sessions = n + last[here], owner[self.version_step[first[there]]], k.CONT_PROCESS
        # By version: the first return of those that touched it last, and the last invocation of those that touched it
        # first.
        seen_at = np.full(self.version_step.size, NEVER, np.int64)
        ok = c.outcome[row] == OK
        np.minimum.at(seen_at, last[ok], c.ret[row[ok]])
        wanted = np.full(self.version_step.size, -1, np.int64)
        np.maximum.at(wanted, first, c.invoke[row])
        earlier = np.flatnonzero(seen_at < NEVER)
        earlier = earlier[np.lexsort((seen_at[earlier], self.version_key[earlier]))].astype(np.int32)
        start = np.concatenate([[0], np.cumsum(np.bincount(self.version_key[earlier], minlength=len(c.keys)))])
        later = np.flatnonzero((wanted >= 0) & (self.version_step >= 0)).astype(np.int32)
        source, target, nodes = self.loops.realtime_versions(
            start, earlier, seen_at, later, wanted, self.version_key, owner[self.version_step], n, nodes
        )
        return [sessions, (source, target, k.CONT_REALTIME)], int(nodes)

    # -- in words -----------------------------------------------------------------------------------------------------

    def dependency(self, source: int, target: int, kinds: tuple[int, ...], helpers: tuple[int, ...]) -> Reason:
        kind = kinds[0]
        if kind in (k.PROCESS, k.REALTIME) or (self.steps.started and source == 0):
            return self.steps.in_order(source, KINDS[kind])
        if kind == k.WR:
            reason = self._saw(source, target)
        elif helpers:
            reason = self._later(source, target, helpers[0] - len(self.columns), max(kinds))
        else:
            reason = self._missed(source, target)
        return KINDS[kind], *reason

    def _saw(self, source: int, target: int) -> tuple[Any, str, tuple[int, int]]:
        c = self.columns
        written = {(c.key[step], c.value[step]): step for step in self.steps.of(source, WRITE)}
        read = next(s for s in self.steps.of(target, READ) if self.external[s] and (c.key[s], c.value[s]) in written)
        key, value = self.steps.key(read), self.steps.value(read)
        return key, f"{{1}} read {value} of {key}, which {{0}} wrote", (written[c.key[read], c.value[read]], read)

    def _later(self, source: int, target: int, version: int, tag: int) -> tuple[Any, str, tuple[int, int]]:
        """Explain why what the source wrote or read comes before what the target wrote."""
        number = self.version_key[version]
        write = next(s for s in self.steps.of(target, WRITE) if self.installed[s] and self.columns.key[s] == number)
        before, after, key = self._named(version), self.steps.value(write), self.columns.keys[number]
        made = self.version_step[version]
        reason = "" if made < 0 else _REASONS[tag].format(before, after)
        if made >= 0 and self.steps.owner[made] == source:
            return key, f"{{1}} wrote {after} to {key} after {{0}} had written {before}: {reason}", (made, write)
        read = next(s for s in self.steps.of(source, READ) if self.version[s] == version)
        answer = f"{before}, and {reason}" if reason else before
        return key, f"{{0}} did not see {{1}}'s write of {after} to {key}: it read {answer}", (read, write)

    def _missed(self, source: int, target: int) -> tuple[Any, str, tuple[int, int]]:
        """Explain that the source did not see the target's write.

        Either both read the same version and overwrote it, or the source read nothing.
        """
        c = self.columns
        for read in self.steps.of(source, READ):
            for write in self.steps.of(target, WRITE):
                if not self.external[read] or not self.installed[write] or c.key[read] != c.key[write]:
                    continue
                version, first = self.version[read], self.read_first[self.begin[write]]
                if version in (c.key[read], self.opening[c.key[read]]) or (
                    first >= 0 and version == self.version[first]
                ):
                    answer, key, value = self._named(version), self.steps.key(write), self.steps.value(write)
                    return key, f"{{0}} read {answer} of {key} and did not see {{1}}'s write of {value}", (read, write)
        raise AssertionError("every edge has its steps")

    def _named(self, version: int) -> Any:
        step = self.version_step[version]
        return "nothing" if step < 0 else self.steps.value(step)
