"""Decide registers whose values repeat with the value-timeline automaton, in time linear in the history's length.

Verifying linearizability of read/write registers is NP-complete in general (Gibbons and Korach 1997), but only the
number of open operations needs to be in the exponent.  The algorithm is Lowe's just-in-time linearization (2017), in
which nothing needs to happen except at returns, with five exact reductions:

* an open read is satisfied as soon as the value equals its own;
* an open ok write is satisfied as soon as the value equals its own or any change occurs: it hides just before it;
* among open unspent writes of one value, the one that returns first is spent first;
* pending writes never return, so they come last and are counted by value;
* of two configurations with the same value, the one that spent less and satisfied more makes the other redundant.

A configuration is (value, open writes spent, open reads satisfied, calls that were open at the last change, pending
writes spent by value).  At a return, a satisfied call is passed.  An unspent write also *changes* the value to its own,
because this is its last chance.  An unsatisfied read has to change the value to its own.

Just before a change, values that open reads wait for may *flash*: they are current for an instant.  Whether they did is
decided late, when the first call returns for which it matters.  A read that was open at the last change may have seen a
flash then, by an unspent write that was open at the same time.  A write that returns unspent has flashed at the last
change if it was open then, which no longer costs anything.  Only the last change matters, because a call that was open
at an earlier change and has not returned was open at this one as well.  Waiting misses nothing, because until then
everything the flash would have spent and satisfied is still open.

When no configuration is left, the history is invalid, exactly at the earliest possible event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from checker.core.calls import Call, ranked
from checker.core.compiled_code import COMPILED
from checker.core.engine import PLAIN_SEARCH_CALLS, READS_AND_WRITES, Engine, JudgedKeys
from checker.core.intervals import IntArray
from checker.core.model import ANY, Model, is_register
from checker.core.result import LATE, EngineResult, Limits
from checker.engines.zones_columns import ValueNames, fields_of_keys
from history.codes import NEVER, WRITE
from history.readers.columns import OperationColumns

ENGINE: Final = "value-timeline automaton"
WIDEST: Final = 8192
NARROW: Final = 128
BUDGET: Final = 2_000_000
#: At most this much work is done on many keys before the clock is checked again.
_WORK_AT_ONCE: Final = 100_000
_PENDING_VALUES: Final = 64
_REVIVED: Final = 256


@dataclass(frozen=True, slots=True)
class TimelineColumns:
    """Reads and writes of one register, one row per call, in the order of their invocations.

    Unlike ``RegisterColumns``, these columns have no CAS, so writes are just marked, and they have ``code``, which the
    searches do not need.

    ``write`` marks writes, ``value`` are dense ids 0..V-1, ``invoke`` and ``ret`` are dense ranks 0..events-1
    (``NEVER`` for pending writes; all reads have returned).  ``code`` has for each rank the call that begins, or
    the complement of the call that returns.
    """

    write: NDArray[np.bool_]
    value: IntArray
    invoke: IntArray
    ret: IntArray
    code: IntArray
    values: int

    @property
    def events(self) -> int:
        return self.code.size


@dataclass(frozen=True, slots=True)
class Timeline:
    """Events of a register that nothing explains (``dead``), in order, and the value ids possible before the first."""

    dead: tuple[int, ...]
    states: tuple[int, ...]
    reached: int
    peak: int
    stopped: str | None = None


class _Arrays:
    """Arrays that the kernel carries from one piece of work to the next."""

    def __init__(self, columns: TimelineColumns, initial: IntArray, *, thrift: bool) -> None:
        from checker.kernels import automaton as kernel
        from checker.kernels.encode import order_of_values
        from checker.kernels.slots import SLOTS

        self.kernel: Any = kernel
        last_read, pending_from, pending = order_of_values(
            columns.write, columns.value, columns.invoke, columns.ret, columns.values
        )
        history = kernel.AutomatonInput(
            columns.code, columns.write, columns.value, columns.ret, last_read, pending_from, pending
        )
        progress = np.zeros(1, kernel.PROGRESS)
        self.progress: Any = progress[0]
        self.progress["count"], self.progress["thrift"] = initial.size, thrift
        self.progress["free"], self.progress["next"] = (1 << SLOTS) - 1, -1
        wide = min(_PENDING_VALUES, int(np.count_nonzero(np.diff(pending_from)))) if pending.size else 0
        opened = kernel.Open(
            slot_of=np.zeros(columns.value.size, np.int8),
            slot_ret=np.zeros(SLOTS, np.int64),
            reads_of=np.zeros(columns.values, np.int64),
            writes_of=np.zeros(columns.values, np.int64),
            column_of=np.full(columns.values, -1, np.int64),
            available=np.zeros(max(1, wide), np.int64),
            free_columns=np.arange(max(1, wide)),
        )
        configurations = self._room(max(NARROW, initial.size), wide)
        starts = configurations.rows[0, : initial.size]
        starts["value"], starts["changed_at"] = initial, -1
        self.automaton: Any = kernel.Automaton(history, opened, configurations, np.zeros(wide, np.int32), progress)

    def _room(self, width: int, wide: int) -> Any:
        rows = np.zeros((2, width), self.kernel.CONFIGURATION)
        return self.kernel.Configurations(rows, np.zeros((2, width, wide), np.int32))

    def grow(self) -> bool:
        """Make room for four times as many configurations; return False if the limit is reached."""
        before = self.automaton.configurations
        if before.rows.shape[1] >= WIDEST:
            return False
        wider = self._room(min(WIDEST, 4 * before.rows.shape[1]), before.pending_spent.shape[2])
        for old, new in zip(before, wider, strict=True):
            new[:, : old.shape[1]] = old
        self.automaton = self.automaton._replace(configurations=wider)
        self.progress["status"] = self.kernel.RUNNING
        return True

    def advance(self, event: int) -> int:
        """Process events from ``event`` on; return the first one not processed."""
        return int(self.kernel.advance(self.automaton, event, BUDGET))

    def status(self) -> int:
        return int(self.progress["status"])

    def states(self) -> tuple[int, ...]:
        """Return the value ids of all configurations."""
        values = self.automaton.configurations.rows["value"][self.progress["side"], : self.progress["count"]]
        return tuple(sorted(set(values.tolist())))

    def peak(self) -> int:
        return int(self.progress["peak"])

    def revive(self, values: int, event: int) -> None:
        """Continue after a dead end from every value, treating all open calls as explained.

        Does nothing if there are too many values.
        """
        if values > _REVIVED:
            return
        while self.automaton.configurations.rows.shape[1] < values:
            self.grow()
        configs, progress = self.automaton.configurations, self.progress
        rows = configs.rows[progress["side"], :values]
        rows["value"], rows["spent"], rows["satisfied"] = np.arange(values), 0, progress["reads"]
        rows["open_then"], rows["changed_at"] = progress["reads"] | progress["writes"], event
        configs.pending_spent[progress["side"], :values] = 0
        progress["count"], progress["status"] = values, self.kernel.RUNNING


def timeline(columns: TimelineColumns, initial: IntArray, limits: Limits) -> Timeline:
    """Run the automaton from any of the ``initial`` value ids (at most ``WIDEST``)."""
    from checker.kernels import automaton as kernel
    from checker.kernels.slots import SLOTS

    run = _Arrays(columns, initial, thrift=True)
    event = 0
    dead: list[int] = []
    states: tuple[int, ...] = ()
    while event < columns.events and run.status() == kernel.RUNNING:
        if limits.over():
            return Timeline(tuple(dead), states, event, run.peak(), LATE)
        event = run.advance(event)
        if run.status() == kernel.TOO_WIDE:
            run.grow()
        elif run.status() == kernel.DEAD and run.progress["pruned"]:
            run, event = _Arrays(columns, initial, thrift=False), 0
        elif run.status() == kernel.DEAD:
            run.progress["thrift"] = 0
            states = states if dead else run.states()
            dead.append(event)
            run.revive(columns.values, event)
    stops = {
        kernel.TOO_WIDE: f"more than {WIDEST} configurations at once",
        kernel.TOO_MANY_SLOTS: f"more than {SLOTS} operations open at once",
        kernel.TOO_MANY_PENDING: f"pending writes of more than {_PENDING_VALUES} values at once",
    }
    return Timeline(tuple(dead), states, event, run.peak(), stops.get(run.status()))


def timeline_columns(
    write: NDArray[np.bool_], value: IntArray, invoke: IntArray, ret: IntArray, values: int
) -> TimelineColumns:
    """Make the columns, including ``code``, from dense ranks."""
    done = np.flatnonzero(ret < NEVER)
    code = np.empty(write.size + done.size, np.int64)
    code[invoke] = np.arange(write.size)
    code[ret[done]] = ~done
    return TimelineColumns(write, value, invoke, ret, code, values)


def decide_by_automaton(calls: Sequence[Call], model: Model, limits: Limits) -> EngineResult:
    """Decide whether a register with only reads and writes is linearizable; an unknown initial value may be any."""
    dense = ranked(list(limits.paced(calls, ENGINE)))
    ids: dict[Any, int] = {model.initial: 0}
    value = [ids.setdefault(call.value if call.f == "write" else call.result, len(ids)) for call in dense]
    columns = timeline_columns(
        np.array([call.f == "write" for call in dense], np.bool_),
        np.array(value, np.int64),
        np.array([call.invoke for call in dense], np.int64),
        np.array([call.ret for call in dense], np.int64),
        len(ids),
    )
    starts = len(ids) if model.initial is ANY else 1
    if starts > WIDEST:
        return EngineResult("unknown", ENGINE, reason=f"the unknown initial value could be any of {starts}")
    result = result_of(timeline(columns, np.arange(starts), limits), columns, [model.describe(name) for name in ids])
    if result.last is None:
        return result
    whole = {call.source: call.ret for call in calls}
    moments = {call.ret: whole[call.source] for call in dense}
    return replace(result, last=moments[result.last], further=tuple(moments[event] for event in result.further))


def result_of(timeline: Timeline, columns: TimelineColumns, names: Any) -> EngineResult:
    """Convert a timeline to the engine's result; ``names[id]`` are the values in words."""
    if not timeline.dead and timeline.stopped is not None:
        return EngineResult(
            "unknown", ENGINE, reason=f"{timeline.stopped}: {timeline.reached} of {columns.events} events explained"
        )
    if not timeline.dead:
        return EngineResult("valid", ENGINE)
    states = tuple(names[state] for state in timeline.states)
    first, *further = timeline.dead
    return EngineResult(
        "invalid", ENGINE, violations=len(timeline.dead), last=first, states=states, further=tuple(further),
        more=timeline.stopped is not None,
    )  # fmt: skip


