"""Bring over a warehouse of the first release: ``run=<run>/<table>.parquet``, and ``runs.parquet`` over all.

A run's directory is removed once a version holds the run.  One that is not whole stays where it is, and is named in the
log: the rest of it can only come from the run itself.  A row of ``runs.parquet`` without a directory is all that is
left of its run: it is brought over alone, and named.
"""

from __future__ import annotations

import logging
import re
import shutil
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from history import FormatError
from history.tables.metadata import read_checked
from history.tables.schemas import TABLES
from history.tables.warehouse import newest_version, written_schema
from pipeline.tables.storage import read_table, remove
from pipeline.warehouse.landing import HELD_BYTES, Landing, known_in

log = logging.getLogger(__name__)
_PREFIX: Final = "run="
_INDEX: Final = "runs.parquet"
_ALL: Final = (f"{_PREFIX}*", _INDEX, "trends.parquet", ".lock")
_LEFT: Final = re.compile(r"\.(tmp|old|dead)-[0-9a-f-]+$")


def land_first_layout(warehouse: Path) -> None:
    """Land the runs in the first layout that no version holds.  Raises OSError."""
    # In this order: a directory that another writer has brought over since is known by then.
    found, places = _rows(warehouse), _runs(warehouse)
    if found is None:
        log.warning("%s cannot be read and stays: it may name runs of which nothing else is left", warehouse / _INDEX)
    rows = found or {}
    if not places and not rows:
        return
    known = known_in(warehouse)
    landing = Landing(warehouse)
    for name, place in places.items():
        if name in known:
            continue
        try:
            landing.add_as_it_is(_tables(place))
        except (FormatError, FileNotFoundError) as error:
            log.warning("%s is not whole, `harness ingest` of the run brings it again: %s", place, error)
        if landing.bytes > HELD_BYTES:
            landing.publish()
    for name in rows.keys() - known.keys() - places.keys():
        log.warning("of %s only its row is left in %s: it is kept without tables", name, warehouse / _INDEX)
        landing.add_as_it_is({"runs": rows[name]})
    landing.publish()


def remove_first_layout(warehouse: Path) -> None:
    """Remove what the newest version holds."""
    places = _runs(warehouse)
    known = known_in(warehouse)
    for name, place in places.items():
        if name in known:
            remove(place)
    rows = _rows(warehouse)
    brought = rows is not None and rows.keys() <= known.keys() and newest_version(warehouse) is not None
    if brought and not _runs(warehouse):
        # Only what is there: a disk that is read-only refuses to remove even what is not.
        for rest in [path for name in _ALL for path in warehouse.glob(name)]:
            if rest.is_dir():
                shutil.rmtree(rest, ignore_errors=True)
            else:
                rest.unlink(missing_ok=True)


def _runs(warehouse: Path) -> dict[str, Path]:
    """The directories of runs, by the runs' names; not what writers left half written."""
    found = sorted(path for path in warehouse.glob(f"{_PREFIX}*") if not _LEFT.search(path.name))
    return {unquote(path.name.removeprefix(_PREFIX)): path for path in found}


def _rows(warehouse: Path) -> dict[str, pa.Table] | None:
    """The rows of all runs, by the runs' names; None if they are there and cannot be read."""
    try:
        table = read_checked(warehouse / _INDEX, "runs", written_schema("runs"))
    except FileNotFoundError:
        return {}
    except FormatError:
        return None
    return {name: table.slice(row, 1) for row, name in enumerate(table["run"].to_pylist())}


def _tables(place: Path) -> dict[str, pa.Table]:
    """The tables of a run with its row.  Raises FormatError if they hold less than the row says."""
    rows = read_checked(place / _INDEX / "part-00000.parquet", "runs", written_schema("runs"))
    if rows.num_rows != 1:
        raise FormatError(str(place / _INDEX), "the table", f"{rows.num_rows} rows, where there is one run")
    tables = {name: read_table(place / f"{name}.parquet", name) for name in TABLES}
    (said,) = rows.select(["operations", "faults", "violations"]).to_pylist()
    operations, windows = tables["operations"], tables["windows"]
    windows = windows.filter(pc.equal(windows["split"], "all"))
    found = {
        "operations": (operations.num_rows, said["operations"]),
        "faults": (_sum(pc.equal(tables["faults"]["state"], "installed")), said["faults"]),
        "violations": (_sum(tables["verdicts"]["violations"]), said["violations"]),
        "verdicts": (tables["verdicts"].num_rows, len(pc.unique(operations["key"]))),
        "windows": (_sum(windows["count"]), operations.num_rows - operations["returned"].null_count),
    }
    for name, (there, expected) in found.items():
        if there != expected:
            raise FormatError(str(place), name, f"{there} are there, where the run has {expected}")
    return {"runs": rows, **tables}


def _sum(numbers: pa.ChunkedArray) -> int:
    return int(pc.sum(numbers).as_py() or 0)
