"""Translate the operations of each kind of object into requests, and answers into outcomes.

The kind is the start of the key: ``set-3`` is a set, ``counter-0`` a counter, ``lock-1`` a lock, ``bank-0`` a bank,
``log-0`` a log; every other key is a register.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from harness.workloads import Invocation

#: Stands for a value that the answer does not contain, or that is impossible.
UNSEEN: Final = object()
Answer = dict[str, Any]


def request_of(invocation: Invocation, read_mode: str) -> dict[str, Any]:
    """Return the server's request for an operation, without its id."""
    f, key, value = invocation.f, invocation.key, invocation.value
    mode = "log" if invocation.final else read_mode
    match f:
        case "read" if _kind(invocation) in ("set", "bank"):
            return {"op": "scan", "key": f"{key}/", "mode": mode}
        case "read":
            return {"op": "read", "key": key, "mode": mode}
        case "list":
            return {"op": "entries", "key": key, "mode": mode}
        case "get":
            return {"op": "get", "key": key, "index": value}
        case "cas":
            return {"op": "cas", "key": key, "old": value[0], "new": value[1]}
        case "add" if _kind(invocation) == "set":
            return {"op": "add", "key": f"{key}/{value}", "value": 1}
        case "transfer":
            return {"op": "transfer", "key": f"{key}/{value[0]}", "to": f"{key}/{value[1]}", "value": value[2]}
        case "acquire":
            return {"op": "acquire", "key": key}
        case "release":
            return {"op": "release", "key": key, "token": value}
    return {"op": f, "key": key, "value": value}


def value_read(invocation: Invocation, answer: Answer) -> Any:
    """Return the value that an acknowledged read has seen, or ``UNSEEN`` if the answer does not contain it."""
    return _READ.get(_kind(invocation), _register)(answer)


def _kind(invocation: Invocation) -> str:
    return str(invocation.key).partition("-")[0]


def balances_left(answer: Answer) -> list[list[int]] | None:
    """Return the balances that a transfer left, or None if the answer does not contain them."""
    balances = _pairs(answer)
    return None if balances is UNSEEN else balances


def _register(answer: Answer) -> Any:
    return answer.get("value", UNSEEN)  # null says that the value is absent; a missing field says nothing


def _counter(answer: Answer) -> Any:
    value = answer.get("value", UNSEEN)
    return 0 if value is None else value if type(value) is int else UNSEEN


def _set(answer: Answer) -> Any:
    """Return the elements, each as often as it was added."""
    numbers = _numbers(answer)
    if numbers is None:
        return UNSEEN
    return sorted(element for element, times in numbers.items() for _ in range(times))


def _log(answer: Answer) -> Any:
    """Return the entry that a get found, or all entries as [index, value]."""
    return _pairs(answer) if "values" in answer else _register(answer)


def _lock(answer: Answer) -> Any:
    """Return the holder's token, or None if the lock is free.  A released lock stores its last token, negated."""
    value = answer.get("value", UNSEEN)
    if value is None:
        return None
    return (value if value > 0 else None) if type(value) is int else UNSEEN


def _pairs(answer: Answer) -> Any:
    """Return the registers of one object as [number, value] pairs."""
    numbers = _numbers(answer)
    return UNSEEN if numbers is None else [[place, value] for place, value in sorted(numbers.items())]


def _numbers(answer: Answer) -> dict[int, int] | None:
    """Return the values of one object's registers by the numbers at the end of their keys."""
    values = answer.get("values")
    if not isinstance(values, dict) or any(type(value) is not int for value in values.values()):
        return None
    try:
        return {int(str(key).rpartition("/")[2]): value for key, value in values.items()}
    except ValueError:
        return None


_READ: Final[Mapping[str, Callable[[Answer], Any]]] = {
    "set": _set, "counter": _counter, "log": _log, "lock": _lock, "bank": _pairs,
}  # fmt: skip
