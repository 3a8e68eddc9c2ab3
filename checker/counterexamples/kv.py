"""Find the violations of strings with put, append and get, each with the few operations that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from checker.core.calls import Call
from checker.core.definition import MAX_DEFINITION_CALLS, linearizable
from checker.core.model import CasRegister
from checker.core.result import EngineResult, Limits
from checker.counterexamples.cas_chains import chain_core, made_pending
from checker.counterexamples.enumerate import MAX_UNREDUCED_CORE, Findings, ProvenViolation, completed_by
from checker.counterexamples.minimize import irreducible
from checker.dispatch import decide
from checker.engines.kv import ENGINE, INITIAL, Assignment, Reading, read_values, register_calls
from checker.engines.kv_partial import PartOfKv
from checker.engines.kv_pieces import Pieces
from history.records.text import counted
from history.records.verdicts import MAX_EXPLAINED


def contradicts(part: Sequence[Call], pieces: Pieces) -> bool:
    """Return whether these calls cannot be part of a linearizable history; False if there are too many to try."""
    return len(part) <= MAX_DEFINITION_CALLS and not linearizable(part, PartOfKv(part, pieces))


@dataclass(frozen=True, slots=True)
class _KvHistory:
    """An invalid history of strings whose gets allow only one interpretation."""

    calls: Sequence[Call]
    reading: Reading
    assignment: Assignment

    def finding(self, kind: str | None, calls: Sequence[Call]) -> ProvenViolation:
        """Make a core of these calls and the gets that show where their appends are; reduce it if it is small."""
        whole = {call.source: call for call in self.calls}
        core = {call.source: whole[call.source] for call in calls}
        for call in calls:
            if (value := self.assignment.get(call.source)) is not None:
                witness = self.reading.witness(value)
                core[witness.source] = witness
        least, pieces = sorted(core.values(), key=lambda call: call.invoke), self.reading.pieces
        if len(least) <= MAX_DEFINITION_CALLS:
            least = irreducible(least, PartOfKv(least, pieces), lambda part: contradicts(part, pieces))
        return ProvenViolation(tuple(least), EngineResult("invalid", ENGINE, kind=kind))

    def without(self, core: Sequence[Call], finding: ProvenViolation, of_register: Sequence[Call]) -> list[Call]:
        """Return the calls without the one that completed a violation and the gets that repeat the violation."""
        whole = {call.source: call for call in self.calls}
        due = completed_by(core, CasRegister())
        rest = [call for call in finding.core if call.source != due.source]
        kept = []
        for call in of_register:
            again = call.f == due.f == "read" and call.result == due.result and call.ret > due.ret
            again = again and contradicts([*rest, whole[call.source]], self.reading.pieces)
            if call.source != due.source and not again:
                kept.append(call)
            elif call.f != "read":
                kept.append(made_pending(call))
        return kept


def find_in_kv(calls: Sequence[Call], pieces: Pieces, limits: Limits) -> Findings | None:
    """Find all violations of one object of strings; None if that is not possible.

    After the first violation, the search may take as long as the check took.
    """
    more = limits.extended()
    # This took only a part of the check's time, so it runs to its end.
    reading, assignments = read_values(calls, pieces, replace(more, deadline=None))
    if len(assignments) > 1:
        return None
    history, of_register = _KvHistory(calls, reading, assignments[0]), register_calls(calls, reading, assignments[0])
    register = CasRegister(INITIAL)
    conflicts = sorted(reading.conflicts.values(), key=lambda conflict: conflict.core[-1].ret)
    held = [history.finding(conflict.kind, conflict.core) for conflict in conflicts[:MAX_EXPLAINED]]
    count, note = len(conflicts), None
    # ``decide`` returns unknown when the time is over.  The search for the first violation ends at the deadline.
    while (
        result := decide(of_register, register, more if held else limits, engine="chains", proof=False)
    ).verdict != "valid":
        if result.verdict == "unknown" or (held and more.over()) or len(held) >= MAX_EXPLAINED:
            note = f"there may be more than the first {counted(len(held), 'violation')}: the rest was not searched"
            break
        core = chain_core(of_register, register, more if held else limits)
        if held and more.over():
            continue
        if limits.over() and len(core) > MAX_UNREDUCED_CORE:
            break
        held.append(history.finding(None, core))
        of_register = history.without(core, held[-1], of_register)
        count += 1
    # Verify every core.  If one string was appended twice, a few calls may not show what all of them show.
    held = [proven for proven in held if len(proven.core) > MAX_DEFINITION_CALLS or contradicts(proven.core, pieces)]
    if not held:
        return None
    held.sort(key=lambda finding: finding.moment)
    return Findings(tuple(held), count, note, more=note is not None)
