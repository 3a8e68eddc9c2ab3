"""Read the records of one run strictly, in the shapes that the jobs need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from history import Event, FormatError, Header, Receipt, RunFiles, receipts_of
from history.records.events import line_of_event, parse_header, parse_object
from history.records.probes import each_probe
from history.tables.operations import table_of
from history.tables.schemas import OPERATIONS, PROBES
from pipeline.tables.lines import Block, Bytes, not_next, read_block
from pipeline.tables.pairing import PLAIN_OPERATIONS, Problem, Seams, pair_events

#: Bytes of a history that are worked on at a time: about 250,000 operations, and some 300 MB of memory.
PIECE: Final = 64 << 20
#: Probes of a table.
BATCH: Final = 100_000


def read_run(run: RunFiles) -> tuple[pa.Table, list[Receipt]]:
    """The operations and faults of a run, however it ended; a last line that is incomplete is left out.

    Raises history.FormatError with the line for a bad one, FileNotFoundError without a history.
    """
    read_header(run.history)
    blocks: list[Block] = []
    nemesis: list[Event] = []
    problems: list[Problem] = []
    parts: list[pa.Table] = []
    seams = Seams()
    size = run.history.stat().st_size
    for start in range(0, size, PIECE):
        blocks.append(block := Block(start))
        events, faults = read_block(read_lines(run.history, start, start + PIECE), block)
        paired = pair_events(events, last=start + PIECE >= size)
        nemesis += faults
        parts.append(paired.operations)
        problems += [] if paired.problem is None else [paired.problem]
        seams.add(paired.seam, paired.entering)
    check_blocks(str(run.history), blocks)
    check_problems(str(run.history), [*problems, seams.problem])
    whole = pa.concat_tables([part.cast(PLAIN_OPERATIONS) for part in (*parts, seams.operations())])
    operations = pa.table(whole.sort_by("invoke_index").columns, schema=OPERATIONS)
    return operations, receipts_of(nemesis)


def read_lines(history: Path, start: int, end: int) -> Bytes:
    """The whole lines that begin from byte ``start`` to before ``end``.  Raises OSError."""
    with history.open("rb") as file:
        if start:
            # A line that begins before is of the piece before.
            file.seek(start - 1)
            start += len(file.readline()) - 1
        data = np.fromfile(file, np.uint8, max(0, end - start)) if start < end else np.empty(0, np.uint8)
        if data.size and data[-1] != 10 and (rest := file.readline()).endswith(b"\n"):
            data = np.append(data, np.frombuffer(rest, np.uint8))
    if data.size and data[-1] != 10:
        # The last line was torn.
        data = data[: data.size - int(np.argmax(data[::-1] == 10))] if (data == 10).any() else data[:0]
    return data


def check_blocks(name: str, blocks: Sequence[Block]) -> None:
    """Raise FormatError for the first line that is wrong, in itself or after the one before it."""
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
    found = [problem for problem in problems if problem is not None]
    if found:
        index, text = min(found)
        raise FormatError(name, line_of_event(index), text)


def read_header(history: Path) -> Header:
    """The first line of a history alone.  Raises FormatError, OSError."""
    with history.open("rb") as file:
        return header_of(file.readline(), history)


def header_of(line: bytes, history: Path) -> Header:
    """The header in a history's first line, which ends with a line end.  Raises FormatError."""
    if not line.endswith(b"\n"):
        raise FormatError(str(history), "line 1", "expected a history header, found no whole line")
    return parse_header(parse_object(line, history, 1), history)


def probe_batches(path: Path) -> Iterator[pa.Table]:
    """The probes in a file as tables of :data:`BATCH` rows; none if there is no file.  Raises FormatError, OSError."""
    if path.exists():
        probes = each_probe(path)
        while piece := list(islice(probes, BATCH)):
            yield table_of({name: [getattr(probe, name) for probe in piece] for name in PROBES.names}, PROBES)
