"""A set of brokers in RocketMQ's controller: master, its epoch, the members in sync, their epoch.

A state is ``[master, its epoch, members, their epoch]``; at first ``[null, 0, [], 0]``.

``read``, ``register`` -> the state; a register may leave out the master and its epoch. ``peek`` -> a state that one
controller held, from its memory: it may be outdated, and is not checked here. ``alter`` [master, its epoch, epoch,
members] -> the epoch after it, one more: a compare-and-set on the first three. ``elect`` b -> ["elected", state]: both
epochs go up by one, and only b is in sync; or ["exists", state]: b was master.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from checker.core.model import ILLEGAL, UNKNOWN, Model, ModelError, State
from history import Operation

_DOUBT: Final = {"ok": "", "info": " in doubt"}
_LENGTHS: Final = {"read": 4, "peek": 4, "register": 4, "elect": 5}


class SyncStateSet(Model):
    """A set of brokers in RocketMQ's controller: its master, the members in sync, and the epochs of both.

    Elections that no client requested are not part of it.
    """

    name = "sync-state-set"
    is_general = False
    noun = "broker set"
    initial: State = (None, 0, (), 0)
    reads = frozenset({"read", "peek", "register"})

    def admit(self, f: str, value: Any, result: Any) -> None:
        if f not in (*_LENGTHS, "alter"):
            raise ModelError(f"a {self.name} has no operation {f!r}")
        if f == "alter" and not (isinstance(value, tuple) and len(value) == 4 and isinstance(value[3], tuple)):
            raise ModelError(f"an alter names the master, its epoch, the epoch and the members, found {value!r}")
        if result is UNKNOWN or (f == "alter" and type(result) is int):
            return
        if f == "alter" or not (isinstance(result, tuple) and len(result) == _LENGTHS[f]):
            raise ModelError(f"{f} of a {self.name} cannot be answered by {result!r}")

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f == "alter":
            return _altered(state, value, result)
        if f == "elect":
            return _elected(state, value, result)
        if result is UNKNOWN or f == "peek":
            return state
        if f == "register" and result[:2] == (None, None):
            return state if result[2:] == state[2:] else ILLEGAL
        return state if result == state else ILLEGAL

    def answers(self, state: State, f: str, value: Any) -> tuple[Any, ...] | None:  # noqa: ARG002
        return {"read": (state,), "register": (state, (None, None, *state[2:]))}.get(f)

    def respond(self, state: State, f: str, value: Any) -> Any:
        master, master_epoch, _, epoch = state
        if f == "alter":
            return epoch + 1
        if f == "elect":
            exists, elected = ("exists", *state), ("elected", value, master_epoch + 1, (value,), epoch + 1)
            return exists if value == master else elected
        return state

    def describe(self, state: State) -> str:
        return _words(state)

    def wording(self, operation: Operation) -> str:
        outcome = _without_effect(operation) if operation.outcome == "fail" else _DOUBT[operation.outcome]
        match operation.f, operation.value, operation.result:
            case "alter", [master, master_epoch, epoch, [*members]], result:
                granted = outcome or f" granted as epoch {result}"
                # The decisive part comes first, because drawings have no room for all of it.
                expected = f"expected epoch {epoch}, master {master} of epoch {master_epoch}"
                return f"alter to {members}{granted}: {expected}"
            case "elect", broker, ["elected" | "exists" as how, _, _, [*_], _] if not outcome:
                before = ", master already" if how == "exists" else ""
                return f"elect of broker {broker}{before}: {_words(operation.result[1:])}"
            case ("read" | "peek") as f, _, [_, _, [*_], _] as state if not outcome:
                return f"{f}: {_words(state)}"
            case "register", broker, [_, _, [*_], _] as state if not outcome:
                return f"register of broker {broker}: {_words(state)}"
            case ("elect" | "register") as f, broker, _ if outcome:
                return f"{f} of broker {broker}{outcome}"
            case ("read" | "peek") as f, _, _ if outcome:
                return f"{f}{outcome}"
        return ""

    def because(self, operations: Sequence[Operation], suspect: Operation) -> str:
        """Say that an epoch is two above the one that several changes expected; at most one can be granted.

        No election explains it: its master has the epoch that the changes name, and every election raises that
        epoch.
        """
        match suspect.f, suspect.result:
            case "read" | "register", [int() as master, int() as elected, [*_], int() as epoch]:
                until = suspect.invoked if suspect.returned is None else suspect.returned
            case _:
                return ""
        begun = [op for op in operations if op.outcome != "fail" and op.f == "alter" and op.invoked < until]
        expectations = [tuple(change.value[:3]) for change in begun]
        many, before = expectations.count((master, elected, epoch - 2)), epoch - 2
        if many < 2 or any(expected == epoch - 1 for _, _, expected in expectations):
            return ""
        return (
            f"{many} changes expected epoch {before}, of which at most one can be granted, as epoch {before + 1}; "
            f"none expected epoch {before + 1}; and yet the epoch was {epoch}"
        )


def _without_effect(operation: Operation) -> str:
    """Return `` refused (2001)`` with the controller's code, or `` failed`` if no controller handled it."""
    code = (operation.error or "").partition(":")[0]
    return f" refused ({code})" if code.isdigit() else " failed"


def _words(state: Sequence[Any]) -> str:
    """Describe a state in the controller's names; a register may leave out the master."""
    master, master_epoch, members, epoch = state
    led = "no master" if master is None else f"master {master} of epoch {master_epoch}"
    return f"{led}, sync state set {list(members)} of epoch {epoch}"


def _altered(state: Any, value: Any, result: Any) -> State:
    master, master_epoch, members, epoch = state
    wanted = value[3]
    if value[:3] != (master, master_epoch, epoch) or master not in wanted or set(wanted) == set(members):
        return ILLEGAL
    after = (master, master_epoch, tuple(sorted(set(wanted))), epoch + 1)
    return after if result is UNKNOWN or result == epoch + 1 else ILLEGAL


def _elected(state: Any, broker: Any, result: Any) -> State:
    master, master_epoch, members, epoch = state
    if result is not UNKNOWN and result[0] == "exists":
        return state if master == broker and result[1:] == state else ILLEGAL
    if broker == master or (master_epoch > 0 and broker not in members):
        return ILLEGAL
    after = (broker, master_epoch + 1, (broker,), epoch + 1)
    return after if result is UNKNOWN or result == ("elected", *after) else ILLEGAL
