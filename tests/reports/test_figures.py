"""Rates, quantiles, availability, errors and lanes, on inputs worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from history import UNAPPLIED, Operation
from history.columns.operations import from_operations
from reports.analysis import figures

S = 10**9


def ok(at_s: float, process: int = 0, outcome: str = "ok", took_ms: float = 1) -> Operation:
    start, stop = int(at_s * S - took_ms * 1e6), int(at_s * S)
    return Operation(process, "read", "k", None, 1, outcome, start, stop, start, stop, "n1", None, "main")  # type: ignore[arg-type]


def test_how_late_the_event_loop_woke_is_its_worst_in_each_bin() -> None:
    lag = figures.lag_of([0.0, 3.5, 12.0], 3 * S)
    assert lag is not None
    assert np.isnan(lag[[0, 3]]).all(), "never late, and not recorded"
    assert lag[1:3].tolist() == [3.5, 12.0]
    assert figures.lag_of([1.0] * 9, 3 * S) is not None, "recorded beyond the last operation"
    long = figures.lag_of([float(second % 7) for second in range(20_000)], 20_000 * S)
    assert long is not None
    assert len(long) == len(figures.quantiles_of(from_operations([ok(1)]), 20_000 * S).time)
    assert np.nanmax(long) == 6
    for unknown in (None, [], [0.0], {"0": 1}, ["x"]):
        assert figures.lag_of(unknown, 3 * S) is None


def test_rates_quantiles_and_availability() -> None:
    operations = from_operations([ok(0.5, took_ms=1), ok(0.6, took_ms=3), ok(2.2, outcome="fail"), ok(2.4, took_ms=9)])
    rates = figures.rates_of(operations, 3 * S)
    assert rates.rows[0].tolist() == [2, 0, 1, 0]
    assert rates.rows[2].tolist() == [0, 0, 1, 0]
    quantiles = figures.quantiles_of(operations, 3 * S)
    assert quantiles.rows[0][0] == pytest.approx(1)
    assert quantiles.rows[3][0] == pytest.approx(3)
    assert np.isnan(quantiles.rows[0][1])
    width, cells = figures.availability_of(operations, 3 * S)
    assert width == 0.25
    assert cells[:10].tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 2, 1]
    unapplied = replace(ok(1.1), error=UNAPPLIED)
    assert figures.availability_of(from_operations([unapplied]), 3 * S)[1][:6].tolist() == [0, 0, 0, 0, 2, 0]


def test_a_response_is_drawn_where_operations_waited_to_be_sent() -> None:
    punctual = replace(ok(0.5, took_ms=1), intended=int(0.4989 * S))
    assert figures.response_of(from_operations([ok(0.5), punctual]), S) is None
    late = replace(ok(1.6, took_ms=3), intended=int(1.5 * S))
    response = figures.response_of(from_operations([punctual, ok(1.6), late]), 3 * S)
    assert response is not None
    assert response[:2] == pytest.approx([1.1, 100])
    assert np.isnan(response[2:]).all()


def test_errors_that_differ_in_a_duration_are_one() -> None:
    texts = [
        "no answer within 4 s",
        "no answer within 1.11636 s",
        "NOT_LEADER (404)",
        "NOT_LEADER (405)",
        "3 ms or 4 ms",
    ]
    rows = [replace(ok(n, outcome="fail"), error=text) for n, text in enumerate([*texts, texts[0], "5 ms or 4 ms"], 1)]
    rows.append(replace(ok(9, outcome="info"), error="no answer within 4 s"))
    assert figures.errors_of(from_operations(rows)) == [
        ("fail", "no answer within 1.12 – 4 s", 3),
        ("fail", "3 ms or 4 ms", 2),
        ("info", "no answer within 4 s", 1),
        ("fail", "NOT_LEADER (404)", 1),
        ("fail", "NOT_LEADER (405)", 1),
    ]


@pytest.mark.parametrize(
    ("longest", "merged"), [("4.00001 s", "no answer within 4 s"), ("5 s", "no answer within 4 – 5 s")]
)
def test_a_range_whose_ends_read_the_same_is_one_duration(longest: str, merged: str) -> None:
    texts = ["no answer within 4 s", f"no answer within {longest}"]
    rows = [replace(ok(n, outcome="info"), error=text) for n, text in enumerate(texts, 1)]
    assert figures.errors_of(from_operations(rows)) == [("info", merged, 2)]


def test_retired_processes_share_a_lane() -> None:
    rows = [
        ok(1, process=0),
        ok(1.1, process=1, took_ms=200),
        ok(2, process=10, outcome="info"),
        ok(3, process=20),
        ok(3.1, process=1),
    ]
    lanes, count = figures.lanes_of(from_operations(rows), 4 * S)
    assert count == 2
    assert lanes.tolist() == [1, 0, 0, 0, 1]


def test_errors_are_counted_by_outcome() -> None:
    rows = [replace(ok(1, process=n, outcome="fail"), error=f"e{n % 2}") for n in range(5)]
    rows += [replace(ok(1, process=9, outcome="info"), error="e0"), ok(2, process=10)]
    assert figures.errors_of(from_operations(rows)) == [("fail", "e0", 3), ("fail", "e1", 2), ("info", "e0", 1)]
    assert figures.errors_of(from_operations([])) == []


def test_errors_beyond_the_listed_ones_are_counted_and_all_rows_add_up_to_the_operations() -> None:
    """p06 of the ten pages listed 1,227 of 2,043 fails and none of 7 infos, and did not say so."""
    rows = [replace(ok(1, process=n, outcome="fail"), error=f"epoch {n % 12}") for n in range(30)]
    rows += [replace(ok(1, process=40, outcome="info"), error="no answer"), ok(2, process=41, outcome="info")]
    rows += [replace(ok(1, process=50 + n), error="not applied") for n in range(2)]
    found = figures.errors_of(from_operations(rows))
    assert [text for _, text, _ in found[:8]] == [f"epoch {n}" for n in range(8)]
    assert found[8:] == [
        ("ok", "not applied", 2),
        ("info", "no answer", 1),
        ("info", "no error on record", 1),
        ("fail", "4 other errors", 8),
    ]
    of_outcome = {name: sum(times for outcome, _, times in found if outcome == name) for name in ("fail", "info")}
    assert of_outcome == {"fail": 30, "info": 2}
    alone = figures.errors_of(from_operations(rows), limit=20)
    assert not any("other" in text for _, text, _ in alone)
