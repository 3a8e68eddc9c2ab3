"""Chains of swaps by columns, all at once and one by one, against the definition; and the numbering of values."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from checker import search_columns
from checker.answer import Limits
from checker.calls import NEVER
from checker.columns import numbered
from checker.search_columns import CasColumns, decide_cas
from history import Operation
from history.foreign.columns import ABSENT
from tests.checker.oracle import Sampler, is_linearizable


def cas_columns(operations: list[Operation]) -> CasColumns:
    """Of operations that were all answered; the refused ones are left out."""
    ids: dict[Any, int] = {None: 0}
    rows = []
    moments = sorted(at for o in operations for at in (o.invoke_index, o.return_index) if at is not None)
    for o in sorted(operations, key=lambda operation: operation.invoke_index):
        if o.outcome == "ok":
            old, new = o.value if o.f == "cas" else (None, o.result if o.f == "read" else o.value)
            numbers = [ids.setdefault(value, len(ids)) for value in (old, new)]
            ranks = [moments.index(at) for at in (o.invoke_index, o.return_index) if at is not None]
            rows.append([("read", "write", "cas").index(o.f), *numbers, *ranks])
    kind, old, new, invoke, ret = np.array(rows, np.int64).reshape(-1, 5).T
    return CasColumns(kind.astype(np.int8), new, old, invoke, ret, [str(value) for value in ids])


@pytest.mark.parametrize("alone", [0, 1, 16])
def test_chains_by_columns_decide_as_the_definition(alone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_columns, "_ALONE", alone)
    random, seen = Random(21), {"valid": 0, "invalid": 0}
    for _ in range(1500):
        sampler = Sampler(random, values=None, cas=True, truth=random.choice([0.6, 0.9, 1.0]), doubt=False)
        operations = sampler.history(random.randint(2, 10), random.randint(2, 4))
        answer = decide_cas(cas_columns(operations), Limits(lambda: 0.0))
        if answer is not None and answer.engine == "cas chains":
            assert (answer.verdict == "valid") == is_linearizable(operations), operations
            seen[answer.verdict] += 1
    assert min(seen.values()) > 50


def one_by_one(
    roots: Any, following: Any, begun: Any, ended: Any, last: Any
) -> tuple[list[int], list[int], int] | None:
    """The chains as the module's docstring on chains has them."""
    firsts, lasts, visited = [], [], 0
    for root in roots.tolist():
        path = [root]
        while following[path[-1]] >= 0:
            path.append(int(following[path[-1]]))
        earliest = [max([begun[v] for v in path[: k + 1]] + [last[v] for v in path[:k]]) for k in range(len(path))]
        latest = [min(ended[v] for v in path[k:]) for k in range(len(path))]
        if any(low > high for low, high in zip(earliest, latest, strict=True)):
            return None
        firsts.append(latest[0])
        lasts.append(max(earliest[-1], last[path[-1]]))
        visited += len(path)
    return firsts, lasts, visited


@pytest.mark.parametrize("alone", [0, 2, 5, 99])
def test_long_chains_are_walked_as_short_ones(alone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_columns, "_ALONE", alone)
    random, refused = np.random.default_rng(3), 0
    for _ in range(400):
        values = int(random.integers(1, 40))
        names = random.permutation(values)
        following = np.full(values, -1, np.int64)
        linked = np.flatnonzero(random.random(values - 1) < random.choice([0.3, 0.9]))
        following[names[linked]] = names[linked + 1]
        roots = np.setdiff1d(np.arange(values), following)
        at = np.empty(values, np.int64)
        at[names] = np.arange(values) * 10
        begun, ended, last = (at + random.integers(*span, values) for span in ((-12, 4), (2, 25), (-15, 10)))
        begun[0] = ended[0] = -1 if 0 in roots else begun[0]
        ended[random.random(values) < 0.1] = NEVER
        expected = one_by_one(roots, following, begun, ended, last)
        found = search_columns._walk(roots, following, begun, ended, last)
        refused += expected is None
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            assert ([*map(int, found[0])], [*map(int, found[1])], found[2]) == expected
    assert 40 < refused < 360


def test_values_are_numbered_in_their_order_however_far_apart() -> None:
    random = np.random.default_rng(4)
    for size, span in [(0, 5), (1, 5), (50, 8), (50, 5000), (50, 1 << 62), (3000, 9000)]:
        for _ in range(20):
            values = random.integers(-span, span, size)
            values[random.random(size) < random.choice([0.0, 0.2, 1.0])] = ABSENT
            distinct, ids = numbered(values)
            expected, places = np.unique(values, return_inverse=True)
            assert distinct.tolist() == expected.tolist()
            assert ids.tolist() == places.tolist()
