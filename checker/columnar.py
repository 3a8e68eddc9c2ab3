"""Check histories of millions of register operations in columns, all keys in one pass if possible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from checker.core.calls import Call
from checker.core.compiled_code import COMPILED
from checker.core.engine import PLAIN_SEARCH_CALLS, Engine, JudgedKeys
from checker.core.intervals import IntArray
from checker.core.model import Model, ModelError, Register, is_register
from checker.core.options import DEFAULTS, CheckOptions
from checker.core.result import EngineResult, Limits, Report
from checker.counterexamples.enumerate import MAX_AUTOMATON_CORES
from checker.counterexamples.minimize import MinimalCore, minimize_core
from checker.counterexamples.shrink import shrink
from checker.dispatch import decide, engines_for
from checker.engines.automaton import ENGINE as AUTOMATON
from checker.engines.registers import cores as cores_of_zones
from checker.engines.values import ENGINE as VALUES
from checker.engines.values import NEVER_WRITTEN, never_written
from checker.engines.zones import ENGINE as ZONES
from checker.engines.zones_columns import calls_at, contiguous, fields_of_keys, takes_part, writes_beside
from checker.explain.column_scene import ColumnScene
from checker.explain.explain import explain, with_legal_answers
from checker.explain.explanation import key_verdict, unexplained
from checker.models.registry import model_named
from checker.turns import in_turns
from history import KeyVerdict, worst
from history.codes import OK, READ, WRITE
from history.readers.columns import OperationColumns
from history.records.verdicts import MAX_EXPLAINED, WITHOUT_KIND, count_kinds

#: At most this many operations, and this much work (some milliseconds), are done without leaving compiled code.
MAX_SHORT: Final = 10_000
_MAX_SHORT_WORK: Final = 500_000
#: To find a core, this many operations before the violation are tried first, and then all of them.
_TAILS: Final = (120, 4000)
#: Above this many operations on a key, legal answers are not searched for.
_MAX_ANSWERED: Final = 200_000
_Keys = IntArray | Sequence[int]
_NONE: Final = np.empty(0, np.int64)
_OF_KEYS: Final = tuple(engine for engine in engines_for(Register()) if engine.by_keys is not None)
#: Which engine decides a key by each state of ``kernels.many_keys.judge_all``; by the third one none does.
_BY_STATE: Final = (ZONES, ZONES, "", AUTOMATON, AUTOMATON)
_OF_ONE: Final = tuple(engine for engine in engines_for(Register()) if engine.by_register is not None)


def check_columns(
    columns: OperationColumns, model: str | Model = "register", options: CheckOptions = DEFAULTS
) -> Report:
    """Check registers in columns.  Raises ModelError for other models."""
    limits, engine, chosen = options.limits(), options.engine, model_named(model)
    if not is_register(chosen):
        raise ModelError(f"only registers can be checked in columns, not a {chosen.name}")
    check = _Check(columns, chosen, limits, options.proofs)
    verdicts, rest = (check.check_short_in_one_pass() if engine is None else None) or check.in_passes(engine)
    rows = dict(_rows_by_key(columns, rest))

    def attempt(key: int, mine: CheckOptions) -> KeyVerdict:
        return replace(check, limits=mine.limits()).check_key(rows[key], key, engine)

    verdicts.others.update(
        in_turns(list(rows), options, attempt, size=lambda key: rows[key].size, started=limits.started)
    )
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
    """One verdict per key; verdicts on keys that one pass found valid are made on request.

    ``titles[by[key]]`` is the engine that found the key valid; ``others`` are the verdicts made already.
    """

    def __init__(
        self,
        keys: Sequence[str | int | None],
        counts: IntArray,
        seconds: float,
        titles: Sequence[str],
        by: NDArray[Any],
    ) -> None:
        self.keys, self.counts, self.seconds, self.titles, self.by = keys, counts, seconds, titles, by
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
        engine = self.titles[int(self.by[number])]
        return KeyVerdict(self.keys[number], "valid", engine, int(self.counts[number]), self.seconds)


@dataclass(frozen=True, slots=True)
class _Check:
    """One check of a history of registers in columns."""

    columns: OperationColumns
    model: Register
    limits: Limits
    proofs: bool

    @property
    def _too_few(self) -> int:
        """Largest number of operations for which compiled code is not loaded, or not used if a proof is wanted."""
        return 0 if COMPILED.ready and not self.proofs else PLAIN_SEARCH_CALLS

    def check_short_in_one_pass(self) -> tuple[_Verdicts, _Keys] | None:
        """Check a short history by zones and automaton in one compiled pass; return what ``in_passes`` does.

        The result is the same as that of separate passes.  None if the code is not loaded, the time is up, or
        this pass does not cover the history (its size, its initial value).
        """
        columns, keys, size = self.columns, len(self.columns.keys), self.columns.kind.size
        if self.model.initial is not None or not (COMPILED.ready and keys and self._too_few < size <= MAX_SHORT):
            return None
        from checker.kernels import many_keys as kernel

        judged = None if self.limits.over() else kernel.judge_all(*fields_of_keys(columns), keys, _MAX_SHORT_WORK)
        if judged is None:
            return None
        state, counts, present = judged
        verdicts = _Verdicts(columns.keys, counts, self._seconds(), _BY_STATE, state)
        if present & ~(1 << kernel.AGREED | 1 << kernel.EXPLAINED) == 0:
            return verdicts, ()
        contradicted, repeated, unexplained = (
            np.flatnonzero(state == which) if present >> which & 1 else _NONE
            for which in (kernel.CONTRADICTED, kernel.REPEATED, kernel.UNEXPLAINED)
        )
        if self.proofs:
            self._explain_keys(cores_of_zones(columns, self.model) if contradicted.size else (), verdicts)
            return verdicts, np.concatenate([repeated, unexplained])
        self._record_invalid_without_proof(contradicted, ZONES, verdicts)
        self._record_invalid_without_proof(unexplained, AUTOMATON, verdicts)
        return verdicts, repeated

    def in_passes(self, name: str | None) -> tuple[_Verdicts, _Keys]:
        """Check all keys in one pass of each suitable engine; return the verdicts and the undecided keys."""
        keys = len(self.columns.keys)
        titles, left = [engine.title for engine in _OF_KEYS], np.ones(keys, np.bool_)
        verdicts = _Verdicts(self.columns.keys, np.zeros(keys, np.int64), 0.0, titles, np.zeros(keys, np.int8))
        for number, engine in enumerate(_OF_KEYS if self.model.initial is None else ()):
            if not left.any():
                break
            if engine.by_keys is not None and name in (None, engine.name) and engine.applies(self.model, ()):
                judged = engine.by_keys(self.columns, left, self.model, self.limits)
                if judged is not None:
                    left &= ~self._record(judged, number, left, verdicts)
        return verdicts, np.flatnonzero(left)

    def _record(
        self, judged: JudgedKeys, number: int, left: NDArray[np.bool_], verdicts: _Verdicts
    ) -> NDArray[np.bool_]:
        """Make the verdicts of one pass on the keys that are ``left``; return which keys it decided."""
        verdicts.seconds = self._seconds()
        valid, invalid = judged.valid & left, judged.invalid & left
        if self.proofs and judged.cores is None:
            invalid[:] = False
        decided: NDArray[np.bool_] = valid | invalid
        verdicts.counts[decided], verdicts.by[decided] = judged.counts[decided], number
        if not self.proofs:
            self._record_invalid_without_proof(np.flatnonzero(invalid), verdicts.titles[number], verdicts)
        elif judged.cores is not None and invalid.any():
            self._explain_keys(judged.cores(self.model), verdicts)
        return decided

    def _seconds(self) -> float:
        """Return a key's share of the time used."""
        return (self.limits.clock() - self.limits.started) / max(1, len(self.columns.keys))

    def _explain_keys(self, results: Iterable[tuple[int, EngineResult]], verdicts: _Verdicts) -> None:
        """Make the verdicts on keys for which a pass has counterexamples."""
        for key, result in results:
            verdicts.others[key] = self.verdict(result, key, int(verdicts.counts[key]))

    def _record_invalid_without_proof(self, bad: IntArray, engine: str, verdicts: _Verdicts) -> None:
        """Make verdicts on invalid keys without counterexamples."""
        for key in bad.tolist():
            name, count = self.columns.keys[key], int(verdicts.counts[key])
            kinds = count_kinds((), 1)
            verdicts.others[key] = KeyVerdict(
                name, "invalid", engine, count, verdicts.seconds, violations=1, kinds=kinds, more=True
            )

    def verdict(self, result: EngineResult, key: int, operations: int, calls: Sequence[Call] = ()) -> KeyVerdict:
        """Make the verdict for a result, with counterexamples if proofs are requested."""
        explained = unexplained(result)
        if self.proofs:
            scene = ColumnScene(self.columns, self.model, key)
            explained = explain(result, calls, scene, self.limits)
            if explained.examples and not calls and operations <= _MAX_ANSWERED:
                explained = with_legal_answers(explained, lambda: self._calls(key), scene, self.limits)
        return key_verdict(self.columns.keys[key], result, operations, explained, self.limits)

    def _calls(self, key: int) -> list[Call]:
        return calls_at(self.columns, np.flatnonzero(takes_part(self.columns) & (self.columns.key == key)))

    def check_key(self, rows: IntArray, key: int, name: str | None) -> KeyVerdict:
        """Check a key that no pass has decided."""
        columns = self.columns
        engines = [engine for engine in _OF_ONE if name in (None, engine.name)]
        if engines and columns.kind.size > self._too_few and self.model.initial is None:
            gathered = _gathered(columns, rows)
            if not gathered.kind.size:
                return self.verdict(EngineResult("valid", VALUES), key, 0)
            if (result := self._by_columns(gathered, rows[gathered.row], engines)) is not None:
                return self.verdict(result, key, gathered.kind.size)
        rows = rows[takes_part(columns)[rows]]
        calls = calls_at(columns, rows)
        result = decide(calls, self.model, self.limits, engine=name, proof=False)
        return self.verdict(result, key, rows.size, calls)

    def _by_columns(self, gathered: Any, rows: IntArray, engines: Sequence[Engine]) -> EngineResult | None:
        """Decide the calls in these rows; None if calls must decide or must show what is wrong."""
        columns, plain = self.columns, gathered.kind.max() <= WRITE
        if not plain and not self.model.has_cas:
            return None
        # The first value is the initial one, which need not be written.
        if not plain or gathered.written[1:].all() or not engines[0].finds_all:
            return self._by_first(gathered, rows, engines)
        strays = never_written(columns, rows)
        kept = rows[(columns.kind[rows] != READ) | ~np.isin(columns.value[rows], columns.value[strays])]
        valid = EngineResult("valid", VALUES)
        rest = self._by_first(_gathered(columns, kept), kept, engines) if kept.size else valid
        if rest is None:
            return None
        cores = (*((call,) for call in calls_at(columns, strays[:MAX_EXPLAINED])), *rest.cores)
        violations = int(strays.size) + rest.violations
        beyond = tuple((NEVER_WRITTEN, row) for row in strays[MAX_EXPLAINED:].tolist()) + rest.beyond
        return EngineResult(
            "invalid", VALUES, cores=cores, violations=violations, reason=rest.reason, beyond=beyond, more=rest.more
        )

    def _by_first(self, gathered: Any, rows: IntArray, engines: Sequence[Engine]) -> EngineResult | None:
        """Return the result of the first engine that decides, with the cores of all violations if it knows them."""
        for engine in engines:
            limits = self.limits.of_verdict()
            result = engine.by_register(gathered, limits) if engine.by_register is not None else None
            if result is None:
                continue
            if result.verdict != "invalid":
                return result
            if engine.finds_all:
                return self._with_cores(result, gathered, rows)
            return None if self.proofs else result
        return None

    def _with_cores(self, result: EngineResult, gathered: Any, rows: IntArray) -> EngineResult:
        """Add the cores of the violations at the result's ``last`` and ``further`` ranks."""
        # An event that nothing explains is always a return.
        events = np.array([result.last, *result.further])
        ended = rows[~gathered.code[events]]
        lasts = self.columns.ret[ended].tolist()
        shown = lasts[:MAX_AUTOMATON_CORES] if self.proofs else ()
        beyond = tuple((WITHOUT_KIND, row) for row in ended[len(shown) :].tolist())
        small = [_tail_core(self.columns, rows, self.model, last, self.limits) for last in shown]
        cores, notes = tuple(tuple(core.calls) for core in small), "; ".join(core.note for core in small if core.note)
        further = tuple(lasts[1:])
        return replace(result, last=lasts[0], further=further, cores=cores, reason=notes or None, beyond=beyond)


