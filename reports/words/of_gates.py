"""Gates in words: what each required, and what was seen.

The head of a page shows only the text of what was seen, so if that is too little, the text also says what was required.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from history.records.finding import (
    LATE_MS,
    STILL_SHARE,
    EmptyThird,
    Exempt,
    ExemptThird,
    FaultStates,
    FinalReads,
    Finding,
    OkCounts,
    Pace,
    ReadBack,
    RunEnd,
    ShortKind,
    Skipped,
    UnderFault,
    Unfelt,
    WindowCount,
)
from history.records.text import counted

#: The reasons why a gate had nothing to judge.
NO_FAULT: Final = "no fault was requested"
NO_WRITE: Final = "no fault allowed a write to be acknowledged"
NOT_RECORDED: Final = "not recorded"
_EXEMPT: Final[Mapping[Exempt, str]] = {
    "no quorum": "no quorum could have answered",
    # Two digits, because begin and end are shown with one, and a length rounded to one could contradict them.
    "brief": "in effect for only {:.2f} s of the load",
    "brief quorum": "a quorum could have answered for only {:.1f} s of it",
}
#: Too few operations being due in a third is not worth a word.
_EXEMPT_THIRDS: Final[Mapping[ExemptThird, str]] = {
    "no quorum": "no quorum was left",
    "election": "an election may have lasted that long",
}

#: The requirements that do not depend on the run, by gate.
_REQUIRED: Final[Mapping[str, str]] = {
    "under-fault": "under every fault that left a quorum, from when all of it was in place until its healing began, "
    "operations of every kind begin and succeed, in each third of that time",
    "read-back": "some writes are acknowledged under a fault, and their keys are read afterwards",
    "faults": "every fault in the plan was installed at least once under load, with a witness",
    "kept-pace": "the harness issued operations when they were due and a client was free",
    "whole": "the run reached its end",
}
_THIRDS: Final = ("first", "second", "last")
#: States of a fault whose names alone are not clear.
FAULT_STATES: Final[Mapping[str, str]] = {"late": "installed after the load", "unfelt": "not felt"}
_ENDS: Final[Mapping[str, str]] = {
    "reached": "yes",
    "interrupted": "interrupted",
    "failed": "the harness failed",
    "stopped": "stopped at the first violation, as requested",
    "killed": "the harness was killed",
}
_LISTED: Final = 4


def gate_text(finding: Finding) -> tuple[str, str]:
    """Return what the gate with this finding required, and what was seen."""
    required = _required(finding)
    if isinstance(finding, Skipped):
        return required, finding.why
    return required, _SEEN[type(finding)](finding)


def _required(finding: Finding) -> str:
    if isinstance(finding, OkCounts):
        of = f"of each kind that counts ({', '.join(finding.ok)})" if finding.beside else "of every kind"
        return f"at least {counted(finding.least, 'ok operation')} {of} in the main phase"
    if isinstance(finding, FinalReads):
        by_each = ", by the clients of each node" if finding.by_each else ""
        again = ", and after the restart" if len(finding.spans) > 1 else ""
        return f"every key was read at the end{by_each}{again}"
    return _REQUIRED[finding.check]


def _ok_counts(finding: OkCounts) -> str:
    short = f" of at least {finding.least} required"
    kinds = (f"{_of_kind(ok, kind)}{short if ok < finding.least else ''}" for kind, ok in finding.ok.items())
    parts = [", ".join(kinds)]
    if finding.beside:
        parts.append("not required: " + ", ".join(_of_kind(number, kind) for kind, number in finding.beside.items()))
    parts += _unapplied(finding)
    if finding.refused:
        parts.append(f"{finding.refused} more refused by the register")
    if finding.silent:
        parts.append(
            f"no operation was ok on {finding.silent} of {counted(finding.keys, 'key')} that were used throughout"
        )
    return "; ".join(parts)


def _of_kind(number: int, kind: str) -> str:
    return counted(number, kind, kind if kind.endswith("s") else "")


def _unapplied(finding: OkCounts | UnderFault, when: str = "") -> list[str]:
    """Say how many operations were answered ok but do not count; tables of what clients were answered include them."""
    return [f"{finding.unapplied} more acknowledged{when} without having been applied"] if finding.unapplied else []


def _under_fault(finding: UnderFault) -> str:
    windows = {window.id: window for window in finding.faults}
    parts = [counted(finding.total, "ok operation") if finding.total else "no operation was ok"]
    if not windows:
        parts[0] += ": no fault was in effect"
    alone = [window for window in finding.faults if not window.exempt and not window.together]
    if bare := [window for window in alone if window.ok < window.least]:
        few = _listed(bare, lambda window: f"{_active(window)}: {window.ok} of at least {window.least} required")
        parts.append(f"too few ok operations under {few}")
    parts += _few([_short_kind(kind, windows[kind.id]) for kind in finding.short_kinds])
    parts += _few([_empty_third(third, windows[third.id]) for third in finding.empty_thirds])
    parts += _exempt_thirds(alone)
    if brief := [window for window in finding.faults if window.together]:
        less = f" of at least {finding.together_least} required" if finding.together < finding.together_least else ""
        names = _listed(brief, _active)
        parts.append(f"{finding.together}{less} under those that were too short to be judged one by one: {names}")
    when = " while these faults were in effect" if len(windows) > 1 else " while it was in effect"
    parts += _unapplied(finding, when)
    if exempt := [window for window in finding.faults if window.exempt]:
        parts.append("exempt: " + _listed(exempt, lambda window: f"{_active(window)}: {exempt_text(window)}"))
    if finding.before:
        best = max(finding.before, key=lambda fault: finding.before[fault] - finding.before_least[fault])
        number, needed = finding.before[best], finding.before_least[best]
        less = f" (at least {needed} required), so this proves nothing" if number < needed else ""
        parts.append(f"{counted(number, 'write')} acknowledged before #{best}{less}")
    return "; ".join(parts)


def exempt_text(window: WindowCount) -> str:
    """Say why nothing was required under a fault."""
    return _EXEMPT[window.exempt].format(window.exempt_s)


def _active(window: WindowCount) -> str:
    """Return text such as "#3 kill-leader (in effect 20.0 to 30.0 s)"."""
    return f"#{window.id} {window.fault} (in effect {window.begin / 1e9:.1f} to {window.end / 1e9:.1f} s)"


def _short_kind(kind: ShortKind, window: WindowCount) -> str:
    return f"{_of_kind(kind.ok, kind.name)} of at least {kind.least} required under {_active(window)}"


def _empty_third(third: EmptyThird, window: WindowCount) -> str:
    of = f"in the {_THIRDS[third.place]} third of {_active(window)}"
    if third.idle:
        return f"no operation was under way {of}"
    return f"no {' and no '.join(third.kinds or ('operation',))} succeeded {of}"


def _exempt_thirds(windows: Iterable[WindowCount]) -> list[str]:
    """Name the thirds in which no operation had to be ok, and why, except where too few operations were due anyway."""
    faults = defaultdict[tuple[ExemptThird, str], list[str]](list)
    for window in windows:
        for reason in dict.fromkeys(reason for reason in window.thirds if reason in _EXEMPT_THIRDS):
            names = (name for name, why in zip(_THIRDS, window.thirds, strict=False) if why == reason)
            faults[reason, " and ".join(names)].append(f"#{window.id}")
    return [
        f"exempt: the {names} third of {_listed(ids, str)}: {_EXEMPT_THIRDS[reason]}"
        for (reason, names), ids in faults.items()
    ]


def _few(parts: list[str]) -> list[str]:
    return parts if len(parts) <= _LISTED else [*parts[:_LISTED], f"and {len(parts) - _LISTED} more like these"]


def _listed(items: Sequence[Any], word: Callable[[Any], str]) -> str:
    more = f" and {len(items) - _LISTED} more" if len(items) > _LISTED else ""
    return ", ".join(map(word, items[:_LISTED])) + more


def _read_back(finding: ReadBack) -> str:
    if not finding.keys:
        return "no write was acknowledged and applied under a fault"
    if finding.acknowledged < finding.least:
        return f"{counted(finding.acknowledged, 'write')} acknowledged under faults (at least {finding.least} required)"
    missing = f", not on {', '.join(finding.unread)}; a read of each is required" if finding.unread else ""
    return f"on {counted(finding.keys, 'key')}, read on {finding.keys - len(finding.unread)}{missing}"


def _fault_states(finding: FaultStates) -> str:
    text = "; ".join(
        f"{name}: {_states_text(states)}"
        + (", at least 1 required" if name in finding.bare else "")
        + (f" ({'; '.join(finding.reasons[name])})" if name in finding.bare and name in finding.reasons else "")
        for name, states in finding.states.items()
    )
    return "; ".join([text or "no fault was started", *map(unfelt_text, finding.unfelt)])


def _states_text(states: Mapping[str, int]) -> str:
    named = sorted((FAULT_STATES.get(state, state), number) for state, number in states.items())
    return ", ".join(f"{number} {state}" for state, number in named) or "never tried"


def unfelt_text(fault: Unfelt) -> str:
    """Return text such as "#3 kill-leader: 5 operations, the probe of n1 answered while it was in effect"."""
    answers = [counted(fault.operations, "operation")] if fault.operations else []
    answers += [f"the probe of {node}" for node in fault.nodes]
    return f"#{fault.id} {fault.fault}: {', '.join(answers)} answered while it was in effect"


def _final_reads(finding: FinalReads) -> str:
    parts = []
    for span in finding.spans:
        when = (" after the restart" if span.restarted else " at the end") if len(finding.spans) > 1 else ""
        missing = f", not {', '.join(span.missing)}" if span.missing and span.read else ""
        parts.append(f"{span.read} of {counted(finding.keys, 'key')}{when}{missing}")
        parts += [f"{node} answered its own clients on none of {', '.join(of)}" for node, of in span.unserved.items()]
    if finding.verdict != "valid":
        parts.append("each key needs a read that was answered by a node that had applied it")
    return "; ".join(parts)


def _pace(finding: Pace) -> str:
    figures, parts = finding.figures, []
    if "invoked_per_s" in figures and "asked_per_s" in figures:
        rates = f"{figures['invoked_per_s']:.0f} of {figures['asked_per_s']:.0f}"
        parts.append(f"{rates} operations a second in the main phase")
    if finding.queued:
        late = f"{finding.queued} operations were due while no client was free"
        parts.append(f"{late}: an open loop needs more clients (--concurrency)")
    if finding.open_loop and "response_p99_ms" in figures:
        parts.append(
            f"99 % were answered within {figures['response_p99_ms']:.0f} ms of when they were due, "
            f"{figures['service_p99_ms']:.0f} ms of when they were sent"
        )
    if figures.get("waited_share"):
        parts.append(f"all clients were busy {100 * figures['waited_share']:.0f} % of the time")
    tardy = f" (at most {LATE_MS:.0f} are allowed)" if finding.late_ms > LATE_MS else ""
    # Rounded up, so that a value above the limit does not read like the limit.
    parts.append(f"99 % of operations were at most {math.ceil(finding.late_ms)} ms late{tardy}")
    if finding.still:
        long = f" (at most {100 * STILL_SHARE:.0f} % are allowed)" if finding.still > STILL_SHARE else ""
        parts.append(f"the harness was stalled for {math.ceil(100 * finding.still)} % of the main phase{long}")
    return "; ".join(parts)


def _run_end(finding: RunEnd) -> str:
    return _ENDS[finding.how]


_SEEN: Final[Mapping[type, Callable[[Any], str]]] = {
    OkCounts: _ok_counts,
    UnderFault: _under_fault,
    ReadBack: _read_back,
    FaultStates: _fault_states,
    FinalReads: _final_reads,
    Pace: _pace,
    RunEnd: _run_end,
}
