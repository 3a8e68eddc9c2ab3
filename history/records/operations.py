"""Operations: an invocation paired with its completion."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, Literal, TypeAlias

from history.errors import FormatError
from history.records.events import NEMESIS, Event, Phase

Outcome: TypeAlias = Literal["ok", "fail", "info"]

#: The ``error`` of an ok completion whose entry the answering node had not applied.  The client did receive an ok, so
#: it is recorded.  But it does not show that the cluster is healthy, so gates and recovery ignore it.
UNAPPLIED: Final = "acknowledged without having been applied"


def was_applied(outcome: str, error: str | None) -> bool:
    """Return whether the end of an operation shows that a node that had applied it acknowledged it."""
    return outcome == "ok" and error != UNAPPLIED


#: The ``error`` of an ok read of an object that has no name because no create of it was acknowledged.  There is nothing
#: to read.  No request was sent either, so the read does not show that the cluster serves again.
NEVER_MADE: Final = "no create of it was acknowledged"

#: Part of the ``error`` of an operation that was not sent because its client has a new session.  The client's later
#: operations belong to that session.
NEW_SESSION: Final = "the session is a new one"


def was_served(outcome: str, error: str | None) -> bool:
    """Return whether the end of an operation shows that the system served it."""
    return was_applied(outcome, error) and error != NEVER_MADE


#: Functions whose ok completion repeats the invocation's value or has none.  For ``append`` this holds only if both
#: are strings, because a log answers with an index.
ECHOED: Final = ("write", "cas", "add", "put", "append")


# Not frozen, which would make creating one four times as slow: a long history has millions.  Nothing changes them.
@dataclass(slots=True, unsafe_hash=True)
class Operation:
    """One operation of one process.

    ``value`` is the invocation's value (null for a read) and ``result`` the completion's.  An operation that never
    completed has the outcome ``info`` and no ``returned`` time.  Times are nanoseconds since the run's start;
    ``intended`` is when the operation was due, or None if unknown.  ``invoke_index`` and ``return_index`` are the
    positions of the events in the file and determine the order.  An ``info`` operation is concurrent with everything
    after its invocation, whatever its ``returned`` says.
    """

    process: int
    f: str
    key: str | int | None
    value: Any
    result: Any
    outcome: Outcome
    invoked: int
    returned: int | None
    invoke_index: int
    return_index: int | None
    node: str | None = None
    error: str | None = None
    phase: Phase | None = None
    intended: int | None = None

    @property
    def applied(self) -> bool:
        """Whether the operation was acknowledged by a node that had applied it."""
        return was_applied(self.outcome, self.error)

    @property
    def served(self) -> bool:
        """Whether the system served the operation."""
        return was_served(self.outcome, self.error)

    @property
    def ended(self) -> int:
        """Time at which the operation returned, or was invoked if it never returned."""
        return self.invoked if self.returned is None else self.returned

    @property
    def end_index(self) -> float:
        """Position of the operation's return in the file; infinite if it never returned."""
        return math.inf if self.return_index is None else self.return_index

    @property
    def refused(self) -> bool:
        """Whether the operation is a cas that was refused and says why: ``[old, new, seen]``."""
        return self.outcome == "ok" and self.f == "cas" and is_refusal(self.result)

    @property
    def seen(self) -> Any:
        """The value that a refused cas found in the register."""
        return self.result[2]

    def to_json(self) -> dict[str, Any]:
        record = {name: getattr(self, name) for name in self.__slots__}
        return record if self.intended is not None else {k: cell for k, cell in record.items() if k != "intended"}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Operation:
        fields: dict[str, Any] = {name: record.get(name) for name in cls.__slots__}
        return cls(**fields)


def is_refusal(answer: Any) -> bool:
    """Return whether the value of an ok cas shows that the cas was refused."""
    return isinstance(answer, (list, tuple)) and len(answer) == 3


#: The ``f`` of a transaction.
TXN: Final = "txn"
#: The name of a transaction that only reads.
READ_ONLY: Final = "read-only txn"
#: The functions of a transaction's read steps, as workloads and Jepsen spell them.
READ_STEPS: Final = ("r", "read")


def called(f: str, value: Any) -> str:
    """Return the name of an operation: its ``f``, or :data:`READ_ONLY` for a transaction that only reads."""
    return READ_ONLY if f == TXN and all(step[0] in READ_STEPS for step in value) else f


