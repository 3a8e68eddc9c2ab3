"""Sessions on registers: what a client reads may be old, but never older than what it has seen or written itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    wrong = [*_never_written(ordered, peeks), *_went_back(ordered, peeks)]
    strong = [op for op in ordered if op.f != "peek"]
    keys = [check_operations([op for op in strong if op.key == key], "register") for key in {op.key for op in strong}]
    untested: list[Verdict] = [] if peeks else ["unknown"]
    verdict = "invalid" if wrong else worst([*(key.verdict for key in keys), *untested])
    seen = counted(len(peeks), "peek") + (f", {len(wrong)} wrong: {wrong[0].sentence}" if wrong else "")
    examples = [*wrong, *(example for key in keys for example in key.counterexamples)]
    return Check("sessions", "check", verdict, _ASKED, seen, details_of(examples) if examples else {})


def _never_written(ordered: Sequence[Operation], peeks: Sequence[Operation]) -> Iterator[Counterexample]:
    asked = {(op.key, op.value) for op in ordered if op.f == "write"}
    for op in peeks:
        value, version = op.result
        if (op.key, value) not in asked:
            text = f"{op.key} was never to be {value}"
            yield Counterexample.of_promise("never-written", text, (op, f"sees {value}, version {version}"))


def _went_back(ordered: Sequence[Operation], peeks: Sequence[Operation]) -> Iterator[Counterexample]:
    versions = {(op.key, op.result[0]): op.result[1] for op in peeks}
    newest: dict[tuple[int, Any], tuple[int, Operation]] = {}  # what a session has seen or written of a key
    for op in ordered:
        session = (op.process, op.key)
        before = newest.get(session, (-1, op))
        if op.outcome != "ok":
            newest = {one: known for one, known in newest.items() if one[0] != op.process}
        elif op.f in ("write", "peek"):
            version = versions.get((op.key, op.value), -1) if op.f == "write" else _peeked(op)
            if op.f == "peek" and version < before[0]:
                text = f"process {op.process} saw version {version} of {op.key} after {before[0]}"
                said = [(one, f"version {number}") for number, one in (before, (version, op))]
                yield Counterexample.of_promise("session-went-back", text, *said)
            newest[session] = (version, op) if version > before[0] else before


def _peeked(op: Operation) -> int:
    """The version that a peek was answered, -1 for absent."""
    return -1 if op.result is None else int(op.result[1])
