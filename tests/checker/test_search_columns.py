"""Swaps by columns against the definition; and the numbering of values."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from checker.core.result import EngineResult, Limits
from checker.engines import cas_chains, searches
from checker.engines.zones_columns import dense_ids
from checker.search.compiled import RegisterColumns
from history import Operation
from history.codes import ABSENT, NEVER
from tests.support.checker.oracle import Sampler, is_linearizable
from tests.support.draws import draws


def cas_columns(operations: list[Operation]) -> RegisterColumns:
    """Of the operations that take part."""
    ids: dict[Any, int] = {None: 0}
    rows = []
    kept = [o for o in operations if o.outcome == "ok" or (o.outcome == "info" and o.f != "read")]
    moments = sorted([o.invoke_index for o in kept] + [o.return_index or 0 for o in kept if o.outcome == "ok"])
    for o in sorted(kept, key=lambda operation: operation.invoke_index):
        before, after = o.value if o.f == "cas" else (None, o.result if o.f == "read" else o.value)
        numbers = [ids.setdefault(value, len(ids)) for value in (before, after)]
        ret = moments.index(o.return_index or 0) if o.outcome == "ok" else NEVER
        rows.append([("read", "write", "cas").index(o.f), *numbers, moments.index(o.invoke_index), ret])
    kind, old, new, invoke, returned = np.array(rows, np.int64).reshape(-1, 5).T
    return RegisterColumns(kind.astype(np.int8), new, old, invoke, returned, [str(value) for value in ids])


def decided(operations: list[Operation]) -> EngineResult | None:
    """By chains, or else by the search."""
    columns, limits = cas_columns(operations), Limits(lambda: 0.0)
    return cas_chains.decide_register(columns, limits) or searches.decide_register(columns, limits)


@pytest.mark.slow
@pytest.mark.parametrize("doubt", [False, True])
@pytest.mark.parametrize("values", [None, 40])
def test_swaps_by_columns_are_decided_as_by_the_definition(values: int | None, doubt: bool) -> None:
    random, seen, samples = Random(21), dict[tuple[str, str], int](), draws(900, 3000)
    for _ in range(samples):
        sampler = Sampler(random, values=values, cas=True, truth=random.choice([0.6, 0.9, 1.0]), doubt=doubt)
        operations = sampler.history(random.randint(2, 10), random.randint(2, 4))
        answer = decided(operations)
        assert answer is not None
        assert (answer.verdict == "valid") == is_linearizable(operations), operations
        key = (answer.engine, answer.verdict)
        seen[key] = seen.get(key, 0) + 1
    assert min(seen["cas chains", "valid"], seen["cas chains", "invalid"]) > samples / 60


def test_swaps_in_a_circle_have_no_beginning() -> None:
    circle = [("cas", [1, 2], 0, 1), ("cas", [2, 1], 2, 3), ("read", None, 4, 5)]
    operations = [Operation(0, f, None, value, None, "ok", start, end, start, end) for f, value, start, end in circle]
    answer = decided(operations)
    assert answer is not None
    assert (answer.engine, answer.verdict) == ("cas chains", "invalid")


def test_values_are_numbered_in_their_order_however_far_apart() -> None:
    random = np.random.default_rng(4)
    for size, span in [(0, 5), (1, 5), (50, 8), (50, 5000), (50, 1 << 62), (3000, 9000)]:
        for _ in range(20):
            values = random.integers(-span, span, size)
            values[random.random(size) < random.choice([0.0, 0.2, 1.0])] = ABSENT
            distinct, ids = dense_ids(values)
            expected, places = np.unique(values, return_inverse=True)
            assert distinct.tolist() == expected.tolist()
            assert ids.tolist() == places.tolist()
