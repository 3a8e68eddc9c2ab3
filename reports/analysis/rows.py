"""The operations of a counterexample: which are drawn, in doubt, or were acknowledged but not applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from history import UNAPPLIED, Counterexample, Operation
from history.records.text import and_listed

#: If there are more rows than this, at most :data:`LAST` are drawn.
MAX_ROWS: Final = 40
LAST: Final = 16
#: At most this many operations that ended before a suspect began are drawn if no order of the others is known.
BEFORE: Final = 2


def rows_of(example: Counterexample, beside: Sequence[Operation]) -> list[tuple[int, Operation]]:
    """Return (place, operation) for the operations to draw, in order of invocation.

    If there are too many, only the suspects and what matters to them are drawn: the operations that took effect
    last.  If no order is known, these are the operations that may have taken effect while a suspect was open, and
    the last ones that ended before.  Only the open ones can have changed the object after those.
    """
    numbered = list(enumerate([*example.operations, *beside]))
    if len(numbered) > MAX_ROWS:
        effects = {point.operation: point.at for point in example.linearization.points} if example.linearization else {}
        suspects = {operation.invoke_index for operation in example.suspects}
        if suspects and not effects and not example.roles:
            numbered = _open_with(example.suspects, list(enumerate(example.operations)))

        def last_first(row: tuple[int, Operation]) -> tuple[bool, bool, int]:
            place, operation = row
            mine = place < len(example.operations)
            return mine and operation.invoke_index in suspects, mine, effects.get(place, operation.invoked)

        numbered = sorted(numbered, key=last_first, reverse=True)[:LAST]
    return sorted(numbered, key=lambda row: row[1].invoked)


def _open_with(suspects: Sequence[Operation], own: Sequence[tuple[int, Operation]]) -> list[tuple[int, Operation]]:
    """Choose the operations that may have taken effect while a suspect was open, and the last ones before them.

    Of the operations in doubt, those that began after the last ones are preferred, because an older one would have
    had to wait.
    """
    began = min(suspect.invoked for suspect in suspects)

    def over(operation: Operation) -> bool:
        return operation.outcome != "info" and operation.returned is not None and operation.returned < began

    before = sorted((row for row in own if over(row[1])), key=lambda row: row[1].returned or 0)[-BEFORE:]
    since = max((row[1].invoked for row in before), default=0)
    opened = [row for row in own if not over(row[1])]
    doubtful = [row for row in opened if row[1].outcome == "info"]
    younger = [row for row in doubtful if row[1].invoked > since] or doubtful
    return [*before, *(row for row in opened if row not in doubtful or row in younger)]


def in_doubt(example: Counterexample, wording: Callable[[Operation], str]) -> list[tuple[str, int]]:
    """Return (words, count) for drawn operations that may have taken effect before a suspect was answered.

    Empty for a broken promise, where they explain nothing.
    """
    until = max(
        (suspect.invoked if suspect.returned is None else suspect.returned for suspect in example.suspects), default=0
    )
    shown = [operation for _, operation in rows_of(example, ())] if not example.roles else []
    doubtful = [operation for operation in shown if operation.outcome == "info" and operation.invoked < until]
    return list(Counter(map(wording, doubtful)).items())


def unapplied_text(example: Counterexample, wording: Callable[[Operation], str]) -> str:
    """Say which operations were acknowledged but not applied; empty if there were none."""
    unapplied = [
        operation for operation in example.operations if operation.outcome == "ok" and operation.error == UNAPPLIED
    ]
    if not unapplied:
        return ""
    named = [f"“{wording(operation)}”{f' on {operation.node}' if operation.node else ''}" for operation in unapplied]
    entries = "their entries" if len(named) > 1 else "its entry"
    return f"The server's library acknowledged {and_listed(named)} without having applied {entries}."
