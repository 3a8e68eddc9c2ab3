"""Sequential specifications of objects: an initial state and a step.

A model is a small class.  ``step`` returns the state after one operation, or ``ILLEGAL`` when the operation cannot
have been answered like this in that state.  A result of ``UNKNOWN`` belongs to an operation that was never seen
to complete: it may have answered anything.  States must be hashable and are compared by ``==``.

    >>> class Latch(Model):
    ...     name = "latch"
    ...     initial = False
    ...     reads = frozenset({"read"})
    ...     def step(self, state, f, value, result):
    ...         if f == "set":
    ...             return True
    ...         return state if result in (state, UNKNOWN) else ILLEGAL
    >>> Latch().step(False, "read", None, True)
    ILLEGAL
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal, TypeAlias, TypeGuard

from history import Operation
from history.records.verdicts import WITHOUT_KIND


class _Sign(Enum):
    ILLEGAL = "ILLEGAL"
    UNKNOWN = "UNKNOWN"
    ANY = "ANY"
    NOWHERE = "NOWHERE"

    def __repr__(self) -> str:
        return self.value


ILLEGAL: Final = _Sign.ILLEGAL
UNKNOWN: Final = _Sign.UNKNOWN
ANY: Final = _Sign.ANY
#: What no register ever holds: the answer of a read that contradicts itself.
NOWHERE: Final = _Sign.NOWHERE

State: TypeAlias = Any
#: The values of a register, the sum of a counter, or what transactions leave in several registers.
Encoding: TypeAlias = Literal["values", "sums", "rows"]


class ModelError(ValueError):
    """Raised for an operation that the model does not have: an unknown function, a value of the wrong shape."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """Operations that another tool recorded, as the model has them; ``notes`` name what was assumed for that."""

    model: Model
    operations: Sequence[Operation]
    notes: tuple[str, ...] = ()


#: What was asked of an object and answered: function, value, result.
Made: TypeAlias = tuple[str, Any, Any]


class Model:
    """An object's sequential specification; override ``initial``, ``reads`` and ``step``.

    ``reads`` names the functions that never change the state: unless one is ok it is dropped, and it may be taken
    at the first moment at which it is legal.  Sentences call an object without a key by the ``noun``, or by the name.
    ``only_values``: an operation may be left out if no other has ``asked`` for what it ``made``.  ``encoding``: what
    the states are, where the search has a faster form for them than a table; a class derived from it may do anything,
    so it says so again.  ``artefacts``: kinds of violation that only ``judged_as`` makes.
    ``one_value``: the state is one value, which ``write`` and ``cas`` make, and which ``read`` and ``cas`` ask for.
    ``is_general``: files of any tool may be of it, so that it is proposed for them.
    ``has_gaps``: a log of which others use some indexes, so that its lists name the index of each entry.
    """

    name: str = "model"
    noun: str = ""
    initial: State = None
    reads: frozenset[str] = frozenset({"read"})
    only_values: bool = False
    one_value: bool = False
    encoding: Encoding | None = None
    artefacts: frozenset[str] = frozenset()
    has_gaps: bool = False
    is_general: bool = True

    def __init_subclass__(cls) -> None:
        cls.encoding = cls.__dict__.get("encoding")

    def step(self, state: State, f: str, value: Any, result: Any) -> State | Literal[_Sign.ILLEGAL]:
        """The state after the operation, or ``ILLEGAL``.  Raises ModelError for what is no operation of this model."""
        raise NotImplementedError

    def admit(self, f: str, value: Any, result: Any) -> None:
        """Raise ModelError for an operation that no ``step`` can make sense of: its shape is wrong in every state."""

    def describe(self, state: State) -> str:
        """The state in words."""
        return repr(state)

    def answers(self, state: State, f: str, value: Any) -> Collection[Any] | None:  # noqa: ARG002 (for subclasses)
        """Every result with which ``step`` allows the operation in this state; None where they cannot be listed.

        Only for naming what an operation that contradicts others could have been answered.
        """
        return None

    def respond(self, state: State, f: str, value: Any) -> Any:
        """What an object in this state answers, which ``step`` then allows; ``UNKNOWN``: it only acknowledges.

        Only for objects in memory, which must choose where several answers are allowed.
        """
        listed = self.answers(state, f, value)
        return next(iter(listed)) if listed else UNKNOWN

    def wording(self, operation: Operation) -> str:  # noqa: ARG002 (for subclasses)
        """What was asked and answered, in the words of the object; empty: its function and values say it.

        It must do with any operation that was recorded, also with one that this object does not have.
        """
        return ""

    def kind_of(self, suspect: Operation) -> str:  # noqa: ARG002 (for subclasses)
        """The kind of a violation whose answer of ``suspect`` no order explains."""
        return WITHOUT_KIND

    def because(self, operations: Sequence[Operation], suspect: Operation) -> str:  # noqa: ARG002 (for subclasses)
        """Why no order of all ``operations`` explains the answer of one of them, in plain words; empty: not known so.

        Only what these operations prove, without a full stop.
        """
        return ""

    def about(self, f: str, value: Any, result: Any) -> frozenset[Any]:  # noqa: ARG002 (for subclasses)
        """The part of the object that the operation concerns, for reducing counterexamples.

        Promise: leave all operations out that concern one part and no other, and what was linearizable stays so.
        An empty set makes no promise.
        """
        return frozenset()

    def made(self, f: str, value: Any, result: Any) -> list[tuple[bool, Any]]:
        """What the operation leaves behind: values (True, value), or else the parts that it concerns (False, part)."""
        if f in ("write", "cas"):
            return [(True, value[1] if f == "cas" else value)]
        return [(False, part) for part in self.about(f, value, result)]

    def asked(self, f: str, value: Any, result: Any) -> list[tuple[bool, Any]]:
        """What explains the operation, in the form of ``made``."""
        parts = [(False, part) for part in self.about(f, value, result)]
        return [*parts, (True, value[0] if f == "cas" else result)] if f in ("read", "cas") else parts

    def adopt(self, operations: Sequence[Operation]) -> Adopted | None:  # noqa: ARG002 (for subclasses)
        """The operations of a file as this model has them, if other tools write them differently; None: as they are."""
        return None

    def start_with(self, value: Any) -> Model | Sequence[Made]:  # noqa: ARG002 (for subclasses)
        """The model with another state at the start, or the operations that make it, before all others.

        ``value`` is JSON, a scalar frozen.  Raises ModelError for what is no state, and where there is no choice.
        """
        raise ModelError(f"a {self.name} has no initial value to choose")

    def judged_as(self, operations: Sequence[Operation]) -> tuple[Model, Sequence[Operation]] | None:  # noqa: ARG002
        """Another model and operations on it that are linearizable if and only if these are; None: judged as it is.

        Raises ModelError for operations that are none of this model's.
        """
        return None

    def witnesses(self, core: Sequence[Operation], operations: Iterable[Operation]) -> list[Operation]:  # noqa: ARG002
        """More of the ``operations`` that a core, which contradicts itself by ``judged_as``, needs to do so here."""
        return []

    def from_anywhere(self) -> Model | None:
        """Give the object an unknown initial state, if the model has one: lets a counterexample start late."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Register(Model):
    """A register of one value: ``write`` v; ``read`` returns it, or null while it is absent.

    With ``initial=ANY`` the register holds an unknown value at the start (a durable cluster that was used before).
    """

    name = "register"
    noun = "register"
    encoding = "values"
    one_value = True
    has_cas = False

    def __init__(self, initial: Any = None) -> None:
        self.initial = initial

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f == "write":
            return value
        if f != "read":
            raise ModelError(f"a {self.name} has no operation {f!r}")
        if result is UNKNOWN or result == state:
            return state
        # The first read decides what an unknown initial value was.
        return result if state is ANY and result is not NOWHERE else ILLEGAL

    def answers(self, state: State, f: str, value: Any) -> Collection[Any] | None:  # noqa: ARG002
        return (state,) if f == "read" and state is not ANY else None

    def about(self, f: str, value: Any, result: Any) -> frozenset[Any]:
        if f == "cas":
            return frozenset(value)
        return frozenset({value if f == "write" else result})

    def from_anywhere(self) -> Model | None:
        return type(self)(ANY)

    def start_with(self, value: Any) -> Model | Sequence[Made]:
        if self.initial is ANY:
            raise ModelError(f"a {self.name} that starts with any value has no initial value to choose")
        if isinstance(value, (list, dict)):
            raise ModelError("a register starts with a number, a word, true, false or null")
        return type(self)(value)

    def describe(self, state: State) -> str:
        return "absent" if state is None else "any value" if state is ANY else str(state)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.initial is None else repr(self.initial)})"


