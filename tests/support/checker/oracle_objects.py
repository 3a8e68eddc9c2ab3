"""Small random histories of logs, sets, counters, queues, mutexes and multi-registers, with some wrong answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from history import Operation


class _Log:
    functions = ("append", "get", "list")

    def __init__(self) -> None:
        self.entries: list[int] = []

    def ask(self, random: Random, f: str, fresh: int) -> Any:
        return {"append": fresh, "get": random.randrange(4), "list": None}[f]

    def take(self, f: str, value: Any) -> Any:
        if f == "append":
            self.entries.append(value)
            return len(self.entries) - 1
        if f == "list":
            return list(self.entries)
        return self.entries[value] if value < len(self.entries) else None

    def lie(self, random: Random, f: str, result: Any, fresh: int) -> Any:
        if f == "append":
            return random.randrange(4)
        if f == "get":
            return random.choice([None, random.randrange(fresh + 2)])
        return random.choice([result[:-1], [*result, random.randrange(fresh + 2)], result[::-1]])


class _Set:
    functions = ("add", "add", "read")

    def __init__(self) -> None:
        self.elements: list[int] = []

    def ask(self, random: Random, f: str, fresh: int) -> Any:
        return None if f == "read" else random.choice([fresh, fresh, random.randrange(1, fresh + 1)])

    def take(self, f: str, value: Any) -> Any:
        if f == "add" and value not in self.elements:
            self.elements.append(value)
        return list(self.elements) if f == "read" else None

    def lie(self, random: Random, f: str, result: Any, fresh: int) -> Any:
        if f != "read":
            return result
        shorter = [item for item in result if random.random() < 0.7]
        return random.choice([shorter, shorter, [*result, fresh + 1]])


class _Counter:
    functions = ("add", "read")

    def __init__(self) -> None:
        self.sum = 0

    def ask(self, random: Random, f: str, fresh: int) -> Any:
        return None if f == "read" else random.choice([1, 2, -1])

    def take(self, f: str, value: Any) -> Any:
        self.sum += value or 0
        return self.sum if f == "read" else None

    def lie(self, random: Random, f: str, result: Any, fresh: int) -> Any:
        return result + random.choice([-1, 1]) if f == "read" else result


class _Queue:
    functions = ("enqueue", "dequeue")

    def __init__(self) -> None:
        self.items: list[int] = []

    def ask(self, random: Random, f: str, fresh: int) -> Any:
        return None if f == "dequeue" else random.choice([fresh, fresh, 1])

    def take(self, f: str, value: Any) -> Any:
        if f == "enqueue":
            self.items.append(value)
            return None
        return self.items.pop(0) if self.items else None

    def lie(self, random: Random, f: str, result: Any, fresh: int) -> Any:
        return random.choice([None, random.randrange(fresh + 1)]) if f == "dequeue" else result


class _Mutex:
    functions = ("acquire", "release")

    def __init__(self) -> None:
        self.held = False

    def ask(self, random: Random, f: str, fresh: int) -> Any:
        return None

    def take(self, f: str, value: Any) -> Any:
        legal = self.held == (f == "release")
        self.held = f == "acquire" if legal else self.held
        return "ok" if legal else "refused"

    def lie(self, random: Random, f: str, result: Any, fresh: int) -> Any:
        return "ok"


class _Multi:
    functions = ("txn",)

    def __init__(self) -> None:
        self.registers: dict[str, Any] = {}

    def ask(self, random: Random, f: str, fresh: int) -> Any:
        steps = [[random.choice(["read", "write"]), random.choice("xy"), None] for _ in range(random.randint(1, 3))]
        return [[kind, key, random.randrange(3) if kind == "write" else None] for kind, key, _ in steps]

    def take(self, f: str, value: Any) -> Any:
        answer = []
        for kind, key, item in value:
            if kind == "write":
                self.registers[key] = item
            answer.append([kind, key, item if kind == "write" else self.registers.get(key)])
        return answer

    def lie(self, random: Random, f: str, result: Any, fresh: int) -> Any:
        return [[kind, key, item if kind == "write" else random.choice([None, 0, 1])] for kind, key, item in result]


OBJECTS: dict[str, Any] = {
    "log": _Log, "set": _Set, "counter": _Counter, "queue": _Queue, "mutex": _Mutex, "multi-register": _Multi,
}  # fmt: skip


@dataclass
class _Work:
    f: str
    value: Any
    began: int
    took: bool = False
    result: Any = None


def object_history(random: Random, name: str, size: int, processes: int, truth: float) -> list[Operation]:
    """Make a history of one object; an answer is wrong with probability 1 - ``truth``."""
    thing = OBJECTS[name]()
    busy: dict[int, _Work] = {}
    done: list[Operation] = []
    clock, fresh = 0, 0
    while size or busy:
        clock += 1
        idle = [process for process in range(processes) if process not in busy]
        if size and idle and (not busy or random.random() < 0.5):
            fresh += 1
            size -= 1
            f = random.choice(thing.functions)
            busy[random.choice(idle)] = _Work(f, thing.ask(random, f, fresh), clock)
            continue
        process = random.choice(list(busy))
        work = busy[process]
        if not work.took and random.random() < 0.8:
            work.took, work.result = True, thing.take(work.f, work.value)
            continue
        del busy[process]
        if work.took and random.random() > truth:
            work.result = thing.lie(random, work.f, work.result, fresh)
        outcome = "ok" if work.took and random.random() < 0.9 else random.choice(["info", "info", "fail"])
        if work.took and outcome == "fail":
            outcome = "info"
        if work.result == "refused":
            outcome = "fail"
        done.append(
            Operation(
                process, work.f, None, work.value, work.result if outcome == "ok" else None, outcome,  # type: ignore[arg-type]
                work.began * 10**6, clock * 10**6, work.began, clock, f"n{process + 1}",
            )
        )  # fmt: skip
    return sorted(done, key=lambda operation: operation.invoke_index)


def transaction_history(random: Random) -> list[Operation]:
    """Make up to seven transactions of up to four steps on up to four registers; most values are written once."""
    registers: dict[str, Any] = {}
    size, operations = random.randint(1, 7), []
    moments = sorted(random.sample(range(100), 2 * size))
    for process in range(size):
        start, end = sorted(moments.pop(random.randrange(min(4, len(moments)))) for _ in range(2))
        steps: list[list[Any]] = []
        for _ in range(random.randint(0, 4)):
            name = random.choice("abcd")
            if random.random() < 0.5:
                registers[name] = random.choice([None, 10 * process + random.randint(0, 2), "x"])
                steps.append(["w", name, registers[name]])
            else:
                lie = random.random() < 0.4
                steps.append(["r", name, random.choice([None, *registers.values()]) if lie else registers.get(name)])
        outcome = random.choice(["ok"] * 5 + ["info"])
        asked = [[f, name, None if f == "r" else value] for f, name, value in steps]
        result = steps if outcome == "ok" else None
        operations.append(Operation(process, "txn", None, asked, result, outcome, start, end, start, end))  # type: ignore[arg-type]
    return operations


def is_part_of(operation: Operation, whole: Operation) -> bool:
    """Return whether this is the whole transaction, or its part in some registers, perhaps without its answer."""
    unanswered = replace(whole, outcome="info", result=None, return_index=None, returned=None)
    forms = [form for form in (whole, unanswered) if _beside(form) == _beside(operation)]
    return any(_steps(operation) <= _steps(form) for form in forms)


def _steps(operation: Operation) -> set[Any]:
    named = {"r": "read", "w": "write"}
    return {(named.get(f, f), key, item) for f, key, item in operation.result or operation.value}


def _beside(operation: Operation) -> Operation:
    return replace(operation, value=None, result=None)
