"""Check histories of millions of operations on registers by columns, all keys in one pass where possible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from checker.core.calls import Call
from checker.core.engine import PLAIN_SEARCH_CALLS
from checker.core.intervals import IntArray
from checker.core.model import Model, ModelError, Register, is_register
from checker.core.options import DEFAULTS, CheckOptions
from checker.core.result import EngineResult, Limits, Report
from checker.counterexamples.enumerate import MAX_AUTOMATON_CORES
from checker.counterexamples.minimize import MinimalCore, minimize_core
from checker.counterexamples.shrink import shrink
from checker.dispatch import VALUES, decide
from checker.engines.automaton import ENGINE as AUTOMATON
from checker.engines.registers import Finder, groups_of, minimal
from checker.engines.zones import ENGINE as ZONES
from checker.engines.zones import zones
from checker.engines.zones_columns import Prepared, calls_at, dense_ids, prepare, takes_part, writes_beside
from checker.explain.column_scene import ColumnScene
from checker.explain.explain import explain, key_verdict, unexplained, with_legal_answers
from checker.models.registry import model_named
from checker.warmup import COMPILED
from history import KeyVerdict, worst
from history.codes import ABSENT, OK, READ, WRITE
from history.readers.columns import OperationColumns
from history.records.verdicts import MAX_COUNTEREXAMPLES

#: From this many operations on even loading the compiled zones is worth it.
_MIN_TO_LOAD: Final = 5_000_000
#: At most this much work is done on many keys before the clock is looked at again.
_WORK_AT_ONCE: Final = 100_000
#: At most this many operations, and this much work (some milliseconds), are done without leaving compiled code.
MAX_SHORT: Final = 10_000
_MAX_SHORT_WORK: Final = 500_000
#: Before a violation this many operations are looked at first, and then all of them.
_TAILS: Final = (120, 4000)
#: Above this many operations on a key, the answers that one could have had are not looked for.
_MAX_ANSWERED: Final = 200_000
_Keys = IntArray | Sequence[int]
_NONE: Final = np.empty(0, np.int64)


def check_columns(
    columns: OperationColumns, model: str | Model = "register", options: CheckOptions = DEFAULTS
) -> Report:
    """Check registers by columns.  Raises ModelError for other models."""
    limits, engine, chosen = options.limits(), options.engine, model_named(model)
    if not is_register(chosen):
        raise ModelError(f"columns are for registers, not for a {chosen.name}")
    check = _Check(columns, chosen, limits, options.proofs)
    verdicts, rest = (check.check_short_in_one_pass() if engine is None else None) or check.in_passes(engine)
    for key, rows in _rows_by_key(columns, rest):
        verdicts.others[key] = check.check_key(rows, key, engine)
    return Report(worst(verdict.verdict for verdict in verdicts.others.values()), verdicts)


def _rows_by_key(columns: OperationColumns, keys: _Keys) -> Any:
    if not len(keys):
        return []
    if len(keys) == len(columns.keys) == 1:
        return [(0, np.arange(columns.key.size))]
    order = np.argsort(columns.key, kind="stable")
    bounds = np.searchsorted(columns.key[order], np.arange(len(columns.keys) + 1))
    return [(int(key), order[bounds[key] : bounds[key + 1]]) for key in keys]


class _Verdicts(Sequence[KeyVerdict]):
    """One verdict a key; those on keys that were found valid in one pass are made when they are asked for.

    ``timed`` marks the keys that the automaton found valid, not the zones; ``others`` are the verdicts made already.
    """

    def __init__(
        self, keys: Sequence[str | int | None], counts: IntArray, seconds: float, timed: NDArray[np.bool_]
    ) -> None:
        self.keys, self.counts, self.seconds, self.timed = keys, counts, seconds, timed
        self.others: dict[int, KeyVerdict] = {}

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, place: int) -> KeyVerdict: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[KeyVerdict]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        number = range(len(self.keys))[place]
        if number in self.others:
            return self.others[number]
        engine = AUTOMATON if self.timed[number] else ZONES
        return KeyVerdict(self.keys[number], "valid", engine, int(self.counts[number]), self.seconds)


def zones_kernel(size: int) -> Any:
    """The compiled zones if they are loaded, or if there is so much to do that they are worth it; else None."""
    if size < _MIN_TO_LOAD and not COMPILED.ready:
        return None
    from checker.kernels import zones as kernel

    return kernel


@dataclass(frozen=True, slots=True)
class _Check:
    """One check of a history of registers by columns."""

    columns: OperationColumns
    model: Register
    limits: Limits
    proofs: bool

    def check_short_in_one_pass(self) -> tuple[_Verdicts, _Keys] | None:
        """Check a short history in one compiled pass, zones and automaton; returns what ``in_passes`` does.

        None where the code is not loaded yet, and for what it is not made for.
        """
        columns, keys, size = self.columns, len(self.columns.keys), self.columns.kind.size
        if self.model.initial is not None or not (COMPILED.ready and keys and PLAIN_SEARCH_CALLS < size <= MAX_SHORT):
            return None
        from checker.kernels import many_keys as kernel

        judged = None if self.limits.over() else kernel.judge_all(*_contiguous(_fields(columns)), keys, _MAX_SHORT_WORK)
        if judged is None:
            return None
        state, counts, present = judged
        verdicts = _Verdicts(columns.keys, counts, self._seconds(), state == kernel.EXPLAINED)
        if present & ~(1 << kernel.AGREED | 1 << kernel.EXPLAINED) == 0:
            return verdicts, ()
        contradicted, repeated, unexplained = (
            np.flatnonzero(state == which) if present >> which & 1 else _NONE
            for which in (kernel.CONTRADICTED, kernel.REPEATED, kernel.UNEXPLAINED)
        )
        self._explain_zones(contradicted, verdicts)
        if self.proofs:
            return verdicts, np.concatenate([repeated, unexplained])
        self._record_invalid_without_proof(unexplained, AUTOMATON, verdicts)
        return verdicts, repeated

    def in_passes(self, engine: str | None) -> tuple[_Verdicts, _Keys]:
        """Check all keys in a pass each of zones and automaton; returns the verdicts, and the keys left undecided."""
        keys = len(self.columns.keys)
        rest: _Keys = range(keys)
        verdicts = self._verdicts(np.zeros(keys, np.int64))
        if self.model.initial is not None:
            return verdicts, rest
        if engine in (None, "zones"):
            verdicts, rest = self.by_zones()
        if len(rest) > 1 and self.columns.kind.size > PLAIN_SEARCH_CALLS and engine in (None, "automaton"):
            rest = self.check_keys_by_automaton(rest, verdicts)
        return verdicts, rest

    def by_zones(self) -> tuple[_Verdicts, IntArray]:
        """Check all keys by the zones; returns the verdicts, and the keys that they cannot decide."""
        columns, keys = self.columns, len(self.columns.keys)
        kernel = zones_kernel(columns.kind.size)
        judged = kernel.judge(*_contiguous(_fields(columns)), keys) if kernel is not None and keys else None
        if judged is None:
            prepared = prepare(columns)
            verdicts = self._verdicts(np.bincount(prepared.key, minlength=keys))
            bad = self._find_contradictions(prepared, verdicts)
            if not self.proofs:
                self._record_invalid_without_proof(bad, ZONES, verdicts)
            return verdicts, np.flatnonzero(~prepared.simple)
        state, counts = judged
        verdicts = self._verdicts(counts)
        self._explain_zones(np.flatnonzero(state == kernel.INVALID), verdicts)
        return verdicts, np.flatnonzero(state == kernel.REPEATED)

    def check_keys_by_automaton(self, rest: _Keys, verdicts: _Verdicts) -> IntArray:
        """Decide keys that the zones cannot by the automaton, in one compiled pass; returns those that are left."""
        from checker.kernels import many_keys as kernel

        columns, wanted = self.columns, np.zeros(len(self.columns.keys), np.bool_)
        wanted[rest] = True
        keyed = kernel.arrange_keys(*_contiguous(_fields(columns)), wanted)
        if keyed is None:
            return np.flatnonzero(wanted)
        state, key = np.full(wanted.size, kernel.OPEN, np.int8), 0
        while key < wanted.size and not self.limits.over():
            key = kernel.judge_keys(keyed, key, _WORK_AT_ONCE, state)
        COMPILED.mark_ready()
        decided = wanted & ((state == kernel.VALID) if self.proofs else (state != kernel.OPEN))
        verdicts.counts[decided] = np.diff(keyed.starts)[decided]
        verdicts.timed[decided] = True
        self._record_invalid_without_proof(np.flatnonzero(decided & (state == kernel.INVALID)), AUTOMATON, verdicts)
        return np.flatnonzero(wanted & ~decided)

    def _verdicts(self, counts: IntArray) -> _Verdicts:
        return _Verdicts(self.columns.keys, counts, self._seconds(), np.zeros(counts.size, np.bool_))

    def _seconds(self) -> float:
        """A key's share of the time that it took."""
        return (self.limits.clock() - self.limits.started) / max(1, len(self.columns.keys))

    def _explain_zones(self, bad: IntArray, verdicts: _Verdicts) -> None:
        """Make the verdicts on the keys that the compiled zones found invalid."""
        if bad.size and self.proofs:
            self._find_contradictions(prepare(self.columns), verdicts)
        else:
            self._record_invalid_without_proof(bad, ZONES, verdicts)

    def _record_invalid_without_proof(self, bad: IntArray, engine: str, verdicts: _Verdicts) -> None:
        """Make verdicts on invalid keys, without counterexamples."""
        for key in bad.tolist():
            name, count = self.columns.keys[key], int(verdicts.counts[key])
            verdicts.others[key] = KeyVerdict(name, "invalid", engine, count, verdicts.seconds, violations=1)

    def _find_contradictions(self, prepared: Prepared, verdicts: _Verdicts) -> IntArray:
        """Find what is wrong: returns the invalid keys, and makes their verdicts if proofs are wanted."""
        found = zones(prepared.clusters)
        if found.valid:
            return np.empty(0, np.int64)
        owner = np.zeros(prepared.clusters.clusters, np.int64)
        owner[prepared.clusters.cluster] = prepared.key
        by_key: dict[int, list[tuple[int, int]]] = {}
        for outer, inner in groups_of(found):
            by_key.setdefault(int(owner[inner]), []).append((outer, inner))
        finder = Finder(prepared.clusters)
        for key, groups in by_key.items() if self.proofs else ():
            cores = []
            for group in groups[:MAX_COUNTEREXAMPLES]:
                core = calls_at(self.columns, prepared.rows[finder.core(found, *group)])
                cores.append(tuple(core[place] for place in minimal(core, core, self.model)))
            result = EngineResult("invalid", ZONES, cores=tuple(cores), violations=len(groups))
            verdicts.others[key] = self.verdict(result, key, int(verdicts.counts[key]))
        return np.array(sorted(by_key), np.int64)

    def verdict(self, result: EngineResult, key: int, operations: int, calls: Sequence[Call] = ()) -> KeyVerdict:
        """The verdict for a result, with its counterexamples if proofs are wanted."""
        explained = unexplained(result)
        if self.proofs:
            scene = ColumnScene(self.columns, self.model, key)
            explained = explain(result, calls, scene, self.limits)
            if explained.examples and not calls and operations <= _MAX_ANSWERED:
                explained = with_legal_answers(explained, lambda: self._calls(key), scene, self.limits)
        return key_verdict(self.columns.keys[key], result, operations, explained, self.limits)

    def _calls(self, key: int) -> list[Call]:
        return calls_at(self.columns, np.flatnonzero(takes_part(self.columns) & (self.columns.key == key)))

    def check_key(self, rows: IntArray, key: int, engine: str | None) -> KeyVerdict:
        """Check one key that the zones cannot decide."""
        columns = self.columns
        if columns.kind.size > PLAIN_SEARCH_CALLS and self.model.initial is None and engine in (None, "automaton"):
            found = _gathered(columns, rows)
            if not found.kind.size:
                return self.verdict(EngineResult("valid", VALUES), key, 0)
            if found.kind.max() <= WRITE:
                return self._by_automaton(found, rows, key)
            answered = _cas(found, self.limits) if self.model.has_cas and engine is None else None
            if answered is not None and (answered.verdict != "invalid" or not self.proofs):
                return self.verdict(answered, key, found.kind.size)
        rows = rows[takes_part(columns)[rows]]
        calls = calls_at(columns, rows)
        result = decide(calls, self.model, self.limits, engine=engine, proof=False)
        return self.verdict(result, key, rows.size, calls)

    def _by_automaton(self, found: Any, rows: IntArray, key: int) -> KeyVerdict:
        columns, rows = self.columns, rows[found.row]
        # The first value is the initial one, which need not be written.
        if found.written[1:].all():
            return self.verdict(self._automaton(found, rows), key, rows.size)
        strays = _never_written(columns, rows)
        kept = rows[(columns.kind[rows] != READ) | ~np.isin(columns.value[rows], columns.value[strays])]
        rest = self._automaton(_gathered(columns, kept), kept) if kept.size else EngineResult("valid", VALUES)
        cores = (*((call,) for call in calls_at(columns, strays[:MAX_COUNTEREXAMPLES])), *rest.cores)
        violations = int(strays.size) + rest.violations
        result = EngineResult("invalid", VALUES, cores=cores, violations=violations, reason=rest.reason)
        return self.verdict(result, key, rows.size)

    def _automaton(self, found: Any, rows: IntArray) -> EngineResult:
        from checker.engines.automaton import TimelineColumns, result_of, timeline

        timed = TimelineColumns(found.kind == WRITE, found.value, found.invoke, found.ret, found.code, found.names.size)
        result = result_of(timeline(timed, np.zeros(1, np.int64), self.limits), timed, _Names(found.names))
        if result.verdict != "invalid":
            return result
        assert result.last is not None
        # What nothing explains is always a return.
        events = np.array([result.last, *result.further])
        lasts = self.columns.ret[rows[~found.code[events]]].tolist()
        shown = lasts[:MAX_AUTOMATON_CORES] if self.proofs else ()
        found = [_tail_core(self.columns, rows, self.model, last, self.limits) for last in shown]
        cores, notes = tuple(tuple(core.calls) for core in found), "; ".join(core.note for core in found if core.note)
        return replace(result, last=lasts[0], further=tuple(lasts[1:]), cores=cores, reason=notes or None)


