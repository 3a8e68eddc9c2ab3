"""Find all violations of an invalid history of one object, each with a minimal core.

Most engines stop at the first contradiction.  The operation that completed it is then *neutralised*: a read is dropped,
and anything else becomes pending, as if it had not returned.  Both keep a linearizable history linearizable, so if the
rest is still invalid, it contains a separate violation.  Reads with the same answer that contradict the same operations
count as one violation, because a stuck replica produces thousands of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from checker.core.calls import Call, call_of
from checker.core.definition import MAX_DEFINITION_CALLS, linearizable
from checker.core.engine import ColumnProof
from checker.core.model import Model
from checker.core.result import EngineResult, Limits
from checker.counterexamples.minimize import irreducible, minimize_core
from checker.counterexamples.shrink import shrink
from checker.dispatch import decide, engine_titled
from checker.engines.logs import ENGINE as LOG_SWEEP
from checker.engines.logs import index_said
from checker.engines.sets import ENGINE as SET_SWEEP
from checker.models.objects import SparseLog
from history import Operation
from history.records.text import counted
from history.records.verdicts import MAX_COUNTEREXAMPLES, MAX_EXPLAINED, WITHOUT_KIND

#: At most this many returns that the automaton cannot explain are shown, because each needs a search of its own.
MAX_AUTOMATON_CORES: Final = 4
#: Larger cores are not verified again by the definition.
MAX_TRIED_CORE: Final = 8
#: At most this many reads with one answer are tested for being the same violation.
MAX_FOLDED_READS: Final = 2000
#: A core of more operations after the deadline was never reduced, and is useless.
MAX_UNREDUCED_CORE: Final = 2000
#: Violations that concern the whole history and do not depend on the order of a few operations.
OF_THE_WHOLE: Final = ("log-hole", "never-written")


@dataclass(frozen=True, slots=True)
class ProvenViolation:
    """One violation: its core, and the result of the engine that found it (for its kind and states).

    ``note`` says what is unknown about the core.  ``under`` is the model that the core contradicts, if it is not the
    object's own.
    """

    core: tuple[Call, ...]
    result: EngineResult
    note: str | None = None
    under: Model | None = None

    @property
    def moment(self) -> int:
        """Rank of the return that completed the violation."""
        return max((call.ret for call in self.core if not call.pending), default=-1)


@dataclass(frozen=True, slots=True)
class Findings:
    """Violations of one object, earliest first; ``count`` may exceed the number held.

    ``beyond`` lists the violations that are not held, as far as they are known, each by its kind and the source of the
    call that completed it.  ``more``: there may be others. ``note`` says what is unknown.
    """

    held: tuple[ProvenViolation, ...] = ()
    count: int = 0
    note: str | None = None
    beyond: tuple[tuple[str, int], ...] = ()
    more: bool = False


def find_all(result: EngineResult, calls: Sequence[Call], model: Model, limits: Limits) -> Findings:
    """Find all violations of an invalid history; ``calls`` may be empty if the result has all cores."""
    if result.verdict != "invalid":
        return Findings()
    held = _findings(result, calls, model, limits)
    note = None
    if not result.cores and len(held) < len(_lasts(result)):
        note = f"the deadline passed when {len(held)} of the violations had been reduced to a few operations each"
    engine = engine_titled(result.engine)
    if (engine is not None and engine.finds_all) or not calls:
        rest = {*(() if result.cores else (result.last, *result.further)[len(held) :])}
        beyond = (*result.beyond, *((WITHOUT_KIND, call.source) for call in calls if call.ret in rest))
        return _sorted(held, max(result.violations, len(held)), note, beyond)
    more = limits.extended()
    count, left = max(result.violations, len(held)), list(calls)
    fresh, unsought = held, False
    while fresh:
        left = _neutralised(left, fresh, model)
        if len(held) >= MAX_EXPLAINED or more.over():
            unsought = more.over() or decide(left, model, limits, proof=False).verdict != "valid"
            note = _unsought(len(held)) if unsought else note
            break
        again = decide(left, model, more, proof=False)
        if again.verdict == "unknown":
            note, unsought = f"{_unsought(len(held))}: {again.reason}", True
        if again.verdict == "valid":
            count = len(held)
        if again.verdict != "invalid":
            break
        fresh = _findings(again, left, model, more)
        count = len(held) + max(again.violations, len(fresh))
        held += fresh
    return _sorted(held, count, note, more=unsought)


def find_by_columns(
    title: str, proof: ColumnProof, operations: Sequence[Operation], model: Model, limits: Limits
) -> Findings | None:
    """Find all violations that the engine ``title`` proved from columns; None if finding them needs calls."""
    held: list[ProvenViolation] = []
    gone: set[int] = set()
    more, note, count = limits.extended(), None, 0
    while wrong := proof.contradictions(gone):
        if len(held) >= MAX_EXPLAINED or (held and more.over()):
            note = _unsought(len(held))
            break
        count += len(wrong)
        shown = wrong[: MAX_EXPLAINED - len(held)]
        calls = _calls_at(operations, model, {begun for contradiction in shown for begun in contradiction.begun})
        known = {begun: call.made_pending() if begun in gone else call for begun, call in calls.items()}
        for contradiction in shown:
            core = tuple(known[begun] for begun in sorted(contradiction.begun))
            result = EngineResult("invalid", title, cores=(core,), violations=1, kind=contradiction.kind)
            (finding,) = _findings(result, (), model, limits)
            held.append(finding)
            due = completed_by(finding.core, model)
            rest = [call for call in finding.core if call.source != due.source]
            again = [moments for moments in proof.again(due.invoke) if moments[0] not in gone][:MAX_FOLDED_READS]
            same = (replace(due, invoke=begun, ret=ended) for begun, ended in again)
            trials = [call for call in same if not has_linearization(ProvenViolation((*rest, call), result), model)]
            gone |= {due.invoke, *(call.invoke for call in trials)}
    return None if wrong is None else _sorted(held, count, note, more=note is not None)


def _calls_at(operations: Sequence[Operation], model: Model, begun: Collection[int]) -> dict[int, Call]:
    """Return the calls that were invoked at these ranks, keyed by rank."""
    places = [place for place, operation in enumerate(operations) if operation.invoke_index in begun]
    calls = (call_of(operations[place], place, model) for place in places)
    return {call.invoke: call for call in calls if call is not None}


def _sorted(
    held: list[ProvenViolation],
    count: int,
    note: str | None,
    beyond: tuple[tuple[str, int], ...] = (),
    *,
    more: bool = False,
) -> Findings:
    ordered = tuple(sorted(held, key=lambda finding: finding.moment))
    notes = dict.fromkeys([note, *(finding.note for finding in ordered[:MAX_COUNTEREXAMPLES])])
    return Findings(ordered, count, "; ".join(note for note in notes if note) or None, beyond, more)


def _unsought(held: int) -> str:
    return f"there may be more than the first {counted(held, 'violation')}: the rest was not searched"


def _findings(result: EngineResult, calls: Sequence[Call], model: Model, limits: Limits) -> list[ProvenViolation]:
    """Reduce each violation that a result knows to a core."""
    if result.cores:
        return [ProvenViolation(_smallest(core, model, result), result) for core in result.cores]
    held: list[ProvenViolation] = []
    for last in _lasts(result):
        core = shrink(calls, model, last, limits)
        if limits.over() and len(core.calls) > MAX_UNREDUCED_CORE:
            break
        least = minimize_core(core, calls, model, limits)
        held.append(ProvenViolation(tuple(least.calls), result, least.note, core.model if core.stands_alone else model))
    return held


def _lasts(result: EngineResult) -> tuple[int | None, ...]:
    """Return the returns that completed the violations to show, as far as the engine knows them."""
    return (result.last, *result.further)[:MAX_AUTOMATON_CORES]


def _smallest(core: tuple[Call, ...], model: Model, result: EngineResult) -> tuple[Call, ...]:
    if result.engine not in (LOG_SWEEP, SET_SWEEP) or result.kind in OF_THE_WHOLE or len(core) > MAX_DEFINITION_CALLS:
        return core
    core = tuple({call.source: call for call in core}.values())
    return tuple(irreducible(core, model, lambda part: not _possible(part, model, result)))


def _possible(part: Sequence[Call], model: Model, result: EngineResult) -> bool:
    """Return whether the definition finds an order; cores of logs and sets are judged as parts of a history."""
    if result.engine == LOG_SWEEP:
        return linearizable(part_of_log(part), SparseLog())
    return linearizable(part_of_set(part) if result.engine == SET_SWEEP else part, model)


def has_linearization(finding: ProvenViolation, model: Model) -> bool:
    """Return whether the definition finds a linearization of a core, which should have none.

    Returns False without trying if the core is large, or if its violation does not depend on order, because the
    engine has counted it: a log longer than its appends, or a value that was never written.
    """
    if len(finding.core) > MAX_TRIED_CORE or finding.result.kind in OF_THE_WHOLE:
        return False
    return _possible(finding.core, finding.under or model, finding.result)


def _neutralised(calls: list[Call], findings: Sequence[ProvenViolation], model: Model) -> list[Call]:
    """Neutralise the calls that completed these violations, and the reads that repeat them."""
    gone: set[int] = set()
    for finding in findings:
        due = completed_by(finding.core, model, finding.result.last)
        gone |= {due.source, *(call.source for call in _alike(calls, due, finding, model))}
    kept = []
    for call in calls:
        if call.source not in gone:
            kept.append(call)
        elif call.f not in model.reads:
            kept.append(call.made_pending())
    return kept


def completed_by(core: Sequence[Call], model: Model, last: int | None = None) -> Call:
    """Find the call that completed the violation: the last read to return, or else the last operation.

    A write never completes one, because a write that returns last may take effect last.
    """
    answered = [call for call in core if not call.pending]
    reads = [call for call in answered if call.f in model.reads]
    others = [call for call in answered if call.f != "write"]
    # A core shows whole operations, so it may contain some that returned later.
    at_last = [call for call in others if call.ret == last]
    return max(reads or at_last or others or answered, key=lambda call: call.ret)


def _has_others(calls: list[Call], due: Call, core: Sequence[Call], model: Model) -> bool:
    """Return whether an operation outside the core might explain a later read, though it did not explain this one."""
    about, inside = model.about(due.f, due.value, due.result), {call.source for call in core}
    return not about or any(
        not about.isdisjoint(model.about(call.f, call.value, call.result))
        for call in calls
        if call.f not in model.reads and call.source not in inside
    )


def _alike(calls: list[Call], due: Call, finding: ProvenViolation, model: Model) -> list[Call]:
    """Return later reads with the same answer that contradict the rest of the core in the same way."""
    if due.f not in model.reads or len(finding.core) > MAX_TRIED_CORE:
        return []
    same = [call for call in calls if (call.f, call.value, call.result) == (due.f, due.value, due.result)]
    rest = [call for call in finding.core if call.source != due.source]
    taken = {call.source for call in rest}
    if finding.result.kind in OF_THE_WHOLE or not rest:
        return same
    if finding.result.engine not in (LOG_SWEEP, SET_SWEEP) and _has_others(calls, due, finding.core, model):
        return []
    later = [call for call in same if call.ret > due.ret and call.source not in taken][:MAX_FOLDED_READS]
    return [call for call in later if not has_linearization(ProvenViolation((*rest, call), finding.result), model)]


def part_of_log(core: Sequence[Call]) -> list[Call]:
    """Give each unanswered append in a log's core the index and return of the first call that shows it."""

    def placed(call: Call) -> Call:
        witnesses = [(other.ret, index) for other in core if (index := index_said(other, call.value)) is not None]
        return replace(call, ret=min(witnesses)[0], result=min(witnesses)[1]) if witnesses else call

    return [placed(call) if call.f == "append" and call.pending else call for call in core]


def part_of_set(core: Sequence[Call]) -> list[Call]:
    """Reduce the reads of a set's core to the elements that the core adds, so that it stands on its own.

    An element that an answer contains twice stays, because that is wrong whatever was added.
    """
    added = {call.value for call in core if call.f == "add"}

    def cut(call: Call) -> Call:
        times = Counter(call.result or ())
        return replace(call, result=tuple(item for item in call.result or () if item in added or times[item] > 1))

    return [cut(call) if call.f == "read" else call for call in core]
