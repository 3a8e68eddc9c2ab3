"""Bring over a warehouse of the first release: ``run=<run>/<table>.parquet``, and ``runs.parquet`` over all.

A run's directory is removed once a version holds the run.  One that is not whole stays where it is, and is named in the
log: the rest of it can only come from the run itself.
"""

from __future__ import annotations

import logging
import re
import shutil
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pyarrow as pa

from history import FormatError
from history.tables.metadata import read_checked
from history.tables.schemas import TABLES
from history.tables.warehouse import newest_version, written_schema
from pipeline.tables.storage import read_table, remove
from pipeline.warehouse.landing import HELD_BYTES, Landing, known_in

log = logging.getLogger(__name__)
_PREFIX: Final = "run="
_LEFT: Final = re.compile(r"\.(tmp|old|dead)-[0-9a-f-]+$")


def land_first_layout(warehouse: Path) -> None:
    """Land the runs in the first layout that no version holds.  Raises OSError."""
    places = _runs(warehouse)
    if not places:
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
    landing.publish()


def remove_first_layout(warehouse: Path) -> None:
    """Remove what the newest version holds."""
    places = _runs(warehouse)
    known = known_in(warehouse) if places else {}
    for name, place in places.items():
        if name in known:
            remove(place)
    if not _runs(warehouse) and newest_version(warehouse) is not None:
        for rest in (*warehouse.glob(f"{_PREFIX}*"), warehouse / "runs.parquet", warehouse / "trends.parquet"):
            if rest.is_dir():
                shutil.rmtree(rest, ignore_errors=True)
            else:
                rest.unlink(missing_ok=True)
        (warehouse / ".lock").unlink(missing_ok=True)


def _runs(warehouse: Path) -> dict[str, Path]:
    """The directories of runs, by the runs' names; not what writers left half written."""
    found = sorted(path for path in warehouse.glob(f"{_PREFIX}*") if not _LEFT.search(path.name))
    return {unquote(path.name.removeprefix(_PREFIX)): path for path in found}


def _tables(place: Path) -> dict[str, pa.Table]:
    row = read_checked(place / "runs.parquet" / "part-00000.parquet", "runs", written_schema("runs"))
    return {"runs": row, **{name: read_table(place / f"{name}.parquet", name) for name in TABLES}}