def _gathered(columns: OperationColumns, rows: IntArray) -> Any:
    """Convert these rows to the columns that compiled engines take."""
    from checker.kernels.encode import gather

    fields = (columns.kind, columns.outcome, columns.value, columns.old, columns.invoke, columns.ret)
    part = fields if rows.size == columns.kind.size else [field[rows] for field in fields]
    return gather(*_contiguous(part))


def _fields(columns: OperationColumns) -> tuple[NDArray[Any], ...]:
    """The columns that the passes over all keys need."""
    return columns.kind, columns.outcome, columns.value, columns.key, columns.invoke, columns.ret


def _contiguous(fields: Iterable[NDArray[Any]]) -> list[NDArray[Any]]:
    """Copy arrays that have gaps or are read-only: the code is compiled for plain ones."""
    return [field if field.flags.carray else np.array(field) for field in fields]


@dataclass(frozen=True, slots=True)
class _Names:
    """The values in words, by their ids."""

    names: IntArray

    def __getitem__(self, number: int) -> str:
        return str(self.names[number]) if number else "absent"

    def __len__(self) -> int:
        return self.names.size


def _cas(found: Any, limits: Limits) -> EngineResult | None:
    """Decide a CAS register by columns; counterexamples are left to the engines on calls."""
    from checker.engines.search_columns import decide_cas
    from checker.search.compiled import RegisterColumns

    fields = (found.kind, found.value, found.old, found.invoke, found.ret)
    return decide_cas(RegisterColumns(*fields, _Names(found.names)), limits)


