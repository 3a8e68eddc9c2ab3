"""Lines of ``history.jsonl`` as event columns, batch by batch, wherever in the file they are.

Lines as our own writer formats them are parsed by one regular expression over the whole batch; every other line by the
strict reader of the format.  So the columns are the same as those that
``pipeline.tables.columns.events_table`` makes of the whole file, and what that would refuse is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from history import FormatError
from history.records.events import parse_event, parse_object
from pipeline.tables.columns import EVENTS, events_table

BLOCK: Final = "block"
"""The ``type`` of a row that is no event, but describes a block of the file; its ``value`` is a :class:`Block`."""

_NUMBER: Final = "(?:0|-?[1-9][0-9]{0,17})"
_TEXT: Final = r'[^"\\\x00-\x1f]*'
_ITEM: Final = f"(?:{_NUMBER}|null)"
_VALUE: Final = rf'null|{_NUMBER}|"{_TEXT}"|\[\]|\[{_ITEM}(?:,{_ITEM})*\]'
_LINE: Final = (
    rf'^\{{"index":(?P<index>0|[1-9][0-9]{{0,17}}),"time":(?P<time>{_NUMBER}),"type":"(?P<type>invoke|ok|fail|info)",'
    rf'"process":(?P<process>{_NUMBER}),"f":"(?P<f>{_TEXT})"(?:,"key":(?P<key>{_NUMBER}|"{_TEXT}"))?,'
    rf'"value":(?P<value>{_VALUE})(?:,(?P<has_node>"node":)"(?P<node>{_TEXT})")?'
    rf'(?:,(?P<has_error>"error":)"(?P<error>{_TEXT})")?(?:,"phase":"(?P<phase>warm-up|main|final)")?(?:,"intended":{_NUMBER})?\}}$'
)
_UNNAMED: Final = Path("-")
_NUMBERS: Final = ("index", "time", "process")


@dataclass(slots=True)
class Block:
    """What one piece of a file held: how many lines, the first and last event, and the first thing that is wrong.

    ``wrong`` is (line of the block, counted from 0; what is wrong with it).
    """

    start: int
    lines: int = 0
    first: tuple[int, int] | None = None
    last: tuple[int, int] | None = None
    wrong: tuple[int, str] | None = None

    @classmethod
    def from_text(cls, text: str) -> Block:
        record = json.loads(text)
        pairs = {name: None if record[name] is None else tuple(record[name]) for name in ("first", "last", "wrong")}
        return cls(record["start"], record["lines"], **pairs)

    def to_text(self) -> str:
        return json.dumps({name: getattr(self, name) for name in self.__slots__})


@dataclass(slots=True)
class _State:
    block: Block | None = None
    done: list[Block] = field(default_factory=list)


def events_of_lines(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Events from batches with the columns ``line`` (bytes) and ``block`` (where the line's piece of the file starts).

    The lines of a block follow each other.  The file's first line, its header, is skipped.  After the events of a
    block comes a row of the type :data:`BLOCK`.
    """
    state = _State()
    for batch in batches:
        starts = batch["block"]
        ends = pc.run_end_encode(starts).run_ends.to_pylist()
        begin = 0
        for end in ends:
            yield from _enter(state, starts[begin].as_py())
            yield from _events(state, batch["line"].slice(begin, end - begin))
            begin = end
    yield from _enter(state, -1)


def _enter(state: _State, start: int) -> Iterator[pa.RecordBatch]:
    """Go on with another block; returns the row of the one before."""
    if state.block is not None and state.block.start != start:
        yield _describe(state.block)
        state.block = None
    if state.block is None and start >= 0:
        state.block = Block(start)


def _describe(block: Block) -> pa.RecordBatch:
    row = {"index": 0, "time": 0, "type": BLOCK, "f": "", "value": block.to_text()}
    return pa.RecordBatch.from_pylist([row], schema=EVENTS)


