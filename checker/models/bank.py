"""Accounts between which amounts are moved.

``transfer`` [from, to, amount] -> the resulting balances as [[account, balance], …], or null; ``read`` -> all balances
in the same form.  Accounts start at 0, are left out while their balance is 0, and may be overdrawn.

Jepsen's bank writes maps instead: ``{:from a, :to b, :amount n}`` and ``{account balance}``, or in its first years
``[balance …]`` of the accounts 0, 1, ….  Its histories do not say what the accounts hold at the start, so the first
read decides that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from checker.core.calls import freeze
from checker.core.model import ANY, ILLEGAL, UNKNOWN, Adopted, Made, Model, ModelError, State
from checker.models.objects import account, by_kind, shape
from history import Operation


class Bank(Model):
    """Accounts: a transfer moves an amount from one to another, a read returns all balances.

    The state is the balances that are not 0.
    """

    name = "bank"
    initial: State = frozenset()
    encoding = "balances"
    #: Whether an account may hold less than nothing.
    overdraft = True

    def __init__(self, initial: Any = ()) -> None:
        """``initial`` holds the initial balances, as pairs; ``ANY``: they are unknown."""
        self.initial = _UNKNOWN_START if initial is ANY else _present(initial)
        if initial is ANY:
            self.name = f"{type(self).name}-unknown"

    def admit(self, f: str, value: Any, result: Any) -> None:
        if f == "transfer":
            possible = result is UNKNOWN or result is None or _are_balances(result)
            wrong = not (possible and isinstance(value, tuple) and len(value) == 3 and type(value[2]) is int)
        elif f == "read":
            wrong = not _are_balances(result)
        else:
            raise ModelError(f"a bank has no operation {f!r}")
        if wrong:
            raise ModelError(
                f"{f} of {shape(value)} in a bank cannot be answered by {shape(result)}: a transfer is "
                "[from, to, amount] or a map of these, a read answers a map of balances or [account, balance] pairs"
            )

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        after = self._moved(state, f, value, result) if type(state) is _Open else self._known(state, f, value, result)
        if self.overdraft or after is ILLEGAL or type(after) is _Open:
            return after
        return ILLEGAL if any(balance < 0 for _, balance in after) else after

    def _known(self, state: State, f: str, value: Any, result: Any) -> State:
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

    def _moved(self, state: _Open, f: str, value: Any, result: Any) -> State:
        """Step from a state in which only some accounts' initial balances are known."""
        moved, began, lowest = dict(state.moved), dict(state.began), dict(state.lowest)
        if f == "transfer":
            whence, whither, amount = value
            moved[whence] = moved.get(whence, 0) - amount
            moved[whither] = moved.get(whither, 0) + amount
            if not self.overdraft:
                lowest.update((account, min(lowest.get(account, 0), moved[account])) for account in (whence, whither))
        shown = () if result is UNKNOWN or result is None else result
        for name, balance in shown:
            start = balance - moved.get(name, 0)
            if began.setdefault(name, start) != start:
                return ILLEGAL
        whole = f == "read" and result is not UNKNOWN
        if whole:
            # An account that a read leaves out has the balance 0, so all balances are known now.
            left_out = began.keys() - dict(shown).keys()
            if any(began[account] + moved.get(account, 0) for account in left_out):
                return ILLEGAL
            began = {account: began.get(account, -moved.get(account, 0)) for account in {*began, *lowest}}
        if not self.overdraft and any(start + lowest.get(account, 0) < 0 for account, start in began.items()):
            return ILLEGAL
        if whole:
            return _present(shown)
        return _Open(_present(moved.items()), frozenset(began.items()), _present(lowest.items()))

    def answers(self, state: State, f: str, value: Any) -> tuple[Any, ...] | None:  # noqa: ARG002
        if type(state) is _Open:
            return None
        return (tuple(_in_order(state)),) if f == "read" else None

    def respond(self, state: State, f: str, value: Any) -> Any:
        """Answer transfers with the resulting balances, too, because these show the order of transfers."""
        if f != "transfer":
            return super().respond(state, f, value)
        if type(state) is _Open:
            return UNKNOWN
        balances, (whence, whither, amount) = dict(state), value
        return ((whence, balances.get(whence, 0) - amount), (whither, balances.get(whither, 0) + amount))

    def describe(self, state: State) -> str:
        if type(state) is _Open:
            return "a bank whose initial balances are unknown"
        return "{" + ", ".join(f"{account}: {balance}" for account, balance in _in_order(state)) + "}"

    def adopt(self, operations: Sequence[Operation]) -> Adopted | None:
        """Convert the maps of Jepsen's bank, whose initial balances are unknown unless given."""
        reads = [op.result for op in operations if op.f == "read"]
        listed = any(isinstance(result, dict) or _are_amounts(result) for result in reads)
        maps = listed or any(isinstance(item, dict) for op in operations for item in (op.value, op.result))
        if not maps and not any(op.f == "transfer" and op.result == op.value for op in operations):
            return None
        taken = [replace(op, value=_asked(op.value), result=_answered(op)) for op in operations]
        notes, model = [], self
        if self.initial == frozenset() and listed:
            model = type(self)(ANY)
            notes.append(
                "the history does not contain the initial balances, so they are taken from the first read; to name "
                """them: --initial '{"0": 10, "1": 10}'"""
            )
        shown = (op for op in taken if op.f == "read" and op.outcome == "ok" and _are_balances(freeze(op.result)))
        low = next((read for read in shown if any(held < 0 for _, held in read.result)), None)
        if low is not None and self.overdraft:
            notes.append(
                f"a read shows a balance below 0 (process {low.process}): a bank may be overdrawn here; "
                "--model bank-solvent treats that as a violation, as Jepsen does unless it has :negative-balances?"
            )
        return Adopted(model, taken, tuple(notes))

    def start_with(self, value: Any) -> Model | Sequence[Made]:
        pairs = freeze(balances(value))
        if not _are_balances(pairs):
            raise ModelError("""a bank starts with balances, such as '{"0": 10, "1": 10}'""")
        return type(self)(pairs)


