"""The first sentence about a counterexample: which node answered what, and which answer or fault it contradicts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from history import Operation
from history.records.finding import IsolationLevel, defect_behind
from history.records.text import and_listed
from history.records.verdicts import WITHOUT_KIND
from history.records.violations import found_in
from reports.analysis.counterexample import label_of
from reports.analysis.faults import FaultWindow, brief_fault, fault_of, since_fault
from reports.analysis.findings import Drawn, ViolationContext
from reports.analysis.responder import missed_write
from reports.story.breaks import Clause
from reports.style.format import one_line

#: Limit of an answer in a headline, in words; a longer one is cut after its first clause, or here.
_ANSWER: Final = 8
#: Verbs that begin what a judge says of an operation, as a headline says them.
_PAST: Final = {
    "reads": "read", "finds": "found", "writes": "wrote", "sends": "sent", "fails": "failed", "sees": "saw",
}  # fmt: skip
#: A comma outside brackets.
_COMMA: Final = re.compile(r", (?![^\[(]*[\])])")


def headline_of(drawn: Drawn, violation: ViolationContext, onset: float) -> tuple[str, tuple[Clause, ...]]:
    """Say what kind of violation it is, on which object, and which answer shows it; then what that contradicts.

    ``onset`` is when the first violation was answered (s), which may be another one.
    """
    kind, at, windows = violation.example.kind, f"at {violation.since:.1f} s", drawn.windows
    on = "" if violation.key is None else f" on {one_line(violation.key, 40)}"
    # The label of the break names the known defect, which says more than the kind.
    prefix = "" if defect_behind(drawn.run.results, {kind}) else f"{kind}{on}: "
    there = "" if prefix else on
    since, more = _dated(violation.since, onset, windows)
    if violation.cycles and (refuted := violation.example.refutes):
        level = _asked_level(drawn)
        broken = f"it breaks {level}, which the run requested" if level else f"it breaks {and_listed(refuted)}"
        requested = (f"; the run requested {level}", f", breaking {level}") if level else ()
        calm = Clause((", without any fault",)) if not windows else since
        node = f" on {violation.answered_by}" if violation.answered_by else ""
        cycle = (
            f"{len(violation.cycles[0].cards)} transactions{node} {at} form a cycle ({kind}), so no serial order exists"
        )
        return cycle, (calm, Clause((f"; {broken}", *requested), broken), *more)
    pairs = list(dict.fromkeys(_answers(violation)))
    if not pairs:
        return f"{kind}{on}, answered {at}", (*more, since)
    if kind == WITHOUT_KIND:
        answers = and_listed(f"{node or 'a node'}'s “{label.partition(': ')[0]}”" for node, label in pairs)
        return f"no order explains {answers}{on} {at}", (*more, since, *_in_doubt(violation, windows))
    told = [_told(node or "a node", label, own=bool(violation.example.roles)) for node, label in pairs]
    if len(pairs) > 1:
        clash = ", which contradict each other" if len({label for _, label in pairs}) > 1 else ""
        return f"{prefix}{and_listed(told)}{there} {at}{clash}", (*more, since)
    before = _contradicted(violation)
    ended = 0 if before is None else before.returned or before.invoked
    struck = None if before is None else _standing(ended, ended, windows)
    though = () if before is None else (_though(drawn, before, violation, struck),)
    order = (*more, since, *though)
    if struck is not None and struck != fault_of(violation.since, windows):
        # The fault that the contradicted answer came under explains more than the one before this answer.
        order = (*though, *more, since._replace(forms=since.forms[:1]))
    whole, because, why = told[0].partition(", though ")
    if because:  # the judge says itself what the answer contradicts
        order = (*more, since, Clause((f", though {why}",), why))
    if violation.example.roles:  # its words may end with a time, a place or a reason of their own
        return f"{prefix}{f'{there[1:]} ' if there else ''}{at} {whole}", order
    return f"{prefix}{whole}{there} {at}", order


def _dated(answered: float, onset: float, windows: Sequence[FaultWindow]) -> tuple[Clause, tuple[Clause, ...]]:
    """Relate an answer (s) to a fault; if it was not the first wrong one, rather relate the ``onset`` (s) to one."""
    came = since_fault(answered, windows)
    since = Clause(
        (*came, brief_fault(answered, windows)), f"the answer came {came[0][2:]}" if came[0] else "", dates=True
    )
    if answered == onset:
        return since, ()
    began, first = f"; violations began at {onset:.1f} s", since_fault(onset, windows)
    forms = (f"{began}{form}" for form in (*first, brief_fault(onset, windows)))
    alone = f"the first violation of any kind was answered at {onset:.1f} s"
    return (Clause(("",)) if first == came else since._replace(forms=came[:1])), (Clause(tuple(forms), alone),)


def _asked_level(drawn: Drawn) -> str:
    """Return the isolation level that the run requested; empty if the check does not name one."""
    requested = found_in(drawn.run.results, IsolationLevel)
    return requested.level if requested else ""


def _told(node: str, says: str, *, own: bool) -> str:
    """Say that a node answered something, in quotation marks if these are its words and not the judge's ``own``."""
    if not own:
        return f"{node} answered “{says}”"
    subject, acknowledged, rest = says.partition(" acknowledged ")
    if acknowledged:
        return f"{node} acknowledged {subject} {rest}"
    verb, _, rest = says.partition(" ")
    if verb.endswith("ed") or (rest and verb in _PAST.values()):
        return f"{node} {says}"
    return f"{node} {_PAST[verb]} {rest}".rstrip() if verb in _PAST else f"{node} answered {says}"


