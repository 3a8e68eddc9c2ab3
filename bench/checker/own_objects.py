"""Clients' operations on objects for which we have no model; user-written models of them are in ``own_models``."""

from __future__ import annotations

from heapq import heappop, heappush

TAKE, GIVE, OFFER, POLL, TRANSFER, BALANCES = range(18, 24)
PERMITS, ACCOUNTS, FUNDS = 3, 8, 10
#: A bit of a transfer's ``value``.
OVERDRAFT = 1 << 25


class Semaphore:
    """A semaphore with three permits: every client alternately takes one and returns it."""

    def __init__(self, _values: int | None) -> None:
        self.taken = 0

    def begin(self, _coin: float, _fresh: int, before: int) -> tuple[int, int]:
        return GIVE if before == TAKE else TAKE, -1

    def take(self, kind: int, _value: int, _invoke: int) -> tuple[int, int] | None:
        """Take a permit, or return None if the client has to wait."""
        if self.taken == PERMITS and kind == TAKE:
            return None
        self.taken += 1 if kind == TAKE else -1
        return -1, -1

    def lie(self) -> tuple[int, int] | None:
        """Answer as if others had all permits."""
        return (-1, -1) if self.taken == PERMITS else None


class PriorityQueue:
    """A queue from which the least item comes first: half of the operations add a distinct item."""

    def __init__(self, _values: int | None) -> None:
        self.items: list[int] = []
        self.gone: list[int] = []

    def begin(self, coin: float, fresh: int, _before: int) -> tuple[int, int]:
        return (OFFER, fresh * 7919 % 100_003) if coin < 0.5 else (POLL, -1)

    def take(self, kind: int, value: int, _invoke: int) -> tuple[int, int]:
        if kind == OFFER:
            heappush(self.items, value)
            return value, 0
        if not self.items:
            return -1, 0
        self.gone.append(heappop(self.items))
        return self.gone[-1], 0

    def lie(self) -> tuple[int, int] | None:
        return (self.gone[-40], 0) if len(self.gone) > 50 else None


class Bank:
    """Eight accounts: half of the operations move up to five from one to another, the others read all balances.

    ``value`` of a transfer is from, to and amount, and whether it was paid (see ``parts_of``); ``old`` is how many had
    been requested before it.  A read has seen that many of them.
    """

    def __init__(self, _values: int | None) -> None:
        self.balances = [FUNDS] * ACCOUNTS
        self.asked = 0

    def begin(self, coin: float, _fresh: int, _before: int) -> tuple[int, int]:
        drawn = int(coin * 1e9)
        parts = []
        for size in (2, ACCOUNTS, ACCOUNTS - 1, 5):
            drawn, part = divmod(drawn, size)
            parts.append(part)
        asks, whence, further, more = parts
        return (BALANCES, -1) if asks else (TRANSFER, whence << 16 | (whence + 1 + further) % ACCOUNTS << 8 | more + 1)

    def take(self, kind: int, value: int, _invoke: int) -> tuple[int, int]:
        if kind == BALANCES:
            return -1, self.asked
        self.asked += 1
        paid = moved(self.balances, value)
        return value | paid << 24, self.asked - 1

    def lie(self) -> tuple[int, int] | None:
        return (-1, self.asked - 60) if self.asked > 100 else None


class OverdraftBank(Bank):
    """Eight accounts that start with nothing and may be overdrawn, as in our own model of a bank."""

    def __init__(self, values: int | None) -> None:
        super().__init__(values)
        self.balances = [0] * ACCOUNTS

    def begin(self, coin: float, fresh: int, before: int) -> tuple[int, int]:
        kind, value = super().begin(coin, fresh, before)
        return kind, value | OVERDRAFT if kind == TRANSFER else value


def parts_of(value: int) -> tuple[int, int, int, bool]:
    """Return from, to, amount, and whether it was paid."""
    return value >> 16 & 255, value >> 8 & 255, value & 255, bool(value >> 24 & 1)


def moved(balances: list[int], value: int) -> bool:
    """Move the amount if there is enough, or if there need not be."""
    whence, whither, much, _ = parts_of(value)
    if balances[whence] < much and not value & OVERDRAFT:
        return False
    balances[whence] -= much
    balances[whither] += much
    return True


def balances_after(transfers: list[int], funds: int) -> list[list[int]]:
    """Return the balances before the first transfer, and after each of them; each account starts with ``funds``."""
    now = [funds] * ACCOUNTS
    seen = [now[:]]
    for value in transfers:
        moved(now, value)
        seen.append(now[:])
    return seen
