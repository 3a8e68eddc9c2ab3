"""Sessions on registers: what a client reads may be old, but never older than what it has seen or written itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from history import Check, Operation, Verdict, worst

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
    wrong = [f"{op.key} was never to be {op.result[0]}" for op in peeks if (op.key, op.result[0]) not in asked]
    least: dict[tuple[int, Any], int] = {}
    for op in ordered:
        place = (op.process, op.key)
        if op.outcome != "ok":
            least = {one: version for one, version in least.items() if one[0] != op.process}
        elif op.f == "write":
            least[place] = max(least.get(place, -1), versions.get((op.key, op.value), -1))
        elif op.f == "peek":
            version = -1 if op.result is None else op.result[1]
            if version < least.get(place, -1):
                wrong.append(f"process {op.process} saw version {version} of {op.key} after {least[place]}")
            least[place] = max(version, least.get(place, -1))
    strong = [op for op in ordered if op.f != "peek"]
    keys = [check_operations([op for op in strong if op.key == key], "register") for key in {op.key for op in strong}]
    untested: list[Verdict] = [] if peeks else ["unknown"]
    verdict = "invalid" if wrong else worst([*(key.verdict for key in keys), *untested])
    seen = f"{len(peeks)} peeks" + (f", {len(wrong)} wrong: {wrong[0]}" if wrong else "")
    return Check("sessions", "check", verdict, _ASKED, seen)
