"""Layout of a cycle of transactions: a card with the steps of each, and an arrow to the next.

An arrow connects the two steps that prove it, to the right of the cards; the arrow that closes the cycle is to the
left.  This module computes only the geometry; the page draws it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from history import Counterexample, Operation
from history.records.time_format import digits_of
from history.records.verdicts import Dependency
from reports.analysis.counterexample import times_of
from reports.style.format import one_line, short, text_of

#: Heights of a card's head and of a step, and the gap between cards.
HEAD: Final = 42.0
STEP: Final = 19.0
GAP: Final = 16.0
#: How far an arrow bulges from the cards, and the space before its label.
BEND: Final = 46.0
ROOM: Final = 6.0
LINE: Final = 14.0
#: Approximate width of a character in a step.
SIGN: Final = 7.3
_KINDS: Final = {"realtime": "real time"}


@dataclass(frozen=True, slots=True)
class Size:
    """Widths of the drawing and of the space on each side of the cards."""

    width: float
    left: float
    right: float

    @property
    def card(self) -> float:
        return self.width - self.left - self.right


BROAD: Final = Size(1000.0, 200.0, 320.0)
SLIM: Final = Size(360.0, 76.0, 84.0)


@dataclass(frozen=True, slots=True)
class TransactionStep:
    """One step of a transaction; ``proves``: an arrow begins or ends there."""

    text: str
    whole: str
    y: float
    proves: bool


@dataclass(frozen=True, slots=True)
class Card:
    """One transaction, starting at ``y``; ``open_end``: its outcome is unknown."""

    name: str
    who: str
    times: str
    y: float
    height: float
    outcome: str
    open_end: bool
    index: int
    steps: tuple[TransactionStep, ...]


@dataclass(frozen=True, slots=True)
class Arrow:
    """One dependency: a curve, the arrowhead, and the lines of its label.

    ``kind`` is the kind of dependency; ``label`` has its name, its key, and the values that prove it.
    """

    kind: str
    path: str
    head: str
    label: tuple[str, ...]
    label_x: float
    label_y: float
    anchor: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Cycle:
    size: Size
    height: float
    cards: tuple[Card, ...]
    arrows: tuple[Arrow, ...]


def cycle_of(example: Counterexample, size: Size) -> Cycle | None:
    """Lay out the cycle of a counterexample; None if it has none."""
    if not example.dependencies:
        return None
    proving = {
        (row, step)
        for edge in example.dependencies
        for row, step in zip((edge.source, edge.target), edge.steps, strict=False)
    }
    digits, cards, y = digits_of(list(example.operations)), list[Card](), 4.0
    for row, operation in enumerate(example.operations):
        steps = tuple(
            TransactionStep(step_text(step, int(size.card / SIGN) - 2, known=operation.outcome == "ok"),
                 step_text(step, 2000, known=operation.outcome == "ok"), y + HEAD + STEP * place,
                 (row, place) in proving)
            for place, step in enumerate(steps_of(operation))
        )  # fmt: skip
        height = HEAD + STEP * len(steps)
        who = f"process {operation.process}" + (f" · {short(operation.node, 10)}" if operation.node else "")
        cards.append(
            Card(f"T{row + 1}", who, times_of(operation, digits, named=False), y, height, operation.outcome,
                 operation.outcome == "info", operation.invoke_index, steps)
        )  # fmt: skip
        y += height + GAP
    arrows = tuple(_arrow(edge, example.operations, cards, size) for edge in example.dependencies)
    return Cycle(size, y - GAP + 4, tuple(cards), arrows)


def steps_of(operation: Operation) -> list[Any]:
    """Return the steps of a transaction, with the answers of its reads if they are known."""
    return list(operation.value if operation.outcome != "ok" or operation.result is None else operation.result)


def step_text(step: Any, most: int, *, known: bool = True) -> str:
    """Format a step: ``append 3 to 5``, ``read [1, 2] in 5``, and ``read 5`` if the answer is unknown."""
    f, key, value = step
    if f in ("r", "read") and not known:
        return f"read {one_line(key, 16)}"
    verb, where = ("read", f" in {one_line(key, 16)}") if f in ("r", "read") else (f, f" to {one_line(key, 16)}")
    verb = "write" if f == "w" else verb
    return f"{verb} {_value(value, most - len(verb) - len(where) - 1)}{where}"


def _arrow(edge: Dependency, operations: tuple[Operation, ...], cards: list[Card], size: Size) -> Arrow:
    """Draw the curve between two steps, or between the heads of the cards if the dependency is one of time."""
    closing = edge.target < edge.source
    ends = [
        cards[row].y + (HEAD + STEP * (edge.steps[end] + 0.5) - 5 if edge.steps else HEAD / 2)
        for end, row in enumerate((edge.source, edge.target))
    ]
    x, way, anchor = (size.left, -1.0, "end") if closing else (size.left + size.card, 1.0, "start")
    bend = min(BEND, (size.left if closing else size.right) * 0.45)
    out, tip = x + way * bend * 4 / 3, x + way * 8
    middle = sum(ends) / 2
    label = [_KINDS.get(edge.kind, edge.kind)]
    if edge.steps:
        values = [
            steps_of(operations[row])[at][2] for row, at in zip((edge.source, edge.target), edge.steps, strict=True)
        ]
        room = int((size.left if closing else size.right) - bend - ROOM) // 7
        label += [short(f"key {one_line(edge.key, 24)}", room)]
        # The slim drawing has no room for the values, and the steps show them anyway.
        if room > 16:
            label += [f"{_value(values[0], 18)} → {_value(values[1], 18)}"]
    elif edge.kind == "process":
        label += [f"process {operations[edge.source].process}"]
    return Arrow(
        kind=edge.kind,
        path=f"M{x:.1f} {ends[0]:.1f}C{out:.1f} {ends[0]:.1f} {out:.1f} {ends[1]:.1f} {tip:.1f} {ends[1]:.1f}",
        head=f"M{x:.1f} {ends[1]:.1f}l{way * 9:.1f} -4.5v9z",
        label=tuple(label),
        label_x=x + way * (bend + ROOM),
        label_y=middle - LINE * (len(label) - 1) / 2 + 4,
        anchor=anchor,
        sentence=edge.sentence,
    )


def _value(value: Any, most: int) -> str:
    return "nothing" if value is None else text_of(value, max(most, 6))
