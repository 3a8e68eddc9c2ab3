"""Layout of a counterexample: one row per operation, a real time axis, linearization points, states, culprits.

Time is drawn to scale, except that long stretches without open operations are folded and marked with their length.  A
row is labelled with the operation and its answer, or with its role in a broken promise.  Other operations nearby are
drawn faintly.  If there are many operations, only those that matter are drawn and the others counted.

This module computes only the geometry; the page and the static plots draw it.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from history import UNAPPLIED, Counterexample, Linearization, Operation
from history.records.time_format import digits_of, seconds_text
from reports.analysis.rows import rows_of
from reports.style.format import SHORT, short, text_of
from reports.style.wording import Wording, by_values

WIDTH: Final = 1000.0
LEFT: Final = 150.0
RIGHT: Final = 24.0
ROW: Final = 44.0
TOP: Final = 30.0
#: Width of a folded stretch.
FOLD: Final = 72.0
#: Minimum distance between the times below the axis.
TICK: Final = 60.0
STRONG_SIGN: Final = 6.9
#: Approximate width of a character in a label, and in the times after it.
SIGN: Final = 6.3
#: Limit of a value in a title, in characters.
WHOLE: Final = 2000
#: Limit of a model's words for an operation, in characters.
LONGEST_WORDING: Final = 110
#: Reads of more items are labelled by their number and the counterexample's elements that they hold.
LISTED: Final = 8
NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Box:
    """One operation, from ``x`` to ``x + width`` in row ``y``.

    ``open_end``: it may take effect at any later time.  ``contradicted``: the culprit's answer contradicts this
    operation. ``beside``: it is not part of the counterexample.  ``aside``: the counterexample does not need its
    answer.
    """

    label: str
    who: str
    times: str
    x: float
    y: float
    width: float
    outcome: str
    open_end: bool
    culprit: bool
    contradicted: bool
    beside: bool
    aside: bool
    point: float | None
    index: int
    anchor: str
    #: Where the text above the bar begins or ends, depending on ``anchor``.
    label_x: float
    #: The label before it was cut to the available width.
    whole: str
    #: The label with uncut values.
    title: str
    #: The times without the error, for a narrow screen.
    narrow_times: str


@dataclass(frozen=True, slots=True)
class Span:
    """A labelled stretch of the axis: a folded pause, or a state held from ``x`` to ``x + width``."""

    x: float
    width: float
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """The layout of a counterexample.

    ``legal`` says what a culprit read could have returned; empty if unknown.  ``left_out`` is the number of
    operations of the counterexample that are not drawn because they took effect earlier.
    """

    width: float
    height: float
    axis_y: float
    boxes: tuple[Box, ...]
    folds: tuple[Span, ...]
    states: tuple[Span, ...]
    ticks: tuple[Span, ...]
    legal: tuple[str, ...]
    left_out: int

    @property
    def left_out_text(self) -> str:
        if not self.left_out:
            return ""
        return f"{self.left_out:,} earlier operation{'s' if self.left_out > 1 else ''} not drawn"


class Axis:
    """Map from nanoseconds to x.  Busy stretches share the width in proportion, and long idle ones are folded."""

    def __init__(self, operations: Sequence[Operation], ends: Sequence[int]) -> None:
        cuts = sorted({operation.invoked for operation in operations} | set(ends))
        spans = list(itertools.pairwise(cuts))
        opened = sorted(operation.invoked for operation in operations)
        closed = sorted(ends)
        # Every begin and end is a cut, so each span is open either throughout or not at all.
        busy = [bisect_right(opened, low) > bisect_right(closed, low) for low, _ in spans]
        load = sum(high - low for (low, high), works in zip(spans, busy, strict=True) if works) or 1
        self.folded = [not works and high - low > load / 3 for (low, high), works in zip(spans, busy, strict=True)]
        free = WIDTH - LEFT - RIGHT - FOLD * sum(self.folded)
        shown = sum(high - low for (low, high), folded in zip(spans, self.folded, strict=True) if not folded) or 1
        self._knots = [(float(cuts[0]), LEFT)]
        for (low, high), folded in zip(spans, self.folded, strict=True):
            width = FOLD if folded else free * (high - low) / shown
            self._knots.append((float(high), self._knots[-1][1] + width))
        self._times = [time for time, _ in self._knots]
        self.spans = spans

    def x(self, time: float) -> float:
        """Return the x of a moment; moments outside the axis are at its ends."""
        place = bisect_left(self._times, time)
        if place in (0, len(self._times)):
            return self._knots[min(place, len(self._knots) - 1)][1]
        (low, left), (high, right) = self._knots[place - 1 : place + 1]
        return left + (right - left) * (time - low) / (high - low)


def picture_of(
    example: Counterexample, beside: Sequence[Operation] = (), wording: Wording = by_values
) -> Picture | None:
    """Lay out a counterexample and the operations ``beside`` it; None if it has no operations."""
    if not example.operations:
        return None
    wording = labels_by_elements(example, wording)
    rows = rows_of(example, beside)
    operations = [operation for _, operation in rows]
    suspects = example.suspects
    parts = [_Part.of(example, suspects, place) for place, _ in rows]
    last = max([other.returned or other.invoked for other in operations])
    ends = [_drawn_end(op, last, part) for op, part in zip(operations, parts, strict=True)]
    axis, linearization, digits = Axis(operations, ends), example.linearization, digits_of(operations)
    points = {point.operation: axis.x(point.at) for point in linearization.points} if linearization else {}
    boxes = tuple(
        _box(row, operation, ends[row], digits, axis, points.get(place), parts[row], wording)
        for row, (place, operation) in enumerate(rows)
    )
    absent = any(o.f == "read" and o.outcome == "ok" and o.result is None for o in example.operations)
    axis_y = TOP + ROW * len(boxes) + 8
    return Picture(
        width=WIDTH,
        height=axis_y + 64,
        axis_y=axis_y,
        boxes=boxes,
        folds=tuple(
            Span(axis.x(low), FOLD, f"{(high - low) / 1e9:.3g} s")
            for (low, high), folded in zip(axis.spans, axis.folded, strict=True)
            if folded
        ),
        states=_states(linearization, axis, absent),
        ticks=_ticks(axis, digits),
        legal=_legal(example, linearization, absent, wording) if linearization else (),
        left_out=len(example.operations) - sum(not part.beside for part in parts),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """An operation's part in the picture; ``says`` is set only for a broken promise."""

    says: str
    culprit: bool
    contradicted: bool
    beside: bool
    aside: bool

    @classmethod
    def of(cls, example: Counterexample, suspects: Sequence[Operation], place: int) -> _Part:
        beside = place >= len(example.operations)
        role = example.roles[place] if example.roles and not beside else None
        culprit = not beside and example.operations[place] in suspects
        aside = place in example.set_aside
        contradicted = role is not None and bool(suspects) and not culprit
        return cls(role.says if role else "", culprit, contradicted, beside, aside)


