"""Random histories of one register."""

from __future__ import annotations

import random
from typing import cast

from history import Operation
from history.records.operations import Outcome


def random_register(key: str | int | None, rng: random.Random, size: int) -> list[Operation]:
    """Make unique writes, and reads of mostly plausible values; some never complete, and some fail."""
    operations: list[Operation] = []
    current = None
    moments = sorted((rng.random(), number) for number in range(size) for _ in (0, 1))
    calls: dict[int, dict] = {}
    for index, (_, number) in enumerate(moments):
        call = calls.get(number)
        if call is None:
            calls[number] = {"f": rng.choice(["read", "write"]), "at": index, "read": current}
        else:
            f = call["f"]
            outcome = cast(Outcome, rng.choice(["ok"] * 12 + ["info", "fail"]))
            if f == "write" and outcome != "fail":
                current = number
            result = (
                rng.choice([current] * 8 + [call["read"]] * 8 + [rng.randrange(size), None]) if f == "read" else number
            )
            returned = None if outcome == "info" and rng.random() < 0.5 else index
            operations.append(
                Operation(number, f, key, number if f == "write" else None, result if outcome == "ok" else None,
                          outcome, call["at"], returned, call["at"], returned)
            )  # fmt: skip
    return sorted(operations, key=lambda operation: operation.invoke_index)
