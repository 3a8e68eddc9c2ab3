"""When the operations of a small drawn history begin and end."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def spans(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Draw the begin and end of up to seven operations in any interleaving, at distinct moments."""
    count = draw(st.integers(1, 7))
    moments = draw(st.permutations(range(2 * count)))
    pairs = (sorted(moments[2 * place : 2 * place + 2]) for place in range(count))
    return [(begin, end) for begin, end in pairs]