def labels_by_elements(example: Counterexample, wording: Wording = by_values) -> Wording:
    """Return a wording that labels reads of long lists by the elements that they hold.

    Only the counterexample's own elements are named: ``read of 6,132, without 4483``.
    """
    added = [operation.value for operation in example.operations if operation.f in ("add", "append", "enqueue")]

    def words(operation: Operation) -> str:
        text, items = wording(operation), operation.result
        if text or operation.f != "read" or not isinstance(items, list) or len(items) <= LISTED or not added:
            return text
        parts = [f"read of {len(items):,}"]
        for word, there in (("with", True), ("without", False)):
            elements = [text_of(value, 12) for value in added if (value in items) == there]
            more = f" and {len(elements) - NAMED} more" if len(elements) > NAMED else ""
            parts += [f"{word} {', '.join(elements[:NAMED])}{more}"] if elements else []
        return ", ".join(parts)

    return words


def label_of(operation: Operation, most: int = SHORT, wording: Wording = by_values, asked_most: int = SHORT) -> str:
    """Describe an operation and its answer in a few words.

    The answer takes at most ``most`` characters, the request at most ``asked_most``.
    """
    if words := wording(operation):
        return short(words, max(LONGEST_WORDING, most))
    if operation.f == "read":
        return f"read {text_of(operation.result, most)}" if operation.outcome == "ok" else "read"
    if operation.f == "cas" and isinstance(operation.value, list | tuple) and len(operation.value) == 2:
        refused = " refused" if operation.outcome == "fail" else ""
        refused = f" refused by {text_of(operation.seen, asked_most)}" if operation.refused else refused
        return f"cas {text_of(operation.value[0], asked_most)} → {text_of(operation.value[1], asked_most)}{refused}"
    request = "" if operation.value is None else f" {text_of(operation.value, asked_most)}"
    echoed = operation.result == operation.value and operation.f != "append"
    answered = "" if operation.result is None or echoed else f" → {text_of(operation.result, most)}"
    return short(operation.f, 16) + (request or (" absent" if operation.f == "write" else "")) + answered


