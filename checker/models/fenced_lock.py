"""A lock in which every holder's token is greater than those of all holders before.

``acquire`` -> ["acquired", token], or ["held", the holder's token]; ``release`` token -> ["released", token], ["held",
another holder's token], or ["free", null]; ``read`` -> the holder's token, or null.  Tokens are integers, at least 0.
"""

from __future__ import annotations

from typing import Any, Final

from checker.core.model import ANY, ILLEGAL, NOWHERE, UNKNOWN, Model, ModelError, State
from history import Operation

#: The holder's token while it is unknown: that of an acquire that never completed.  No answer is equal to it.
UNKNOWN_TOKEN: Final = ANY
#: Nothing is known: neither whether it is held nor which tokens were used.
_UNSEEN: Final = (NOWHERE, -1)


class FencedLock(Model):
    """A lock with fencing tokens: each holder's token is greater than those of all holders before.

    The state is the holder's token (None: free) and the greatest token so far.
    """

    name = "fenced-lock"
    is_general = False
    noun = "lock"
    initial: State = (None, -1)
    # A read may show which token an acquire without an answer got, so that it does change the state.
    reads: frozenset[str] = frozenset()

    def admit(self, f: str, value: Any, result: Any) -> None:
        words = {"acquire": ("acquired", "held"), "release": ("released", "held", "free"), "read": None}
        if f not in words:
            raise ModelError(f"a fenced lock has no operation {f!r}")
        if f == "release" and type(value) is not int:
            raise ModelError(f"a release of a fenced lock must name a token, found {value!r}")
        known = words[f]
        if result is UNKNOWN or (known is None and (result is None or type(result) is int)):
            return
        if known is None or not (isinstance(result, tuple) and len(result) == 2 and result[0] in known):
            raise ModelError(f"{f} of a fenced lock cannot be answered by {result!r}")

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        holder, last = state
        if state == _UNSEEN:
            return self._first(f, value, result)
        if f == "read":
            return state if result is UNKNOWN else _held_by(state, result)
        if f == "acquire":
            if result is UNKNOWN:
                return (UNKNOWN_TOKEN, last) if holder is None else ILLEGAL
            word, token = result
            if word == "held":
                return ILLEGAL if token is None else _held_by(state, token)
            return (token, token) if holder is None and type(token) is int and token > last else ILLEGAL
        if result is UNKNOWN or result == ("released", value):
            held = _held_by(state, value)
            return ILLEGAL if held is ILLEGAL else (None, held[1])
        word, token = result
        if word == "released" or token == value or (word == "free") != (token is None):
            return ILLEGAL
        return _held_by(state, token)

    def _first(self, f: str, value: Any, result: Any) -> State:
        """Return the state after an operation before which nothing was known."""
        if f == "read":
            return _UNSEEN if result is UNKNOWN else (result, -1 if result is None else result)
        if result is UNKNOWN:
            return (UNKNOWN_TOKEN, -1) if f == "acquire" else (None, value)
        word, token = result
        if f == "acquire":
            return (token, token) if type(token) is int else ILLEGAL
        if word == "released":
            return (None, value) if token == value else ILLEGAL
        if token == value or (word == "free") != (token is None):
            return ILLEGAL
        return (token, -1 if token is None else token)

    def from_anywhere(self) -> Model | None:
        lock = type(self)()
        lock.initial = _UNSEEN
        return lock

    def answers(self, state: State, f: str, value: Any) -> tuple[Any, ...] | None:
        """Return the legal answers; None if any greater token is legal, for a new holder or for an unknown one."""
        holder, _ = state
        if holder in (UNKNOWN_TOKEN, NOWHERE) or (f == "acquire" and holder is None):
            return None
        if f == "read":
            return (holder,)
        if f == "release" and holder == value:
            return (("released", value),)
        return (("free", None) if holder is None else ("held", holder),)

    def respond(self, state: State, f: str, value: Any) -> Any:
        holder, last = state
        return ("acquired", last + 1) if f == "acquire" and holder is None else super().respond(state, f, value)

    def wording(self, operation: Operation) -> str:
        if operation.outcome != "ok":
            return ""
        match operation.f, operation.value, operation.result:
            case "acquire", _, ["acquired", token]:
                return f"acquire granted with token {token}"
            case "acquire", _, ["held", token]:
                return f"acquire refused, held by token {token}"
            case "release", token, ["released", _]:
                return f"release of token {token}"
            case "release", token, ["held", other]:
                return f"release of token {token} refused, held by token {other}"
            case "release", token, ["free", _]:
                return f"release of token {token} refused, free"
        return ""

    def kind_of(self, suspect: Operation) -> str:
        result = suspect.result
        granted = suspect.f == "acquire" and isinstance(result, (list, tuple)) and result[0] == "acquired"
        return "granted-twice" if granted else super().kind_of(suspect)

    def describe(self, state: State) -> str:
        holder, last = state
        if state == _UNSEEN:
            return "in any state"
        if holder is None:
            return "free" if last < 0 else f"free, after token {last}"
        return "held, by an unknown token" if holder == UNKNOWN_TOKEN else f"held by token {holder}"


def _held_by(state: Any, token: Any) -> State:
    """Return the state in which the lock is held by this token, or by nobody."""
    holder, last = state
    if holder == UNKNOWN_TOKEN and type(token) is int:
        return (token, token) if token > last else ILLEGAL
    return state if holder == token else ILLEGAL