def _answers(violation: ViolationContext) -> list[tuple[str | None, str]]:
    """Return node and answer of each operation, at least one of which must be wrong; empty if unknown."""
    boxes = [box for box in violation.picture.boxes if box.culprit] if violation.picture else []
    by_index = {operation.invoke_index: operation for operation in violation.example.operations}
    pairs = ((by_index.get(box.index), box.whole) for box in boxes)
    return [
        (None if operation is None else operation.node, "".join((_few(says), *why)))
        for operation, whole in pairs
        for says, *why in ((_role(violation, operation) or whole).partition(", though "),)
    ]


def _answers_of(violation: ViolationContext) -> list[str]:
    return [label for _, label in _answers(violation)]


def _role(violation: ViolationContext, operation: Operation | None) -> str:
    """Return the part that an operation plays in a broken promise; empty if the violation is of another kind."""
    roles = zip(violation.example.operations, violation.example.roles, strict=False)
    return next((role.says for other, role in roles if other is operation), "")


def _few(answer: str) -> str:
    text = one_line(answer, 120)
    if len(text.split()) > _ANSWER:
        text = _COMMA.split(text)[0]
    return text if len(text.split()) <= _ANSWER else " ".join(text.split()[:_ANSWER]) + " …"


def _contradicted(violation: ViolationContext) -> Operation | None:
    """Return the one acknowledged operation that a single wrong answer contradicts; None if it is not known."""
    operations, suspects = violation.example.operations, violation.example.suspects
    if len(suspects) != 1:
        return None
    if violation.missed is not None:
        return missed_write(operations, suspects[0])
    before = [op for op in operations if op.outcome == "ok" and (op.returned or 0) <= suspects[0].invoked]
    return before[0] if len(operations) == 2 and before else None


def _though(drawn: Drawn, before: Operation, violation: ViolationContext, struck: FaultWindow | None) -> Clause:
    """Say what was acknowledged before, when, and under which fault, in as many words as there is room for."""
    label = _few(_role(violation, before) or label_of(before, wording=drawn.run.wording))
    node, ended = before.node or "a node", (before.returned or 0) / 1e9
    # Two moments that read the same would hide which came first.
    same = f"{ended:.1f}" == f"{violation.since:.1f}"
    at = f"{violation.since - ended:.3f} s before" if same else f"at {ended:.1f} s"
    told = _told(node, label, own=bool(_role(violation, before)))
    if not _role(violation, before) and before.f in ("write", "cas", "add", "append"):
        told = f"{node} acknowledged “{label}”"
    # Where both answers are about one place, it is named once.
    _, spot, place = told.rpartition(" at ")
    clause = f", though {told}"
    if spot and violation.example.roles and any(f" at {place}" in answer for answer in _answers_of(violation)):
        clause = f", though {told.removesuffix(f' at {place}')} there"
    during = [f"{clause} {at}, during {struck.name}", f"{clause} {at}, during #{struck.id}"] if struck else []
    alone = f"{told} {at}{f', during {struck.name}' if struck else ''}"
    least = [f", though acknowledged {at}"] if told.startswith(f"{node} acknowledged ") else []
    return Clause((*during, f"{clause} {at}", clause, *least), alone)


def _in_doubt(violation: ViolationContext, windows: Sequence[FaultWindow]) -> list[Clause]:
    """Say how many requests in doubt were sent under one fault; nothing if it was not one fault for all of them."""
    doubtful = [op for op in violation.example.operations if op.outcome == "info"]
    names = {
        None if (struck := _standing(op.invoked, op.returned or op.invoked, windows)) is None else struck.name
        for op in doubtful
    }
    if len(names) != 1 or None in names:
        return []
    requests = f"{len(doubtful)} request{'s' if len(doubtful) > 1 else ''}"
    return [Clause((f", {requests} from {names.pop()} in doubt",))]


def _standing(start: int, end: int, windows: Sequence[FaultWindow]) -> FaultWindow | None:
    """Return the last fault that was active at any moment from ``start`` to ``end`` (ns)."""
    return next((window for window in reversed(windows) if window.stands(start / 1e9, end / 1e9)), None)
