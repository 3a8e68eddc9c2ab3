"""The files of a run are where everybody expects them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from history import RunFiles
from history.records.layout import NamedFile, start_of


def test_every_file_is_inside_the_run() -> None:
    run = RunFiles(Path("store/t/1"))
    names = {name: getattr(run, name) for name in vars(RunFiles) if isinstance(vars(RunFiles)[name], NamedFile)}
    assert {path.parent for path in names.values()} == {run.root}
    assert len(set(names.values())) == len(names)
    assert run.table("faults") == Path("store/t/1/tables/faults.parquet")
    assert (run.history.name, run.state.name, run.results.name) == ("history.jsonl", "run.json", "results.json")


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("20261122T193303.192Z-5", datetime(2026, 11, 22, 19, 33, 3, 192_000, tzinfo=UTC)),
        ("20261122T193303", datetime(2026, 11, 22, 19, 33, 3, tzinfo=UTC)),
        ("20261322T193303.192Z-5", None),
        ("by hand", None),
        ("", None),
    ],
)
def test_the_start_is_in_the_name(name: str, start: datetime | None) -> None:
    assert start_of(name) == start
