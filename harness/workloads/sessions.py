"""Sessions on registers: a client may read old data, but nothing older than what it has already seen or written.

A ``peek`` returns null if the key is absent, else [value, version].  Each value is written once, and each write of a
key has its own version, greater than those of all earlier writes.  Versions therefore give the order in which writes
took effect.  A write that no peek saw also has a lower bound: its version is greater than every version known before it
began.  A ``read`` asks for the newest state, so its version is at least as high as every version known before it began.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final, TypeAlias

from history import Check, Counterexample, Operation, Verdict, worst
from history.records.finding import contradictions, contradictions_of_keys
from history.records.operations import NEW_SESSION
from history.records.text import counted

_ASKED: Final = "sessions keep their order; each write has its own version; writes and final reads are linearizable"

#: Operations that prove that a value was present.
_SAYS: Final = frozenset({"write", "peek", "read"})
#: Maps key and value to the version and the first peek that saw it.
_Seen: TypeAlias = Mapping[tuple[Any, Any], tuple[int, Operation]]
#: A version (-1 for none) and the operation that shows it.
_Version: TypeAlias = tuple[int, Operation]


def sessions_check(operations: Sequence[Operation]) -> Check:
    """Check that no session goes back or misses its own write, and that all operations but peeks are linearizable.

    A session is everything that a process did until an indeterminate operation, or until a failure that says that a new
    session began.  Any other failure leaves the session as it is: it continues, with the same promises, when its
    connection comes back.
    """
    from checker import check_operations  # imports numpy: too slow for a command that only lists workloads

    ordered = sorted(operations, key=lambda op: op.invoke_index)
    peeks = [op for op in ordered if op.f == "peek" and op.outcome == "ok" and op.result is not None]
    seen_first: dict[tuple[Any, Any], tuple[int, Operation]] = {}
    for op in sorted(peeks, key=lambda op: op.end_index):
        seen_first.setdefault((op.key, op.result[0]), (op.result[1], op))
    least, misplaced = _known_versions(ordered, seen_first)
    wrong = [
        *_never_written(ordered, peeks), *_versions_differ(peeks, seen_first), *misplaced, *_went_back(ordered, least),
    ]  # fmt: skip
    strong = [_ended_when_seen(op, seen_first) for op in ordered if op.f != "peek"]
    keys = [check_operations([op for op in strong if op.key == key], "register") for key in {op.key for op in strong}]
    untested: list[Verdict] = [] if peeks else ["unknown"]
    verdict = "invalid" if wrong else worst([*(key.verdict for key in keys), *untested])
    summary = counted(len(peeks), "peek") + (f", {len(wrong)} wrong: {wrong[0].sentence}" if wrong else "")
    examples = [*wrong, *(example for key in keys for example in key.counterexamples)]
    findings = [*contradictions("sessions", wrong)]
    findings += contradictions_of_keys("sessions", ((key.key, key.kinds, key.more) for key in keys if key.kinds))
    return Check("sessions", "check", verdict, _ASKED, summary, tuple(findings), tuple(examples))


def _ended_when_seen(op: Operation, seen_first: _Seen) -> Operation:
    """Return the operation; if it is a write that a peek saw, it ends by the time that peek returned."""
    if op.f != "write" or op.outcome == "fail" or (op.key, op.value) not in seen_first:
        return op
    _, peek = seen_first[op.key, op.value]
    ends = math.inf if op.outcome == "info" else op.end_index
    if not op.invoke_index < peek.end_index < ends:
        return op
    return replace(op, outcome="ok", result=None, returned=peek.returned, return_index=peek.return_index)


def _never_written(ordered: Sequence[Operation], peeks: Sequence[Operation]) -> Iterator[Counterexample]:
    writes = {(op.key, op.value): op for op in ordered if op.f == "write"}
    for op in peeks:
        value, version = op.result
        sees, write = f"sees {value}, version {version}", writes.get((op.key, value))
        if write is None:
            yield Counterexample.of_promise("never-written", f"{value} was never written to {op.key}", (op, sees))
        elif write.outcome == "fail":
            text = f"process {op.process} saw {value} in {op.key}, whose write certainly failed"
            yield Counterexample.of_promise("failed-write-read", text, (write, "fails"), (op, sees))
        elif op.end_index < write.invoke_index:
            text = f"process {op.process} saw {value} in {op.key} before its write began"
            yield Counterexample.of_promise("future-read", text, (write, "writes it later"), (op, sees))


def _versions_differ(peeks: Sequence[Operation], seen_first: _Seen) -> Iterator[Counterexample]:
    """Yield writes that appear with two versions, and versions that belong to two writes."""
    written: dict[tuple[Any, int], Operation] = {}
    for op in sorted(peeks, key=lambda op: op.end_index):
        value, version = op.result
        first_version, first = seen_first[op.key, value]
        if version != first_version:
            text = f"{value} was written to {op.key} once, but appears as versions {first_version} and {version}"
            yield Counterexample.of_promise("duplicate", text, (first, _sees(first)), (op, _sees(op)))
        other = written.setdefault((op.key, version), op)
        if other.result[0] != value:
            text = f"version {version} of {op.key} is both {other.result[0]} and {value}"
            yield Counterexample.of_promise("version-twice", text, (other, _sees(other)), (op, _sees(op)))


def _known_versions(
    ordered: Sequence[Operation], seen_first: _Seen
) -> tuple[dict[tuple[Any, Any], int], list[Counterexample]]:
    """Return the version, or a lower bound of it, of each value, and a counterexample for each violation.

    A write's version is greater than every version known before it began, and it is at least n after n acknowledged
    writes.  A read's version is not lower than those.  An operation that was seen with a lower version is a violation.
    """
    known = (op for op in ordered if op.outcome == "ok" and op.f in _SAYS and _value(op) is not None)
    ends: defaultdict[Any, list[Operation]] = defaultdict(list)
    for op in sorted(known, key=lambda op: op.end_index, reverse=True):
        ends[op.key].append(op)
    taken = {(key, version) for (key, _), (version, _) in seen_first.items()}
    newest: dict[Any, _Version] = {}
    ended = Counter[Any]()
    versions = {value: version for value, (version, _) in seen_first.items()}
    wrong: list[Counterexample] = []
    strong = (
        op for op in ordered if (op.f == "write" and op.outcome != "fail") or (op.f, op.outcome) == ("read", "ok")
    )
    for op in strong:
        left, value = ends[op.key], (op.key, _value(op))
        # Whatever ended before this operation began was known by then.
        while left and left[-1].end_index < op.invoke_index:
            earlier = left.pop()
            ended[op.key] += earlier.f == "write"
            if (version := versions[earlier.key, _value(earlier)]) > newest.get(op.key, (-1, earlier))[0]:
                newest[op.key] = version, earlier
        top, before = newest.get(op.key, (-1, op))
        least = max(top, ended[op.key] - 1) + (op.f == "write")
        version = versions.get(value, -1)
        if version < least and (value in seen_first or value[1] is None):
            by = f"version {top} was known" if top >= ended[op.key] - 1 else f"{ended[op.key]} writes had ended"
            wrong.append(_too_low(op, version, (top, before), seen_first[value][1] if value in seen_first else op, by))
        # No peek shows this value's version: take the lowest one that is possible and free.
        if value[1] is not None and value not in seen_first:
            versions[value] = next(n for n in count(max(version, least)) if (op.key, n) not in taken)
    return versions, wrong


def _value(op: Operation) -> Any:
    """Return the value that an operation wrote or saw; None for absent."""
    return op.value if op.f == "write" else op.result[0] if op.f == "peek" and op.result else op.result


def _too_low(op: Operation, version: int, known: _Version, peek: Operation, by: str) -> Counterexample:
    """Return a counterexample for an operation whose version is lower than one ``known`` before it began."""
    top, before = known
    notes = [(before, f"{_named(top)} at least")]
    sees = [(peek, _sees(peek))] if peek is not op else []
    if op.f == "write":
        text = f"{op.value} was written to {op.key} as version {version}, when {by}"
        return Counterexample.of_promise("version-order", text, *notes, (op, f"writes {op.value}"), *sees)
    kind = "stale-read" if before.f == "write" else "read-inversion"
    text = f"process {op.process} read {_named(version)} of {op.key}, when {by}"
    return Counterexample.of_promise(kind, text, *notes, *sees, (op, f"reads {_named(version)}"))


def _went_back(ordered: Iterable[Operation], versions: Mapping[tuple[Any, Any], int]) -> Iterator[Counterexample]:
    newest: dict[tuple[int, Any], _Version] = {}  # by session and key: the newest version seen or written
    for op in ordered:
        session = (op.process, op.key)
        before = newest.get(session, (-1, op))
        if op.outcome == "info" or (op.outcome == "fail" and NEW_SESSION in (op.error or "")):
            newest = {key: known for key, known in newest.items() if key[0] != op.process}
        elif op.outcome == "ok" and op.f in ("write", "peek"):
            peeked = -1 if op.result is None or op.f == "write" else int(op.result[1])
            version = versions[op.key, op.value] if op.f == "write" else peeked
            if op.f == "peek" and version < before[0]:
                text = f"process {op.process} saw {_named(version)} of {op.key} after {_named(before[0])}"
                notes = [(operation, _named(number)) for number, operation in (before, (version, op))]
                yield Counterexample.of_promise("session-went-back", text, *notes)
            newest[session] = (version, op) if version > before[0] else before


def _named(version: int) -> str:
    return "no version" if version < 0 else f"version {version}"


def _sees(op: Operation) -> str:
    return f"sees {op.result[0]}, version {op.result[1]}"
