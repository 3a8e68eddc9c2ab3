"""What each kind of object asks of the server, and what an answer says of it.

The kind is the beginning of the key: ``set-3`` is a set, ``counter-0`` a counter; every other key is a register.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from harness.workloads import Invocation

#: The answer names no value, or one that it cannot have.
UNSEEN: Final = object()
Answer = dict[str, Any]


def request_of(invocation: Invocation, read_mode: str) -> dict[str, Any]:
    """The server's request, without its id."""
    f, key, value = invocation.f, invocation.key, invocation.value
    mode = "log" if invocation.final else read_mode
    if f == "read":
        if _kind(invocation) == "set":
            return {"op": "scan", "key": f"{key}/", "mode": mode}
        return {"op": "read", "key": key, "mode": mode}
    if f == "cas":
        return {"op": "cas", "key": key, "old": value[0], "new": value[1]}
    if f == "add" and _kind(invocation) == "set":
        return {"op": "add", "key": f"{key}/{value}", "value": 1}
    return {"op": f, "key": key, "value": value}


def value_read(invocation: Invocation, answer: Answer) -> Any:
    """What an acknowledged read has seen; ``UNSEEN`` if it does not say so."""
    return _READ.get(_kind(invocation), _register)(answer)


def _kind(invocation: Invocation) -> str:
    return str(invocation.key).partition("-")[0]


def _register(answer: Answer) -> Any:
    return answer.get("value", UNSEEN)  # null means absent, which is a statement; a missing field is none


def _counter(answer: Answer) -> Any:
    value = answer.get("value", UNSEEN)
    return 0 if value is None else value if type(value) is int else UNSEEN


def _set(answer: Answer) -> Any:
    """The elements, each as often as it was added."""
    numbers = _numbers(answer)
    if numbers is None:
        return UNSEEN
    return sorted(element for element, times in numbers.items() for _ in range(times))


def _numbers(answer: Answer) -> dict[int, int] | None:
    """The registers of one object by the numbers that their keys end in."""
    values = answer.get("values")
    if not isinstance(values, dict) or any(type(value) is not int for value in values.values()):
        return None
    try:
        return {int(str(key).rpartition("/")[2]): value for key, value in values.items()}
    except ValueError:
        return None


_READ: Final[Mapping[str, Callable[[Answer], Any]]] = {"set": _set, "counter": _counter}
