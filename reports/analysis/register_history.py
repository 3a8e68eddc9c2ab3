"""The whole history of a register around a violation: how far it is linearizable, and what a read could have returned.

Gibbons and Korach, "Testing shared memories" (1997): where every value is written once, an operation on a value belongs
to that value's cluster.  A cluster's *zone* reaches from its first completion to its last invocation.  If that is
forwards in time the register holds the value throughout; if backwards, at some moment between.  The history is
linearizable if no read ends before its write begins, no two forward zones overlap, and no backward zone lies within a
forward one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from history.codes import FAIL, OK
from reports.load.columns import NONE, Flags, Ints, Operations

#: The completion of an operation that may take effect at any later time.
OPEN: Final = np.iinfo(np.int64).max
#: Begin and completion of the write of what the register held at the start.
BEFORE: Final = -1
#: Above this many operations a key is not looked at.
MAX_OPERATIONS: Final = 200_000


@dataclass(frozen=True, slots=True)
class RegisterHistory:
    """Reads and writes of one register, in the order of their invocations.

    ``value`` is a code (0: what was there at the start), ``names`` their JSON texts; ``write`` marks writes.
    """

    value: Ints
    write: Flags
    begun: Ints
    done: Ints
    index: Ints
    names: tuple[str, ...]

    def linearizable(self, chosen: Flags, until: int = OPEN) -> bool:
        """Check those of the operations that are ``chosen``, as far as they had gone by a moment (ns)."""
        done = np.where(self.done <= until, self.done, OPEN)
        mine = chosen & (self.begun <= until) & (self.write | (done != OPEN))
        reads = mine & ~self.write
        known = np.zeros(len(self.names), dtype=np.bool_)
        known[self.value[mine & self.write]] = known[0] = True
        if not known[self.value[reads]].all():
            return False
        needed = known.copy()  # a write that never completed and was never read need not have happened
        needed[self.value[mine & self.write & (done == OPEN)]] = False
        needed[self.value[reads]] = True
        low, high, begun = self._zones(mine, done)
        early = np.full(len(self.names), OPEN)
        np.minimum.at(early, self.value[reads], done[reads])
        return bool((early >= begun)[needed].all()) and _apart(low[needed], high[needed])

    def _zones(self, mine: Flags, done: Ints) -> tuple[Ints, Ints, Ints]:
        """First completion and last invocation of each value's cluster, and when its write began."""
        low, high = np.full(len(self.names), OPEN), np.full(len(self.names), BEFORE)
        begun = np.full(len(self.names), BEFORE)
        low[0] = BEFORE
        np.minimum.at(low, self.value[mine], done[mine])
        np.maximum.at(high, self.value[mine], self.begun[mine])
        writes = mine & self.write
        begun[self.value[writes]] = self.begun[writes]
        return low, high, begun


def _apart(low: Ints, high: Ints) -> bool:
    """Whether no two forward zones overlap and no backward one lies within a forward one."""
    forward = low < high
    order = np.argsort(low[forward], kind="stable")
    starts, stops = low[forward][order], high[forward][order]
    if (starts[1:] < stops[:-1]).any():
        return False
    firsts, lasts = high[~forward], low[~forward]
    place = np.searchsorted(starts, firsts, side="left") - 1
    inside = (place >= 0) & (lasts < stops[np.maximum(place, 0)]) if len(starts) else np.zeros(len(firsts), bool)
    return not inside.any()


def history_of(operations: Operations, key: Any) -> RegisterHistory | None:
    """Take the history of a key; None where values are written twice, or something else than reads and writes is in it.

    Failed operations had no effect, and reads that did not return show nothing: both are left out.
    """
    name = json.dumps(key, ensure_ascii=False, separators=(",", ":"))
    rows = np.flatnonzero(operations.key.codes == (-1 if key is None else operations.key.code(name)))
    kinds = {code: kind for code, kind in enumerate(operations.f.names) if kind in ("read", "write")}
    if not 0 < len(rows) <= MAX_OPERATIONS or not set(np.unique(operations.f.codes[rows]).tolist()) <= set(kinds):
        return None
    writes = operations.f.codes[rows] == operations.f.code("write")
    ok, failed = operations.which(OK)[rows], operations.which(FAIL)[rows]
    kept = np.where(writes, ~failed, ok)
    rows, writes, ok = rows[kept], writes[kept], ok[kept]
    codes = {"null": 0}
    columns = [operations.value if write else operations.result for write in writes]
    texts = [str(column[int(row)].as_py() or "null") for column, row in zip(columns, rows, strict=True)]
    value = np.array([codes.setdefault(text, len(codes)) for text in texts], dtype=np.int64)
    if len(np.unique(value[writes])) < np.count_nonzero(writes) or (value[writes] == 0).any():
        return None
    done = np.where(ok & (operations.returned[rows] != NONE), operations.returned[rows], OPEN)
    return RegisterHistory(value, writes, operations.invoked[rows], done, operations.index[rows], tuple(codes))


def prefix_of(history: RegisterHistory) -> tuple[int, int] | None:
    """Find the completion (ns) at which the history ceases to be linearizable, and how many completed before it."""
    everything = np.ones(len(history.value), dtype=np.bool_)
    moments = np.unique(history.done[history.done != OPEN])
    if not len(moments) or history.linearizable(everything, int(moments[-1])):
        return None
    low, high = 0, len(moments) - 1  # what is linearizable up to a moment was so before
    while low < high:
        middle = (low + high) // 2
        if history.linearizable(everything, int(moments[middle])):
            low = middle + 1
        else:
            high = middle
    return int(moments[low]), int(np.count_nonzero(history.done < moments[low]))


def doubtful_of(history: RegisterHistory, answers: Sequence[Any]) -> list[Any]:
    """Choose the answers whose write never completed: it may have happened, or not."""
    done = history.done[history.write]
    open_ones = {history.names[code] for code in history.value[history.write][done == OPEN].tolist()}
    parsed = [json.loads(name) for name in open_ones]
    return [answer for answer in answers if answer in parsed]


def legal_answers(history: RegisterHistory, culprit: int, others: Sequence[int]) -> list[Any] | None:
    """List every value that the read with index ``culprit`` could have returned beside all that had happened by then.

    ``others`` are the indexes of the operations blamed for other violations, which are left out.  None where the rest
    is not linearizable without the read either, so that nothing can be said.
    """
    places = np.flatnonzero(history.index == culprit)
    rest = ~np.isin(history.index, [culprit, *others])
    if not len(places) or history.write[places[0]]:
        return None
    place, chosen = int(places[0]), rest.copy()
    until = int(history.done[place])
    if not history.linearizable(rest, until):
        return None
    chosen[place] = True
    over = rest & history.write & (history.done < history.begun[place])
    last = int(history.begun[over].max(initial=BEFORE))  # what had ended by then was overwritten before the read began
    written = np.full(len(history.names), BEFORE)
    written[history.value[rest & history.write]] = history.done[rest & history.write]
    found = []
    for code in np.flatnonzero(written >= last).tolist():
        value = history.value.copy()
        value[place] = code
        tried = RegisterHistory(value, history.write, history.begun, history.done, history.index, history.names)
        if tried.linearizable(chosen, until):
            found.append(json.loads(history.names[code]))
    return found
