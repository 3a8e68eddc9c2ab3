"""A counterexample as a small drawing for a terminal: one line a process, time from left to right.

k0: stale-read
process 1 n1  ├─write 7─┤
process 3 n2              ├─write 9─┤
process 5 n1                          ├─read → 7─┤
              12.310 s                           12.530 s
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unicodedata import combining, east_asian_width

from checker.core.wording import plain, shown
from history import Counterexample, Operation
from history.records.time_format import digits_of, seconds_text

_GAP = 2
_LONGEST = 24
# More are no picture.
_MOST = 60


def draw(example: Counterexample, *, width: int = 100) -> str:
    """The drawing, at most ``width`` columns wide if the operations allow it.

    Columns stand for the order of events, not for lengths of time: what overlaps overlaps, what comes later is to the
    right.
    """
    operations = sorted(example.operations, key=lambda operation: operation.invoke_index)
    if not operations:
        return ""
    if len(operations) > _MOST:
        return f"{len(operations)} operations are too many to draw"
    names = {operation.process: _name(operation) for operation in operations}
    margin = max(map(_wide, names.values())) + 1
    short = False
    columns = _columns(operations, short)
    if margin + max(columns.values()) > width:
        short = True
        columns = _columns(operations, short)
    lines = [
        _padded(names[process], margin) + _row([o for o in operations if o.process == process], columns, short)
        for process in names
    ]
    return "\n".join([*lines, _axis(operations, columns, margin)])


def label(operation: Operation, *, short: bool = False) -> str:
    """``write 7``, ``read → 7``, ``cas 7→8``, or without the function's name where it is evident."""
    if operation.f == "cas" and isinstance(operation.value, (list, tuple)) and len(operation.value) == 2:
        refused = " refused" if operation.outcome == "fail" else ""
        if operation.refused:
            refused = f" refused by {_clipped(operation.seen)}"
        old, new = map(_clipped, operation.value)
        return f"cas {old}→{new}{refused}"
    if operation.f == "write":
        return f"{'w' if short else 'write '}{_clipped(operation.value)}"
    if operation.f == "read":
        return f"{'r' if short else 'read → '}{_clipped(operation.result)}"
    asked = "" if operation.value is None else f" {_clipped(operation.value)}"
    echo = operation.result == operation.value and operation.f != "append"
    given = "" if operation.result is None or echo else f" → {_clipped(operation.result)}"
    return operation.f + asked + given


def _clipped(value: Any) -> str:
    text = shown(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _wide(text: str) -> int:
    """How many columns of a terminal the text takes."""
    return sum(2 if east_asian_width(sign) in "WF" else not combining(sign) for sign in text)


def _padded(text: str, width: int, sign: str = " ") -> str:
    return text + sign * (width - _wide(text))


def _name(operation: Operation) -> str:
    return f"process {operation.process}" + (f" {plain(operation.node)}" if operation.node else "")


def _end(operation: Operation) -> int | None:
    return None if operation.outcome == "info" else operation.return_index


def _columns(operations: Sequence[Operation], short: bool) -> dict[int, int]:
    """A column for every event, far enough apart for the labels between them."""
    events = sorted({o.invoke_index for o in operations} | {end for o in operations if (end := _end(o)) is not None})
    columns: dict[int, int] = {}
    column = 0
    for event in events:
        for operation in operations:
            if _end(operation) == event:
                room = _wide(label(operation, short=short)) + 3
                column = max(column, columns[operation.invoke_index] + room)
            elif operation.invoke_index == event:
                before = [o for o in operations if o.process == operation.process and o.invoke_index < event]
                for other in before:
                    if _end(other) is None:
                        column = max(column, columns[other.invoke_index] + _wide(label(other, short=short)) + 6)
        columns[event] = column
        column += _GAP
    return columns


def _row(operations: Sequence[Operation], columns: dict[int, int], short: bool) -> str:
    line = ""
    for operation in operations:
        start, text, end = columns[operation.invoke_index], label(operation, short=short), _end(operation)
        line = _padded(line, start)
        line += f"├─{text}┄┄ ?" if end is None else "├─" + _padded(text, columns[end] - start - 2, "─") + "┤"
    return line


def _axis(operations: Sequence[Operation], columns: dict[int, int], margin: int) -> str:
    moments = {o.invoke_index: o.invoked for o in operations}
    moments |= {end: o.returned for o in operations if (end := _end(o)) is not None and o.returned is not None}
    first, last = min(moments), max(moments)
    digits = digits_of(operations)
    left, right = (f"{seconds_text(moments[event], digits)} s" for event in (first, last))
    return " " * margin + left + right.rjust(max(columns[last] + 1 - len(left), len(right) + 2))
