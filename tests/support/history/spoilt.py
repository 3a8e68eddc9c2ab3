"""Files with one thing wrong."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.support.history.foreign_files import TEXTS, story_of

PIECES = st.one_of(
    st.binary(max_size=4),
    st.sampled_from(
        ["\n", " ", "{", "}", "[", "]", "(", '"', ";", "#", "#_", "##NaN", "NaN", "nil", "null", "true", "1e400", "-0",
         "1.5", ":info", ":ok", "ok", "info", ":nemesis", '"nemesis"', "9" * 30, "\\", "é", ":key", '"key":', "[1 2]"]
    ).map(str.encode),
)  # fmt: skip


@st.composite
def spoilt(draw: st.DrawFn, name: str) -> bytes:
    """Return a good file with some of its lines moved and some of its bytes replaced."""
    lines = TEXTS[name](story_of(name)).splitlines(keepends=True)
    for _ in range(draw(st.integers(0, 2))):
        at, to = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
        lines.insert(to, lines[at] if draw(st.booleans()) else lines.pop(at))
    data = b"".join(lines)
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.sampled_from([0, 0, 1, 1, 2, 5, 40])))
        data = data[:start] + draw(PIECES) + data[end:]
    return data