def _never_written(columns: OperationColumns, rows: IntArray) -> IntArray:
    """One read, the first to return, of each value that was never written."""
    distinct, value = dense_ids(columns.value[rows])
    reads = columns.kind[rows] == READ
    written = np.zeros(distinct.size, np.bool_)
    written[value[~reads]] = True
    written |= distinct == ABSENT
    strange: IntArray = rows[reads & ~written[value]]
    if not strange.size:
        return strange
    strange = strange[np.argsort(columns.ret[strange])]
    _, first = np.unique(columns.value[strange], return_index=True)
    found: IntArray = strange[np.sort(first)]
    return found


def _tail_core(columns: OperationColumns, rows: IntArray, model: Model, last: int, limits: Limits) -> MinimalCore:
    """Shrink a violation to its core: from the operations just before it if they do, else from all of them."""
    everything, rows = rows, rows[columns.invoke[rows] <= last]
    for size in (*_TAILS, rows.size):
        moment = columns.invoke[rows[-size:][0]]
        still_open = (columns.outcome[rows] != OK) | (columns.ret[rows] > moment)
        near = rows[(columns.invoke[rows] >= moment) | still_open]
        core = shrink(calls_at(columns, near), model, last, limits)
        # A core that starts late starts from any value, so what was left out before it cannot matter; but the writes
        # of what it reads, which make it a history of its own, may be further back.
        if near.size == rows.size or core.start:
            asked = [call.result for call in core.calls if call.f == "read"]
            known = np.union1d(near, writes_beside(columns, everything, asked, core.start, core.end))
            return minimize_core(core, calls_at(columns, known), model, limits)
    return MinimalCore([])
