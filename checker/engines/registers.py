"""Convert one register's calls to columns for the zones, and find small cores of their contradictions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from checker.core.calls import Call, ranked
from checker.core.compiled_code import COMPILED
from checker.core.definition import MAX_DEFINITION_CALLS, linearizable
from checker.core.engine import READS_AND_WRITES, Engine, JudgedKeys
from checker.core.intervals import IntArray
from checker.core.model import ANY, Model, is_register
from checker.core.result import EngineResult, Limits
from checker.engines.zones import ENGINE, ClusterColumns, Zones, linearization, stale, zones
from checker.engines.zones_columns import Prepared, calls_at, fields_of_keys, prepare
from history.codes import NEVER
from history.readers.columns import OperationColumns
from history.records.verdicts import MAX_COUNTEREXAMPLES, MAX_EXPLAINED, WITHOUT_KIND

#: From this many operations on, even loading the compiled zones pays off.
_MIN_TO_LOAD: Final = 5_000_000


def values_written_once(calls: Sequence[Call], initial: Any) -> bool:
    """Return whether zones apply: no value is written twice, and the initial value is never written."""
    counts = Counter(call.value for call in calls if call.f == "write")
    return initial not in counts and all(count == 1 for count in counts.values())


def decide_by_zones(calls: Sequence[Call], model: Model, limits: Limits, *, proof: bool = True) -> EngineResult:
    """Decide whether one register, whose values are written once each, is linearizable.

    See ``values_written_once`` for the condition.  If the initial value is ``ANY``, it is assumed to be the first
    value that was read but never written.
    """
    dense = ranked(list(limits.paced(calls, ENGINE)))
    initial = model.initial if model.initial is not ANY else _unwritten(dense)
    columns = cluster_columns(dense, initial)
    zone_set = zones(columns)
    if zone_set.valid:
        order = [calls[row] for row in linearization(columns, zone_set)] if proof else None
        return EngineResult("valid", ENGINE, order=order)
    groups = list(groups_of(zone_set))
    finder = Finder(columns, zone_set)
    cores = tuple(
        tuple(calls[row] for row in minimal([calls[row] for row in finder.core(*group)], calls, model))
        for group in groups[:MAX_EXPLAINED]
    )
    beyond = tuple((kind, calls[row].source) for kind, row in map(finder.seen, groups[MAX_EXPLAINED:]))
    last = min(core[-1].ret for core in cores)
    return EngineResult("invalid", ENGINE, cores=cores, violations=len(groups), last=last, beyond=beyond)


def _unwritten(calls: Sequence[Call]) -> Any:
    """Return the first value that was read but never written; ``ANY``, which no read returns, if there is none."""
    written = {call.value for call in calls if call.f == "write"}
    return next((call.result for call in calls if call.f == "read" and call.result not in written), ANY)


def cluster_columns(calls: Sequence[Call], initial: Any) -> ClusterColumns:
    """Convert the calls on one key, with dense ranks, to columns; rank 0 writes the initial value."""
    ids: dict[Any, int] = {initial: 0}
    cluster = [ids.setdefault(call.value if call.f == "write" else call.result, len(ids)) for call in calls]
    ret = np.array([call.ret for call in calls], np.int64)
    return ClusterColumns(
        cluster=np.array(cluster, np.int64),
        write=np.array([call.f == "write" for call in calls], np.bool_),
        invoke=np.array([call.invoke for call in calls], np.int64) + 1,
        ret=np.where(ret == NEVER, NEVER, ret + 1),
        clusters=len(ids),
        starts=np.zeros(1, np.int64),
        events=2 * len(calls) + 1,
    )


def groups_of(zones: Zones) -> Iterator[tuple[int, int]]:
    """Yield one (outer, inner) pair for each violation, earliest first; outer -1: inner contradicts itself.

    All values inside the stretch of one stale value are one violation, because a stuck replica produces thousands.
    Those that are stale themselves are violations of their own, which may be older and of another kind.
    """
    alone = [(int(zones.first[cluster]), -1, int(cluster)) for cluster in (*zones.phantom, *zones.future)]
    pairs = [(int(zones.first[inner]), int(outer), int(inner)) for outer, inner in zip(*stale(zones), strict=True)]
    for _, outer, inner in sorted([*alone, *pairs]):
        yield outer, inner


class Finder:
    """Find the rows that show a violation: each cluster's write, its f, and the first contradicting answer."""

    def __init__(self, columns: ClusterColumns, zones: Zones) -> None:
        self.columns, self.found = columns, zones
        self._acknowledged = np.full(columns.clusters, NEVER)
        self._acknowledged[columns.cluster[columns.write]] = columns.ret[columns.write]
        self._rows, self._starts = _grouped(columns.cluster, columns.clusters)
        self._inners, self._outers = _grouped(zones.outer, columns.clusters)
        self._gone_on = self._newest_read()

    def core(self, outer: int, inner: int) -> list[int]:
        first = self.found.first
        if outer < 0:
            rows = set(self._base(self._of(inner)))
        else:
            inner = self._newer(outer, inner)
            rows = set(self._side(outer, int(first[inner]))) | set(self._side(inner, int(first[outer])))
        return sorted(rows, key=lambda row: int(self.columns.invoke[row]))

    def stale(self, outer: int, inner: int) -> int:
        """Return the row that completed the violation.

        Among the rows that began after the newer value was seen, it is the first to end.  Later reads of the
        old value repeat the same violation.
        """
        after = int(self.found.first[inner]) if outer >= 0 else -1
        return self._first(self._of(outer if outer >= 0 else inner), after)[0]

    def seen(self, group: tuple[int, int]) -> tuple[str, int]:
        """Return the kind of a violation, if it is known without its core, and the row that completed it."""
        outer, inner = group
        row = self.stale(outer, inner)
        if outer < 0:
            return ("never-written" if self.found.written[inner] < 0 else "future-read"), row
        newer = self._newer(outer, inner)
        own = self._of(newer)
        # As in ``explain.registers``: nobody read it, nor anything that was written after it.
        unread = own.size == 1 and bool(self.columns.write[own[0]])
        lost = unread and self._gone_on[self._owner(newer)] <= self.columns.invoke[own[0]]
        return ("lost-write" if lost else WITHOUT_KIND), row

    def _newest_read(self) -> IntArray:
        """Return for each key the last return of a write that was read; ``NEVER`` if one is pending or missing."""
        columns = self.columns
        read = np.unique(columns.cluster[~columns.write])
        read = read[read >= columns.starts.size]
        newest = np.full(columns.starts.size, -1, np.int64)
        np.maximum.at(newest, self._owner(read), self._acknowledged[read])
        return newest

    def _owner(self, clusters: Any) -> Any:
        """Return the keys of clusters."""
        rank = self.columns.invoke[self._rows[self._starts[clusters]]]
        return np.searchsorted(self.columns.starts, rank, "right") - 1

    def _newer(self, outer: int, inner: int) -> int:
        """Return a value that shows the violation as early as ``inner`` does.

        Prefers values whose write was acknowledged.
        """
        began = int(self.columns.invoke[self.stale(outer, inner)])
        others = self.found.inner[self._inners[self._outers[outer] : self._outers[outer + 1]]]
        known = others[(self.found.first[others] < began) & (self._acknowledged[others] < began)]
        return int(known[0]) if known.size else inner

    def _of(self, cluster: int) -> IntArray:
        return self._rows[self._starts[cluster] : self._starts[cluster + 1]]

    def _base(self, rows: IntArray) -> Iterator[int]:
        yield from rows[self.columns.write[rows]].tolist()
        yield from self._first(rows, -1)

    def _side(self, cluster: int, after: int) -> Iterator[int]:
        """Yield the rows that show a cluster current both before and after a moment of the other cluster."""
        rows = self._of(cluster)
        yield from self._base(rows)
        yield from self._first(rows, after)

    def _first(self, rows: IntArray, after: int) -> list[int]:
        """Return the row that ends first among those that begin after a rank; empty if there is none."""
        later = rows[self.columns.invoke[rows] > after]
        return [int(later[np.argmin(self.columns.ret[later])])] if later.size else []


