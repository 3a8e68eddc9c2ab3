"""Lines to columns, block by block, by the scanner and strictly: the same events, the same complaints."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from history import Event, FormatError, RunFiles, read_history
from history.columns.events import EVENTS, events_table
from history.columns.file import check_blocks, read_lines
from history.columns.lines import COLUMNS, Block, read_block
from history.records.events import NEMESIS
from tests.support.draws import draws

SCANNED, STRICT = 0, 1 << 60


def taken_apart(data: bytes, cuts: list[int], small: int) -> tuple[pa.Table, list[Event], list[Block]]:
    """The events of a file that is cut between some lines."""
    lines = data.split(b"\n")[:-1]
    starts = [0, *sorted({cut for cut in cuts if 0 < cut < len(lines)}), len(lines)]
    tables, nemesis, blocks = [], [], []
    for begin, end in pairwise(starts):
        text = b"".join(line + b"\n" for line in lines[begin:end])
        blocks.append(block := Block(begin))
        table, faults = read_block(np.frombuffer(text, np.uint8), block, small)
        assert table.schema == COLUMNS
        tables.append(table.cast(pa.schema([(field.name, field.type) for field in EVENTS])))
        nemesis += faults
    return pa.concat_tables(tables).combine_chunks(), nemesis, blocks


def require_equal(found: tuple[pa.Table, list[Event], list[Block]], events: list[Event]) -> None:
    clients = events_table([event for event in events if event.process != NEMESIS])
    assert found[0].to_pylist() == clients.to_pylist()
    assert found[1] == [event for event in events if event.process == NEMESIS]


def complaint(data: bytes, cuts: list[int], small: int) -> str | None:
    try:
        check_blocks("h", taken_apart(data, cuts, small)[2])
    except FormatError as error:
        return f"{error.place}: {error.message}"
    return None


@pytest.mark.parametrize("small", [SCANNED, STRICT])
@pytest.mark.parametrize("seed", range(4))
def test_the_same_events_wherever_the_file_is_cut(make_random, seed: int, small: int) -> None:
    data = (run := make_random(seed)).history.read_bytes()
    rng = random.Random(seed)
    for _ in range(5):
        cuts = [rng.randrange(150) for _ in range(rng.randrange(6))]
        found = taken_apart(data, cuts, small)
        require_equal(found, read_history(run.history).events)
        assert sum(block.lines for block in found[2]) == data.count(b"\n")
        check_blocks("h", found[2])


@pytest.mark.parametrize("tail", [b"", b"x", b'{"index":'])
@pytest.mark.parametrize("piece", [1, 7, 100, 1000, 10**6])
def test_each_line_is_in_one_piece_and_a_torn_one_in_none(make_random, piece: int, tail: bytes) -> None:
    run: RunFiles = make_random(3)
    whole = run.history.read_bytes()
    run.history.write_bytes(whole + tail)
    size = len(whole + tail)
    with run.history.open("rb") as file:
        pieces = [read_lines(file, start, start + piece).tobytes() for start in range(0, size, piece)]
    assert b"".join(pieces) == whole


SCALAR = st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False)
VALUE = st.recursive(
    SCALAR | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)  # fmt: skip
TEXT = st.text(st.characters(codec=None), max_size=4)
FIELDS = st.fixed_dictionaries(
    {"type": st.sampled_from(["invoke", "ok", "fail", "info"]), "f": TEXT,
     "process": st.integers(-5, 5) | st.just("nemesis")},
    optional={"key": TEXT | st.integers(-9, 9), "value": VALUE, "node": TEXT, "error": TEXT,
              "phase": st.sampled_from(["warm-up", "main", "final"]), "intended": st.none() | st.integers(-9, 2**62)},
)  # fmt: skip


@settings(max_examples=draws(25, 500))
@given(st.lists(FIELDS, max_size=8), st.booleans(), st.booleans(), st.integers(0, 9))
def test_any_event_in_any_spelling(tmp_path_factory, events, spaced: bool, ascii_only: bool, cut: int) -> None:
    lines = [{"format": "harness-history", "version": 1}]
    lines += [{"index": index, "time": index, **event} for index, event in enumerate(events)]
    separators = (", ", ": ") if spaced else (",", ":")
    text = "".join(json.dumps(line, ensure_ascii=ascii_only, separators=separators) + "\n" for line in lines)
    path = tmp_path_factory.mktemp("lines") / "history.jsonl"
    path.write_bytes(text.encode("utf-8", "replace"))
    for small in (SCANNED, STRICT):
        require_equal(taken_apart(path.read_bytes(), [cut], small), read_history(path).events)


BAD = [
    b'{"index":3,"time":9,"type":"invoke","process":1}',
    b'{"index":3,"time":9,"type":"invoke","process":1,"f":"read","value":01}',
    b'{"index":3,"time":9,"type":"later","process":1,"f":"read","value":1}',
    b'{"index":7,"time":9,"type":"invoke","process":1,"f":"read","value":1}',
    b'{"index":3,"time":0,"type":"invoke","process":1,"f":"read","value":1}',
    b'{"index":3,"time":9,"type":"invoke","process":1,"f":"r\xff","value":1}',
    b'{"index":3,"time":9,"type":"invoke","process":1,"f":"read","value":tru}',
    b"",
    b"{",
]


@pytest.mark.parametrize("bad", BAD)
def test_what_is_wrong_is_named_by_its_line_wherever_the_file_is_cut(tmp_path, bad: bytes) -> None:
    good = [
        b'{"index":%d,"time":%d,"type":"invoke","process":%d,"f":"read","value":null}' % (place, place + 1, place)
        for place in range(6)
    ]
    lines = [b'{"format":"harness-history","version":1}', *good[:3], bad, *good[4:]]
    data = b"\n".join(lines) + b"\n"
    path = tmp_path / "history.jsonl"
    path.write_bytes(data)
    with pytest.raises(FormatError) as caught:
        read_history(path)
    expected = f"{caught.value.place}: {caught.value.message}"
    assert expected.startswith("line 5: ")
    for cuts in ([], [1], [3], [4], [5], [1, 2, 3, 4, 5, 6]):
        for small in (SCANNED, STRICT):
            assert complaint(data, cuts, small) == expected


def test_lines_that_were_exchanged(make_random) -> None:
    lines = make_random(1).history.read_bytes().split(b"\n")
    lines[20], lines[30] = lines[30], lines[20]
    for cuts in ([], [20], [25], [20, 21, 30, 31]):
        for small in (SCANNED, STRICT):
            assert complaint(b"\n".join(lines), cuts, small) == "line 21: expected index 19, found 29"
