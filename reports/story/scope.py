"""The scope of a run without violations: which faults were active, the operations under them, and what was left out."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

import numpy as np

from history.codes import OK
from history.columns.operations import NONE
from history.records.check_records import check_records
from history.records.finding import Alarms, findings_in
from history.records.text import and_listed, counted
from reports.analysis.findings import Drawn
from reports.load.check_rows import checks_of
from reports.load.cut_record import is_cut
from reports.style.format import number

#: At most this many faults are named in the sentence.
_NAMED: Final = 3


class Scope(NamedTuple):
    """The scope of a run: a ``sentence``, and (title, text) ``rows`` on what was tested and what was not."""

    sentence: str
    rows: tuple[tuple[str, str], ...]


def scope_of(drawn: Drawn) -> Scope:
    """Describe what the run tested, from its receipts, operations and checks."""
    run = drawn.run
    stood = [window for window in drawn.windows if window.installed]
    times = Counter(window.fault for window in stood)
    absent = Counter((window.fault, window.state) for window in drawn.windows if not window.installed)
    beside = {fault: [f"{many} more {state}" for (of, state), many in absent.items() if of == fault] for fault in times}
    named = {fault: f" ({', '.join(told)})" if told else "" for fault, told in beside.items()}
    faults = ", ".join(f"{fault} {count}{named[fault]}" for fault, count in times.most_common())
    share, rows = None, [("faults injected", faults)]
    if stood and len(run.operations) and not is_cut(run):
        share, under = _under_faults(drawn)
        rows += [("operations during faults", under), ("reads after each heal", _reads_after(drawn))]
    left_out = [f"{fault} ({state}: {count})" for (fault, state), count in absent.items() if fault not in times]
    left_out += [f"{row['name']} ({row['seen']})" for row in checks_of(run) if row["state"] == "skipped"]
    notes = [
        note
        for check in check_records(run.results)
        for finding in findings_in(check)
        if isinstance(finding, Alarms)
        for note in finding.notes
    ]
    rows += [("not tested", "; ".join(left_out)), ("node warnings (not violations)", "; ".join(notes))]
    return Scope(_sentence(drawn, len(stood), share), tuple((title, text) for title, text in rows if text))


def _sentence(drawn: Drawn, stood: int, share: float | None) -> str:
    many = len(drawn.run.operations)
    operations = f"{number(many)} operation{'' if many == 1 else 's'}"
    if not stood:
        tried = len(drawn.windows)
        several = f"none of the {tried} faults took effect" if tried > 1 else "the fault did not take effect"
        why = several if tried else "no fault was injected"
        return f"{why[:1].upper()}{why[1:]}: this shows only how the system behaves without faults, in {operations}."
    names = dict.fromkeys(window.fault for window in drawn.windows if window.installed)
    named = f" ({and_listed(names)})" if len(names) <= _NAMED else ""
    which = f"{counted(stood, 'fault')} {'was' if stood == 1 else 'were'} active{named}"
    during = "" if share is None else f", during {share * 100:.0f} % of operations"
    return f"No violation was found in {operations}; {which}{during}."


def _under_faults(drawn: Drawn) -> tuple[float, str]:
    """Return the share of operations open while a fault was active, and in words their number and how many were ok."""
    operations, end = drawn.run.operations, drawn.run.end
    returned = np.where(operations.returned == NONE, end, operations.returned) / 1e9
    under = np.zeros(len(operations), dtype=bool)
    for window in drawn.windows:
        if window.installed:
            stop = end / 1e9 if window.heal_started is None else window.heal_started
            start = window.started if window.stood is None else window.stood
            under |= (operations.invoked / 1e9 < stop) & (returned > start)
    many, ok = int(under.sum()), int((under & operations.which(OK)).sum())
    return many / len(operations), f"{number(many)} of {number(len(operations))}, {number(ok)} of them ok"


def _reads_after(drawn: Drawn) -> str:
    """Say how many reads, at least and at most, began between a heal and the next fault and succeeded.

    Empty if nothing was healed, or if the workload has no operation named read.
    """
    operations = drawn.run.operations
    reads = operations.which(OK) & (operations.f.codes == operations.f.code("read"))
    main = operations.phase.codes == operations.phase.code("main")
    if not (reads & main).any():  # this workload calls its reads something else
        return ""
    invoked = operations.invoked[reads] / 1e9
    counts = []
    for window in drawn.windows:
        if window.installed and window.healed is not None:
            later = [
                other.started for other in drawn.windows if other.state != "skipped" and other.started > window.healed
            ]
            until = min(later, default=drawn.run.end / 1e9)
            counts.append((int(((invoked > window.healed) & (invoked < until)).sum()), window.name))
    if not counts:
        return ""
    fewest, name = min(counts)
    return (
        f"at least {number(fewest)} (after {name}), at most {number(max(counts)[0])}"
        if len(counts) > 1
        else number(fewest)
    )
