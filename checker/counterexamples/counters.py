"""Find all violations of a counter, each with the fewest operations that show it.

One sweep finds the answers that are out of bounds. If the same wrong answer is given again, that is not a new
violation.  If the history without these reads is still invalid, the read that completed the violation is left out and
the search starts over, because that read may have made others look wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from checker.core.calls import Call, without
from checker.core.result import EngineResult, Limits
from checker.counterexamples.counter_part import Part, part_of
from checker.dispatch import decide
from checker.engines.counter_sums import ProofSearch, Wrong, are_whole, out_of_bounds
from checker.models.objects import Counter
from history.records.text import counted
from history.records.verdicts import MAX_EXPLAINED, WITHOUT_KIND

Shown: TypeAlias = Wrong | Part


@dataclass(frozen=True, slots=True)
class InCounter:
    """Violations of one counter.

    ``held`` are the ones to explain, earliest first, and ``count`` is the number of violations found.  ``note`` says
    what is unknown about them.  ``beyond`` are the kinds and completing reads (by their sources) of violations that are
    not held.  ``more``: there may be others.
    """

    held: tuple[Shown, ...]
    count: int
    note: str | None
    beyond: tuple[tuple[str, int], ...]
    more: bool


def find_in_counter(result: EngineResult, calls: Sequence[Call], limits: Limits) -> InCounter:
    """Find all violations of an invalid history.

    After the first one, the search may take as long as the check took.
    """
    more, whole = limits.extended(), are_whole(calls)
    parts, again = list[Shown](), result
    left = list(calls)
    while True:
        wrong = out_of_bounds(left) if whole else []
        rest = without(left, (read for read, _ in wrong))
        first = not wrong and not parts
        again = result if first else decide(rest, Counter(), more, proof=False)
        if again.verdict != "invalid" or len(parts) >= MAX_EXPLAINED or (parts and more.over()):
            break
        part = _within_bounds(rest, again, limits if first else more, whole=whole)
        if part.note and not first and more.over():
            break
        parts.append(part)
        left = without(left, [latest_read(part)])
    groups, evidence = _groups(wrong), ProofSearch(rest) if wrong else None
    shown = (evidence and evidence.of(read, low=low) for read, low in groups[:MAX_EXPLAINED])
    held = sorted([*parts, *(proof for proof in shown if proof)], key=lambda violation: latest_read(violation).ret)
    count, notes = len(parts) + len(groups), [violation.note for violation in parts]
    if again.verdict != "valid":
        why = again.reason or "the rest was not searched"
        notes.insert(0, f"there may be more than the first {counted(count, 'violation')}: {why}")
    note = "; ".join(note for note in notes if note) or None
    beyond = tuple((WITHOUT_KIND, read.source) for read, _ in groups[MAX_EXPLAINED:])
    return InCounter(tuple(held), count, note, beyond, again.verdict != "valid")


def _within_bounds(calls: Sequence[Call], result: EngineResult, limits: Limits, *, whole: bool) -> Shown:
    """Find what is wrong where adds alone do not show it; together with an earlier read they often do."""
    part = part_of(calls, result.last, limits)
    if whole:
        evidence = ProofSearch(calls)
        sides = (evidence.of(latest_read(part), low=low) for low in (True, False))
        return next((wrong for wrong in sides if wrong is not None), part)
    return part


def _groups(wrong: Sequence[tuple[Call, bool]]) -> list[tuple[Call, bool]]:
    """Keep the first read of each answer that was too low, and the first of each that was too high."""
    first: dict[tuple[int, bool], Call] = {}
    for read, low in wrong:
        first.setdefault((read.result, low), read)
    return [(read, low) for (_, low), read in first.items()]


def latest_read(violation: Shown) -> Call:
    """Return the read that completed the violation."""
    return max((call for call in violation.core if call.f != "add"), key=lambda call: call.ret)
