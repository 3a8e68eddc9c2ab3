"""Parts shared by the texts about a run: wrapped sentences, tables, rows of checks, sparklines."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import isnan
from typing import Any, Final

from history.records.finding import known_defects_in
from reports.load.check_rows import DIFFER
from reports.style.format import leaves, number, one_line, printable
from reports.words.of_clients import known_defect_text

MARKS: Final = {"valid": "✓", "invalid": "✕", "unknown": "?", DIFFER: "≠"}
SPARKS: Final = "▁▂▃▄▅▆▇█"
#: Limit of what a check saw, in characters; it is wrapped, not cut, as its end may say what was not tested.
LONGEST_SEEN: Final = 400
#: Width of the narrowest supported terminal.
MIN_COLUMNS: Final = 60

#: Function that colours a text: (text, name of the colour) -> text.
Paint = Callable[[str, str], str]


def known_text(results: Mapping[str, Any]) -> list[str]:
    """Say which known defects a run shows, and which of its violations no known defect explains."""
    known = known_defects_in(results)
    strange = ", ".join(map(str, results.get("not_known") or ()))
    more = [f"{'Explained by none' if known else 'By no known defect'}: {strange}."] if strange else []
    return [*(f"{known_defect_text(defect)}." for defect in known), *more]


def wrapped(text: str, columns: int, indent: str = "", hang: str = "") -> str:
    """Wrap each line of a string; lines after the first are indented further by ``hang``.

    A line break in recorded text starts an indented line, so that it cannot pass for a line of ours.
    """
    first, *others = printable(text).splitlines() or [""]
    return "\n".join(
        textwrap.fill(line, columns, initial_indent=start, subsequent_indent=indent + hang, break_on_hyphens=False)
        for line, start in [(first, indent), *((line, f"{indent}  ") for line in others)]
    )


def table(
    rows: Sequence[Sequence[str]],
    right: Sequence[int] = (),
    indent: str = "  ",
    between: str = "  ",
    columns: int | None = None,
) -> str:
    """Pad columns to their widest cell; those in ``right`` are right-aligned.

    Columns that do not fit into ``columns`` characters are dropped from the right, and … marks that.
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    if columns is not None and len(indent) + sum(widths) + len(between) * (len(widths) - 1) > columns:
        ends = accumulate((len(between) + width for width in widths), initial=len(indent) - len(between))
        kept = sum(end <= columns - len(between) - 1 for end in ends) - 1
        widths = [*widths[:kept], 1]
        rows = [(*row[:kept], "" if number else "…") for number, row in enumerate(rows)]
    lines = []
    for row in rows:
        cells = [
            f"{cell:>{w}}" if c in right else f"{cell:{w}}" for c, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + between.join(cells)).rstrip())
    return "\n".join(lines)


def check_lines(checks: Sequence[Mapping[str, Any]], columns: int, paint: Paint) -> str:
    """Format what each check saw, for a terminal, and for failed and unknown checks what was required."""
    names = [
        one_line(check.get("name", ""), 24) + (" (gate)" if check.get("kind") == "gate" else "") for check in checks
    ]
    width = max(map(len, names), default=0)
    lines = []
    for check, name in zip(checks, names, strict=True):
        state = str(check["state"])
        mark = paint(MARKS[state], state) if state in MARKS else "–"
        inside = " " * (width + 6)
        text = wrapped(one_line(check.get("seen", ""), LONGEST_SEEN), columns, inside).removeprefix(inside)
        lines.append(f"  {mark} {name:{width}}  {text}".rstrip())
        if state in ("invalid", "unknown"):
            lines.append(wrapped(f"asked: {check.get('asked', '')}", columns, inside))
    return "\n".join(lines)


def figures_text(timings: Mapping[str, Any]) -> str:
    """Format the seconds that each part of judging took."""
    rows = [(one_line(name, 60), number(value, 3)) for name, value in leaves(timings, " ")]
    return "Seconds spent\n" + table(rows, right=(1,)) if rows else ""


def spark(values: Sequence[float], columns: int, *, lowest: bool = True) -> str:
    """Draw a sparkline: the lowest (or highest) value in each of ``columns`` equal stretches.

    Zero is a dot, and a stretch without values (NaN) is a space.
    """
    count = len(values)
    top = max((value for value in values if not isnan(value)), default=0) or 1
    pick = min if lowest else max
    cells = []
    for place in range(columns if count else 0):
        first = place * count // columns
        known = [value for value in values[first : max((place + 1) * count // columns, first + 1)] if not isnan(value)]
        cells.append(pick(known) if known else None)
    return "".join(" " if cell is None else _bar(cell / top) for cell in cells)


def _bar(share: float) -> str:
    return "·" if share <= 0 else SPARKS[min(int(share * len(SPARKS)), len(SPARKS) - 1)]
