"""``summary.txt``: verdict, sentence, checks (worst first), faults, counts, counterexample, figures."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import isnan
from typing import Any, Final

from history.records.caveats import caveats_of, violations_counted
from history.records.finding import known_defects_in
from history.records.indexes import epoch_bits_in
from history.records.violations import headlines_of, in_shown_order, verdict_words
from reports.errors import Notes
from reports.load.check_rows import DIFFER, check_rows, worst_first
from reports.load.cut_record import counts_cut
from reports.load.run import HARNESS_FAILURE, beside_violation, tidy, verdict_of
from reports.load.standstills import standstill_text
from reports.style.format import leaves, number, one_line, printable, seconds
from reports.style.wording import Wording, by_values
from reports.text import recovery as recovery_text
from reports.text import text_diagram

MARKS: Final = {"valid": "✓", "invalid": "✕", "unknown": "?", DIFFER: "≠"}
SPARKS: Final = "▁▂▃▄▅▆▇█"
MAX_EXAMPLES: Final = 3
SPARK_COLUMNS: Final = 80
#: Limit of what a check saw, in characters; it is wrapped, not cut, as its end may say what was not tested.
LONGEST_SEEN: Final = 400
#: Figures of a fault that a cut history cannot give.
_RATES: Final = ("rate_before", "rate_during", "rate_after", "longest_gap_ms")
#: Width of the checks in the file.
FILE_COLUMNS: Final = 120
HISTORY_CUT: Final = "The history was cut: it holds far fewer operations than were begun, and counts are of these."
#: Width of the narrowest supported terminal.
MIN_COLUMNS: Final = 60

#: Function that colours a text: (text, name of the colour) -> text.
Paint = Callable[[str, str], str]


def render_summary(
    results: Mapping[str, Any],
    columns: int | None = None,
    plan: Mapping[str, Any] | None = None,
    wording: Wording = by_values,
    state: Mapping[str, Any] | None = None,
) -> str:
    """Render ``results.json`` as plain text without colours; every field is optional.

    The run's ``plan`` says whether a bug was planted and which checks are to find it.  Its ``state`` says how many
    operations were begun, so that no rates are given for a cut history, and when the harness was stalled.  With
    ``columns`` (a terminal's width) sentences are wrapped, and tables leave out columns that do not fit.
    """
    results = tidy(results, Notes())
    columns = None if columns is None else max(columns, MIN_COLUMNS)
    cut = counts_cut(results, state or {})
    parts = [
        _verdict(results, columns, plan or {}, standstill_text(state or {}), cut=cut),
        check_lines(worst_first(check_rows(results)), columns or FILE_COLUMNS) or "No check was made.",
        _examples(results, columns, wording),
        _faults(fault_rows(results), columns, cut=cut),
        _recovery(results, columns, cut=cut),
        _counts(results.get("counts") or {}),
        "" if cut else _rate(results.get("windows") or (), columns),
        figures_text(results.get("timings") or {}),
        _warnings(results.get("warnings") or (), columns),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def known_text(results: Mapping[str, Any]) -> list[str]:
    """Say which known defects a run shows, and which of its violations no known defect explains."""
    known = known_defects_in(results)
    strange = ", ".join(map(str, results.get("not_known") or ()))
    more = [f"{'Explained by none' if known else 'By no known defect'}: {strange}."] if strange else []
    return [*(f"{one.describe()}." for one in known), *more]


def wrapped(text: str, columns: int | None, indent: str = "", hang: str = "") -> str:
    """Wrap each line of a string; lines after the first are indented further by ``hang``.

    A line break in recorded text starts an indented line, so that it cannot pass for a line of ours.  Without
    ``columns`` the lines are only indented.
    """
    first, *others = printable(text).splitlines() or [""]
    if columns is None:
        return "\n".join([f"{indent}{first}", *(f"{indent}  {line}" for line in others)])
    return "\n".join(
        textwrap.fill(line, columns, initial_indent=start, subsequent_indent=indent + hang, break_on_hyphens=False)
        for line, start in [(first, indent), *((line, f"{indent}  ") for line in others)]
    )


def _verdict(results: Mapping[str, Any], columns: int | None, plan: Mapping[str, Any], still: str, *, cut: bool) -> str:
    failure = results.get("harness_failure")
    verdict = verdict_of(results, failure)
    headlines = headlines_of(results, plan)
    beside = beside_violation(str(failure)) if failure and verdict != HARNESS_FAILURE else None
    sentence = None if headlines else results.get("sentence")  # each check's row says the same
    texts = (failure if beside is None else None, *headlines, beside, HISTORY_CUT if cut else None, still, sentence)
    word = verdict_words(verdict, plan, results).upper()
    sentences = [wrapped(str(text), columns, hang="  " if headlines else "") for text in texts if text]
    step = results.get("next_step") if headlines else None  # recorded together with the headlines
    known = [wrapped(text, columns, hang="  ") for text in known_text(results)]
    return "\n".join([word, *sentences, *known, *([wrapped(f"Next: {step}.", columns)] if step else [])])


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


def check_lines(checks: Sequence[Mapping[str, Any]], columns: int, paint: Paint = lambda text, _name: text) -> str:
    """Write what each check saw, for a terminal; for failed and unknown ones also what was required."""
    names = [
        one_line(check.get("name", ""), 24) + (" (gate)" if check.get("kind") == "gate" else "") for check in checks
    ]
    width = max(map(len, names), default=0)
    lines = []
    for check, name in zip(checks, names, strict=True):
        state = str(check["state"])
        mark = paint(MARKS[state], state) if state in MARKS else "–"
        inside = " " * (width + 6)
        seen = wrapped(one_line(check.get("seen", ""), LONGEST_SEEN), columns, inside).removeprefix(inside)
        lines.append(f"  {mark} {name:{width}}  {seen}".rstrip())
        if state in ("invalid", "unknown"):
            lines.append(wrapped(f"asked: {check.get('asked', '')}", columns, inside))
    return "\n".join(lines)


def _examples(results: Mapping[str, Any], columns: int | None, wording: Wording) -> str:
    found = in_shown_order(results)
    if not found:
        return ""
    head = f"Counterexamples: {violations_counted(results)}, {min(len(found), MAX_EXAMPLES)} shown"
    parts = [wrapped(head, columns)]
    parts += [
        wrapped(f"Left open by the checker: {key}: {reason}.", columns) for key, reason in caveats_of(results)[:8]
    ]
    for one in found[:MAX_EXAMPLES]:
        key, example = one.key, one.example
        title = (
            f"{one_line(example.kind, 40)} of {one_line(key, 40)}" if key is not None else one_line(example.kind, 40)
        )
        drawn = text_diagram.draw(example, columns or text_diagram.WIDTH, wording)
        parts.append(f"{wrapped(f'{title}: {example.sentence}', columns)}\n\n{drawn}")
    return "\n\n".join(parts)


def fault_rows(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the fault windows if the results hold them, else the receipts, which have no rates."""
    windows = [window for window in results.get("windows") or () if "fault" in window]
    return windows or [receipt for receipt in results.get("receipts") or () if "fault" in receipt]


def _faults(rows: Sequence[Mapping[str, Any]], columns: int | None, *, cut: bool) -> str:
    if not rows:
        return ""
    if cut:
        rows = [{**row, **dict.fromkeys(_RATES), "cut": True} for row in rows]
    head = (
        "#",
        "fault",
        "state",
        "leader",
        "begun s",
        "healed s",
        "before",
        "during",
        "after",
        "gap s",
        "first ok ms",
        "rate back ms",
    )
    lines = [head]
    for row in rows:
        started, healed = row.get("started"), row.get("healed")
        gap = row.get("longest_gap_ms")
        lines.append(
            (
                str(row.get("id", "")),
                one_line(row.get("fault", ""), 32),
                one_line(row.get("state", ""), 13),
                one_line(row.get("leader") or "–", 10),
                seconds(started / 1e9 if started is not None else None),
                seconds(healed / 1e9 if healed is not None else None),
                number(row.get("rate_before")),
                number(row.get("rate_during")),
                number(row.get("rate_after")),
                seconds(gap / 1e3 if gap is not None else None),
                *recovery_text.way_back(row),
            )
        )
    rates = (
        "the history was cut, so it gives no rates, gaps and ways back" if cut else "rates are ok operations a second"
    )
    return f"Faults ({rates})\n" + table(lines, right=(0, 4, 5, 6, 7, 8, 9, 10, 11), columns=columns)


def _recovery(results: Mapping[str, Any], columns: int | None, *, cut: bool) -> str:
    """Write the figures by kind of operation, by node and by fault, if the results hold them."""
    windows = results.get("windows") or ()
    figures = results.get("fault_figures") or {}
    parts = [
        ("The same by kind of operation", [] if cut else recovery_text.kinds_of(windows), (0, 3, 4, 5, 6, 7, 8)),
        ("Caught up, ms after the heal", recovery_text.nodes_of(windows, epoch_bits_in(results)), (0, *range(2, 12))),
        ("By fault: least / median / most", [] if cut else recovery_text.faults_of(figures), (1,)),
    ]
    return "\n\n".join(f"{title}\n{table(rows, right=right, columns=columns)}" for title, rows, right in parts if rows)


def _counts(counts: Mapping[str, Any]) -> str:
    """Write the counts of operations: a table by phase, kind and outcome, then the others one per line."""
    parts = []
    if phases := _by_outcome(counts.get("phases")):
        parts.append(table([("phase", "kind", "ok", "info", "fail"), *phases], right=(2, 3, 4)))
    others = {name: value for name, value in counts.items() if name != "phases" or not phases}
    if rows := [(one_line(name, 60), number(value)) for name, value in leaves(others, " ")]:
        parts.append(table(rows, right=(1,)))
    return "\n".join(["Operations", *parts]) if parts else ""


def _by_outcome(phases: Any) -> list[tuple[str, ...]]:
    if not isinstance(phases, Mapping):
        return []
    return [
        (one_line(phase, 20), one_line(kind, 20), *map(number, map(outcomes.get, ("ok", "info", "fail"))))
        for phase, kinds in phases.items()
        if isinstance(kinds, Mapping)
        for kind, outcomes in kinds.items()
        if isinstance(outcomes, Mapping)
    ]


def figures_text(timings: Mapping[str, Any]) -> str:
    """Format the seconds that each part of judging took."""
    rows = [(one_line(name, 60), number(value, 3)) for name, value in leaves(timings, " ")]
    return "Seconds spent\n" + table(rows, right=(1,)) if rows else ""


def _rate(windows: Sequence[Mapping[str, Any]], columns: int | None) -> str:
    """Draw a sparkline of ok operations per second, if the results hold one-second windows."""
    by_second: dict[int, float] = {}
    for window in windows:
        if "second" in window and window.get("outcome", "ok") == "ok":
            by_second[int(window["second"])] = by_second.get(int(window["second"]), 0) + float(window.get("count") or 0)
    if not by_second:
        return ""
    values = [by_second.get(second, 0.0) for second in range(max(by_second) + 1)]
    room = None if columns is None else min(columns - 2, len(values), SPARK_COLUMNS)
    return f"ok operations a second, 0 to {number(max(values), 0)}\n  {spark(values, room)}"


def spark(values: Sequence[float], columns: int | None = None, *, lowest: bool = True) -> str:
    """Draw a sparkline: the lowest (or highest) value in each of ``columns`` equal stretches.

    Zero is a dot, and a stretch without values (NaN) is a space.  Without ``columns`` the width is the number of
    values, at most :data:`SPARK_COLUMNS`.
    """
    count = len(values)
    wanted = columns or min(count, SPARK_COLUMNS)
    top = max((value for value in values if not isnan(value)), default=0) or 1
    pick = min if lowest else max
    cells = []
    for place in range(wanted if count else 0):
        first = place * count // wanted
        known = [value for value in values[first : max((place + 1) * count // wanted, first + 1)] if not isnan(value)]
        cells.append(pick(known) if known else None)
    return "".join(" " if cell is None else _bar(cell / top) for cell in cells)


def _bar(share: float) -> str:
    return "·" if share <= 0 else SPARKS[min(int(share * len(SPARKS)), len(SPARKS) - 1)]


def _warnings(warnings: Sequence[Any], columns: int | None) -> str:
    lines = (wrapped(one_line(warning, 300), columns, "  ") for warning in warnings)
    return "\n".join(["Warnings", *lines]) if warnings else ""
