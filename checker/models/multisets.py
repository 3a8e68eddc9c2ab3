"""The promises of Jepsen's workloads on unordered queues and unique identifiers.

===============  =================================================================================================
unordered-queue  ``enqueue`` value; ``dequeue`` -> a value that is in it, or null when empty; ``drain`` -> all that it
                 took out, one after the other, until it was empty
total-queue      the same, where a value may be delivered more than once: nothing is lost, nothing comes from nowhere
unique-ids       ``generate`` -> a value that was never generated before
===============  =================================================================================================
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from checker.core.model import ILLEGAL, UNKNOWN, Made, Model, ModelError, State
from checker.models.objects import listed, unasked
from history import Operation
from history.records.text import counted


class UnorderedQueue(Model):
    """A bag of values; the state is each value with its count."""

    name = "unordered-queue"
    noun = "queue"
    initial: State = frozenset()
    reads: frozenset[str] = frozenset()

    def admit(self, f: str, value: Any, result: Any) -> None:  # noqa: ARG002
        if f not in ("enqueue", "dequeue", "drain"):
            raise ModelError(f"a queue has no operation {f!r}")
        if f == "drain" and result is not UNKNOWN and not isinstance(result, tuple):
            raise ModelError("a drain of a queue must return the list of items that it took")

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        held = Counter(dict(state))
        if f == "enqueue":
            held[value] += 1
        elif result is UNKNOWN:
            return state
        elif f == "dequeue" and result is None:
            return ILLEGAL if held else state
        else:
            for item in (result,) if f == "dequeue" else result:
                if not held[item]:
                    return ILLEGAL
                held[item] -= 1
            if f == "drain" and +held:
                return ILLEGAL
        return frozenset((+held).items())

    def about(self, f: str, value: Any, result: Any) -> frozenset[Any]:
        item = value if f == "enqueue" else result
        return frozenset() if f == "drain" or item is None or item is UNKNOWN else frozenset({item})

    def start_with(self, value: Any) -> Model | Sequence[Made]:
        return [("enqueue", item, None) for item in listed(value, "a queue")]

    def likely_start(self, operations: Sequence[Operation]) -> Any:
        return unasked(operations, "enqueue")

    def describe(self, state: State) -> str:
        return f"a queue of {counted(sum(count for _, count in state), 'item')}"


class TotalQueue(UnorderedQueue):
    """A queue that may deliver a value more than once; the state is the values enqueued and those not yet delivered."""

    name = "total-queue"

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        known, waiting = state or (frozenset(), frozenset())
        left = Counter(dict(waiting))
        if f == "enqueue":
            left[value] += 1
            return known | {value}, frozenset(left.items())
        if result is UNKNOWN or (f == "dequeue" and result is None):
            return state
        taken = Counter([result] if f == "dequeue" else result)
        left -= taken
        if not taken.keys() <= known or (f == "drain" and left):
            return ILLEGAL
        return known, frozenset(left.items())

    def about(self, f: str, value: Any, result: Any) -> frozenset[Any]:  # noqa: ARG002
        return frozenset()

    def describe(self, state: State) -> str:
        return f"a queue of {counted(sum(dict((state or ((), ()))[1]).values()), 'item')}"


class UniqueIds(Model):
    """A generator that returns each identifier once; the state is the identifiers returned so far."""

    name = "unique-ids"
    noun = "generator"
    initial: State = frozenset()
    reads: frozenset[str] = frozenset()

    def admit(self, f: str, value: Any, result: Any) -> None:  # noqa: ARG002
        if f != "generate":
            raise ModelError(f"a generator of identifiers has no operation {f!r}")
        if result is None:
            raise ModelError("a generate must return an identifier")

    def step(self, state: State, f: str, value: Any, result: Any) -> State:  # noqa: ARG002
        if result is UNKNOWN:
            return state
        return ILLEGAL if result in state else state | {result}

    def start_with(self, value: Any) -> Model | Sequence[Made]:
        return [("generate", None, item) for item in listed(value, "a generator")]

    def because(self, operations: Sequence[Any], suspect: Any) -> str:
        if sum(operation.outcome == "ok" and operation.result == suspect.result for operation in operations) > 1:
            return f"{suspect.result!r} was returned more than once"
        return ""

    def describe(self, state: State) -> str:
        return f"a generator that has returned {counted(len(state), 'identifier')}"