def _gathered(columns: OperationColumns, rows: IntArray) -> Any:
    """Convert these rows to the columns that compiled engines take."""
    from checker.kernels.encode import gather

    fields = (columns.kind, columns.outcome, columns.value, columns.old, columns.invoke, columns.ret)
    part = fields if rows.size == columns.kind.size else [field[rows] for field in fields]
    return gather(*contiguous(part))


def _tail_core(columns: OperationColumns, rows: IntArray, model: Model, last: int, limits: Limits) -> MinimalCore:
    """Shrink a violation to its core, from the operations just before it if they suffice, else from all."""
    everything, rows = rows, rows[columns.invoke[rows] <= last]
    for size in (*_TAILS, rows.size):
        moment = columns.invoke[rows[-size:][0]]
        still_open = (columns.outcome[rows] != OK) | (columns.ret[rows] > moment)
        near = rows[(columns.invoke[rows] >= moment) | still_open]
        core = shrink(calls_at(columns, near), model, last, limits)
        # A core that starts late starts from any value, so what was left out before it cannot matter; but the writes
        # of what it reads, which make it a history of its own, may be further back.
        if near.size == rows.size or core.start:
            values = [call.result for call in core.calls if call.f == "read"]
            known = np.union1d(near, writes_beside(columns, everything, values, core.start, core.end))
            return minimize_core(core, calls_at(columns, known), model, limits)
    return MinimalCore([])