def _events(state: _State, lines: pa.Array) -> Iterator[pa.RecordBatch]:
    block = state.block
    assert block is not None
    if block.start == 0 and block.lines == 0 and len(lines):
        block.lines = 1
        lines = lines.slice(1)
    if block.wrong is not None or not len(lines):
        block.lines += len(lines)
        return
    table = _parsed(lines, block)
    _follow(block, table)
    block.lines += len(lines)
    yield from table.to_batches()


def _parsed(lines: pa.Array, block: Block) -> pa.Table:
    """The events of some lines, up to the first that is wrong."""
    try:
        found = pc.extract_regex(lines.cast(pa.string()), _LINE)
    except pa.ArrowInvalid:  # no UTF-8 somewhere
        return _slowly(lines, block, 0)
    regular = pc.is_valid(found)
    if regular.true_count < len(lines):
        return _mixed(lines, found, regular, block)
    return _columns(found)


def _mixed(lines: pa.Array, found: pa.Array, regular: pa.Array, block: Block) -> pa.Table:
    """Alternating runs of regular lines and of others, in their order."""
    encoded = pc.run_end_encode(regular)
    tables, begin = [], 0
    for end, easy in zip(encoded.run_ends.to_pylist(), encoded.values.to_pylist(), strict=True):
        piece = slice(begin, end - begin)
        if easy:
            tables.append(_columns(found.slice(piece.start, piece.stop)))
        else:
            tables.append(_slowly(lines.slice(piece.start, piece.stop), block, begin))
            if block.wrong is not None:
                break
        begin = end
    return pa.concat_tables(tables)


def _slowly(lines: pa.Array, block: Block, before: int) -> pa.Table:
    events = []
    for place, line in enumerate(lines.to_pylist()):
        try:
            event = parse_event(parse_object(line, _UNNAMED, 0), _UNNAMED, 0)
            events_table([event])
        except FormatError as error:
            block.wrong = (block.lines + before + place, error.message)
            break
        events.append(event)
    return events_table(events)


def _columns(found: pa.Array) -> pa.Table:
    columns: dict[str, Any] = {}
    for name in EVENTS.names:
        column = found.field(name)
        if name in _NUMBERS:
            columns[name] = column.cast(pa.int64())
        elif name in ("node", "error"):
            columns[name] = _where_there(column, found.field(f"has_{name}"))
        elif name in ("key", "phase"):
            columns[name] = _where_there(column, column)
        else:
            columns[name] = column
    return pa.table(columns, schema=EVENTS)


def _where_there(column: pa.Array, mark: pa.Array) -> pa.Array:
    """A group that did not match is an empty text; the mark distinguishes it from one that matched nothing."""
    return pc.if_else(pc.equal(mark, ""), pa.scalar(None, pa.string()), column)


def _follow(block: Block, table: pa.Table) -> None:
    """Check that every event follows the one before it."""
    if not table.num_rows:
        return
    index, time = table["index"].to_numpy(), table["time"].to_numpy()
    if block.last is not None:
        index, time = _before(block.last[0], index), _before(block.last[1], time)
    else:
        block.first = (int(index[0]), int(time[0]))
    skip = ~(index[1:] == index[:-1] + 1)
    back = time[1:] < time[:-1]
    if (skip | back).any():
        place = int((skip | back).argmax())
        line = block.lines + place + (0 if block.last is not None else 1)
        if block.wrong is None or line < block.wrong[0]:
            block.wrong = (line, not_next(int(index[place]), int(index[place + 1]), int(time[place + 1])))
    block.last = (int(index[-1]), int(time[-1]))


def not_next(before: int, index: int, time: int) -> str:
    """What is wrong with an event that does not follow the one with the index ``before``."""
    if index != before + 1:
        return f"expected index {before + 1}, found {index}"
    return f"time {time} is before that of the line above"


def _before(first: int, column: Any) -> Any:
    return np.append(np.int64(first), column)
