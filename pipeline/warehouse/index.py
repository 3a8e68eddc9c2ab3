"""``warehouse/runs.parquet`` and ``trends.parquet``: the rows of all runs in one file, and the trends over them.

Both are derived from the runs' own directories: a refresh looks at every directory's time, reads the rows that are new
or changed, and drops those of runs that are gone.  So the next refresh repairs what a process left that was killed
after adding a run.  One process at a time refreshes; each file is replaced as a whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from history import FormatError, RunFiles
from history.metrics.regressions import FIGURES, VERDICT, Baseline
from history.tables.schemas import RUNS
from history.tables.warehouse import BASELINES, read_baselines, read_runs, read_trends, written_schema
from pipeline.tables.storage import exact
from pipeline.warehouse.tables import add_tables, read_row, runs_written
from pipeline.warehouse.trends import trend_table

_DIGEST: Final = b"harness.baselines"
"""The metadata of ``trends.parquet`` that says with which baselines it was computed."""


def append_run(warehouse: Path, run: RunFiles) -> bool:
    """Add the finished tables of a run to the warehouse and its row to the index; False if nothing changed.

    Raises as ``pipeline.warehouse.tables.add_tables`` does.
    """
    warehouse.mkdir(parents=True, exist_ok=True)
    row = add_tables(warehouse, run)
    refresh(warehouse, [] if row is None else [row])
    return row is not None


def refresh(warehouse: Path, rows: Sequence[pa.Table] = ()) -> None:
    """Bring the index and the trends up to date; ``rows`` are new ones that need not be read again.

    Raises OSError, and FormatError for bad ``baselines.toml``.
    """
    with _locked(warehouse):
        baselines, digest = _baselines(warehouse)
        known = _known(warehouse)
        table = _updated(warehouse, known, pa.concat_tables([RUNS.empty_table(), *(row.cast(RUNS) for row in rows)]))
        if known is not None and table.equals(known) and _trends_digest(warehouse) == digest:
            return
        _write(warehouse / "runs.parquet", exact(table, written_schema("runs")))
        trends = trend_table(table, baselines)
        schema = written_schema("trends")
        schema = schema.with_metadata({**schema.metadata, _DIGEST: digest})
        _write(warehouse / "trends.parquet", exact(trends, schema))


def _baselines(warehouse: Path) -> tuple[list[Baseline], bytes]:
    """The acknowledged baselines, and a hash of them.  Raises FormatError."""
    rows = read_baselines(warehouse)
    found = [Baseline(row["run"], row.get("figure")) for row in rows]
    known = (*FIGURES, VERDICT)
    for baseline in found:
        if baseline.figure is not None and baseline.figure not in known:
            complaint = f"no figure {baseline.figure!r}; there are {', '.join(known)}"
            raise FormatError(str(warehouse / BASELINES), "the file", complaint)
    return found, hashlib.sha256(json.dumps(rows).encode()).hexdigest().encode()


def _updated(warehouse: Path, known: pa.Table | None, fresh: pa.Table) -> pa.Table:
    there = runs_written(warehouse)
    kept = [_current(table, there) for table in (known, fresh) if table is not None]
    rows = pa.concat_tables([RUNS.empty_table(), *kept])
    missing = sorted(set(there) - set(rows["run"].to_pylist()))
    rows = pa.concat_tables([rows, *_read_rows(warehouse, missing)]).sort_by("run")
    # The same row may have come from both sides.
    first = [True, *pc.not_equal(rows["run"][1:], rows["run"][:-1]).to_pylist()] if rows.num_rows else []
    return rows.filter(pa.array(first, pa.bool_()))


def _current(table: pa.Table, there: dict[str, int]) -> pa.Table:
    """The rows whose directories have not changed since."""
    names, written = table["run"].to_pylist(), table["written"].to_pylist()
    same = [there.get(name) == moment for name, moment in zip(names, written, strict=True)]
    return table.filter(pa.array(same, pa.bool_())).replace_schema_metadata(None).cast(RUNS)


def _read_rows(warehouse: Path, names: Sequence[str]) -> Iterator[pa.Table]:
    for name in names:
        # Removed meanwhile, or of another version: `ingest` of the run writes it again.
        with contextlib.suppress(OSError, FormatError):
            yield read_row(warehouse, name).cast(RUNS)


def _known(warehouse: Path) -> pa.Table | None:
    try:
        return read_runs(warehouse).cast(RUNS)
    except (FileNotFoundError, FormatError):
        return None


def _trends_digest(warehouse: Path) -> bytes | None:
    try:
        return (read_trends(warehouse).schema.metadata or {}).get(_DIGEST)
    except (FileNotFoundError, FormatError):
        return None


def _write(path: Path, table: pa.Table) -> None:
    neighbour = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        pq.write_table(table, neighbour)
        neighbour.replace(path)
    finally:
        neighbour.unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(warehouse: Path) -> Iterator[None]:
    """Hold the warehouse's lock, which the kernel releases when its process ends."""
    with (warehouse / ".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
