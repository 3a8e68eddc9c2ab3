"""Small random histories of queues whose items are enqueued once each, made in three ways that cover all errors."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from history import Operation
from history.records.operations import Outcome


@dataclass
class _Work:
    f: str
    item: int | None
    took: bool = False


def operation(
    process: int, f: str, item: int | None, begin: int, end: int | None, outcome: Outcome = "ok"
) -> Operation:
    """An operation of a queue; ``end`` is None if it never completed."""
    asked, result = (item, None) if f == "enqueue" else (None, item if outcome == "ok" else None)
    moment = None if end is None else end * 10**6
    return Operation(process, f, None, asked, result, outcome, begin * 10**6, moment, begin, end, f"n{process % 3}")


def simulated(random: Random) -> list[Operation]:
    """Make a few operations of clients of a queue; some answers are wrong or never come."""
    truth, doubt = random.choice([0.6, 0.85, 1.0]), random.choice([0, 0.15, 0.4])
    enqueues = random.choice([0.35, 0.5, 0.65])
    return served(random, random.randint(1, 8), random.randint(2, 5), truth=truth, doubt=doubt, enqueues=enqueues)


def served(
    random: Random, left: int, clients: int, *, truth: float = 1.0, doubt: float = 0.0, enqueues: float = 0.5
) -> list[Operation]:
    """Make ``left`` operations, given the shares of true answers, of operations in doubt, and of enqueues."""
    busy: dict[int, _Work] = {}
    items: list[int] = []
    done: list[Operation] = []
    clock = fresh = 0
    while left or busy:
        clock += 1
        if left and len(busy) < clients and (not busy or random.random() < 0.5):
            left -= 1
            fresh += 1
            busy[clock] = _Work("enqueue", fresh) if random.random() < enqueues else _Work("dequeue", None)
            continue
        began = random.choice(list(busy))
        work = busy[began]
        if not work.took and (not doubt or random.random() < 0.8):
            work.took = True
            if work.f == "enqueue":
                items.append(work.item or 0)
            else:
                work.item = items.pop(0) if items else None
            continue
        del busy[began]
        if work.f == "dequeue" and random.random() > truth:
            work.item = random.choice([None, random.randint(1, fresh + 1)])
        outcome: Outcome = "ok" if work.took and random.random() >= doubt else "info"
        if not work.took and random.random() < 0.5:
            outcome = "fail"
        done.append(operation(began, work.f, work.item, began, None if outcome == "info" else clock, outcome))
    return done


def shuffled(random: Random) -> list[Operation]:
    """Make operations at random times with random answers."""
    enqueues, dequeues = random.randint(1, 4), random.randint(0, 4)
    moments = list(range(2 * (enqueues + dequeues)))
    random.shuffle(moments)
    done = []
    for number in range(enqueues + dequeues):
        begin, end = sorted(moments[2 * number : 2 * number + 2])
        item = number + 1 if number < enqueues else random.choice([None, *range(1, enqueues + 1)] * 2)
        pending = random.random() < 0.15
        f = "enqueue" if number < enqueues else "dequeue"
        done.append(operation(number, f, item, begin, None if pending else end, "info" if pending else "ok"))
    return done


def covered(random: Random) -> list[Operation]:
    """Make items one after the other, with little room between them, and a long dequeue that finds nothing."""
    items = random.randint(1, 4)
    spans: list[tuple[str, int | None, float, float | None]] = []
    for item in range(1, items + 1):
        begin = 10 * item + random.uniform(-10, 15)
        end = begin + random.uniform(1, 9)
        spans.append(("enqueue", item, begin, end))
        if random.random() < 0.55:
            begin += random.uniform(-5, 45)
            spans.append(("dequeue", item, begin, max(begin, end) + random.uniform(1, 20)))
    spans += [("dequeue", None, random.uniform(0, 10 * items + 30), None) for _ in range(random.randint(0, 3))]
    begin = random.uniform(5, 25)
    spans.append(("dequeue", None, begin, begin + random.uniform(3, 10 * items + 10)))
    moments = sorted(moment for *_, begin, end in spans for moment in (begin, end) if moment is not None)
    rank = {moment: place for place, moment in enumerate(moments)}
    return [
        operation(process, f, item, rank[begin], *((None, "info") if end is None else (rank[end], "ok")))
        for process, (f, item, begin, end) in enumerate(spans)
    ]


def random_queue(random: Random) -> list[Operation]:
    history = random.choice([simulated, shuffled, covered])(random)
    return sorted(history, key=lambda one: one.invoke_index)
