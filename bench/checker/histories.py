"""Synthetic histories for the benchmark: a closed loop of c clients that are always busy, seeded.

Each step picks a client at random; it begins an operation, takes effect on the real object, or answers.  So about half
of all operations overlap with all others: harder than on a real cluster.  A share of ``pending`` operations that change
the object is never answered; half of them take effect.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from random import Random

from own_objects import BALANCES, GIVE, POLL, TAKE, Bank, OverdraftBank, PriorityQueue, Semaphore

from history.codes import CAS, NEVER, READ, WRITE

APPEND, GET, LIST, PUT, TEXT, GOT, ADD, SUM, ENQUEUE, DEQUEUE, INSERT, ELEMENTS, ACQUIRE, RELEASE, TXN = range(3, 18)


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A history with one row per call, ordered by invocation: kind, value, old, ranks, process.

    ``value`` of a read is its result (-1: absent).  ``old`` is the value that a cas replaces, the index that an append
    got, the index that a get asks for, and the length that a list answers (its entries are those of the appends).
    """

    kind: array[int]
    value: array[int]
    old: array[int]
    invoke: array[int]
    ret: array[int]
    process: array[int]


def synthetic(  # noqa: C901 (one loop, for speed)
    n: int,
    clients: int,
    *,
    values: int | None,
    seed: int = 1,
    pending: float = 0.0,
    cas: float = 0.0,
    stale_at: float | None = None,
) -> Synthetic:
    """Make a register history.  Without ``values``, each value is written once.

    With ``stale_at`` 0.5, a read half-way answers an old value.
    """
    random = Random(seed).random
    columns = [array("q") for _ in range(6)]
    kind, value, old, invoke, ret, process = columns
    current = [-1] * clients
    took = [False] * clients
    state, rank, fresh, lie = -1, 0, 0, None if stale_at is None else int(stale_at * n)
    past = [-1] * 200
    changes = 0
    names = list(range(clients))
    while True:
        c = int(random() * clients)
        row = current[c]
        if row < 0:
            if len(kind) == n:
                if max(current) < 0:
                    break
                continue
            coin = random()
            fresh += 1
            new = fresh if values is None else int(random() * values)
            k = READ if coin < 0.5 else CAS if coin < 0.5 + cas else WRITE
            current[c] = len(kind)
            took[c] = False
            for column, item in zip(columns, (k, new, state if k == CAS else 0, rank, NEVER, names[c]), strict=True):
                column.append(item)
            rank += 1
            if k == READ and lie is not None and current[c] >= lie and changes > 200:
                # The value is neither current nor being written, and is answered at once: nothing can explain it.
                near = {state, *(value[other] for other in current if other >= 0 and kind[other] != READ)}
                if old_values := [was for was in (past if values is None else range(values)) if was not in near]:
                    value[-1] = old_values[int(random() * len(old_values))]
                    ret[-1], current[c], lie = rank, -1, None
                    rank += 1
        elif not took[c]:
            if pending and kind[row] != READ and random() < pending / 2:
                current[c] = -1
                names[c] += clients
                continue
            took[c] = True
            k = kind[row]
            if k == READ:
                value[row] = state
            elif k == WRITE or old[row] == state:
                past[changes % 200] = state
                changes += 1
                state = value[row]
            else:
                took[c] = True
                old[row] = -2
        else:
            current[c] = -1
            if kind[row] == CAS and old[row] == -2:
                kind[row], value[row] = READ, state
            elif pending and kind[row] != READ and random() < pending / 2:
                names[c] += clients
                continue
            ret[row] = rank
            rank += 1
    return Synthetic(kind, value, old, invoke, ret, process)


def synthetic_log(  # noqa: C901 (one loop, for speed)
    n: int, clients: int, *, seed: int = 1, pending: float = 0.0, stale_at: float | None = None, lists: float = 0.0
) -> Synthetic:
    """Make the history of a log: half appends, half gets of one of the last ten entries, except a share of ``lists``.

    With ``stale_at`` 0.5, a get half-way finds nothing where something was.
    """
    random = Random(seed).random
    columns = [array("q") for _ in range(6)]
    kind, value, old, invoke, ret, process = columns
    current, took, names = [-1] * clients, [False] * clients, list(range(clients))
    entries: list[int] = []
    rank, lie = 0, None if stale_at is None else int(stale_at * n)
    while len(kind) < n or max(current) >= 0:
        c = int(random() * clients)
        row = current[c]
        if row < 0 and len(kind) < n:
            k = APPEND if random() < 0.5 else LIST if lists and random() < 2 * lists else GET
            current[c], took[c] = len(kind), False
            at = max(0, len(entries) - int(random() * 10))
            for column, item in zip(
                columns, (k, len(kind) if k == APPEND else -1, at, rank, NEVER, names[c]), strict=True
            ):
                column.append(item)
            rank += 1
        elif row >= 0 and not took[c]:
            if pending and kind[row] == APPEND and random() < pending / 2:
                old[row], current[c] = -1, -1
                names[c] += clients
                continue
            took[c] = True
            if kind[row] == APPEND:
                old[row] = len(entries)
                entries.append(value[row])
            elif kind[row] == LIST:
                old[row] = len(entries)
            elif lie is not None and row >= lie and len(entries) > clients + 20:
                old[row], lie = len(entries) - clients - 20, None
            elif old[row] < len(entries):
                value[row] = entries[old[row]]
        elif row >= 0:
            current[c] = -1
            if pending and kind[row] == APPEND and random() < pending / 2:
                names[c] += clients
                continue
            ret[row] = rank
            rank += 1
    return Synthetic(kind, value, old, invoke, ret, process)