def _drawn_end(operation: Operation, last: int, part: _Part) -> int:
    """Return where an operation's box ends; open ones of the counterexample end with the picture."""
    if operation.returned is not None and (operation.outcome != "info" or part.beside):
        return max(operation.returned, operation.invoked + 1)
    return max(last, operation.invoked + 1)


def _box(
    row: int,
    operation: Operation,
    end: int,
    digits: int,
    axis: Axis,
    point: float | None,
    part: _Part,
    wording: Wording,
) -> Box:
    x = axis.x(operation.invoked)
    width, aside = max(axis.x(end) - x, 4.0), ", set aside" if part.aside else ""
    times = times_of(operation, digits) + aside
    if part.says:
        label, title = (f"{short(operation.f, 16)}: {short(part.says, most)}" for most in (80, WHOLE))
    else:
        label = label_of(operation, 60 if part.culprit else SHORT, wording)
        title = label_of(operation, WHOLE, wording, WHOLE)
    whole, label = label, short(label, int((WIDTH - LEFT - SIGN * (len(times) + 1)) / STRONG_SIGN))
    wide = STRONG_SIGN * len(label) + SIGN * (len(times) + 1)
    anchor, label_x = _anchor(x, x + width, wide)
    return Box(
        label=label,
        who=f"process {operation.process}" + (f" · {short(operation.node, 10)}" if operation.node else ""),
        times=times,
        x=x,
        y=TOP + ROW * row,
        width=width,
        outcome=operation.outcome,
        open_end=operation.outcome == "info",
        culprit=part.culprit,
        contradicted=part.contradicted,
        beside=part.beside,
        aside=part.aside,
        # If its answer is set aside, it may take effect after it.  Then draw no point.
        point=None if point is None or (part.aside and point > x + width) else point,
        index=operation.invoke_index,
        anchor=anchor,
        label_x=label_x,
        whole=whole,
        title=title,
        narrow_times=times_of(operation, digits, named=False) + aside,
    )


def _anchor(left: float, right: float, wide: float) -> tuple[str, float]:
    """Choose where a label of this width goes above a bar: inside the picture and right of the processes' names."""
    if left > WIDTH * 0.62 and right - wide >= LEFT:
        return "end", right
    return ("start", left) if left + wide <= WIDTH else ("end", WIDTH)


