"""The harness' own medicine: what writers said was added is in the warehouse, whole, once, by our own checker."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from checker import check
from history import FormatError, Probe, RunFiles
from history.tables.schemas import ALL_TABLES
from pipeline import ingest, read_all, refresh
from tests.support.pipeline.warehouse_crashes import Writer, disturb, history_of, read, small_disk

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system and makes namespaces, which takes root"),
]
Expected = dict[str, dict[str, int]]
RESULTS = {
    "verdict": "unknown",
    "environment": {"kernel": "6.1", "nodes": {"n1": "0.4.0"}},
    "checks": [{"name": "operations", "kind": "gate", "verdict": "unknown", "asked": "100 a second", "seen": "few"}],
}


@pytest.fixture
def runs(make_random, write_probes, tmp_path: Path) -> tuple[list[Path], Expected]:
    """Runs of two months, some without tables yet, and how many rows each has in each table of the warehouse."""
    roots: list[Path] = []
    for number in range(24):
        root = tmp_path / "store" / "t" / f"2026{1 + number % 2:02}{1 + number // 2:02}T000000.000Z-{number}"
        if number < 4:
            made = make_random(number)
            write_probes(made, [Probe(5, "n1", "leader", 3)])
            made.results.write_text(json.dumps(RESULTS))
            root.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(made.root, root)
        else:
            shutil.copytree(roots[number % 4], root, copy_function=os.link)
        roots.append(root)
    ingest(roots, tmp_path / "alone", deadline_s=60)
    expected: Expected = {f"t/{root.name}": {} for root in roots}
    for table in ALL_TABLES:
        counts = Counter(read_all(tmp_path / "alone", table)["run"].to_pylist())
        assert counts, table
        for run, rows in expected.items():
            rows[table] = counts[run]
    for root in roots[::5]:
        shutil.rmtree(RunFiles(root).tables)
    return roots, expected


class Reader:
    """Reads the set, and when."""

    def __init__(self, warehouse: Path, expected: Expected) -> None:
        self.warehouse, self.expected = warehouse, expected
        self.reads: list[tuple[int, int, list[str]]] = []

    def __call__(self) -> None:
        begin = time.monotonic_ns()
        found = read(self.warehouse, self.expected)
        self.reads.append((begin, time.monotonic_ns(), found))


def test_what_was_said_to_be_added_is_there_whole_once(runs: tuple[list[Path], Expected], tmp_path: Path) -> None:
    roots, expected = runs
    seed = time.time_ns()
    rng = random.Random(seed)
    with small_disk(tmp_path / "disk", 32) as fill:
        warehouse = tmp_path / "disk" / "warehouse"
        # Every run is added by two writers, and by both of them twice.
        shares = [roots[:16], roots[8:], roots[16:] + roots[:8]]
        writers = [
            Writer(warehouse, tmp_path / f"writer-{number}", 2 * rng.sample(share, len(share)), elsewhere=number == 2)
            for number, share in enumerate(shares)
        ]
        reader = Reader(warehouse, expected)
        try:
            disturb(writers, fill, tmp_path / "disk" / "ballast", rng, reader)
        finally:
            for writer in writers:
                writer.signal(signal.SIGKILL)
        refresh(warehouse)
        reader()
        history = history_of(writers, reader.reads)
        report = check(history, "set", deadline_s=60)
        assert report.verdict == "valid", (seed, report)
        acknowledged = {one.value for one in history if one.f == "add" and one.outcome == "ok"}
        assert acknowledged <= set(reader.reads[-1][2])
        assert len(acknowledged) > len(roots) // 2
        errors = {one.error for one in history if one.error}
        # Two that make the tables of one run at once may each find the other's in between.
        known = ("No space left on device", "no table here", "No such file or directory")
        assert not [error for error in errors if not any(text in error for text in known)]
        assert not [path for path in (warehouse / "landing").iterdir() if "." not in path.name]


def test_a_writer_that_forgets_to_rename_is_caught(runs: tuple[list[Path], Expected], tmp_path: Path) -> None:
    roots, expected = runs
    warehouse = tmp_path / "warehouse"
    writers = [
        Writer(warehouse, tmp_path / "careless", roots[:6], twin=True),
        Writer(warehouse, tmp_path / "other", roots[6:24]),
    ]
    reader = Reader(warehouse, expected)
    for writer in writers:
        writer.start()
    while any(writer.running for writer in writers):
        time.sleep(0.3)
        reader()
    # It may well have left what cannot be read.
    with contextlib.suppress(FormatError, pa.ArrowInvalid):
        refresh(warehouse)
    reader()
    report = check(history_of(writers, reader.reads), "set", deadline_s=60)
    assert report.verdict == "invalid"
    assert "rows of" in str(report)
