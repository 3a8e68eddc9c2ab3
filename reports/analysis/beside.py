"""Which operations are drawn: those of a counterexample that matter, and on the same object around a broken promise."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from history import SECOND, Counterexample, Operation
from reports.load.columns import NONE, Operations

#: At most this many operations are shown on each side of one of the violation.
MAX_BESIDE: Final = 3
#: They are shown if at most this much time (ns) lies between the two.
MAX_GAP_NS: Final = SECOND
#: Above this many rows, at most :data:`LAST` are drawn.
MAX_ROWS: Final = 40
LAST: Final = 16
#: At most this many of those that ended before a suspect began are drawn, where no order of the others is known.
BEFORE: Final = 2


def operations_beside(operations: Operations, example: Counterexample) -> list[Operation]:
    """List the nearest operations on the object around each one of a broken promise, in the order of the history.

    Of other counterexamples there are none: they say by themselves why nothing fits.
    """
    key = json.dumps(example.key, ensure_ascii=False, separators=(",", ":"))
    if not example.roles or example.key is None:
        return []
    mine = [one.invoke_index for one in example.operations]
    rows = np.flatnonzero((operations.key.codes == operations.key.code(key)) & ~np.isin(operations.index, mine))
    begun = operations.invoked[rows]
    done = np.where(operations.returned[rows] == NONE, begun, operations.returned[rows])
    chosen: set[int] = set()
    for one in example.operations:
        end = one.invoked if one.returned is None else one.returned
        away = np.maximum(np.maximum(begun - end, one.invoked - done), 0)
        nearest = np.lexsort((np.abs(begun - one.invoked), away))[:MAX_BESIDE]
        chosen.update(rows[nearest[away[nearest] <= MAX_GAP_NS]].tolist())
    return [operations.at(row) for row in sorted(chosen)]


def rows_of(example: Counterexample, beside: Sequence[Operation]) -> list[tuple[int, Operation]]:
    """List (place, operation) of what is drawn, by invocation: of too many the suspects and what matters to them.

    These are the last to take effect.  Where that is not known, what may have taken effect while a suspect was open,
    and the last that ended before: from where they left the object, only what was open can have led elsewhere.
    """
    numbered = list(enumerate([*example.operations, *beside]))
    if len(numbered) > MAX_ROWS:
        effects = {point.operation: point.at for point in example.linearization.points} if example.linearization else {}
        suspects = {operation.invoke_index for operation in example.suspects}
        if suspects and not effects and not example.roles:
            numbered = _open_with(example.suspects, list(enumerate(example.operations)))

        def last_first(one: tuple[int, Operation]) -> tuple[bool, bool, int]:
            place, operation = one
            mine = place < len(example.operations)
            return mine and operation.invoke_index in suspects, mine, effects.get(place, operation.invoked)

        numbered = sorted(numbered, key=last_first, reverse=True)[:LAST]
    return sorted(numbered, key=lambda one: one[1].invoked)


def _open_with(suspects: Sequence[Operation], own: Sequence[tuple[int, Operation]]) -> list[tuple[int, Operation]]:
    """Choose the operations that may have taken effect while a suspect was open, and the last ones before them.

    Of those in doubt the ones that began after these, if there are any: an older one would have had to wait.
    """
    began = min(suspect.invoked for suspect in suspects)

    def over(operation: Operation) -> bool:
        return operation.outcome != "info" and operation.returned is not None and operation.returned < began

    before = sorted((one for one in own if over(one[1])), key=lambda one: one[1].returned or 0)[-BEFORE:]
    since = max((one[1].invoked for one in before), default=0)
    opened = [one for one in own if not over(one[1])]
    doubtful = [one for one in opened if one[1].outcome == "info"]
    younger = [one for one in doubtful if one[1].invoked > since] or doubtful
    return [*before, *(one for one in opened if one not in doubtful or one in younger)]


def in_doubt(example: Counterexample, wording: Callable[[Operation], str]) -> list[tuple[str, int]]:
    """List, in words, what is drawn that may have taken effect before a suspect was answered, and how often.

    Empty for a broken promise, where this explains nothing.
    """
    until = max((one.invoked if one.returned is None else one.returned for one in example.suspects), default=0)
    shown = [one for _, one in rows_of(example, ())] if not example.roles else []
    found = [one for one in shown if one.outcome == "info" and one.invoked < until]
    return list(Counter(map(wording, found)).items())


def set_bounds(operations: Operations, example: Counterexample, key: object) -> str:
    """Say what every legal answer of a blamed read of a set holds, and what it may hold besides; else nothing.

    It holds what was acknowledged before it began, or shown by a read that had ended by then, and beside that nothing
    but elements whose adds had begun before it ended.  Such sets only grow.
    """
    (blamed, *others) = example.suspects or (None,)
    if blamed is None or others or blamed.f != "read" or blamed.returned is None or example.roles:
        return ""
    name = json.dumps(key, ensure_ascii=False, separators=(",", ":"))
    rows = np.flatnonzero(operations.key.codes == (-1 if key is None else operations.key.code(name)))
    if {operations.f.names[code] for code in np.unique(operations.f.codes[rows])} != {"add", "read"}:
        return ""
    mine = [operations.at(row) for row in rows.tolist() if operations.invoked[row] < blamed.returned]
    ended = [one for one in mine if one.outcome == "ok" and one.returned is not None and one.returned < blamed.invoked]
    held = {one.value for one in ended if one.f == "add"}
    held.update(*(one.result for one in ended if one.f == "read" and isinstance(one.result, list)))
    doubtful = {one.value for one in mine if one.f == "add" and one.outcome != "fail"} - held
    all_of = f"all of {len(held):,} elements that had been acknowledged or read before"
    return f"{all_of}, with or without some of {len(doubtful):,} whose adds were under way or in doubt"
