"""A run on a terminal: verdict, what failed, the counterexample, the faults, and the run's time in sparklines.

Colour is used only on request and never alone: every verdict is also a word and a mark.  Only printable characters of a
run reach the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from shlex import quote
from typing import Final

import numpy as np

from history.records.caveats import violations_counted
from history.records.violations import MISSED
from reports.analysis import figures, node_timeline
from reports.analysis.faults import FaultWindow, late_of
from reports.analysis.findings import Drawn, ViolationContext, recovery_of
from reports.analysis.invariant_violations import Moment, invariant_violations
from reports.analysis.progress import progress_at
from reports.load.check_rows import checks_of, undecided_of
from reports.load.cut_record import cut_of
from reports.load.run import HARNESS_FAILURE, LoadedRun, commands_of
from reports.load.staleness import STALE, is_stale
from reports.load.standstills import still_texts
from reports.story.aftermath import outages_text
from reports.story.caveats import caveats_text
from reports.story.diagnosis import diagnosis_of
from reports.story.planted_bug import (
    bug_of,
    failed_beside,
    grouped,
    longer,
    meaning_of,
    try_again,
    verdict_shown,
    word_of,
)
from reports.style.format import number, one_line, printable, seconds
from reports.style.wording import Wording
from reports.text import recovery as recovery_text
from reports.text import text_diagram
from reports.text.parts import MIN_COLUMNS, Paint, check_lines, figures_text, known_text, spark, table, wrapped

MAX_COLUMNS: Final = 160
MAX_EXAMPLES: Final = 3
MAX_MOMENTS: Final = 4
#: Explains the words that tables, gates and sentences use for the moments of a fault.
STANDS: Final = (
    "begun: its first command; in effect, in gates: from when all of it is in place until its healing begins; healed: "
    "all undone; times into a fault count from when it was begun, times after it from when it was healed"
)
#: Minimum columns for a fault's name; in a narrower table its last figures go on a second line.
_LEAST_NAME: Final = 12
_CODES: Final = {
    "valid": "32", "invalid": "31", MISSED: "31", "unknown": "33", HARNESS_FAILURE: "35", "quiet": "2", "strong": "1",
}  # fmt: skip


def render(drawn: Drawn, columns: int = 80, *, colour: bool = False, page: bool = True) -> str:
    """Render in at most ``columns`` (kept between 60 and 160) characters per line; only commands may be longer.

    With ``page``, name the run's page, if it has one.
    """
    columns, paint, run = columns_of(columns), painted(colour=colour), drawn.run
    parts: list[tuple[str, Callable[[], str]]] = [
        ("verdict", lambda: _verdict(drawn, columns, paint)),
        ("checks", lambda: _checks(run, columns, paint)),
        ("counterexamples", lambda: _examples(drawn, columns, paint)),
        ("findings about nodes", lambda: _invariant_violations(drawn, columns, paint)),
        ("recovery", lambda: _recovery(drawn, columns, paint)),
        ("faults", lambda: _faults(drawn, columns, paint)),
        ("recovery figures", lambda: _costs(drawn, columns, paint)),
        ("outages", lambda: _outages(drawn, columns, paint)),
        ("sparklines", lambda: sparklines(drawn, columns, paint)),
        ("operations", lambda: _counts(run)),
        ("seconds spent", lambda: figures_text(run.results.get("timings") or {})),
        ("commands", lambda: _commands(run, paint, page=page)),
    ]
    texts = [run.notes.attempt(name, make, "") for name, make in parts]
    warnings = [*run.notes.warnings, *run.results.get("warnings", ())]
    texts.append("\n".join(wrapped(f"warning: {one_line(text, 300)}", columns) for text in warnings))
    return "\n\n".join(text for text in texts if text) + "\n"


def columns_of(columns: int) -> int:
    """Limit a width in characters to the supported range."""
    return min(max(columns, MIN_COLUMNS), MAX_COLUMNS)


def painted(*, colour: bool) -> Paint:
    """Return a function that colours a string, or one that leaves it unchanged if ``colour`` is false."""
    return lambda text, name: f"\x1b[{_CODES[name]}m{text}\x1b[0m" if colour else text


def _verdict(drawn: Drawn, columns: int, paint: Paint) -> str:
    run = drawn.run
    diagnosis = diagnosis_of(drawn)
    broken: list[str] = []
    for title, ones in grouped(run, diagnosis.breaks if diagnosis else ()):
        broken += [f"{title}:"] if title else []
        broken += [f"{'  ' * break_.below}{break_.label}: {break_.whole} {break_.detail}".rstrip() for break_ in ones]
    heads = [wrapped(text, columns, hang="  ") for text in broken]
    undecided = [wrapped(f"{name}: {text}", columns, hang="  ") for name, text in undecided_of(run)]
    if undecided and broken:
        undecided.insert(0, "What this run did not test, or left undecided:")
    step = try_again(run)
    broke = run.verdict == HARNESS_FAILURE
    lines = [wrapped(run.sentence, columns)] if broke or not (heads or undecided or step) else []
    lines += [wrapped(f"Next: {step}.", columns)] if step else []
    again = run.notes.attempt("commands", lambda: longer(run), "")
    lines += [f"  {again}"] if again else []
    after = [wrapped(diagnosis.after, columns)] if diagnosis and diagnosis.after else []
    outage = run.notes.attempt("outages", lambda: outages_text(drawn), "")
    out = [wrapped(outage, columns)] if outage else []
    out += [wrapped(text, columns) for text in run.notes.attempt_list("standstills", lambda: still_texts(run))]
    then = [wrapped(f"Next: {diagnosis.step}.", columns)] if diagnosis else []
    cut = run.notes.attempt("counts", lambda: cut_of(run), "")
    heads += [wrapped(text, columns, hang="  ") for text in known_text(run.results)]
    lines += [*heads, *after, *out, *then, *([wrapped(cut, columns)] if cut else []), *undecided]
    where = one_line(f"{run.test}/{run.name}", columns)
    if run.plan.get("planted_bug"):
        texts = [meaning_of(run), *([f"Planted: {bug}."] if (bug := bug_of(run)) else [])]
        lines[int(broke) : int(broke)] = [wrapped(text, columns) for text in texts]
    if run.failure and not broke:
        lines.append(wrapped(failed_beside(run), columns))
    return "\n".join([paint(word_of(run).upper(), verdict_shown(run)), *lines, paint(where, "quiet")])


def _checks(run: LoadedRun, columns: int, paint: Paint) -> str:
    """Write what each check and gate of the run found."""
    checks = checks_of(run)
    if not checks:
        return "No check was made." + (
            "" if run.failure else f" harness check {quote(printable(run.files.root))} makes them."
        )
    return check_lines(checks, columns, paint)


def _examples(drawn: Drawn, columns: int, paint: Paint) -> str:
    shown = [violation for violation in drawn.violations if violation.picture][:MAX_EXAMPLES]
    if not shown:
        return ""
    head = f"Counterexamples: {violations_counted(drawn.run.results)}, {len(shown)} shown"
    caveats = caveats_text(drawn.run)
    left_open = [wrapped(f"Not decided by the checker: {caveats}.", columns)] if caveats else []
    wording, roles = drawn.run.wording, node_timeline.have_roles(drawn.timelines)
    examples = (_example(violation, columns, wording, roles=roles) for violation in shown)
    return "\n\n".join(["\n".join([paint(wrapped(head, columns), "strong"), *left_open]), *examples])


def _example(violation: ViolationContext, columns: int, wording: Wording, *, roles: bool) -> str:
    kind, key = one_line(violation.example.kind, 40), one_line(violation.key, 40)
    title = f"{kind} of {key}" if violation.key is not None else kind
    term = f", term {violation.term}" if violation.term >= 0 else ""
    unled = "No node was seen to lead then." if roles else ""
    led = f"Leader then: {violation.leader}{term}." if violation.leader else unled
    struck, before = _struck(violation.faults), _struck(violation.earlier)
    calm = f"No fault was installed then{f'; {violation.healed}' if violation.healed else ''}."
    fault = f"Fault then: {struck}." if struck else calm
    if before:
        fault += f" During the operations before it: {before}."
    sentence = wrapped(f"{title}: {violation.example.sentence}", columns)
    diagram = text_diagram.draw(violation.example, columns, wording)
    around = " ".join(filter(None, (violation.unapplied, led, fault)))
    return f"{sentence}\n\n{diagram}\n\n{wrapped(around, columns)}"


def _struck(windows: Sequence[FaultWindow]) -> str:
    return ", ".join(f"{one_line(window.fault, 40)} on {_nodes(window)}" for window in windows)


def _invariant_violations(drawn: Drawn, columns: int, paint: Paint) -> str:
    """Write the first moments at which a node broke a rule, and how many more there are."""
    parts = []
    for broken in invariant_violations(drawn):
        if broken.moments:
            shown = broken.moments[:MAX_MOMENTS]
            lines = [wrapped(_moment(moment), columns, "  ", hang="    ") for moment in shown]
            left = broken.counted - len(shown)
            more = [f"  {number(left)} more"] if left else []
            parts.append("\n".join([paint(f"{broken.name}, when", "strong"), *lines, *more]))
    return "\n\n".join(parts)


def _moment(moment: Moment) -> str:
    none = f"none; {moment.healed}" if moment.healed else "none"
    struck = ", ".join(one_line(window.fault, 40) for window in moment.faults) or none
    in_term = f" in term {moment.term}" if moment.term >= 0 else ""
    led = f"{moment.leader} led{in_term}" if moment.leader else "no node led"
    return f"{moment.seconds:.2f} s {moment.node}: {moment.text}; {led}; fault: {struck}"


def _recovery(drawn: Drawn, columns: int, paint: Paint) -> str:
    """Write what the page says about a cluster that did not recover: when each lagging node fell behind and stopped."""
    recovery = recovery_of(drawn)
    if recovery is None or not recovery["lagging"]:
        return ""
    lines = [wrapped(f"{sentence}.", columns, "  ") for sentence in recovery["lagging"]]
    return "\n".join([paint("No recovery", "strong"), *lines])


def _nodes(window: FaultWindow) -> str:
    return one_line(" ".join(window.nodes), 30) or "no node"


def _faults(drawn: Drawn, columns: int, paint: Paint) -> str:
    if not drawn.windows:
        return ""
    times = ("leader", "begun s", "healed s", "before", "during", "after", "gap s", "first ok ms", "rate back ms")
    rows = [_fault(window) for window in drawn.windows]
    text = _fault_table(("#", "fault", *times), rows, columns)
    notes = [*late_of(drawn.run).items(), *_measured(drawn.windows)]
    more = "".join(f"\n #{number} {one_line(text, columns - 8)}" for number, text in sorted(notes))
    more += "\n" + wrapped(STANDS, columns, " ")
    return paint("Faults (rates are ok operations a second)", "strong") + "\n" + text + more


def _costs(drawn: Drawn, columns: int, paint: Paint) -> str:
    parts = []
    for title, rows in recovery_text.costs_of(drawn):
        text = table(rows, right=range(3, len(rows[0])), indent=" ", columns=columns)
        parts.append(f"{paint(wrapped(title, columns), 'strong')}\n{text}")
    return "\n\n".join(parts)


def _fault_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], columns: int) -> str:
    """Write a line for each fault; if that is too wide, its last three figures go on a second line."""

    def room(kept: int) -> int:
        widths = [max(len(row[column]) for row in [head, *rows]) for column in range(kept)]
        return columns - sum(widths) + widths[1] - kept

    kept = len(head) if room(len(head)) >= _LEAST_NAME else len(head) - 3
    name = max(room(kept), 8)
    short = [head[:kept], *((row[0], one_line(row[1], name), *row[2:kept]) for row in rows)]
    lines = table(short, right=(0, *range(3, kept)), indent=" ", between=" ", columns=columns).splitlines()
    if kept == len(head):
        return "\n".join(lines)
    texts = (f"longest gap {row[8]} s, first ok ms: {row[9]}, rate back ms: {row[10]}" for row in rows)
    below = [wrapped(text, columns, "     ") for text in texts]
    return "\n".join([lines[0], *(f"{line}\n{more}" for line, more in zip(lines[1:], below, strict=True))])


def _measured(windows: Sequence[FaultWindow]) -> list[tuple[int, str]]:
    """Return notes for faults whose rate *during* was measured over only a small part of the fault."""
    return [
        (window.id, f"rate during it: over only {window.measured_s:.1f} s")
        for window in windows
        if window.measured_s is not None
    ]


def _fault(window: FaultWindow) -> tuple[str, ...]:
    gap = window.longest_gap_ms
    return (
        str(window.id),
        one_line(window.fault if window.installed else f"{window.fault} {window.state}", 60),
        one_line(f"{window.leader or '–'}{' cut' if window.leader_cut else ''}", 10),
        seconds(window.started, 1),
        seconds(window.healed, 1),
        number(window.rate_before),
        number(window.rate_during),
        number(window.rate_after),
        seconds(gap / 1000 if gap is not None else None),
        *recovery_text.way_back(asdict(window), asked=bool(window.asked)),
    )


def _outages(drawn: Drawn, columns: int, paint: Paint) -> str:
    """Write the longest time without a success for each kind of operation, across phases and faults."""
    lines = []
    for service in drawn.services:
        after = "" if service.longest.ended else ", none after it"
        more = f"; {len(service.outages)} outages, {service.total:.1f} s" if len(service.outages) > 1 else ""
        span = f"from {service.longest.start:.1f} to {service.longest.stop:.1f} s{after}{more}"
        lines.append((one_line(service.kind, 20), f"{service.longest.length:.2f} s", span))
    if not lines:
        return ""
    head = paint("Longest time without a success, while clients sent requests", "strong")
    below = " " * (6 + max(len(kind) for kind, *_ in lines) + max(len(length) for _, length, _ in lines))
    text = table([(kind, length, "") for kind, length, _ in lines], right=(1,)).splitlines()
    spans = [wrapped(span, columns, below).removeprefix(below) for *_, span in lines]
    rows = [f"{row:{len(below)}}{span}" for row, span in zip(text, spans, strict=True)]
    return "\n".join([head, *rows])


def sparklines(drawn: Drawn, columns: int, paint: Paint, *, brief: bool = False) -> str:
    """Draw the run's time: rates, and unless ``brief`` latencies and lag; faults; the moments of breaks."""
    run = drawn.run
    if not len(run.operations):
        return ""
    rates = figures.rates_of(run.operations, run.end)
    rows = [("ok/s", rates.rows[0], True), ("info, fail/s", rates.rows[1] + rates.rows[2], False)]
    if not brief:
        rows.append(("p99 of ok, ms", figures.quantiles_of(run.operations, run.end).rows[2], False))
    if not brief and (response := figures.response_of(run.operations, run.end)) is not None:
        rows.append((f"{figures.RESPONSE_NAME}, ms", response, False))
    if run.probes and not brief:
        lag = progress_at(drawn.timelines, np.linspace(0.0, run.end / 1e9, 1000)).lag
        rows.append(("furthest behind", np.fmax.reduce(lag, axis=0), False))
    width = columns - max(len(title) for title, *_ in rows) - 14
    lines = [
        (title, spark(values.tolist(), width, lowest=low), number(float(np.fmax.reduce(values))))
        for title, values, low in rows
    ]
    line = _fault_line(drawn.windows, run.end / 1e9, width) if drawn.windows else "no fault was started"
    head = paint(f"0 to {run.end / 1e9:.0f} s; · is zero, blank no data; right: the highest", "strong")
    diagnosis = diagnosis_of(drawn)
    onsets = [break_.onset for break_ in diagnosis.breaks if break_.onset is not None] if diagnosis else []
    cells = {min(int(onset * 1e9 * width / run.end), width - 1) for onset in onsets}
    broke = [("broke", "".join("▲" if cell in cells else " " for cell in range(width)), "")] if cells else []
    return head + "\n" + table([*lines, ("faults", line, ""), *broke], right=(2,))


