"""Tasks on one slice of a large run: write its rows, and report what the driver needs to know."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from history import Receipt
from history.metrics.recovery import Asked, Load, Times, load_of
from history.tables.schemas import OPERATIONS
from pipeline.tables.storage import write_part
from pipeline.tables.windows import window_table

Work = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of the operations: how many, when clients asked (main phase; all phases), its last time (ns).

    ``problem`` is the first event that does not pair, with what is wrong.
    """

    operations: int
    phased: bool
    main: Asked | None
    all: Asked | None
    last: int
    problem: tuple[int, str] | None

    @classmethod
    def from_text(cls, text: str) -> Slice:
        record = json.loads(text)
        asked = {name: None if record[name] is None else Asked(**record[name]) for name in ("main", "all")}
        return cls(**{**record, **asked, "problem": record["problem"] and tuple(record["problem"])})

    @staticmethod
    def load(slices: Sequence[Slice], receipts: Sequence[Receipt]) -> Load:
        """When the clients were at work, as ``pipeline.tables.sources.load_in`` says of a whole history."""
        phased = any(piece.phased for piece in slices)
        asked = [part for piece in slices if (part := piece.main if phased else piece.all) is not None]
        return load_of(asked, max((piece.last for piece in slices), default=0), receipts)


def operation_slice(root: Path) -> Work:
    """Write the paired operations of a slice as one file; the report is a :class:`Slice`."""

    def work(group: pa.Table) -> pa.Table:
        rows = group.sort_by("invoke_index")
        wrong = rows.filter(pc.is_valid(rows["problem"]))
        problem = None
        if wrong.num_rows:
            problem = (wrong["invoke_index"][0].as_py(), wrong["problem"][0].as_py())
        else:
            write_part(root, "operations", [rows.select(OPERATIONS.names)], rows["slice"][0].as_py())
        return pa.table({"report": [json.dumps(asdict(_slice(rows, problem)))]})

    return work


def _slice(rows: pa.Table, problem: tuple[int, str] | None) -> Slice:
    main = rows.filter(pc.equal(rows["phase"], "main"))
    return Slice(
        operations=rows.num_rows,
        phased=rows["phase"].null_count < rows.num_rows,
        main=_asked(main),
        all=_asked(rows),
        last=_last(rows),
        problem=problem,
    )


def _asked(rows: pa.Table) -> Asked | None:
    if not rows.num_rows:
        return None
    return Asked(pc.min(rows["invoked"]).as_py(), _last(rows), rows["returned"].null_count > 0)


def _last(rows: pa.Table) -> int:
    invoked, returned = (pc.max(rows[name]).as_py() for name in ("invoked", "returned"))
    return int(max(invoked, returned or 0))


def window_slice(root: Path, times: Path) -> Work:
    """Write the windows of a slice of whole seconds, and the times of its ok operations; the report is its number."""

    def work(group: pa.Table) -> pa.Table:
        number = group["slice"][0].as_py()
        write_part(root, "windows", [window_table(group)], number)
        ok = group.filter(pc.equal(group["outcome"], "ok"))["returned"].to_numpy()
        (times / f"{number:012d}.ns").write_bytes(np.sort(ok).tobytes())
        return pa.table({"report": [str(number)]})

    return work


def joined_times(directory: Path) -> Times:
    """All times in the order of the files' names, as one memory-mapped file."""
    whole = directory / "all"
    with whole.open("wb") as file:
        for part in sorted(directory.glob("*.ns")):
            file.write(part.read_bytes())
            part.unlink()
    if not whole.stat().st_size:
        return np.empty(0, np.int64)
    return np.memmap(whole, np.int64, mode="r")
