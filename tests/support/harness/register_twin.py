"""The register server in memory, handling one request at a time: a right one, and broken ones."""

from __future__ import annotations

from collections import deque
from typing import Any, Final, Literal, TypeAlias, get_args

#: ``lose``: some changes are acknowledged and not made.  ``twice``: some are made once more, a little later.
#: ``stale``: some answers are of an earlier state.
Bug: TypeAlias = Literal["", "lose", "twice", "stale"]
BUGS: Final[tuple[Bug, ...]] = get_args(Bug)[1:]
#: Some changes are made once more after this many others.
LATER: Final = 7
CHANGES: Final = ("write", "cas", "add", "transfer", "acquire", "release", "append")


class RegisterTwin:
    """A server whose ``answer`` handles requests as its client port would; the bug affects every ``every``-th one."""

    def __init__(self, bug: Bug = "", *, every: int = 25) -> None:
        self._bug, self._every, self._count = bug, every, 0
        self.registers: dict[str, int] = {}
        self.log: list[tuple[str, int] | None] = []
        self._earlier: deque[tuple[dict[str, int], int]] = deque(maxlen=8)
        self._again: dict[str, Any] | None = None
        self._wait = 0

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        op = request["op"]
        self.log.append((request["key"], request["value"]) if op == "append" else None)
        answer = self._change(op, request) if op in CHANGES else self._read(op, request)
        return {"ok": True, "applied": True, "term": 1, "leader": "n1", **answer}

    def _strikes(self) -> bool:
        self._count += 1
        return self._count % self._every == 0

    def _change(self, op: str, request: dict[str, Any]) -> dict[str, Any]:
        self._earlier.append((dict(self.registers), len(self.log) - 1))
        self._wait -= 1
        if self._again is not None and self._wait <= 0:
            again, self._again = self._again, None
            if again["op"] == "append":
                self.log.insert(-1, (again["key"], again["value"]))
            else:
                self._make(again["op"], again)
        if self._bug == "lose" and self._strikes():
            before = dict(self.registers)
            answer = self._make(op, request)
            self.registers = before
            if op == "append":
                self.log[-1] = None
            return {"acquired": True, "token": len(self.log)} if op == "acquire" else answer
        if self._bug == "twice" and self._strikes():
            self._again, self._wait = request, LATER
        return self._make(op, request)

    def _make(self, op: str, request: dict[str, Any]) -> dict[str, Any]:
        key, held = request["key"], self.registers
        if op == "append":
            return {"index": len(self.log) - 1}
        if op == "write":
            held[key] = request["value"]
        elif op == "add":
            held[key] = held.get(key, 0) + request["value"]
        elif op == "cas":
            seen = held.get(key)
            if seen != request["old"]:
                return {"swapped": False, "value": seen}
            held[key] = request["new"]
            return {"swapped": True}
        elif op == "transfer":
            other = request["to"]
            held[key] = held.get(key, 0) - request["value"]
            held[other] = held.get(other, 0) + request["value"]
            return {"values": {key: held[key], other: held[other]}}
        elif op in ("acquire", "release"):
            return self._lock(op, request)
        return {}

    def _lock(self, op: str, request: dict[str, Any]) -> dict[str, Any]:
        key = request["key"]
        token = self.registers.get(key, 0)
        holder = token if token > 0 else None
        if op == "acquire":
            if holder is not None:
                return {"acquired": False, "token": holder}
            self.registers[key] = len(self.log)
            return {"acquired": True, "token": len(self.log)}
        if holder != request["token"]:
            return {"released": False, "token": holder}
        self.registers[key] = -request["token"]
        return {"released": True}

    def _read(self, op: str, request: dict[str, Any]) -> dict[str, Any]:
        registers, end = self.registers, len(self.log)
        if self._bug == "stale" and self._strikes() and self._earlier:
            registers, end = self._earlier[0]
        if op == "get":
            entry = self.log[request["index"]] if request["index"] < end else None
            return {"value": entry[1] if entry is not None and entry[0] == request["key"] else None}
        if op == "entries":
            entries = enumerate(self.log[:end])
            return {"values": {str(at): one[1] for at, one in entries if one is not None and one[0] == request["key"]}}
        if op == "scan":
            return {"values": {key: value for key, value in registers.items() if key.startswith(request["key"])}}
        return {"value": registers.get(request["key"])}