def times_of(operation: Operation, digits: int, *, named: bool = True) -> str:
    """Format the start and end of an operation.

    An operation with unknown outcome ended for its client but may take effect later.
    """
    invoked = seconds_text(operation.invoked, digits)
    if operation.returned is None:
        return f"{invoked} – never answered"
    returned = f"{seconds_text(operation.returned, digits)} s"
    if operation.outcome != "info":
        return f"{invoked} – {returned}{', not applied' if operation.error == UNAPPLIED else ''}"
    error = f"{short(operation.error, 24)} at " if operation.error and named else "given up at "
    return f"{invoked} s, outcome unknown ({error}{returned})"


def _legal(example: Counterexample, linearization: Linearization, absent: bool, wording: Wording) -> tuple[str, ...]:
    """Return what the suspect could have answered, in the words of its label.

    Long lists are described by their length, because they may differ in a few of many elements.
    """
    if not linearization.whole:
        return tuple(_before(value, absent, "an earlier value") for value in linearization.legal)
    suspect = next(iter(example.suspects), None)

    def text(answer: Any) -> str:
        if isinstance(answer, list) and len(answer) > LISTED:
            return f"a list of {len(answer)}"
        words = wording(replace(suspect, result=answer)).removeprefix(f"{suspect.f}: ") if suspect else ""
        return words or text_of(answer, 60)

    return tuple(dict.fromkeys(map(text, linearization.legal)))


def _before(value: Any, absent: bool, otherwise: str) -> str:
    """Format a value; null becomes ``otherwise`` unless the object was absent at some time."""
    return text_of(value) if value is not None or absent else otherwise


def _states(linearization: Linearization | None, axis: Axis, absent: bool) -> tuple[Span, ...]:
    """Return what the register held between the points, in the one order found for the other operations."""
    if linearization is None or not linearization.points:
        return ()
    before = [point.state for point in linearization.points if point.at < axis.spans[0][0]]
    shown = [(axis.x(point.at), point.state) for point in linearization.points[len(before) :]]
    edges = [(LEFT, [linearization.initial, *before][-1]), *shown]
    spans: list[Span] = []
    for (x, state), (following, _) in zip(edges, [*edges[1:], (WIDTH - RIGHT, None)], strict=True):
        text = _before(state, absent, "earlier value")
        if spans and spans[-1].text == text:
            spans[-1] = Span(spans[-1].x, following - spans[-1].x, text)
        else:
            spans.append(Span(x, following - x, text))
    return tuple(spans)


def _ticks(axis: Axis, digits: int) -> tuple[Span, ...]:
    """Choose times for the axis: its ends, the ends of folds if there is room, and round times between."""
    first, last = axis.spans[0][0], axis.spans[-1][1]
    edges = [first, last]
    for (low, high), folded in zip(axis.spans, axis.folded, strict=True):
        edges += [low, high] if folded else []
    moments: list[int] = []
    for moment in sorted(set(edges)):
        if len(moments) > 1 and moment == last and axis.x(moment) - axis.x(moments[-1]) <= TICK:
            moments.pop()
        if not moments or axis.x(moment) - axis.x(moments[-1]) > TICK:
            moments.append(moment)
    for moment in _round_times(axis, 10 ** (9 - digits)):
        if all(abs(axis.x(moment) - axis.x(other)) > 1.5 * TICK for other in moments):
            moments.append(moment)
    return tuple(Span(axis.x(moment), 0.0, seconds_text(moment, digits)) for moment in sorted(moments))


def _round_times(axis: Axis, least: int) -> list[int]:
    """Return round moments (ns) in the stretches drawn to scale, no finer than ``least``."""
    drawn = [span for span, folded in zip(axis.spans, axis.folded, strict=True) if not folded]
    scale = sum(axis.x(high) - axis.x(low) for low, high in drawn) / max(sum(high - low for low, high in drawn), 1)
    steps = (part * 10**power for power in range(12) for part in (1, 2, 5))
    step = next((step for step in steps if step >= least and step * scale > 2 * TICK), 0)
    if not step:
        return []
    return [moment for low, high in drawn for moment in range(-(-low // step) * step, high, step)]