class _KeyValue:
    """A key of a key-value store with a string: a tenth of the operations put, four tenths append, the others get.

    ``old`` is the put with which the string of an append or get started (-1:
    none), and ``value`` is how many pieces were before an append, or how many a get answers.
    """

    def __init__(self, _values: int | None) -> None:
        self.root, self.size = -1, 0
        self.past: list[tuple[int, int]] = []

    def begin(self, coin: float, _fresh: int, _before: int) -> tuple[int, int]:
        return PUT if coin < 0.1 else TEXT if coin < 0.5 else GOT, -1

    def take(self, kind: int, _value: int, invoke: int) -> tuple[int, int]:
        if kind == PUT:
            self.past.append((self.root, self.size))
            self.root, self.size = invoke, 1
            return -1, -1
        self.size += kind == TEXT
        return self.size - (kind == TEXT), self.root

    def lie(self) -> tuple[int, int] | None:
        """Return the string before the thirtieth-last put, which can no longer be the string."""
        return self.past[-30][::-1] if len(self.past) > 40 else None


class _Counter:
    """A sum: half of the operations add 1, 2 or 3 or other small numbers, the others read it."""

    def __init__(self, values: int | None) -> None:
        self.sum, self.values = 0, values or 3

    def begin(self, coin: float, fresh: int, _before: int) -> tuple[int, int]:
        return (ADD, 1 + fresh % self.values) if coin < 0.5 else (SUM, -1)

    def take(self, kind: int, value: int, _invoke: int) -> tuple[int, int]:
        self.sum += value if kind == ADD else 0
        return (value if kind == ADD else self.sum), 0

    def lie(self) -> tuple[int, int] | None:
        return (self.sum - 100, 0) if self.sum > 200 else None


class _Queue:
    """A queue: half of the operations enqueue."""

    def __init__(self, _values: int | None) -> None:
        self.items: list[int] = []
        self.taken = 0

    def begin(self, coin: float, fresh: int, _before: int) -> tuple[int, int]:
        return (ENQUEUE, fresh) if coin < 0.5 else (DEQUEUE, -1)

    def take(self, kind: int, value: int, _invoke: int) -> tuple[int, int]:
        if kind == ENQUEUE:
            self.items.append(value)
            return value, 0
        if self.taken == len(self.items):
            return -1, 0
        self.taken += 1
        return self.items[self.taken - 1], 0

    def lie(self) -> tuple[int, int] | None:
        return (self.items[self.taken - 40], 0) if self.taken > 50 else None


class _Set:
    """A set: two operations in a hundred read all."""

    def __init__(self, _values: int | None) -> None:
        self.size = 0
        self.seen: set[int] = set()

    def begin(self, coin: float, fresh: int, _before: int) -> tuple[int, int]:
        return (INSERT, fresh) if coin < 0.98 else (ELEMENTS, -1)

    def take(self, kind: int, value: int, _invoke: int) -> tuple[int, int]:
        if kind == INSERT and value in self.seen:
            return value, -1
        if kind == INSERT:
            self.seen.add(value)
        self.size = len(self.seen)
        return value, self.size - (kind == INSERT)

    def lie(self) -> tuple[int, int] | None:
        return (-1, self.size - 60) if self.size > 100 else None


class _Mutex:
    """A lock: every client alternately takes and releases it, so that most of them wait most of the time."""

    def __init__(self, _values: int | None) -> None:
        self.held = False

    def begin(self, _coin: float, _fresh: int, before: int) -> tuple[int, int]:
        return RELEASE if before == ACQUIRE else ACQUIRE, -1

    def take(self, kind: int, _value: int, _invoke: int) -> tuple[int, int] | None:
        """Take the lock, or return None if the client has to wait."""
        if self.held and kind == ACQUIRE:
            return None
        self.held = kind == ACQUIRE
        return -1, -1

    def lie(self) -> tuple[int, int] | None:
        """Answer as if another client held the lock."""
        return (-1, -1) if self.held else None


