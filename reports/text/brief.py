"""A run on one screen: verdict, headline, the run's time in sparklines, what failed, where to look next."""

from __future__ import annotations

from collections import Counter
from shlex import quote
from typing import Final

from reports.analysis.findings import Drawn
from reports.load.check_rows import DIFFER, checks_of, undecided_of
from reports.load.cut_record import cut_of
from reports.load.run import HARNESS_FAILURE, about_of, commands_of
from reports.load.staleness import STALE, is_stale
from reports.story.diagnosis import diagnosis_of
from reports.story.planted_bug import failed_beside, grouped, longer, meaning_of, try_again, verdict_shown, word_of
from reports.story.scope import scope_of
from reports.style.format import lead, one_line, printable
from reports.text.parts import MARKS, Paint, known_text, wrapped
from reports.text.terminal import columns_of, painted, sparklines

#: Maximum number of lines; on a narrow terminal, wrapping may add more.
SCREEN: Final = 40
MAX_BREAKS: Final = 3
MAX_CHECKS: Final = 6
#: Colour of each check state.
COLOURS: Final = {"invalid": "invalid", "unknown": "unknown", DIFFER: "unknown"}


def render(drawn: Drawn, columns: int = 80, *, colour: bool = False, page: bool = True) -> str:
    """Render a run in lines of at most ``columns`` characters; only commands may be longer, because they stay whole.

    These are at most :data:`SCREEN` lines, unless the terminal is narrow.  ``page``: name the run's page, if it has
    one.  Set it to false if the page is about to be redrawn.
    """
    columns, paint = columns_of(columns), painted(colour=colour)
    text = ""
    for each in (2, 1):
        text = _screen(drawn, columns, each, paint, page=page)
        if len(text.splitlines()) <= SCREEN:
            break
    return text


def _screen(drawn: Drawn, columns: int, each: int, paint: Paint, *, page: bool) -> str:
    """Render with at most ``each`` lines for each break and check."""
    run = drawn.run
    parts = [
        ("verdict", lambda: _verdict(drawn, columns, paint)),
        ("sparklines", lambda: sparklines(drawn, columns, paint, brief=True)),
        ("breaks", lambda: _breaks(drawn, columns, each)),
        ("checks", lambda: _checks(drawn, columns, each, paint)),
        ("next step", lambda: _next(drawn, columns, paint, page=page)),
    ]
    texts = [run.notes.attempt(name, make, "") for name, make in parts]
    return "\n\n".join(text for text in texts if text) + "\n"


def _short(text: str, columns: int, lines: int, indent: str = "") -> str:
    return wrapped(one_line(text, (columns - 6) * lines), columns, indent, hang="    ")


def _verdict(drawn: Drawn, columns: int, paint: Paint) -> str:
    run, diagnosis = drawn.run, diagnosis_of(drawn)
    groups = grouped(run, diagnosis.breaks if diagnosis else ())
    title, first = (groups[0][0], groups[0][1][0]) if groups else ("", None)
    about = one_line(about_of(run), columns - 2)
    lines = [paint(word_of(run).upper(), verdict_shown(run)), *([paint(about, "quiet")] if about else [])]
    planted, broke = run.plan.get("planted_bug"), run.verdict == HARNESS_FAILURE
    cut = run.notes.attempt("counts", lambda: cut_of(run), "")
    says = [f"{f'{title}: ' if title else ''}{first.label}: {first.headline}"] if first else []
    if broke or not first:
        told = planted or (run.verdict == "unknown" and undecided_of(run))  # the checks below say the rest
        says.append(meaning_of(run) if told and not broke else one_line(run.sentence, 420))
    if run.verdict == "valid":
        says.append(scope_of(drawn).sentence)
    says += [lead(cut)[0]] if cut else []
    says += [failed_beside(run)] if not broke and run.failure else []
    lines += [wrapped(text, columns, hang="  ") for text in says if text]
    return "\n".join(lines)


def _breaks(drawn: Drawn, columns: int, each: int) -> str:
    """List the breaks after the first one, with at most ``each`` lines for each."""
    diagnosis = diagnosis_of(drawn)
    rest = [break_ for _, ones in grouped(drawn.run, diagnosis.breaks if diagnosis else ()) for break_ in ones][1:]
    lines = [
        _short(f"{break_.label}: {break_.headline}", columns, each, "  " if break_.below else "")
        for break_ in rest[:MAX_BREAKS]
    ]
    return "\n".join([*lines, *([f"{len(rest) - MAX_BREAKS} more on the page"] if len(rest) > MAX_BREAKS else [])])


def _checks(drawn: Drawn, columns: int, each: int, paint: Paint) -> str:
    """List failed and undecided checks, and count the others."""
    run = drawn.run
    rows = checks_of(run)
    if not rows:
        return "No check was made." + (
            "" if run.failure else f" harness check {quote(printable(run.files.root))} makes them."
        )
    diagnosis = diagnosis_of(drawn)
    told = " ".join(break_.whole for break_ in diagnosis.breaks) if diagnosis else ""
    failed = [row for row in rows if row["state"] not in ("valid", "skipped")]
    lines = []
    for row in failed[:MAX_CHECKS]:
        state = str(row["state"])
        finding = "see above" if row["seen"] in told else row["seen"]
        text = _short(f"{row['name']}: {finding}", columns - 2, each)
        lines.append(f"{paint(MARKS[state], COLOURS[state])} {text}")
    lines += [f"  {len(failed) - MAX_CHECKS} more on the page"] if len(failed) > MAX_CHECKS else []
    counted = Counter(row["state"] for row in rows)
    passed = f"{counted['valid']} check{'' if counted['valid'] == 1 else 's'} passed"
    skipped = f", {counted['skipped']} skipped" if counted["skipped"] else ""
    return "\n".join([*lines, f"{paint(MARKS['valid'], 'valid')} {passed}{skipped}"])


def _next(drawn: Drawn, columns: int, paint: Paint, *, page: bool) -> str:
    run, diagnosis = drawn.run, diagnosis_of(drawn)
    step = try_again(run) or (diagnosis.step if diagnosis else "")
    lines = [wrapped(text, columns, hang="  ") for text in known_text(run.results)[:2]]
    lines += [wrapped(f"Next: {step}.", columns, hang="  ")] if step else []
    again = longer(run)
    commands = [("run it for longer", again)] if again else commands_of(run.plan, faults=bool(run.receipts))[-1:]
    lines += [f"{paint(f'{title}:', 'quiet')} {one_line(command, 2000)}" for title, command in commands]
    if page and run.files.report.is_file():
        stale = f" ({STALE})" if is_stale(run.files, run.results) else ""
        lines.append(f"{paint('report:', 'quiet')} {printable(run.files.report)}{stale}")
    root = quote(printable(run.files.root))
    return "\n".join([*lines, f"{paint('all tables:', 'quiet')} harness show --verbose {root}"])
