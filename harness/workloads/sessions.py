"""Sessions on registers: what a client reads may be old, but never older than what it has seen or written itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from history import Check, Counterexample, Operation, Verdict, worst
from history.records.counted import counted
from history.records.violations import details_of

_ASKED: Final = "sessions keep their order; writes and final reads linearizable"


def sessions_check(operations: Sequence[Operation]) -> Check:
    """Check that no session goes back, or misses its own write, and that what is not a ``peek`` is linearizable.

    A session is what a process did without a failure in between.  A ``peek`` is answered null for absent, or [value,
    version]: each write of a key makes a greater version.  Every value is written once.
    """
    from checker import check_operations  # numpy with it: too much for a command that only lists workloads

    ordered = sorted(operations, key=lambda op: op.invoke_index)
    peeks = [op for op in ordered if op.f == "peek" and op.outcome == "ok" and op.result is not None]
    versions = {(op.key, op.result[0]): op.result[1] for op in peeks}
    asked = {(op.key, op.value) for op in ordered if op.f == "write"}
    wrong = [
        Counterexample.of_promise("never-written", text, (op, f"sees {op.result[0]}, version {op.result[1]}"))
        for op in peeks
        if (op.key, op.result[0]) not in asked and (text := f"{op.key} was never to be {op.result[0]}")
    ]
    least: dict[tuple[int, Any], tuple[int, Operation]] = {}
    for op in ordered:
        place = (op.process, op.key)
        before = least.get(place, (-1, op))
        if op.outcome != "ok":
            least = {one: known for one, known in least.items() if one[0] != op.process}
        elif op.f in ("write", "peek"):
            version = versions.get((op.key, op.value), -1) if op.f == "write" else _peeked(op)
            if op.f == "peek" and version < before[0]:
                text = f"process {op.process} saw version {version} of {op.key} after {before[0]}"
                said = [(one, f"version {number}") for number, one in (before, (version, op))]
                wrong.append(Counterexample.of_promise("session-went-back", text, *said))
            least[place] = (version, op) if version > before[0] else before
    strong = [op for op in ordered if op.f != "peek"]
    keys = [check_operations([op for op in strong if op.key == key], "register") for key in {op.key for op in strong}]
    untested: list[Verdict] = [] if peeks else ["unknown"]
    verdict = "invalid" if wrong else worst([*(key.verdict for key in keys), *untested])
    seen = counted(len(peeks), "peek") + (f", {len(wrong)} wrong: {wrong[0].sentence}" if wrong else "")
    examples = [*wrong, *(example for key in keys for example in key.counterexamples)]
    return Check("sessions", "check", verdict, _ASKED, seen, details_of(examples) if examples else {})


def _peeked(op: Operation) -> int:
    """The version that a peek was answered, -1 for absent."""
    return -1 if op.result is None else int(op.result[1])