def decide_register(calls: Any, limits: Limits) -> EngineResult | None:
    """Decide whether one register in gathered columns is linearizable; None if it has a CAS."""
    if calls.kind.max() > WRITE:
        return None
    columns = TimelineColumns(calls.kind == WRITE, calls.value, calls.invoke, calls.ret, calls.code, calls.names.size)
    return result_of(timeline(columns, np.zeros(1, np.int64), limits), columns, ValueNames(calls.names))


def judge_keys(
    columns: OperationColumns, wanted: NDArray[np.bool_], _model: Model, limits: Limits
) -> JudgedKeys | None:
    """Decide many keys in one compiled pass.

    Returns None for a single key, and for histories so small that plain Python decides them at once.
    """
    if np.count_nonzero(wanted) < 2 or columns.kind.size <= PLAIN_SEARCH_CALLS:
        return None
    from checker.kernels import many_keys as kernel

    keyed = kernel.arrange_keys(*fields_of_keys(columns), wanted)
    if keyed is None:
        return None
    state, key = np.full(wanted.size, kernel.OPEN, np.int8), 0
    while key < wanted.size and not limits.over():
        key = kernel.judge_keys(keyed, key, _WORK_AT_ONCE, state)
    COMPILED.mark_ready()
    return JudgedKeys(state == kernel.VALID, state == kernel.INVALID, np.diff(keyed.starts))


AUTOMATON: Final = Engine(
    "automaton", ENGINE, "registers with reads and writes whose values may repeat", "O(n · frontier)",
    lambda model, calls: is_register(model) and READS_AND_WRITES(calls),
    lambda calls, model, limits, _proof: decide_by_automaton(calls, model, limits),
    by_keys=judge_keys, by_register=decide_register, compiled=True, partial=True, finds_all=True, orders=False,
)  # fmt: skip