def _grouped(groups: IntArray, number: int) -> tuple[IntArray, IntArray]:
    """Return the places of an array sorted by group, and where each group begins."""
    places = np.argsort(groups, kind="stable")
    return places, np.searchsorted(groups[places], np.arange(number + 1))


def minimal(core: Sequence[Call], calls: Sequence[Call], model: Model) -> list[int]:
    """Drop the calls that a core does not need, unless it is too large to try; return rows of ``calls``, in its order.

    A write stays as long as a read of its value stays: without it, that read would be a different violation.
    """
    kept = list(core)
    if len(kept) <= MAX_DEFINITION_CALLS:
        for call in sorted(core, key=lambda call: call.f == "write"):
            fewer = [other for other in kept if other is not call]
            if call.f == "write" and any(other.f == "read" and other.result == call.value for other in fewer):
                continue
            if not linearizable(fewer, model):
                kept = fewer
    place = {call.source: row for row, call in enumerate(calls)}
    return [place[call.source] for call in kept]


def zones_kernel(size: int) -> Any:
    """Return the compiled zones if they are loaded or ``size`` operations justify loading them; else None."""
    if size < _MIN_TO_LOAD and not COMPILED.ready:
        return None
    from checker.kernels import zones as kernel

    return kernel


def judge_keys(columns: OperationColumns, _wanted: NDArray[np.bool_], _model: Model, _limits: Limits) -> JudgedKeys:
    """Decide all keys whose values are written once each in one pass, compiled or by numpy."""
    keys = len(columns.keys)
    kernel = zones_kernel(columns.kind.size)
    judged = kernel.judge(*fields_of_keys(columns), keys) if kernel is not None and keys else None
    if judged is not None:
        state, counts = judged
        return JudgedKeys(state == kernel.VALID, state == kernel.INVALID, counts, lambda model: cores(columns, model))
    prepared = prepare(columns)
    keyed = _by_key(prepared)
    invalid = np.zeros(keys, np.bool_)
    invalid[list(keyed[1])] = True
    counts = np.bincount(prepared.key, minlength=keys)
    return JudgedKeys(
        prepared.simple & ~invalid, invalid, counts, lambda model: _cores(columns, prepared, *keyed, model)
    )


