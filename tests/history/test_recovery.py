"""Which faults count as never recovered: the border cases of the one predicate, against the definition."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from history.metrics.recovery import LoadSpan, figures, never_recovered, surroundings
from history.records.events import SECOND
from history.records.receipts import FaultState, Receipt

LOAD = LoadSpan(0, 60 * SECOND, 70 * SECOND)


def row(**changed: Any) -> dict[str, Any]:
    return {"state": "installed", "rate_before": 9.0, "rate_after": 8.0, "recovered_ms": None, **changed}


def test_both_rates_and_no_way_back_is_never() -> None:
    assert never_recovered(row())


@pytest.mark.parametrize("rates", list(product((0.0, 0, 9.0), repeat=2)))
def test_a_rate_of_zero_is_a_rate(rates: tuple[float, float]) -> None:
    before, after = rates
    assert never_recovered(row(rate_before=before, rate_after=after))


@pytest.mark.parametrize("way_back", [0.0, 0, 17.5])
def test_any_way_back_is_one_also_at_once(way_back: float) -> None:
    assert not never_recovered(row(recovered_ms=way_back))


@pytest.mark.parametrize("name", ["rate_before", "rate_after"])
def test_without_a_rate_there_is_nothing_to_compare_with(name: str) -> None:
    assert not never_recovered(row(**{name: None}))
    lacking = row()
    del lacking[name]
    assert not never_recovered(lacking)


@pytest.mark.parametrize("state", ["skipped", "indeterminate", "", None])
def test_only_a_fault_that_was_certainly_there_counts(state: str | None) -> None:
    assert not never_recovered(row(state=state))


def test_a_row_without_figures_says_nothing() -> None:
    assert not never_recovered({})
    assert not never_recovered({"state": "installed"})


# -- of figures as they are taken -------------------------------------------------------------------------------------


def taken(ok_s: list[float], healed_s: float | None, state: FaultState = "installed") -> dict[str, Any]:
    """The row of one fault from second 10 on, with the ok operations at the given seconds."""
    healed = None if healed_s is None else round(healed_s * SECOND)
    receipt = Receipt(
        id=1, fault="kill", state=state, started=10 * SECOND, stood=10 * SECOND, heal_started=healed, healed=healed,
        witness={"pid": 1},
    )  # fmt: skip
    ok = np.array([round(moment * SECOND) for moment in ok_s], dtype=np.int64)
    return {"state": state, **figures(receipt, surroundings([receipt], LOAD).get(1), ok, LOAD)}


BEFORE = [i / 10 for i in range(100)]
AFTER = [30 + i / 10 for i in range(300)]


def test_an_outage_without_end() -> None:
    assert never_recovered(taken(BEFORE, 20))
    assert not never_recovered(taken(BEFORE + AFTER, 20))


def test_no_client_was_ever_answered() -> None:
    assert never_recovered(taken([], 20))
    assert not never_recovered(taken([30.0], 20)), "one ok is more than there was before"


def test_what_was_not_healed_cannot_have_come_back() -> None:
    assert not never_recovered(taken(BEFORE, None))


def test_healed_right_before_the_end_leaves_nothing_to_compare_with() -> None:
    assert not never_recovered(taken(BEFORE, 59.5))


def test_an_indeterminate_fault_has_figures_but_does_not_count() -> None:
    found = taken(BEFORE, 20, "indeterminate")
    assert found["rate_before"] is not None
    assert not never_recovered(found)
