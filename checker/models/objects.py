"""Models beyond registers: mutex, multi-register, append-only log, set, counter, FIFO queue.

The operations, with the request (``value``) and the answer (``result``):

==============  ==================================================================================================
mutex           ``acquire``, ``release``
multi-register  ``txn`` with a list of ["read" or "r", key, null] and ["write" or "w", key, value]; answered likewise
log             ``append`` value -> index; ``get`` index -> value or null; ``list`` -> all values in order
set             ``add`` element; ``read`` -> all elements, each once
kv              ``put`` string, ``append`` string, ``get`` -> string
counter         ``add`` number; ``read`` -> sum
queue           ``enqueue`` value; ``dequeue`` -> value, or null when empty
==============  ==================================================================================================
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from checker.core.calls import freeze, thaw
from checker.core.model import ANY, ILLEGAL, UNKNOWN, Adopted, Made, Model, ModelError, State
from history import Operation
from history.records.operations import READ_STEPS, contradiction
from history.records.text import counted

_WRITES: Final = ("write", "w")


class Mutex(Model):
    """A lock that one process at a time can hold."""

    name = "mutex"
    initial = False
    reads: frozenset[str] = frozenset()

    def step(self, state: State, f: str, value: Any, result: Any) -> State:  # noqa: ARG002
        if f not in ("acquire", "release"):
            raise ModelError(f"a mutex has no operation {f!r}")
        if f == "acquire":
            return ILLEGAL if state else True
        return False if state else ILLEGAL

    def describe(self, state: State) -> str:
        return "held" if state else "free"

    def kind_of(self, suspect: Operation) -> str:
        return "granted-twice" if suspect.f == "acquire" else super().kind_of(suspect)

    def by_process(self, operations: Sequence[Operation]) -> tuple[Model, Sequence[Operation]] | None:
        """Name the holder in each operation; None unless every process releases only what it acquired before.

        A linearization acquires and releases the lock in turn.  If a release followed another process's
        acquire, its own acquire would stand earlier in the order, followed by another process's release, and so
        on without end.
        """
        holding: dict[Any, bool | None] = {}
        for operation in sorted(operations, key=lambda operation: operation.invoke_index):
            if operation.outcome == "fail":
                continue
            takes = operation.f == "acquire"
            if holding.get(operation.process, False) is not (not takes):
                return None
            holding[operation.process] = takes if operation.outcome == "ok" else None
        return HeldMutex(), [replace(operation, value=operation.process) for operation in operations]

    def start_with(self, value: Any) -> Model | Sequence[Made]:
        if value not in ("held", "free"):
            raise ModelError(f"a mutex starts as held or free, not as {shape(value)}")
        return [("acquire", None, None)] if value == "held" else []

    def likely_start(self, operations: Sequence[Operation]) -> Any:  # noqa: ARG002
        return "held"

    def adopt(self, operations: Sequence[Operation]) -> Adopted | None:
        """Convert ``lock``, ``unlock`` and attempts; an attempt answered with false had no effect."""
        if not any(op.f in _LOCKING for op in operations):
            return None
        taken = []
        for op in operations:
            refused = op.outcome == "ok" and op.result is False and op.f not in ("acquire", "release")
            taken.append(replace(op, f=_LOCKING.get(op.f, op.f), outcome="fail" if refused else op.outcome))
        return Adopted(self, taken)


class HeldMutex(Mutex):
    """A lock whose operations name their process as their value; the state is the holder."""

    initial: State = None

    def step(self, state: State, f: str, value: Any, result: Any) -> State:  # noqa: ARG002
        if f == "acquire":
            return value if state is None or state is ANY else ILLEGAL
        return None if state in (value, ANY) else ILLEGAL

    def from_anywhere(self) -> Model | None:
        lock = HeldMutex()
        lock.initial = ANY
        return lock

    def describe(self, state: State) -> str:
        return "free" if state is None else "in any state" if state is ANY else f"held by process {state}"


#: What other tools call the operations on a lock.
_LOCKING: Final = {
    "lock": "acquire", "unlock": "release",
    **dict.fromkeys(("try_acquire", "try-acquire", "try_lock", "try-lock", "trylock", "tryAcquire"), "acquire"),
}  # fmt: skip


class MultiRegister(Model):
    """Several registers, read and written together (knossos' multi-register); keys start absent."""

    name = "multi-register"
    initial: State = frozenset()
    reads: frozenset[str] = frozenset()
    only_values = True
    encoding = "rows"

    def admit(self, f: str, value: Any, result: Any) -> None:
        if f != "txn":
            raise ModelError(f"a multi-register has no operation {f!r}")
        for steps in (value,) if result is UNKNOWN or result is None else (value, result):
            if not isinstance(steps, tuple):
                raise ModelError(f"a txn is a list of [f, key, value], found {thaw(steps)!r}")
            for step in steps:
                if not isinstance(step, tuple) or len(step) != 3 or step[0] not in (*READ_STEPS, *_WRITES):
                    raise ModelError(f"a step of a txn is [read or write, key, value], found {thaw(step)!r}")
        if result is not UNKNOWN and (why := contradiction(f, thaw(value), thaw(result))) is not None:
            raise ModelError(why)

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f != "txn":
            raise ModelError(f"a multi-register has no operation {f!r}")
        registers = dict(state)
        for kind, key, item in value if result is UNKNOWN or result is None else result:
            if kind in _WRITES:
                registers[key] = item
            elif result is not UNKNOWN and registers.get(key) != item:
                return ILLEGAL
        return frozenset(registers.items())

    def respond(self, state: State, f: str, value: Any) -> Any:  # noqa: ARG002
        registers, answered = dict(state), []
        for kind, key, item in value:
            if kind in _WRITES:
                registers[key] = item
            answered.append((kind, key, registers.get(key)))
        return tuple(answered)

    def made(self, f: str, value: Any, result: Any) -> list[tuple[bool, Any]]:  # noqa: ARG002
        """Return the last value written to each register."""
        steps = value if result is UNKNOWN or result is None else result
        return [(True, pair) for pair in {key: item for kind, key, item in steps if kind in _WRITES}.items()]

    def asked(self, f: str, value: Any, result: Any) -> list[tuple[bool, Any]]:  # noqa: ARG002
        """Return the values read from registers before they are written."""
        written, needed = set(), []
        for kind, key, item in () if result is UNKNOWN else value if result is None else result:
            if kind in _WRITES:
                written.add(key)
            elif key not in written:
                needed.append((True, (key, item)))
        return needed

    def start_with(self, value: Any) -> Model | Sequence[Made]:
        if not isinstance(value, dict):
            raise ModelError("""a multi-register starts with a map, such as '{"x": 1}'""")
        return [("txn", [["write", account(key), item] for key, item in value.items()], None)]

    def describe(self, state: State) -> str:
        return "{" + ", ".join(f"{key}: {value}" for key, value in sorted(state, key=repr)) + "}"


def _expect(wanted: bool, message: str, value: Any) -> None:
    if not wanted:
        raise ModelError(f"{message}, found {shape(value)}")


def shape(value: Any) -> str:
    """Show a value in a message, as JSON of at most 80 characters."""
    return "no answer" if value is UNKNOWN else json.dumps(thaw(value), ensure_ascii=False, default=str)[:80]


def listed(value: Any, name: str) -> list[Any]:
    """Return the items with which an object starts.  Raises ModelError."""
    if not isinstance(value, list):
        raise ModelError(f"{name} starts with a list, such as '[1, 2]', not with {shape(value)}")
    return value


def account(name: Any) -> Any:
    """Return the name of an account or register; JSON has strings where EDN has integers, so digits are converted."""
    return int(name) if isinstance(name, str) and name.lstrip("-").isdigit() and name.isascii() else name


def is_index(value: Any) -> bool:
    return type(value) is int and value >= 0


class Log(Model):
    """An append-only log: an append returns the number of entries before it."""

    name = "log"
    initial: State = ()
    reads = frozenset({"get", "list"})

    def admit(self, f: str, value: Any, result: Any) -> None:
        if f == "append":
            _expect(result is UNKNOWN or is_index(result), "an append to a log returns an index, from 0 on", result)
        elif f == "get":
            _expect(is_index(value), "a get of a log takes an index, from 0 on", value)
        elif f == "list":
            _expect(isinstance(result, tuple), "a list of a log returns all its entries", result)

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f == "append":
            return (*state, value) if result is UNKNOWN or result == len(state) else ILLEGAL
        if f not in self.reads:
            raise ModelError(f"a log has no operation {f!r}")
        if result is UNKNOWN:
            return state
        return state if self.answers(state, f, value) == (result,) else ILLEGAL

    def answers(self, state: State, f: str, value: Any) -> tuple[Any, ...]:
        if f == "append":
            return (len(state),)
        return (state if f == "list" else state[value] if 0 <= value < len(state) else None,)

    def start_with(self, value: Any) -> Model | Sequence[Made]:
        return [("append", item, index) for index, item in enumerate(listed(value, "a log"))]

    def describe(self, state: State) -> str:
        return f"a log of {counted(len(state), 'entry', 'entries')}"


class SparseLog(Model):
    """A log of which only some operations are known: anything may have been appended between them.

    Used to judge counterexamples: every part of a linearizable history of a log with unique values is a
    linearizable history of this one.
    """

    name = "part of a log"
    initial: State = ((), 0)
    reads = frozenset({"get", "list"})

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        entries, length = state
        if result is UNKNOWN:
            return state
        if f == "append":
            return self._with(state, [(result, value)]) if result >= length else ILLEGAL
        if f == "get" and result is None:
            return state if value >= length else ILLEGAL
        if f == "get":
            return self._with(state, [(value, result)])
        if len(result) < length or any(result[index] != item for index, item in entries):
            return ILLEGAL
        return self._with(state, list(enumerate(result)))

    @staticmethod
    def _with(state: State, more: list[tuple[int, Any]]) -> State:
        """Return the log with more entries known; each value is appended once, so it has one index."""
        known, indexes = dict(state[0]), {item: index for index, item in state[0]}
        for index, item in more:
            if known.setdefault(index, item) != item:
                return ILLEGAL
            # None is what a list leaves out, at any number of indexes.
            if item is not None and indexes.setdefault(item, index) != index:
                return ILLEGAL
        return (tuple(sorted(known.items())), max([state[1], *(index + 1 for index, _ in more)]))

    def describe(self, state: State) -> str:
        return f"a log of at least {counted(state[1], 'entry', 'entries')}"


class GrowSet(Model):
    """A set to which elements are added; a read returns all of them, in any order and each once."""

    name = "set"
    initial: State = frozenset()

    def admit(self, f: str, value: Any, result: Any) -> None:  # noqa: ARG002
        if f == "read":
            _expect(result is None or isinstance(result, (tuple, frozenset)), "a read of a set returns a list", result)

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f == "add":
            return state | {value}
        if f != "read":
            raise ModelError(f"a set has no operation {f!r}")
        if result is UNKNOWN:
            return state
        return state if len(result or ()) == len(state) and frozenset(result or ()) == state else ILLEGAL

    def answers(self, state: State, f: str, value: Any) -> tuple[Any, ...] | None:  # noqa: ARG002
        return (tuple(sorted(state, key=by_kind)),) if f == "read" else None

    def start_with(self, value: Any) -> Model | Sequence[Made]:
        return [("add", item, None) for item in listed(value, "a set")]

    def likely_start(self, operations: Sequence[Operation]) -> Any:
        return unasked(operations, "add")

    def describe(self, state: State) -> str:
        return f"a set of {len(state)} elements"


def unasked(operations: Sequence[Operation], f: str) -> list[Any]:
    """Return the items in answers that no ``f`` added, each once, in the order of the answers."""
    added = {freeze(operation.value) for operation in operations if operation.f == f}
    answers = [operation.result for operation in operations if operation.outcome == "ok" and operation.f != f]
    items = [item for answer in answers for item in (answer if isinstance(answer, list) else [answer])]
    return [
        item
        for item in {freeze(item): item for item in items}.values()
        if item is not None and freeze(item) not in added
    ]


def by_kind(item: Any) -> tuple[bool, Any]:
    """Sort key: numbers by size, then everything else by its text."""
    return (False, item) if type(item) in (int, float) else (True, repr(item))


class KeyValue(Model):
    """A key of porcupine's key-value store: a string, initially "", with ``put``, ``append`` and ``get``."""

    name = "kv"
    noun = "string"
    initial: State = ""
    reads = frozenset({"get"})

    def admit(self, f: str, value: Any, result: Any) -> None:
        if f in ("put", "append"):
            _expect(isinstance(value, str), f"a {f} to a key-value store takes a string", value)
        elif f == "get":
            _expect(result is None or isinstance(result, str), "a get of a key-value store returns a string", result)
        else:
            raise ModelError(f"a key-value store has no operation {f!r}")

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f == "put":
            return value
        if f == "append":
            return state + value
        if f != "get":
            raise ModelError(f"a key-value store has no operation {f!r}")
        return state if result is UNKNOWN or (result or "") == state else ILLEGAL

    def answers(self, state: State, f: str, value: Any) -> tuple[Any, ...] | None:  # noqa: ARG002
        return (state,) if f == "get" else None

    def narrowed(self, shapes: Iterable[Made]) -> Model:
        if type(self) is not KeyValue:
            return self
        return _ShownStrings({result for f, _, result in shapes if f == "get" and isinstance(result, str)})

    def start_with(self, value: Any) -> Model | Sequence[Made]:
        if not isinstance(value, str):
            raise ModelError(f"a string starts with text, not with {shape(value)}")
        return [("put", value, None)]


class _ShownStrings(KeyValue):
    """The same, for gets that return certain strings: all strings that no get can show any longer are one state.

    If no answer begins with a string, appends cannot turn that string into an answer; only a put can.  So all such
    strings allow the same operations.  A pending call that makes one need not happen: until the next put no get
    follows, whether it happens or not.
    """

    def __init__(self, answers: Iterable[str]) -> None:
        self._answers = sorted(answers)

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if state is None and f in ("append", "get"):
            return None if f == "append" and result is not UNKNOWN else ILLEGAL
        after = super().step(state, f, value, result)
        if f == "get" or self._is_shown(after):
            return after
        return ILLEGAL if result is UNKNOWN else None

    def _is_shown(self, string: str) -> bool:
        place = bisect_left(self._answers, string)
        return not string or (place < len(self._answers) and self._answers[place].startswith(string))

    def describe(self, state: State) -> str:
        return "a string that no get returned" if state is None else super().describe(state)


def exact(number: float) -> float:
    """Return a whole number as an integer, because equal numbers must behave alike and 2^53 + 1 is not 2^53 + 1.0."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


class Counter(Model):
    """A sum to which numbers are added."""

    name = "counter"
    initial: State = 0
    encoding = "sums"

    def admit(self, f: str, value: Any, result: Any) -> None:
        if f == "add":
            _expect(type(value) in (int, float), "an add to a counter takes a number", value)
        elif f == "read":
            _expect(type(result) in (int, float), "a read of a counter returns a number", result)

    def start_with(self, value: Any) -> Model | Sequence[Made]:
        if type(value) not in (int, float):
            raise ModelError(f"a counter starts with a number, not with {shape(value)}")
        return [("add", value, None)]

    def likely_start(self, operations: Sequence[Operation]) -> Any:
        read = next((op for op in operations if op.f == "read" and op.outcome == "ok"), None)
        if read is None:
            return None
        added = [op.value for op in operations if op.f == "add" and op.outcome == "ok"]
        before = [op.value for op in operations if op.f == "add" and op.end_index < read.invoke_index]
        return read.result - sum(before) if {type(item) for item in [read.result, *added]} <= {int} else None

    def adopt(self, operations: Sequence[Operation]) -> Adopted | None:
        """Treat a read of null as 0: a counter stored under a key is absent before the first add."""
        if not any(op.f == "read" and op.outcome == "ok" and op.result is None for op in operations):
            return None
        taken = [
            replace(op, result=0) if op.f == "read" and op.outcome == "ok" and op.result is None else op
            for op in operations
        ]
        return Adopted(self, taken, ("a counter that was read as null counts as 0: nothing had been added to it",))

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f == "add":
            return exact(state + exact(value))
        if f != "read":
            raise ModelError(f"a counter has no operation {f!r}")
        return state if result in (UNKNOWN, state) else ILLEGAL

    def answers(self, state: State, f: str, value: Any) -> tuple[Any, ...] | None:  # noqa: ARG002
        return (state,) if f == "read" else None


class FifoQueue(Model):
    """A first-in, first-out queue; ``dequeue`` returns null when it is empty."""

    name = "queue"
    initial: State = ()
    reads: frozenset[str] = frozenset()

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f == "enqueue":
            return (*state, value)
        if f != "dequeue":
            raise ModelError(f"a queue has no operation {f!r}")
        head = state[0] if state else None
        return state[1:] if result is UNKNOWN or result == head else ILLEGAL

    def answers(self, state: State, f: str, value: Any) -> tuple[Any, ...] | None:  # noqa: ARG002
        return (state[0] if state else None,) if f == "dequeue" else None

    def about(self, f: str, value: Any, result: Any) -> frozenset[Any]:
        item = value if f == "enqueue" else result
        return frozenset() if item is None or item is UNKNOWN else frozenset({item})

    def start_with(self, value: Any) -> Model | Sequence[Made]:
        return [("enqueue", item, None) for item in listed(value, "a queue")]

    def likely_start(self, operations: Sequence[Operation]) -> Any:
        return unasked(operations, "enqueue")

    def describe(self, state: State) -> str:
        return "[" + ", ".join(map(str, state[:8])) + (", …]" if len(state) > 8 else "]")