class CasRegister(Register):
    """A register with ``cas`` [old, new], which is ok if it took effect.

    One that was refused is ok, too, if it returns what it saw, ``[old, new, seen]``: it is a read of that.  A ``fail``
    says nothing of the register.
    """

    name = "cas-register"
    encoding = "values"
    has_cas = True

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f != "cas":
            return super().step(state, f, value, result)
        old, new = value
        return new if state == old or state is ANY else ILLEGAL


def is_register(model: Model) -> TypeGuard[Register]:
    """Is it a register that the engines know?  Not a class derived from one, which may do anything."""
    return model.encoding == "values"


class StrictCasRegister(CasRegister):
    """A CAS register of which a ``fail`` proves more: the register held another value than the cas expected.

    Only for systems whose ``fail`` means that and nothing else; a refused cas is then as good as a read.
    """

    name = "cas-register-strict"
    is_general = False
    reads = frozenset({"read", "refused"})

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f == "refused":
            return ILLEGAL if state == value[0] else state
        return super().step(state, f, value, result)

    def because(self, operations: Sequence[Operation], suspect: Operation) -> str:  # noqa: ARG002 (for subclasses)
        """Why no order of all ``operations`` explains the answer of one of them, in plain words; empty: not known so.

        Only what these operations prove, without a full stop.
        """
        return ""

    def about(self, f: str, value: Any, result: Any) -> frozenset[Any]:  # noqa: ARG002
        # An unread write may still be why a cas was refused.
        return frozenset()
