"""Accounts that amounts are moved between.

``transfer`` [from, to, amount] -> the balances that it left, as [[account, balance], …], or null; ``read`` -> all
balances, likewise.  Accounts start at 0, are left out while they are there, and may be overdrawn.
"""

from __future__ import annotations

from typing import Any

from checker.core.model import ILLEGAL, UNKNOWN, Model, ModelError, State
from checker.models.objects import by_kind


class Bank(Model):
    """Accounts: a transfer moves an amount from one to another, a read returns all balances.

    The state is the balances that are not 0.
    """

    name = "bank"
    initial: State = frozenset()

    def admit(self, f: str, value: Any, result: Any) -> None:
        if f == "transfer":
            possible = result is UNKNOWN or result is None or _are_balances(result)
            wrong = not (possible and isinstance(value, tuple) and len(value) == 3 and type(value[2]) is int)
        elif f == "read":
            wrong = not _are_balances(result)
        else:
            raise ModelError(f"a bank has no operation {f!r}")
        if wrong:
            raise ModelError(f"{f} of {value!r} in a bank cannot be answered by {result!r}")

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f == "read":
            return state if result is UNKNOWN or _present(result) == state else ILLEGAL
        balances = dict(state)
        whence, whither, amount = value
        balances[whence] = balances.get(whence, 0) - amount
        balances[whither] = balances.get(whither, 0) + amount
        observed = () if result is UNKNOWN or result is None else result
        if any(balances.get(account, 0) != balance for account, balance in observed):
            return ILLEGAL
        return _present(balances.items())

    def answers(self, state: State, f: str, value: Any) -> tuple[Any, ...] | None:  # noqa: ARG002
        return (tuple(_in_order(state)),) if f == "read" else None

    def respond(self, state: State, f: str, value: Any) -> Any:
        """Also the balances that a transfer leaves, which show the order of transfers."""
        if f != "transfer":
            return super().respond(state, f, value)
        balances, (whence, whither, amount) = dict(state), value
        return ((whence, balances.get(whence, 0) - amount), (whither, balances.get(whither, 0) + amount))

    def describe(self, state: State) -> str:
        return "{" + ", ".join(f"{account}: {balance}" for account, balance in _in_order(state)) + "}"


def _in_order(state: State) -> list[Any]:
    """The balances by their accounts, which may be numbers and names."""
    return sorted(state, key=lambda held: by_kind(held[0]))


def _present(balances: Any) -> frozenset[Any]:
    return frozenset((account, balance) for account, balance in balances if balance)


def _are_balances(result: Any) -> bool:
    return isinstance(result, tuple) and all(
        isinstance(one, tuple) and len(one) == 2 and type(one[1]) is int for one in result
    )
