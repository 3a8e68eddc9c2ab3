"""Draw a counterexample with box-drawing characters, for terminals and mail."""

from __future__ import annotations

from typing import Final

from history import Counterexample
from reports.analysis import counterexample
from reports.analysis.counterexample import LEFT, RIGHT, Box, Picture, picture_of
from reports.style.format import one_line
from reports.style.wording import Wording, by_values

WIDTH: Final = 113
#: Width of the narrowest drawing.
MIN_COLUMNS: Final = 60
WHO: Final = 17


def draw(example: Counterexample, width: int = WIDTH, wording: Wording = by_values) -> str:
    """Draw two lines per operation: its label, and a bar on the time axis.

    ``●`` marks where it may have taken effect, ``✕`` marks suspects.
    """
    picture, columns = picture_of(example, wording=wording), max(width, MIN_COLUMNS) - WHO
    if picture is None:
        return ""
    between = ", " if example.roles else " "
    lines = [line for box in picture.boxes for line in _operation(box, between, columns)]
    above = [picture.left_out_text] if picture.left_out else []
    return "\n".join([*above, *lines, *_states(picture, columns), _ticks(picture, columns)])


def _place(x: float, columns: int) -> int:
    return round((x - LEFT) / (counterexample.WIDTH - LEFT - RIGHT) * (columns - 1))


def _operation(box: Box, between: str, columns: int) -> list[str]:
    # The shortest bar takes two columns, and none may end beyond the axis.
    first = min(_place(box.x, columns), columns - 2)
    last = min(max(_place(box.x + box.width, columns), first + 1), columns - 1)
    bar = list("├" + "─" * (last - first - 1) + ("┄" if box.open_end else "┤"))
    if box.culprit:
        bar[len(bar) // 2] = "✕"
    elif box.point is not None:
        bar[min(max(_place(box.point, columns) - first, 0), len(bar) - 1)] = "●"
    # An unknown outcome is shown with its error, which may be long; keep the label inside the drawing.
    times = f"{between}{one_line(box.times, columns - len(between) - min(len(box.label), columns // 2))}"
    label = one_line(box.label, columns - len(times)) + times
    at = first if first + len(label) <= columns else max(columns - len(label), 0)
    return [f"{'':{WHO}}{'':{at}}{label}", f"{one_line(box.who, WHO - 1):{WHO}}{'':{first}}{''.join(bar)}"]


def _states(picture: Picture, columns: int) -> list[str]:
    if not picture.states:
        return []
    row = [" "] * columns
    for span in picture.states:
        first, last = _place(span.x, columns), _place(span.x + span.width, columns)
        text = one_line(span.text, max(last - first - 1, 1))
        row[first:last] = list(f"│{text:^{max(last - first - 1, 0)}}"[: last - first])
    return [f"{'it holds':{WHO}}{''.join(row)}"]


def _ticks(picture: Picture, columns: int) -> str:
    """Return the line of times below the axis: always the last one, and others that fit without touching."""
    row = [" "] * columns
    free = columns
    for place, tick in reversed(list(enumerate(picture.ticks))):
        at = max(0, min(_place(tick.x, columns) - len(tick.text) // 2, columns - len(tick.text)))
        if place and place + 1 < len(picture.ticks) and at < len(picture.ticks[0].text) + 1:
            continue
        if at + len(tick.text) < free or free == columns:
            row[at : at + len(tick.text)] = list(tick.text)
            free = at
    return f"{'seconds':{WHO}}{''.join(row)}".rstrip()
