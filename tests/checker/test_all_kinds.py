"""All violations are counted by kind and time, also those that are not shown and those that are not explained."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from checker import Register, check_operations
from checker.columnar import check_columns
from checker.core.calls import calls_of, ranked
from checker.core.definition import linearizable
from checker.engines import registers
from checker.engines.zones import zones
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


def reads_after(writes: int, *values: int | None) -> list[Operation]:
    """The values 1, 2, … are written one by one, and then these are read one by one."""
    steps = [*(("write", value) for value in range(1, writes + 1)), *(("read", value) for value in values)]
    return [
        Operation(
            0 if f == "write" else 1, f, "k", value if f == "write" else None, None if f == "write" else value, "ok",
            at * S, at * S + 1, 2 * at, 2 * at + 1,
        )
        for at, (f, value) in enumerate(steps)
    ]  # fmt: skip


@pytest.mark.parametrize("model", ["register", "cas-register"])
def test_a_stale_answer_hides_no_earlier_one_within_its_stretch(model: str) -> None:
    """The register is empty at the end, so that all of the run lies between two moments at which it was."""
    found = check_operations(reads_after(5, 2, 3, None), model)
    assert (found.violations, min(one.first or 0 for one in found.kinds)) == (3, 5 * S + 1)
    again = check_operations(reads_after(5, 5, 5, None), model)
    assert (again.violations, min(one.first or 0 for one in again.kinds)) == (1, 7 * S + 1)


@pytest.mark.parametrize("seed", range(60))
def test_without_what_every_violation_blames_a_register_is_linearizable(seed: int) -> None:
    rng = random.Random(seed)
    made, values = list[Operation](), [None, *range(1, 5)]
    for number in range(8):
        begun = rng.randrange(100)
        f, value = ("write", number + 1) if number < 4 else ("read", rng.choice(values))
        asked, answer = (value, None) if f == "write" else (None, value)
        made.append(Operation(number, f, "k", asked, answer, "ok", begun, begun + rng.randrange(1, 30), 0, 0))
    moments = sorted(
        (at, number, end) for number, one in enumerate(made) for end, at in enumerate((one.invoked, one.ended))
    )
    place = {(number, end): rank for rank, (_, number, end) in enumerate(moments)}
    history = [
        replace(one, invoke_index=place[number, 0], return_index=place[number, 1]) for number, one in enumerate(made)
    ]
    calls = calls_of(history, Register())
    columns = registers.cluster_columns(ranked(calls), None)
    found = zones(columns)
    finder, blamed = registers.Finder(columns, found), set[int]()
    for outer, inner in registers.groups_of(found):
        rows = np.flatnonzero(columns.cluster == (inner if outer < 0 else outer))
        since = -1 if outer < 0 else found.first[inner]
        blamed.update(row for row in rows.tolist() if columns.invoke[row] > since and not columns.write[row])
        assert not linearizable([calls[row] for row in finder.core(outer, inner)], Register())
    assert found.valid == linearizable(calls, Register()) == (not blamed)
    rest = [call for row, call in enumerate(calls) if row not in blamed]
    assert found.future.size or linearizable(rest, Register())
