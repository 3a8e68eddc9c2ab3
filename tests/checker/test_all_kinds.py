"""All violations are counted by kind and time, also those that are not shown and those that are not explained."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from checker import check_operations
from checker.columnar import check_columns
from checker.engines import registers
from history import Operation
from history.records.verdicts import MAX_COUNTEREXAMPLES, WITHOUT_KIND, KindCount
from tests.support.checker.columns import columns_of

S = 10**9


def history(seed: int, reads: int = 200) -> list[Operation]:
    """One client writes, and others read anything that was ever written, or not."""
    rng = random.Random(seed)
    made: list[Operation] = []
    for number in range(reads):
        at = number * S
        made.append(Operation(0, "write", "k", number + 1, None, "ok", at, at + S // 10, 0, 0, node="n1"))
        if rng.random() < 0.7:
            value = rng.choice(
                [None, *range(1, number + 2), *[number + 1] * number, number + 2, 1000 + rng.randrange(9)]
            )
            made.append(Operation(1, "read", "k", None, value, "ok", at + S // 5, at + S // 4, 0, 0, node="n2"))
    ordered = sorted(made, key=lambda one: one.invoked)
    return [replace(one, invoke_index=2 * n, return_index=2 * n + 1) for n, one in enumerate(ordered)]


def known(kinds: tuple[KindCount, ...]) -> dict[str, KindCount]:
    return {one.kind: one for one in kinds}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("by", ["calls", "columns"])
def test_what_is_not_explained_has_the_kind_that_its_explanation_would_give_or_none(
    seed: int, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    operations = history(seed)

    def verdict() -> tuple[tuple[KindCount, ...], int, int]:
        if by == "columns":
            (found,) = check_columns(columns_of([operations], random.Random(seed))).keys
        else:
            found = check_operations(operations, "register")
        assert sum(kind.count for kind in found.kinds) == found.violations
        assert len(found.counterexamples) <= MAX_COUNTEREXAMPLES
        assert not found.more
        return found.kinds, found.violations, min(kind.first or 0 for kind in found.kinds)

    every, count, first = verdict()
    assert count > 3
    assert WITHOUT_KIND not in known(every)
    for cap in ("MAX_EXPLAINED", "MAX_COUNTEREXAMPLES"):
        monkeypatch.setattr(registers, cap, 3)
    some, again, same = verdict()
    assert (again, same) == (count, first), "the first is always explained"
    for kind, found in known(some).items():
        if kind != WITHOUT_KIND:
            assert found.count <= known(every)[kind].count
            assert (found.first or 0) >= (known(every)[kind].first or 0)
    for kind in ("never-written", "future-read"):
        assert [(one.count, one.first) for one in some if one.kind == kind] == [
            (one.count, one.first) for one in every if one.kind == kind
        ], "no loss of ours explains these, so none is ever missed"