def _fault_line(windows: Sequence[FaultWindow], end: float, width: int) -> str:
    """Draw the run's time as cells: a mark if a fault was active, a darker one if several were, a dash if none was."""
    cells = [0] * width
    for window in windows:
        if window.state == "skipped":
            continue
        stop = window.healed if window.healed is not None else end
        for cell in range(int(window.started * width / end), min(int(stop * width / end), width - 1) + 1):
            cells[cell] += 1
    return "".join("–▒▓"[min(cell, 2)] for cell in cells)


def _counts(run: LoadedRun) -> str:
    rows = [
        (row.phase or "–", one_line(row.f, 20), *map(number, (row.ok, row.info, row.fail)))
        for row in figures.counts_of(run.operations)
    ]
    return table([("phase", "kind", "ok", "info", "fail"), *rows], right=(2, 3, 4)) if rows else ""


def _commands(run: LoadedRun, paint: Paint, *, page: bool) -> str:
    """List the run's commands, each on one line so that it can be copied."""
    named = commands_of(run.plan, faults=bool(run.receipts))
    lines = [f"{paint(title + ':', 'quiet')} {one_line(command, 2000)}" for title, command in named]
    if page and run.files.report.is_file():
        stale = f" ({STALE})" if is_stale(run.files, run.results) else ""
        lines.append(f"{paint('report:', 'quiet')} {printable(run.files.report)}{stale}")
    return "\n".join(lines)