class _MultiRegister:
    """Three registers with five or more values: each transaction reads or writes two of them, one after the other.

    ``value`` has its two steps, sixteen bits each: see ``step_of``.
    """

    def __init__(self, values: int | None) -> None:
        self.registers, self.values = [-1, -1, -1], values or 5

    def begin(self, coin: float, _fresh: int, _before: int) -> tuple[int, int]:
        drawn = int(coin * 1e9)
        steps = []
        for _ in range(2):
            drawn, writes = divmod(drawn, 2)
            drawn, key = divmod(drawn, 3)
            drawn, value = divmod(drawn, self.values)
            steps.append(_step(writes, key, value if writes else -1))
        return TXN, steps[0] << 16 | steps[1]

    def take(self, _kind: int, value: int, _invoke: int) -> tuple[int, int]:
        answered = 0
        for writes, key, item in steps_of(value):
            if writes:
                self.registers[key] = item
            answered = answered << 16 | _step(writes, key, self.registers[key])
        return answered, -1

    def lie(self) -> tuple[int, int] | None:
        """Answer that two registers are absent, as they were at the start."""
        return _step(0, 0, -1) << 16 | _step(0, 1, -1), -1


def _step(writes: int, key: int, value: int) -> int:
    return (value + 1) << 8 | key << 1 | writes


def steps_of(value: int) -> list[tuple[int, int, int]]:
    """Return for both steps of a transaction: whether it writes, the register, and the value (-1: absent)."""
    return [(step & 1, step >> 1 & 127, (step >> 8) - 1) for step in (value >> 16, value & 0xFFFF)]


OBJECTS = {
    "kv": _KeyValue, "counter": _Counter, "queue": _Queue, "set": _Set, "mutex": _Mutex,
    "multi-register": _MultiRegister, "own semaphore": Semaphore, "own priority queue": PriorityQueue, "own bank": Bank,
    "bank": OverdraftBank,
}  # fmt: skip
ASKING = (GOT, SUM, DEQUEUE, ELEMENTS, POLL, BALANCES)
HOLDING, LEAVING = (ACQUIRE, TAKE), (RELEASE, GIVE)
LYING = (*ASKING, *HOLDING, TXN)


def synthetic_object(
    n: int,
    clients: int,
    *,
    what: str,
    seed: int = 1,
    stale_at: float | None = None,
    pending: float = 0.0,
    values: int | None = None,
) -> Synthetic:
    """Make a history of one of ``OBJECTS``.

    With ``stale_at`` 0.5, an operation half-way gets an answer that was right long before.  Without ``values``, items
    and elements are distinct.  An acquire in doubt never takes effect and a release in doubt always does, or the
    others would wait forever.
    """
    random = Random(seed).random
    columns = [array("q") for _ in range(6)]
    kind, value, old, invoke, ret, process = columns
    current, took, before = [-1] * clients, [False] * clients, [-1] * clients
    thing = OBJECTS[what](values)
    rank, lie = 0, None if stale_at is None else int(stale_at * n)
    while len(kind) < n or max(current) >= 0:
        c = int(random() * clients)
        row = current[c]
        # A client that holds a lock releases it, or the others would wait forever.
        if row < 0 and (len(kind) < n or before[c] in HOLDING):
            current[c], took[c] = len(kind), False
            fresh = 1 + int(random() * values) if values else len(kind) + 1
            before[c], item = thing.begin(random(), fresh, before[c])
            for column, number in zip(columns, (before[c], item, -1, rank, NEVER, c), strict=True):
                column.append(number)
            rank += 1
        elif row >= 0 and pending and _doubtful(kind[row], took=took[c]) and random() < pending / 2:
            if kind[row] in HOLDING:
                before[c] = -1
            current[c] = -1
        elif row >= 0 and not took[c]:
            lies = lie is not None and row >= lie and kind[row] in LYING
            if lies and _is_quiet(kind, current, took) and (false := thing.lie()):
                (value[row], old[row]), lie, took[c] = false, None, True
                # Answer at once, before an operation that would make it true.
                current[c], ret[row] = -1, rank
                rank += 1
            elif (answer := thing.take(kind[row], value[row], invoke[row])) is not None:
                took[c] = True
                value[row], old[row] = answer
        elif row >= 0:
            current[c] = -1
            ret[row] = rank
            rank += 1
    return Synthetic(kind, value, old, invoke, ret, process)


def _doubtful(kind: int, *, took: bool) -> bool:
    """Return whether the operation may stay unanswered after it took effect, or before."""
    return kind not in (GOT, SUM, ELEMENTS, BALANCES) and kind not in (HOLDING if took else LEAVING)


def _is_quiet(kind: array[int], current: list[int], took: list[bool]) -> bool:
    """Return whether no call is about to take or release a lock."""
    open_now = [(kind[row], done) for row, done in zip(current, took, strict=True) if row >= 0]
    return not any(k in LEAVING or (k in HOLDING and done) for k, done in open_now)
