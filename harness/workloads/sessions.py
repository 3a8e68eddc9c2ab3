"""Sessions on registers: what a client reads may be old, but never older than what it has seen or written itself.

A ``peek`` is answered null for absent, or [value, version].  Every value is written once, and each write of a key has a
version of its own, greater than those of all writes before it.  So versions say in which order writes took effect, also
that of a write which was never seen: it is greater than all that was known of before it began.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from history import Check, Counterexample, Operation, Verdict, worst
from history.records.counted import counted
from history.records.operations import NEW_SESSION
from history.records.violations import details_of

_ASKED: Final = "sessions keep their order; each write has a version of its own; writes and final reads linearizable"

#: By key and value: the version, and the first peek that saw it.
_Seen: TypeAlias = Mapping[tuple[Any, Any], tuple[int, Operation]]
#: A version, and the operation that it is known by; -1 for none.
_Version: TypeAlias = tuple[int, Operation]


def sessions_check(operations: Sequence[Operation]) -> Check:
    """Check that no session goes back, or misses its own write, and that what is not a ``peek`` is linearizable.

    A session is what a process did until a doubt, or a failure that says that the session is a new one.  Any other
    failure leaves it as it is: it goes on, and promises the same, when its connection comes back.
    """
    from checker import check_operations  # numpy with it: too much for a command that only lists workloads

    ordered = sorted(operations, key=lambda op: op.invoke_index)
    peeks = [op for op in ordered if op.f == "peek" and op.outcome == "ok" and op.result is not None]
    seen_first: dict[tuple[Any, Any], tuple[int, Operation]] = {}
    for op in sorted(peeks, key=_return_index):
        seen_first.setdefault((op.key, op.result[0]), (op.result[1], op))
    least, misplaced = _versions_of_writes(ordered, seen_first)
    wrong = [
        *_never_written(ordered, peeks), *_versions_differ(peeks, seen_first), *misplaced, *_went_back(ordered, least),
    ]  # fmt: skip
    strong = [op for op in ordered if op.f != "peek"]
    keys = [check_operations([op for op in strong if op.key == key], "register") for key in {op.key for op in strong}]
    untested: list[Verdict] = [] if peeks else ["unknown"]
    verdict = "invalid" if wrong else worst([*(key.verdict for key in keys), *untested])
    seen = counted(len(peeks), "peek") + (f", {len(wrong)} wrong: {wrong[0].sentence}" if wrong else "")
    examples = [*wrong, *(example for key in keys for example in key.counterexamples)]
    return Check("sessions", "check", verdict, _ASKED, seen, details_of(examples) if examples else {})


def _never_written(ordered: Sequence[Operation], peeks: Sequence[Operation]) -> Iterator[Counterexample]:
    writes = {(op.key, op.value): op for op in ordered if op.f == "write"}
    for op in peeks:
        value, version = op.result
        sees, write = f"sees {value}, version {version}", writes.get((op.key, value))
        if write is None:
            yield Counterexample.of_promise("never-written", f"{op.key} was never to be {value}", (op, sees))
        elif write.outcome == "fail":
            text = f"process {op.process} saw {value} in {op.key}, whose write certainly failed"
            yield Counterexample.of_promise("failed-write-read", text, (write, "fails"), (op, sees))
        elif _return_index(op) < write.invoke_index:
            text = f"process {op.process} saw {value} in {op.key} before it was asked for"
            yield Counterexample.of_promise("future-read", text, (write, "asks for it later"), (op, sees))


def _versions_differ(peeks: Sequence[Operation], seen_first: _Seen) -> Iterator[Counterexample]:
    """Check that a write has one version, and a version is that of one write."""
    written: dict[tuple[Any, int], Operation] = {}
    for op in sorted(peeks, key=_return_index):
        value, version = op.result
        first_version, first = seen_first[op.key, value]
        if version != first_version:
            text = f"{value} was written to {op.key} once, and is there as version {first_version} and {version}"
            yield Counterexample.of_promise("duplicate", text, (first, _sees(first)), (op, _sees(op)))
        other = written.setdefault((op.key, version), op)
        if other.result[0] != value:
            text = f"version {version} of {op.key} is {other.result[0]} and {value}"
            yield Counterexample.of_promise("version-twice", text, (other, _sees(other)), (op, _sees(op)))


def _versions_of_writes(ordered: Sequence[Operation], seen: _Seen) -> tuple[dict[int, int], list[Counterexample]]:
    """The version of each write, by its invocation: at least one more than what was known before it began.

    Also a counterexample for each write that was seen with a lower one.
    """
    known = (op for op in ordered if op.outcome == "ok" and (op.f == "write" or (op.f == "peek" and op.result)))
    ends: defaultdict[Any, list[Operation]] = defaultdict(list)
    for op in sorted(known, key=_return_index, reverse=True):
        ends[op.key].append(op)
    newest: dict[Any, _Version] = {}
    versions: dict[int, int] = {}
    wrong: list[Counterexample] = []
    for write in (op for op in ordered if op.f == "write" and op.outcome != "fail"):
        left = ends[write.key]
        while left and _return_index(left[-1]) < write.invoke_index:
            op = left.pop()
            version = versions[op.invoke_index] if op.f == "write" else op.result[1]
            if version > newest.get(write.key, (-1, op))[0]:
                newest[write.key] = version, op
        top, before = newest.get(write.key, (-1, write))
        version, peek = seen.get((write.key, write.value), (top + 1, write))
        if version <= top:
            text = f"{write.value} was written to {write.key} as version {version}, when {top} had been known of"
            said = [(before, f"version {top} at least"), (write, f"writes {write.value}"), (peek, _sees(peek))]
            wrong.append(Counterexample.of_promise("version-order", text, *said))
        versions[write.invoke_index] = max(version, top + 1)
    return versions, wrong


def _went_back(ordered: Iterable[Operation], written: Mapping[int, int]) -> Iterator[Counterexample]:
    newest: dict[tuple[int, Any], _Version] = {}  # what a session has seen or written of a key
    for op in ordered:
        session = (op.process, op.key)
        before = newest.get(session, (-1, op))
        if op.outcome == "info" or (op.outcome == "fail" and NEW_SESSION in (op.error or "")):
            newest = {one: known for one, known in newest.items() if one[0] != op.process}
        elif op.outcome == "ok" and op.f in ("write", "peek"):
            version = written[op.invoke_index] if op.f == "write" else _peeked(op)
            if op.f == "peek" and version < before[0]:
                text = f"process {op.process} saw {_named(version)} of {op.key} after {_named(before[0])}"
                said = [(one, _named(number)) for number, one in (before, (version, op))]
                yield Counterexample.of_promise("session-went-back", text, *said)
            newest[session] = (version, op) if version > before[0] else before


def _peeked(op: Operation) -> int:
    """The version that a peek was answered, -1 for absent."""
    return -1 if op.result is None else int(op.result[1])


def _named(version: int) -> str:
    return "no version" if version < 0 else f"version {version}"


def _sees(op: Operation) -> str:
    return f"sees {op.result[0]}, version {op.result[1]}"


def _return_index(op: Operation) -> float:
    return float("inf") if op.return_index is None else op.return_index
