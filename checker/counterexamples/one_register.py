"""Find violations of transactions that involve only one of several registers, and explain them as a register's.

If transactions are linearizable, so is what they do to each register, in the same order.  On one register, a
transaction is a read, a write, or a CAS from the value it found to the value it wrote.  So a contradiction on one
register is a contradiction of the whole history.  It needs few operations, because what the transactions did to other
registers does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from checker.core.calls import Call
from checker.core.model import UNKNOWN, CasRegister
from checker.core.result import Limits
from checker.core.scene import Scene
from checker.counterexamples.enumerate import ProvenViolation, find_all
from checker.dispatch import decide
from history import Counterexample, Operation

_WRITES: Final = ("write", "w")
_MODEL: Final = CasRegister()


@dataclass(frozen=True, slots=True)
class SingleRegisterFinding:
    """Violation on one register, shown by calls on that register alone."""

    register: Any
    finding: ProvenViolation


@dataclass(frozen=True, slots=True)
class SingleRegisterFindings:
    """Violations on single registers, earliest first; ``note`` says what is unknown."""

    held: tuple[SingleRegisterFinding, ...]
    count: int
    note: str | None
    beyond: tuple[tuple[str, int], ...] = ()
    #: Contradictions that involve several registers are never searched for.
    more: bool = True


def find_in_single_registers(calls: Sequence[Call], limits: Limits) -> SingleRegisterFindings | None:
    """Find the violations on single registers; None if there are none, or none was found in time."""
    held: list[SingleRegisterFinding] = []
    notes: list[str] = []
    count = 0
    for register, part in _by_register(calls).items():
        result = decide(part, _MODEL, limits, proof=False)
        findings = find_all(result, part, _MODEL, limits)
        # A transaction never becomes a pending CAS with a known old value.
        whole = [proof for proof in findings.held if not any(call.pending and call.f == "cas" for call in proof.core)]
        held += [SingleRegisterFinding(register, finding) for finding in whole]
        count += findings.count
        notes += [findings.note] if findings.note else []
        if limits.over():
            notes.append("the deadline passed before all registers were examined")
            break
    if not held:
        return None
    notes.append("contradictions between several registers were not searched for")
    held.sort(key=lambda alone: alone.finding.moment)
    return SingleRegisterFindings(tuple(held), count, "; ".join(dict.fromkeys(notes)))


def _by_register(calls: Sequence[Call]) -> dict[Any, list[Call]]:
    """Group the calls by register; return nothing if a transaction contradicts itself."""
    parts: dict[Any, list[Call]] = {}
    for call in calls:
        answered = call.result is not UNKNOWN and call.result is not None
        steps = call.result if answered else call.value
        reads: dict[Any, Any] = {}
        left: dict[Any, Any] = {}
        for kind, key, item in steps:
            if kind in _WRITES:
                left[key] = item
            elif answered and (left[key] if key in left else reads.setdefault(key, item)) != item:
                return {}
        for key in {**reads, **left}:
            parts.setdefault(key, []).append(_on_one(call, reads, left, key))
    return parts


def _on_one(call: Call, reads: dict[Any, Any], left: dict[Any, Any], key: Any) -> Call:
    result = UNKNOWN if call.pending else None
    if key not in left:
        return replace(call, f="read", value=None, result=reads[key])
    if key not in reads:
        return replace(call, f="write", value=left[key], result=result)
    return replace(call, f="cas", value=(reads[key], left[key]), result=result)


def on_register(scene: Scene, register: Any) -> Scene:
    """Reduce the scene to one register."""
    name = register if scene.key is None else f"{scene.key}: {register}"
    return Scene([_seen(operation, register) for operation in scene.operations], _MODEL, name)


def _seen(operation: Operation, register: Any) -> Operation:
    steps = operation.result or operation.value or ()
    mine = [(kind in _WRITES, item) for kind, key, item in steps if key == register]
    written = [item for writes, item in mine if writes]
    if not mine:
        return operation
    if not written:
        answer = mine[0][1] if operation.outcome == "ok" else None
        return replace(operation, f="read", value=None, result=answer)
    if mine[0][0] or operation.outcome != "ok":
        return replace(operation, f="write", value=written[-1], result=None)
    return replace(operation, f="cas", value=[mine[0][1], written[-1]], result=None)


def as_transactions(example: Counterexample, register: Any) -> Counterexample:
    """Return the counterexample with its operations as transactions on the one register."""
    return replace(example, operations=tuple(_transaction(operation, register) for operation in example.operations))


def _transaction(operation: Operation, register: Any) -> Operation:
    steps: list[list[Any]] = [["write", register, operation.value]]
    if operation.f == "read":
        steps = [["read", register, operation.result]]
    elif operation.f == "cas":
        old, new = operation.value
        steps = [["read", register, old], ["write", register, new]]
    request = [[f, key, None if f == "read" else item] for f, key, item in steps]
    return replace(operation, f="txn", value=request, result=steps if operation.outcome == "ok" else None)
