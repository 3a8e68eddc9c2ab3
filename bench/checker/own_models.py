"""Models as a user would write them, in about ten lines; their twins in Go are in ``porcupine/own.go``."""

from __future__ import annotations

from typing import Any

from own_objects import ACCOUNTS, FUNDS, PERMITS

from checker import ILLEGAL, UNKNOWN, Model


class Semaphore(Model):
    """A semaphore with three permits; the state is how many are taken."""

    name = "semaphore"
    initial = 0
    reads: frozenset[str] = frozenset()

    def step(self, state: int, f: str, value: Any, result: Any) -> Any:  # noqa: ARG002
        if f == "take":
            return state + 1 if state < PERMITS else ILLEGAL
        return state - 1 if state else ILLEGAL


class PriorityQueue(Model):
    """A queue whose ``poll`` takes the least item, or answers null if there is none."""

    name = "priority queue"
    initial = ()
    reads: frozenset[str] = frozenset()

    def step(self, state: tuple[int, ...], f: str, value: Any, result: Any) -> Any:
        if f == "offer":
            return tuple(sorted((*state, value)))
        least = state[0] if state else None
        return state[1:] if result in (least, UNKNOWN) else ILLEGAL


class Bank(Model):
    """Accounts: ``transfer`` [from, to, amount] answers whether there was enough; ``read`` answers all balances."""

    name = "bank"
    initial = (FUNDS,) * ACCOUNTS

    def step(self, state: tuple[int, ...], f: str, value: Any, result: Any) -> Any:
        if f == "read":
            return state if result in (state, UNKNOWN) else ILLEGAL
        whence, whither, amount = value
        paid = state[whence] >= amount
        if result is not UNKNOWN and bool(result) != paid:
            return ILLEGAL
        if not paid:
            return state
        after = list(state)
        after[whence] -= amount
        after[whither] += amount
        return tuple(after)
