"""Lines to columns without a reader of the whole file: the same events, the same complaints."""

from __future__ import annotations

import json
import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from history import FormatError, read_history
from pipeline.spark.large import _check_blocks
from pipeline.spark.lines import BLOCK, Block, events_of_lines
from pipeline.tables.columns import EVENTS, events_of, events_table


def taken_apart(data: bytes, cuts: list[int], size: int = 5) -> tuple[pa.Table, list[Block]]:
    """The file as Spark hands it out: blocks of whole lines in any order of blocks, in batches."""
    lines = data.split(b"\n")[:-1]
    starts = [0, *sorted({cut for cut in cuts if 0 < cut < len(lines)})]
    order = random.Random(len(data)).sample(range(len(starts)), len(starts))
    ends = [*starts[1:], len(lines)]
    rows = [(line, starts[place]) for place in order for line in lines[starts[place] : ends[place]]]
    batches = [
        pa.record_batch(
            {"line": pa.array([row[0] for row in rows[at : at + size]], pa.binary()),
             "block": pa.array([row[1] for row in rows[at : at + size]], pa.int64())}
        )
        for at in range(0, len(rows), size)
    ]  # fmt: skip
    table = pa.Table.from_batches(list(events_of_lines(iter(batches))), schema=EVENTS)
    told = pc.equal(table["type"], BLOCK)
    blocks = [Block.from_text(text) for text in table.filter(told)["value"].to_pylist()]
    return table.filter(pc.invert(told)).sort_by("index"), sorted(blocks, key=lambda block: block.start)


def complaint(data: bytes, cuts: list[int]) -> str | None:
    try:
        _check_blocks("h", taken_apart(data, cuts)[1])
    except FormatError as error:
        return f"{error.place}: {error.message}"
    return None


@pytest.mark.parametrize("seed", range(4))
def test_the_same_events_wherever_the_file_is_cut(make_random, seed: int) -> None:
    data = (run := make_random(seed)).history.read_bytes()
    rng = random.Random(seed)
    expected = events_table(read_history(run.history).events)
    for _ in range(5):
        cuts = [rng.randrange(150) for _ in range(rng.randrange(6))]
        found, blocks = taken_apart(data, cuts, rng.choice([1, 5, 1000]))
        assert found.equals(expected)
        assert sum(block.lines for block in blocks) == data.count(b"\n")
        _check_blocks("h", blocks)
    assert events_of(found) == read_history(run.history).events


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
              "phase": st.sampled_from(["warm-up", "main", "final"]), "intended": st.integers(-9, 2**70)},
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(FIELDS, max_size=8), st.booleans(), st.booleans(), st.integers(0, 9))
def test_any_event_in_any_spelling(tmp_path_factory, events, spaced: bool, ascii_only: bool, cut: int) -> None:
    lines = [{"format": "harness-history", "version": 1}]
    lines += [{"index": index, "time": index, **event} for index, event in enumerate(events)]
    separators = (", ", ": ") if spaced else (",", ":")
    text = "".join(json.dumps(line, ensure_ascii=ascii_only, separators=separators) + "\n" for line in lines)
    path = tmp_path_factory.mktemp("lines") / "history.jsonl"
    path.write_bytes(text.encode("utf-8", "replace"))
    expected = events_table(read_history(path).events)
    assert taken_apart(path.read_bytes(), [cut])[0].equals(expected)


BAD = [
    b'{"index":3,"time":9,"type":"invoke","process":1}',
    b'{"index":3,"time":9,"type":"invoke","process":1,"f":"read","value":01}',
    b'{"index":3,"time":9,"type":"later","process":1,"f":"read","value":1}',
    b'{"index":7,"time":9,"type":"invoke","process":1,"f":"read","value":1}',
    b'{"index":3,"time":0,"type":"invoke","process":1,"f":"read","value":1}',
    b'{"index":3,"time":9,"type":"invoke","process":1,"f":"r\xff","value":1}',
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
        assert complaint(data, cuts) == expected


def test_lines_that_were_exchanged(make_random) -> None:
    lines = make_random(1).history.read_bytes().split(b"\n")
    lines[20], lines[30] = lines[30], lines[20]
    for cuts in ([], [20], [25], [20, 21, 30, 31]):
        assert complaint(b"\n".join(lines), cuts) == "line 21: expected index 19, found 29"
