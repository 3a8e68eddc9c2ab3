"""Moments as text: rounded, apart, and in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from history import Operation
from history.records.time_format import digits_of, seconds_text


def operation(invoked: int, returned: int | None) -> Operation:
    return Operation(0, "read", None, None, None, "ok", invoked, returned, 0, 1)


def test_a_moment_is_rounded_and_not_cut() -> None:
    assert [seconds_text(moment) for moment in (359_601_111, 100_738_230, 999_500_000, 1, 0)] == [
        "0.360", "0.101", "1.000", "0.000", "0.000",
    ]  # fmt: skip
    assert seconds_text(8_655_371_029, 4) == "8.6554"
    assert seconds_text(8_655_371_029, 9) == "8.655371029"


def test_as_many_digits_as_tell_the_moments_apart() -> None:
    assert digits_of([]) == 3
    assert digits_of([operation(0, 10_000_000)]) == 3
    assert digits_of([operation(0, 10_000_000), operation(10_040_000, None)]) == 5
    assert digits_of([operation(0, 1)]) == 9
    assert digits_of([operation(5, 5)]) == 3


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)), min_size=1))
def test_texts_keep_the_order_and_are_half_a_unit_away_at_most(times: list[tuple[int, int]]) -> None:
    digits = digits_of([operation(low, high) for low, high in times])
    moments = sorted({moment for pair in times for moment in pair})
    reported = [float(seconds_text(moment, digits)) for moment in moments]
    assert reported == sorted(set(reported))
    assert all(
        abs(round(text * 1e9) - moment) <= 10 ** (9 - digits) / 2
        for text, moment in zip(reported, moments, strict=True)
    )
