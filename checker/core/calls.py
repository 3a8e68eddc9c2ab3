"""Convert operations to calls: those that take part in a check, in exact order, with comparable values.

Every engine follows the same conservative rules.  A ``fail`` operation had no effect and is dropped, and so is a read
that is not ok.  Every other ``info`` operation is *pending*: it may take effect at any moment after its invocation, or
never.  A register's cas that was refused, and says which value it saw, is a read of that value.  Calls are ordered by
the places of their events in the history; a pending call returns at ``NEVER``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import Any, Final

from checker.core.model import NOWHERE, UNKNOWN, Model, ModelError
from history import Operation
from history.codes import NEVER


@dataclass(slots=True, unsafe_hash=True)  # not frozen: see Operation
class Call:
    """One operation as the engines see it.

    ``invoke`` and ``ret`` are ranks: any distinct integers in the order of the events.  In a pending call ``ret`` is
    ``NEVER`` and ``result`` is ``UNKNOWN``.  ``source`` is the operation's place in the caller's sequence.
    """

    f: str
    value: Any
    result: Any
    invoke: int
    ret: int
    source: int

    @property
    def pending(self) -> bool:
        return self.ret == NEVER

    def made_pending(self) -> Call:
        """Copy the call as if it had never completed."""
        return replace(self, result=UNKNOWN, ret=NEVER)


def made_by(call: Call) -> Any:
    """Return the value that a write or CAS stores."""
    return call.value[1] if call.f == "cas" else call.value


def asked_by(call: Call) -> Any:
    """Return the value that the call requires: the one that a read returned or a CAS replaced, or ``UNKNOWN``."""
    return call.result if call.f == "read" else call.value[0] if call.f == "cas" else UNKNOWN


class _Truth:
    """True or False that equals the bool but not 1 or 0, so that a model can compare it with its own state."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (bool, _Truth)) and bool(other) == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return self.value

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, slots=True)
class _Map:
    """A frozen JSON object, distinct from a list of its pairs."""

    items: tuple[tuple[str, Any], ...]

    def __repr__(self) -> str:
        return repr(thaw(self))


_TRUE: Final = _Truth(value=True)
_FALSE: Final = _Truth(value=False)


#: Hashable types whose values equal no value of another JSON type.
PLAIN: Final = frozenset({type(None), int, str, float})
_KEPT: Final = PLAIN | {type(UNKNOWN)}
_LISTS: Final = frozenset({list, tuple})
_SHALLOW: Final = _KEPT | _LISTS | {bool}


def freeze(value: Any) -> Any:
    """Make a JSON value hashable, keeping True and 1 distinct."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if isinstance(value, (list, tuple)):
        return tuple(value if PLAIN.issuperset(map(type, value)) else map(freeze, value))
    if isinstance(value, (set, frozenset)):
        return frozenset(freeze(item) for item in value)
    if isinstance(value, dict):
        return _Map(
            tuple(sorted(((str(name), freeze(item)) for name, item in value.items()), key=lambda item: item[0]))
        )
    raise ModelError(f"a value must be JSON, found {type(value).__name__} {value!r}")


def freeze_all(values: Sequence[Any]) -> list[Any]:
    """Make many JSON values hashable; leave ``UNKNOWN`` as it is."""
    kinds = set(map(type, values))
    if kinds <= _KEPT:
        return list(values)
    lists = [value for value in values if type(value) in _LISTS]
    if kinds <= _SHALLOW and set(map(type, chain.from_iterable(lists))) <= PLAIN:
        return [
            value if type(value) in _KEPT else tuple(value) if type(value) in _LISTS else freeze(value)
            for value in values
        ]
    return [value if value is UNKNOWN else freeze(value) for value in values]


def thaw(value: Any) -> Any:
    """Undo ``freeze``: return the JSON value."""
    if isinstance(value, tuple):
        return [thaw(item) for item in value]
    if isinstance(value, _Map):
        return {name: thaw(item) for name, item in value.items}
    return value.value if isinstance(value, _Truth) else value


def calls_of(operations: Sequence[Operation], model: Model) -> list[Call]:
    """Convert the operations that take part in a check to calls, in the order of their invocations.

    Raises ModelError for a cas whose value is not a pair, and for operations that the model does not admit.
    """
    calls = []
    for source, operation in enumerate(operations):
        try:
            call = call_of(operation, source, model)
        except RecursionError:
            raise ModelError(f"a value of {operation.f} is nested too deeply to be compared") from None
        if call is None:
            continue
        if operation.f == "cas" and not (isinstance(operation.value, (list, tuple)) and len(operation.value) == 2):
            raise ModelError(f"the value of a cas must be [old, new], found {operation.value!r}")
        model.admit(call.f, call.value, call.result)
        calls.append(call)
    calls.sort(key=attrgetter("invoke"))
    return calls


def call_of(operation: Operation, source: int, model: Model) -> Call | None:
    """Convert an operation to a call; None if it takes no part in a check."""
    if operation.outcome == "ok":
        return _ok(operation, source, model)
    if operation.outcome == "fail" and operation.f == "cas" and "refused" in model.reads:
        return replace(_ok(operation, source, model), f="refused")
    if operation.outcome == "fail" or operation.f in model.reads:
        return None
    return Call(operation.f, freeze(operation.value), UNKNOWN, operation.invoke_index, NEVER, source)


def _ok(operation: Operation, source: int, model: Model) -> Call:
    if operation.return_index is None or operation.return_index <= operation.invoke_index:
        raise ModelError(
            f"the operation with invoke_index {operation.invoke_index} is answered, so its return_index must be "
            f"greater, not {operation.return_index!r}"
        )
    f, value, result = operation.f, freeze(operation.value), freeze(operation.result)
    if model.one_value and operation.refused:
        # A register that holds the old value must not refuse a CAS.
        f, value, result = "read", None, NOWHERE if result[2] == result[0] else result[2]
    return Call(f, value, result, operation.invoke_index, operation.return_index, source)


def ranked(calls: Sequence[Call]) -> list[Call]:
    """Replace the places of calls with dense ranks 0, 1, 2, … (a pending call has only an invocation).

    Raises ModelError if two events have the same place, because compiled code would confuse them.
    """
    moments = sorted({call.invoke for call in calls} | {call.ret for call in calls if not call.pending})
    if len(moments) != 2 * len(calls) - sum(call.pending for call in calls):
        raise ModelError("two events have the same place in the history")
    rank = {moment: place for place, moment in enumerate(moments)}
    return [replace(call, invoke=rank[call.invoke], ret=rank.get(call.ret, NEVER)) for call in calls]


def without(calls: Iterable[Call], gone: Iterable[Call]) -> list[Call]:
    """Return the calls except those with the same sources as ``gone``."""
    sources = {call.source for call in gone}
    return [call for call in calls if call.source not in sources]
