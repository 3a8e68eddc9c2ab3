"""Read ``history.jsonl`` as columns: in pieces, which are checked and paired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from history.columns.lines import SMALL, Block, Bytes, not_next, read_block
from history.columns.pairing import PLAIN_OPERATIONS, Problem, Seams, pair_events
from history.errors import FormatError
from history.records.events import Event, Header, header_of, line_of_event, torn_note
from history.records.receipts import Receipt, receipts_of
from history.tables.schemas import OPERATIONS

#: Bytes of a history to process at a time.  The allocator keeps and reuses arrays of this size; larger ones are new
#: memory each time, which the kernel must clear (see ``history.compiled``).
PIECE: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class History:
    """A whole history.  ``operations`` is a table with the schema OPERATIONS, in invocation order.

    ``torn`` describes the bytes after the last whole line, which were ignored; None if there were none.
    """

    header: Header
    operations: pa.Table
    receipts: list[Receipt]
    torn: str | None = None


def read_whole(file: BinaryIO, path: Path, piece: int = PIECE) -> History:
    """Read a history from an open file; ``path`` names it in errors.

    Raises FormatError with the number of a malformed line, and OSError.
    """
    file.seek(0)
    header = header_of(file.readline(), path)
    blocks: list[Block] = []
    nemesis: list[Event] = []
    problems: list[Problem] = []
    parts: list[pa.Table] = []
    seams = Seams()
    size = file.seek(0, SEEK_END)
    for start in range(0, size, piece):
        blocks.append(block := Block(start))
        # Once the scanner is loaded, it reads the rest of a large file, too.
        events, faults = read_block(
            read_lines(file, start, min(start + piece, size)), block, SMALL if size <= piece else 0
        )
        paired = pair_events(events, last=start + piece >= size)
        nemesis += faults
        parts.append(paired.operations)
        problems += [] if paired.problem is None else [paired.problem]
        seams.add(paired.seam, paired.entering)
    check_blocks(str(path), blocks)
    check_problems(str(path), [*problems, seams.problem])
    # Codes are sorted in a third of the time of strings.
    whole = pa.concat_tables([*parts, seams.operations()]).unify_dictionaries().sort_by("invoke_index")
    operations = pa.table(whole.cast(PLAIN_OPERATIONS).columns, schema=OPERATIONS)
    return History(header, operations, receipts_of(nemesis), torn_note(file))


def outline(file: BinaryIO, path: Path) -> tuple[Header, list[tuple[int, bytes]]]:
    """Read a history's header, and the nemesis's complete lines with their numbers.  Raises FormatError, OSError."""
    header = header_of(file.readline(), path)
    lines = ((number, line) for number, line in enumerate(file, start=2) if b'"nemesis"' in line)
    return header, [(number, line) for number, line in lines if line.endswith(b"\n")]


def read_lines(file: BinaryIO, start: int, end: int) -> Bytes:
    """Read the complete lines that begin at or after byte ``start`` and before ``end``.  Raises OSError."""
    # A line that begins earlier belongs to the previous piece.
    file.seek(max(start - 1, 0))
    if start:
        start += len(file.readline()) - 1
    data = np.frombuffer(file.read(max(0, end - start)), np.uint8)
    if data.size and data[-1] != 10 and (rest := file.readline()).endswith(b"\n"):
        data = np.append(data, np.frombuffer(rest, np.uint8))
    if data.size and data[-1] != 10:
        # The last line was torn.
        data = data[: data.size - int(np.argmax(data[::-1] == 10))] if (data == 10).any() else data[:0]
    return data


def check_blocks(name: str, blocks: Sequence[Block]) -> None:
    """Raise FormatError for the first line that is malformed or does not follow the line before it."""
    lines, last = 0, (-1, 0)
    for block in blocks:
        problem = block.wrong
        if block.first is not None:
            at = 1 if block.start == 0 else 0
            if (problem is None or problem[0] > at) and (block.first[0] != last[0] + 1 or block.first[1] < last[1]):
                problem = (at, not_next(last[0], *block.first))
            last = block.last or last
        if problem is not None:
            raise FormatError(name, f"line {lines + problem[0] + 1}", problem[1])
        lines += block.lines


def check_problems(name: str, problems: Sequence[Problem | None]) -> None:
    """Raise FormatError for the first event that does not pair."""
    complaints = [problem for problem in problems if problem is not None]
    if complaints:
        index, text = min(complaints)
        raise FormatError(name, line_of_event(index), text)
