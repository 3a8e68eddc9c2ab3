"""Operations as columns."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np

from history import Operation
from history.codes import ABSENT, CAS, FAIL, INFO, OK, READ, WRITE
from history.readers.columns import OperationColumns


def columns_of(objects: list[list[Operation]], random: Random, *, apart: int = 0, gap: int = 0) -> OperationColumns:
    """Merge histories of several keys: interleave their events at random, and add k times ``apart`` to key k's values.

    Up to ``gap`` events of others come before each.
    """
    events = [
        (key, number, moment)
        for key, operations in enumerate(objects)
        for number, o in enumerate(operations)
        for moment in (o.invoke_index, o.return_index)
    ]
    turns = [key for key, _, _ in events]
    random.shuffle(turns)
    waiting = [sorted((moment, number) for k, number, moment in events if k == key) for key in range(len(objects))]
    spans: dict[tuple[int, int], list[int]] = {}
    at = 0
    for key in turns:
        at += random.randint(1, 1 + gap)
        spans.setdefault((key, waiting[key].pop(0)[1]), []).append(at)
    rows = sorted((*span, key, number) for (key, number), span in spans.items())
    table = []
    for invoke, ret, key, number in rows:
        o = objects[key][number]
        old, value = o.value if o.f == "cas" else (None, o.result if o.f == "read" else o.value)
        numbers = [ABSENT if item is None else item + key * apart for item in (value, old)]
        kind = (READ, WRITE, CAS)[("read", "write", "cas").index(o.f)]
        outcome = (OK, FAIL, INFO)[("ok", "fail", "info").index(o.outcome)]
        table.append((kind, outcome, *numbers, key, invoke, ret if random.random() < 0.9 or outcome == OK else -1))
    kinds, outcomes, values, olds, keys, invoked, returned = np.array(table, np.int64).reshape(-1, 7).T.copy()

    def operation(row: int) -> Operation:
        o = objects[rows[row][2]][rows[row][3]]
        return replace(o, key=int(keys[row]), invoke_index=int(invoked[row]), return_index=int(returned[row]))

    return OperationColumns(
        kinds.astype(np.int8), outcomes.astype(np.int8), values, olds, keys, invoked, returned,
        tuple(range(len(objects))), operation,
    )  # fmt: skip
