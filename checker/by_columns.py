"""``check_columns``: the verdict on a history of millions of operations, key by key, in one pass where it can be."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from checker.anomalies import Scene
from checker.answer import Answer, Limits
from checker.api import Report, counterexamples, key_verdict
from checker.calls import NEVER, Call, thaw
from checker.catalogue import model_named
from checker.columns import Prepared, Rows, calls_at, numbered, prepare, takes_part
from checker.deciding import VALUES, decide
from checker.models import CasRegister, Model, ModelError, Register
from checker.registers import Finder, groups_of, minimal
from checker.shrink import least, shrink
from checker.zones import ENGINE as ZONES
from checker.zones import IntArray, zones
from history import KeyVerdict, worst
from history.foreign.columns import ABSENT, CAS, FAIL, OK, READ, WRITE, OperationColumns

_SMALL: Final = 400
_NEAR: Final = 120
_TAIL: Final = 4000
_SHOWN: Final = 8
_CORES: Final = 4


class _ColumnScene(Scene):
    """What sentences refer to, looked up in the columns instead of in a list of operations."""

    def __init__(self, columns: OperationColumns, model: Model, key: int) -> None:
        self.columns, self.number = columns, key
        super().__init__(Rows(columns), model, columns.keys[key])

    def _collect(self) -> None:
        """Nothing to collect: the columns are searched when a sentence asks."""

    def _rows(self, value: Any) -> Any:
        number = ABSENT if value is None else value
        return (self.columns.value == number) & (self.columns.key == self.number)

    def was_read(self, value: Any) -> bool:
        return bool((self._rows(thaw(value)) & (self.columns.kind == READ) & (self.columns.outcome == OK)).any())

    def failed_write(self, value: Any) -> Any:
        rows = np.flatnonzero(self._rows(thaw(value)) & (self.columns.kind != READ) & (self.columns.outcome == FAIL))
        return self.columns.operation(int(rows[0])) if rows.size else None


def check_columns(
    columns: OperationColumns,
    model: str | Model = "register",
    *,
    deadline_s: float | None = None,
    memory_cap: int = 2 << 30,
    engine: str | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Report:
    """Check registers by columns; the arguments are those of ``check``.  Raises ModelError for other models."""
    started = clock()
    chosen = model_named(model)
    if type(chosen) not in (Register, CasRegister):
        raise ModelError(f"columns are for registers, not for a {chosen.name}")
    limits = Limits(clock, None if deadline_s is None else started + deadline_s, memory_cap, started)
    verdicts: dict[int, KeyVerdict] = {}
    simple = np.zeros(len(columns.keys), np.bool_)
    if engine in (None, "zones") and chosen.initial is None:
        prepared = prepare(columns)
        simple = prepared.simple
        if simple.any():
            verdicts = _by_zones(columns, prepared, chosen, limits)
    rest = np.flatnonzero(~simple)
    for key, rows in _rows_by_key(columns, rest):
        verdicts[key] = _one(columns, rows, chosen, limits, key, engine)
    ordered = tuple(verdicts[key] for key in range(len(columns.keys)))
    return Report(worst(verdict.verdict for verdict in ordered), ordered)


def _rows_by_key(columns: OperationColumns, keys: IntArray) -> Any:
    if keys.size == len(columns.keys) == 1:
        return [(0, np.arange(columns.key.size))]
    order = np.argsort(columns.key, kind="stable")
    bounds = np.searchsorted(columns.key[order], np.arange(len(columns.keys) + 1))
    return [(key, order[bounds[key] : bounds[key + 1]]) for key in keys.tolist()]


def _by_zones(columns: OperationColumns, prepared: Prepared, model: Model, limits: Limits) -> dict[int, KeyVerdict]:
    found = zones(prepared.clusters)
    counts = np.bincount(prepared.key, minlength=len(columns.keys))
    seconds = (limits.clock() - limits.started) / max(1, int(prepared.simple.sum()))
    verdicts = {
        key: KeyVerdict(columns.keys[key], "valid", ZONES, int(counts[key]), seconds)
        for key in np.flatnonzero(prepared.simple).tolist()
    }
    if found.valid:
        return verdicts
    owner = np.zeros(prepared.clusters.clusters, np.int64)
    owner[prepared.clusters.cluster] = prepared.key
    by_key: dict[int, list[tuple[int, int]]] = {}
    for outer, inner in groups_of(found):
        by_key.setdefault(int(owner[inner]), []).append((outer, inner))
    finder = Finder(prepared.clusters)
    for key, groups in by_key.items():
        cores = []
        for group in groups[:_SHOWN]:
            core = calls_at(columns, prepared.rows[finder.core(found, *group)])
            cores.append(tuple(core[place] for place in minimal(core, core, model)))
        answer = Answer("invalid", ZONES, cores=tuple(cores), violations=len(groups))
        verdicts[key] = _verdict(columns, answer, model, key, verdicts[key].operations, limits)
    return verdicts


def _verdict(
    columns: OperationColumns,
    answer: Answer,
    model: Model,
    key: int,
    operations: int,
    limits: Limits,
    calls: Sequence[Call] = (),
) -> KeyVerdict:
    told = counterexamples(answer, calls, _ColumnScene(columns, model, key), limits)
    return key_verdict(columns.keys[key], answer, operations, told, limits)


def _one(
    columns: OperationColumns, rows: IntArray, model: Model, limits: Limits, key: int, engine: str | None
) -> KeyVerdict:
    """One key that the zones cannot decide."""
    rows = rows[takes_part(columns)[rows]]
    plain = bool((columns.kind[rows] <= WRITE).all()) and model.initial is None and engine in (None, "automaton")
    if plain and rows.size > _SMALL:
        return _by_automaton(columns, rows, model, limits, key)
    if type(model) is CasRegister and model.initial is None and engine is None and rows.size > _SMALL:
        answered = _cas(columns, rows, limits)
        if answered is not None and answered.verdict != "invalid":
            return _verdict(columns, answered, model, key, rows.size, limits)
    calls = calls_at(columns, rows)
    answer = decide(calls, model, limits, engine=engine, proof=False)
    return _verdict(columns, answer, model, key, rows.size, limits, calls)


def _by_automaton(columns: OperationColumns, rows: IntArray, model: Model, limits: Limits, key: int) -> KeyVerdict:
    strays = _never_written(columns, rows)
    if not strays.size:
        return _verdict(columns, _automaton(columns, rows, model, limits), model, key, rows.size, limits)
    told = rows[(columns.kind[rows] != READ) | ~np.isin(columns.value[rows], columns.value[strays])]
    rest = _automaton(columns, told, model, limits) if told.size else Answer("valid", VALUES)
    cores = (*((call,) for call in calls_at(columns, strays[:_SHOWN])), *rest.cores)
    answer = Answer("invalid", VALUES, cores=cores, violations=int(strays.size) + rest.violations, reason=rest.reason)
    return _verdict(columns, answer, model, key, rows.size, limits)


def _automaton(columns: OperationColumns, rows: IntArray, model: Model, limits: Limits) -> Answer:
    from checker.automaton import TimelineColumns, answer_of, timeline

    done = columns.outcome[rows] == OK
    rank, moments = _dense(columns, rows)
    distinct, value = numbered(columns.value[rows])
    # ABSENT is the least of all numbers; the object starts absent whether or not anybody saw it.
    value = value + int(distinct[0] != ABSENT)
    names = ["absent", *(str(number) for number in distinct.tolist() if number != ABSENT)]
    timed = TimelineColumns(
        columns.kind[rows] == WRITE,
        value,
        rank[columns.invoke[rows]],
        np.where(done, rank[np.where(done, columns.ret[rows], 0)], NEVER),
        len(names),
        moments.size,
    )
    answer = answer_of(timeline(timed, np.zeros(1, np.int64), limits), timed, names)
    if answer.verdict != "invalid":
        return answer
    assert answer.last is not None
    lasts = [int(moments[event]) for event in (answer.last, *answer.further)]
    cores = tuple(_tail_core(columns, rows, model, last, limits) for last in lasts[:_CORES])
    return replace(answer, last=lasts[0], further=tuple(lasts[1:]), cores=cores)


def _dense(columns: OperationColumns, rows: IntArray) -> tuple[IntArray, IntArray]:
    """(dense rank by place in the history, place by dense rank) of the events of these rows."""
    answered = columns.ret[rows[columns.outcome[rows] == OK]]
    present = np.zeros(int(max(columns.invoke[rows].max(), answered.max(initial=0))) + 1, np.int64)
    present[columns.invoke[rows]] = 1
    present[answered] = 1
    return np.cumsum(present) - 1, np.flatnonzero(present)


def _cas(columns: OperationColumns, rows: IntArray, limits: Limits) -> Answer | None:
    """The quick answer by columns; an invalid one is left to the engines on calls, which have a core to show."""
    from checker.search_columns import CasColumns, decide_cas

    done = columns.outcome[rows] == OK
    rank, _ = _dense(columns, rows)
    old = np.where(columns.kind[rows] == CAS, columns.old[rows], ABSENT)
    distinct, ids = numbered(np.concatenate([[ABSENT], columns.value[rows], old]))
    ret = np.where(done, rank[np.where(done, columns.ret[rows], 0)], NEVER)
    return decide_cas(
        CasColumns(
            columns.kind[rows], ids[1 : rows.size + 1], ids[rows.size + 1 :], rank[columns.invoke[rows]], ret,
            ["absent", *map(str, distinct[1:].tolist())],
        ),
        limits,
    )  # fmt: skip


def _never_written(columns: OperationColumns, rows: IntArray) -> IntArray:
    """One read, the first to return, of each value that nobody wrote."""
    distinct, value = numbered(columns.value[rows])
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


def _tail_core(columns: OperationColumns, rows: IntArray, model: Model, last: int, limits: Limits) -> Any:
    """The violation's core from the operations just before it if that will do, else from all of them."""
    rows = rows[columns.invoke[rows] <= last]
    for size in (_NEAR, _TAIL, rows.size):
        moment = columns.invoke[rows[-size:][0]]
        still_open = (columns.outcome[rows] != OK) | (columns.ret[rows] > moment)
        near = rows[(columns.invoke[rows] >= moment) | still_open]
        calls = calls_at(columns, near)
        core = shrink(calls, model, last, limits)
        # A core that starts late starts from any value, so what was left out before it cannot matter; but the writes
        # of what it reads, which make it a history of its own, may be further back.
        if near.size == rows.size or (core.start and (size > _NEAR or core.model is model)):
            return tuple(least(core.calls, calls, model))
    return ()