def contradiction(f: str, requested: Any, answered: Any) -> str | None:
    """Explain why an ok completion's value cannot belong to the invocation; None if it can."""
    if f == TXN:
        return _txn_contradiction(requested, answered)
    if (
        f not in ECHOED
        or answered is None
        or (f == "append" and not (isinstance(requested, str) and type(answered) is str))
    ):
        return None
    repeated = answered[:2] if f == "cas" and is_refusal(answered) else answered
    # In JSON, unlike in Python, true is not equal to 1.
    plain = type(requested) is type(repeated) and type(requested) in (int, str)
    same = requested == repeated if plain else _text(requested) == _text(repeated)
    if same:
        return None
    return f"a {f} of {_text(requested)[:80]} was invoked, but was completed as {_text(answered)[:80]}"


def _txn_contradiction(requested: Any, answered: Any) -> str | None:
    """Explain why an ok transaction's answer cannot belong to its steps ``[f, key, …]``.

    None if it can, or if the value is not a list of steps.
    """
    if not _is_list(requested) or not all(_is_list(step) and len(step) > 1 for step in requested):
        return None
    if answered is None:
        if not any(step[0] in READ_STEPS for step in requested):
            return None
        return f"a txn of {_text(requested)[:80]} is ok but lacks what it read"
    if _is_list(answered) and len(answered) == len(requested) and all(map(_answers_step, requested, answered)):
        return None
    return f"a txn of {_text(requested)[:80]} was invoked, but was completed as {_text(answered)[:80]}"


def _answers_step(requested: Any, answered: Any) -> bool:
    """Return whether a step's answer repeats the step, apart from the value that a read returns."""
    if not _is_list(answered) or len(answered) != len(requested):
        return False
    same = 2 if requested[0] in READ_STEPS else len(requested)
    return _text(list(requested[:same])) == _text(list(answered[:same]))


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _text(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except RecursionError:
        return "…"


#: The process of the operations that make the state at the start.
BEFORE: Final = -1


def place_of_index(index: int) -> str:
    """Return ``index N``, which names an event where there are no line numbers."""
    return f"index {index}"


def pair(
    events: Iterable[Event], source: str = "history", place: Callable[[int], str] = place_of_index
) -> list[Operation]:
    """Pair client events into operations, in invocation order.  Skips nemesis events.

    Raises FormatError for a completion without an invocation, a process with two open operations, or a completion
    whose function, key or value differs from the invocation.  ``place(index)`` names the event in the message.
    """
    open_invocations: dict[int, Event] = {}
    operations: list[Operation] = []
    for event in events:
        process = event.process
        if process == NEMESIS:
            continue
        assert isinstance(process, int)
        if event.type == "invoke":
            if (other := open_invocations.setdefault(process, event)) is not event:
                raise FormatError(
                    source,
                    place(event.index),
                    f"process {process} has an open operation, invoked at {place(other.index)}",
                )
            continue
        invocation = open_invocations.pop(process, None)
        if invocation is None:
            raise FormatError(
                source, place(event.index), f"process {process} completes an operation that it never invoked"
            )
        if invocation.f != event.f or invocation.key != event.key:
            raise FormatError(
                source,
                place(event.index),
                f"completes {event.f} of {event.key!r}, but {invocation.f} of {invocation.key!r} was invoked",
            )
        if event.type == "ok" and (why := contradiction(event.f, invocation.value, event.value)) is not None:
            raise FormatError(source, place(event.index), why)
        operations.append(_operation(invocation, event))
    # An operation that was never answered is ``info``, not ``fail``: the request may take effect at any later time.
    operations.extend(_operation(invocation, None) for invocation in open_invocations.values())
    operations.sort(key=attrgetter("invoke_index"))
    return operations


def _operation(invocation: Event, completion: Event | None) -> Operation:
    """Make an operation; its arguments go by position, because naming them takes twice as long."""
    assert isinstance(invocation.process, int)
    request = (invocation.process, invocation.f, invocation.key, invocation.value)
    if completion is None:
        return Operation(
            *request, None, "info", invocation.time, None, invocation.index, None, invocation.node, None,
            invocation.phase, invocation.intended,
        )  # fmt: skip
    outcome: Outcome = "ok" if completion.type == "ok" else "fail" if completion.type == "fail" else "info"
    return Operation(
        # The value of a ``fail`` or an ``info`` is the request's, not an answer, so nothing may be concluded from it.
        *request, completion.value if outcome == "ok" else None, outcome, invocation.time, completion.time,
        invocation.index, completion.index, completion.node or invocation.node, completion.error, invocation.phase,
        invocation.intended,
    )  # fmt: skip
