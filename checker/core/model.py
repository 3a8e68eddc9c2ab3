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
#: The values of a register, the sum of a counter, what transactions leave in several registers, or a bank's balances.
Encoding: TypeAlias = Literal["values", "sums", "rows", "balances"]


class ModelError(ValueError):
    """Raised for an operation that the model does not have: an unknown function, or a value of the wrong shape."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """Operations that another tool recorded, converted for the model; ``notes`` lists the assumptions made."""

    model: Model
    operations: Sequence[Operation]
    notes: tuple[str, ...] = ()


#: What was asked of an object and answered: function, value, result.
Made: TypeAlias = tuple[str, Any, Any]


class Model:
    """Sequential specification of an object; override ``initial``, ``reads`` and ``step``.

    - ``reads``: functions that never change the state.  The checker drops one that is not ok, and may place one at the
      first moment at which it is legal.
    - ``noun``: the name of an object without a key in sentences (default: the name).
    - ``only_values``: an operation may be left out if no other operation has ``asked`` for what it ``made``.
    - ``one_value``: the state is one value, which ``write`` and ``cas`` make and ``read`` and ``cas`` ask for.
    - ``encoding``: what the states are, where the search has a faster form than a table.  A derived class may change
      any behaviour, so it must declare its own.
    - ``artefacts``: kinds of violation that only ``judged_as`` produces.
    - ``has_gaps``: a log in which others use some of the indexes, so that its lists give the index of each entry.
    - ``is_general``: files of any tool may contain such objects, so the checker proposes the model for them.
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
        """Return the state after the operation, or ``ILLEGAL``.  Raises ModelError for an unknown operation."""
        raise NotImplementedError

    def admit(self, f: str, value: Any, result: Any) -> None:
        """Raise ModelError for an operation whose shape is wrong in every state."""

    def describe(self, state: State) -> str:
        """Describe the state in words."""
        return repr(state)

    def answers(self, state: State, f: str, value: Any) -> Collection[Any] | None:  # noqa: ARG002 (for subclasses)
        """Return every result that ``step`` allows for the operation in this state; None if they cannot be listed.

        Used only to say which answers would have been legal.
        """
        return None

    def respond(self, state: State, f: str, value: Any) -> Any:
        """Return what an object in this state answers; ``step`` then allows it.  ``UNKNOWN`` is a bare acknowledgement.

        Used only for objects in memory, which must choose if several answers are allowed.
        """
        listed = self.answers(state, f, value)
        return next(iter(listed)) if listed else UNKNOWN

    def wording(self, operation: Operation) -> str:  # noqa: ARG002 (for subclasses)
        """Describe request and answer in the object's own words; empty if function and values are enough.

        Must accept any recorded operation, including one that this object does not have.
        """
        return ""

    def kind_of(self, suspect: Operation) -> str:  # noqa: ARG002 (for subclasses)
        """Return the kind of a violation in which no order explains the answer of ``suspect``."""
        return WITHOUT_KIND

    def because(self, operations: Sequence[Operation], suspect: Operation) -> str:  # noqa: ARG002 (for subclasses)
        """Say in plain words why no order of all ``operations`` explains the answer of ``suspect``; empty if unknown.

        Says only what these operations prove, without a full stop.
        """
        return ""

    def about(self, f: str, value: Any, result: Any) -> frozenset[Any]:  # noqa: ARG002 (for subclasses)
        """Return the parts of the object that the operation concerns, for reducing counterexamples.

        The promise: dropping all operations that concern one part and no other keeps a linearizable history
        linearizable.  An empty set promises nothing.
        """
        return frozenset()

    def made(self, f: str, value: Any, result: Any) -> list[tuple[bool, Any]]:
        """Return what the operation leaves behind: values (True, value), or parts that it concerns (False, part)."""
        if f in ("write", "cas"):
            return [(True, value[1] if f == "cas" else value)]
        return [(False, part) for part in self.about(f, value, result)]

    def asked(self, f: str, value: Any, result: Any) -> list[tuple[bool, Any]]:
        """Return what the operation depends on, in the form of ``made``: the value it read or replaced, and parts."""
        parts = [(False, part) for part in self.about(f, value, result)]
        return [*parts, (True, value[0] if f == "cas" else result)] if f in ("read", "cas") else parts

    def adopt(self, operations: Sequence[Operation]) -> Adopted | None:  # noqa: ARG002 (for subclasses)
        """Convert operations that another tool wrote in its own form; None if they are fine as they are."""
        return None

    def start_with(self, value: Any) -> Model | Sequence[Made]:  # noqa: ARG002 (for subclasses)
        """Return the model with another initial state, or operations that make that state and come first.

        ``value`` is JSON, a scalar frozen.  Raises ModelError if it is not a state, or if the initial state cannot
        be chosen.
        """
        raise ModelError(f"a {self.name} has no initial value to choose")

    def likely_start(self, operations: Sequence[Operation]) -> Any:  # noqa: ARG002 (for subclasses)
        """Return a value for ``start_with`` that may explain answers that no operation explains; None if unknown."""
        return None

    def judged_as(self, operations: Sequence[Operation]) -> tuple[Model, Sequence[Operation]] | None:  # noqa: ARG002
        """Return another model and operations that are linearizable if and only if these are; None to keep these.

        Raises ModelError for operations that this model does not have.
        """
        return None

    def witnesses(self, core: Sequence[Operation], operations: Iterable[Operation]) -> list[Operation]:  # noqa: ARG002
        """Return the ``operations`` that make ``core``, a contradiction under ``judged_as``, one under this model."""
        return []

    def narrowed(self, shapes: Iterable[Made]) -> Model:  # noqa: ARG002 (for subclasses)
        """Return an equivalent model for calls of these ``shapes`` that has fewer states; by default, itself.

        It may reject a pending call whose effect no later call of these shapes would show.
        """
        return self

    def from_anywhere(self) -> Model | None:
        """Return the model with an unknown initial state, if it supports that.

        A counterexample can then start partway through the history."""
        return None

    def by_process(self, operations: Sequence[Operation]) -> tuple[Model, Sequence[Operation]] | None:  # noqa: ARG002
        """Return another model and converted operations that have the same linearizations; None if there is none.

        The operations keep their places. The other model knows more about the state, so counterexamples may start
        later.
        """
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Register(Model):
    """A register of one value: ``write`` sets it, ``read`` returns it, or null while it is absent.

    With ``initial=ANY`` the initial value is unknown, as in a durable cluster that was used before.
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

    A refused cas is also ok if it returns what it saw, ``[old, new, seen]``: it is a read of that value.  A ``fail``
    says nothing about the register.
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
    """Return whether the model is a register that the engines know.  Derived classes are not: they may do anything."""
    return model.encoding == "values"


class StrictCasRegister(CasRegister):
    """A CAS register in which a ``fail`` proves more: the register held a value other than the cas expected.

    Use it only for systems whose ``fail`` means exactly that; a refused cas is then as good as a read.
    """

    name = "cas-register-strict"
    is_general = False
    reads = frozenset({"read", "refused"})

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f == "refused":
            return ILLEGAL if state == value[0] else state
        return super().step(state, f, value, result)

    def because(self, operations: Sequence[Operation], suspect: Operation) -> str:  # noqa: ARG002 (for subclasses)
        """Say in plain words why no order of all ``operations`` explains the answer of ``suspect``; empty if unknown.

        Says only what these operations prove, without a full stop.
        """
        return ""

    def about(self, f: str, value: Any, result: Any) -> frozenset[Any]:  # noqa: ARG002
        # A write that nobody read may still be the reason why a cas was refused.
        return frozenset()