def cores(columns: OperationColumns, model: Model) -> Iterator[tuple[int, EngineResult]]:
    """Yield the results of the invalid keys, with their cores."""
    prepared = prepare(columns)
    return _cores(columns, prepared, *_by_key(prepared), model)


def _by_key(prepared: Prepared) -> tuple[Zones, dict[int, list[tuple[int, int]]]]:
    """Return the zones, and the violations of each invalid key as pairs from ``groups_of``."""
    zone_set = zones(prepared.clusters)
    groups: dict[int, list[tuple[int, int]]] = defaultdict(list)
    if not zone_set.valid:
        owner = np.zeros(prepared.clusters.clusters, np.int64)
        owner[prepared.clusters.cluster] = prepared.key
        for outer, inner in groups_of(zone_set):
            groups[int(owner[inner])].append((outer, inner))
    return zone_set, groups


def _cores(
    columns: OperationColumns, prepared: Prepared, zones: Zones, groups: dict[int, list[tuple[int, int]]], model: Model
) -> Iterator[tuple[int, EngineResult]]:
    if not groups:
        return
    finder = Finder(prepared.clusters, zones)
    most = max(MAX_COUNTEREXAMPLES, MAX_EXPLAINED // len(groups))
    for key, pairs in groups.items():
        shown = []
        for pair in pairs[:most]:
            core = calls_at(columns, prepared.rows[finder.core(*pair)])
            shown.append(tuple(core[place] for place in minimal(core, core, model)))
        beyond = tuple((kind, int(prepared.rows[row])) for kind, row in map(finder.seen, pairs[most:]))
        yield key, EngineResult("invalid", ENGINE, cores=tuple(shown), violations=len(pairs), beyond=beyond)


def _applies(model: Model, calls: Sequence[Call]) -> bool:
    return is_register(model) and READS_AND_WRITES(calls) and values_written_once(calls, model.initial)


def _decide(calls: Sequence[Call], model: Model, limits: Limits, proof: bool) -> EngineResult | None:
    """Decide by zones; None if an unknown initial value may also equal a value that is written later."""
    result = decide_by_zones(calls, model, limits, proof=proof)
    return None if result.verdict == "invalid" and model.initial is ANY else result


ZONES: Final = Engine(
    "zones",
    ENGINE,
    "registers with reads and writes, each value written once",
    "O(n)",
    _applies,
    _decide,
    by_keys=judge_keys,
    finds_all=True,
)