class SolventBank(Bank):
    """A bank in which no account is ever overdrawn."""

    name = "bank-solvent"
    is_general = False
    overdraft = False


class _Open(NamedTuple):
    """Balances relative to an unknown start, and the initial balances of the accounts for which they are known.

    ``lowest`` are the lowest balances so far, relative to the start, where no account may be overdrawn.
    """

    moved: frozenset[Any]
    began: frozenset[Any]
    lowest: frozenset[Any] = frozenset()


_UNKNOWN_START: Final = _Open(frozenset(), frozenset())


def balances(value: Any) -> Any:
    """Convert a map of balances, or a list of those of the accounts 0, 1, …, to pairs; leave anything else as it is."""
    if _are_amounts(value):
        return [[number, held] for number, held in enumerate(value)]
    if not isinstance(value, dict):
        return value
    return [[account(name), held] for name, held in sorted(value.items(), key=lambda item: by_kind(account(item[0])))]


def _are_amounts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(held) is int for held in value)


def _asked(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"from", "to", "amount"}:
        return [account(value["from"]), account(value["to"]), value["amount"]]
    return value


def _answered(operation: Operation) -> Any:
    """Return the answer as pairs; a transfer that repeats its request says nothing."""
    if operation.f != "transfer":
        return balances(operation.result)
    return None if operation.result == operation.value else balances(operation.result)


def _in_order(state: State) -> list[Any]:
    """Sort the balances by account; accounts may be numbers and names."""
    return sorted(state, key=lambda held: by_kind(held[0]))


def _present(balances: Any) -> frozenset[Any]:
    return frozenset((account, balance) for account, balance in balances if balance)


def _are_balances(result: Any) -> bool:
    return isinstance(result, tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 and type(pair[1]) is int for pair in result
    )
