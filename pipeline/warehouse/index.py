"""Keep the warehouse up to date: add a run, put landings into a version, compute trends over all runs.

A refresh repeats its steps until nothing is left to do, so it also repairs what a killed writer left behind.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from history import FormatError, RunFiles
from history.metrics import change_points, regressions, survival
from history.metrics.regressions import FIGURES, VERDICT, Baseline
from history.recording import Recording
from history.records import plans, settings
from history.tables import schemas
from history.tables.metadata import version_in
from history.tables.warehouse import BASELINES, newest_version, read_baselines, read_version, written_schema
from pipeline.tables.storage import write_file
from pipeline.warehouse import trends
from pipeline.warehouse.landing import Landing, known_runs, run_name
from pipeline.warehouse.trends import trend_table
from pipeline.warehouse.versions import build, landings, next_version, tidy

#: The metadata of ``trends.parquet`` that identifies the baselines and the rule from which it was computed.
_DIGEST: Final = b"harness.made-from"
_TRENDS: Final = "trends.parquet"
#: The modules that contain the rule.
_RULE: Final = (trends, regressions, change_points, survival, plans, settings, schemas)


def append_run(warehouse: Path, run: RunFiles | Recording) -> bool:
    """Add the finished tables of a run to the warehouse; return False if it is already there.

    A run that was judged again replaces the earlier one.  Raises FileNotFoundError without tables or history,
    FormatError for tables that are incomplete or have columns of other types, or OSError.
    """
    landing = Landing(warehouse)
    recording = Recording.of(run)
    added = landing.add(recording, run_name(recording.files))
    landing.publish()
    refresh(warehouse)
    return added


def refresh(warehouse: Path) -> None:
    """Make a new version if anything was added since the last one, and remove what it replaces.

    Raises OSError, or FormatError for bad ``baselines.toml`` or for files that cannot be read.
    """
    baselines, digest = _baselines(warehouse)
    while (merged := _merged(warehouse, baselines, digest)) is None:
        pass
    tidy(warehouse, merged)


def _merged(warehouse: Path, baselines: list[Baseline], digest: bytes) -> list[Path] | None:
    """Return the landings whose runs are all in the newest version; None if work was left, which was then attempted."""
    base = newest_version(warehouse)
    try:
        known = known_runs(base)
        landed = landings(warehouse, known)
        fresh_ones = {path: part for path, part in landed.items() if part.runs}
        if not fresh_ones and base is not None and _has_trends(base, digest):
            return list(landed)
        with next_version(warehouse, base) as fresh:
            build(fresh, base, known, fresh_ones)
            _write_trends(fresh, baselines, digest)
    except FileNotFoundError:
        # If there is a new version, a faster writer removed what this one was reading; otherwise this is an error.
        if newest_version(warehouse) == base:
            raise
    return None


def _write_trends(fresh: Path, baselines: list[Baseline], digest: bytes) -> None:
    schema = written_schema("trends")
    schema = schema.with_metadata({**schema.metadata, _DIGEST: digest})
    write_file(fresh / _TRENDS, schema, [trend_table(read_version(fresh, "runs"), baselines)])


def _has_trends(version: Path, digest: bytes) -> bool:
    """Return whether readable trends exist that were made from these baselines by this rule, or by a later release."""
    try:
        schema = pq.read_schema(version / _TRENDS)
    except (OSError, pa.ArrowInvalid):
        return False
    return (schema.metadata or {}).get(_DIGEST) == digest or version_in(schema) > schemas.TRENDS_VERSION


@functools.cache
def _rule() -> bytes:
    """Return the code that computes trends, and the schema of its result."""
    return "\0".join(map(inspect.getsource, _RULE)).encode()


def _baselines(warehouse: Path) -> tuple[list[Baseline], bytes]:
    """Return the acknowledged baselines, and a hash of them and of the rule.  Raises FormatError."""
    rows = read_baselines(warehouse)
    baselines = [Baseline(row.run, row.figure) for row in rows]
    known = (*FIGURES, VERDICT)
    for baseline in baselines:
        if baseline.figure is not None and baseline.figure not in known:
            complaint = f"there is no figure {baseline.figure!r}; the choices are {', '.join(known)}"
            raise FormatError(str(warehouse / BASELINES), "the file", complaint)
    return baselines, hashlib.sha256(_rule() + msgspec.json.encode(rows)).hexdigest().encode()
