"""The first sentence about a counterexample: which node answered what, in a few words."""

from __future__ import annotations

from history.records.text import and_listed
from history.records.verdicts import WITHOUT_KIND
from reports.analysis.findings import ViolationContext
from reports.style.format import one_line


def headline_of(violation: ViolationContext, answered: str) -> str:
    """Say what kind of violation it is, on which object, and which answer shows it; that came at ``answered``."""
    on = "" if violation.key is None else f" on {one_line(violation.key, 40)}"
    kind = violation.example.kind
    said = [f"{node or 'a node'} answered “{label}”" for node, label in _labels(violation)]
    if violation.cycles and (refuted := violation.example.refutes):
        levels = f"{and_listed(refuted)} and every stronger level"
        return (
            f"a cycle of {len(violation.cycles[0].cards)} transactions ({kind}) breaks {levels}, complete at {answered}"
        )
    if not said:
        return f"{kind}{on}, answered at {answered}"
    whole = f"{and_listed(said)} at {answered}"
    if kind == WITHOUT_KIND:
        answers = and_listed(f"{node or 'a node'}'s “{label.partition(': ')[0]}”" for node, label in _labels(violation))
        return f"no order explains {answers}{on} at {answered}"
    return f"{kind}{on}: {whole}{', which contradict each other' if len(said) > 1 else ''}"


def _labels(violation: ViolationContext) -> list[tuple[str | None, str]]:
    """Return node and label of each operation, at least one of which must be wrong; empty if unknown."""
    boxes = [box for box in violation.picture.boxes if box.culprit] if violation.picture else []
    by_index = {one.invoke_index: one.node for one in violation.example.operations}
    return [(by_index.get(box.index), one_line(box.whole, 120)) for box in boxes]
