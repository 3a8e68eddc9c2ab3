"""A time in which the harness itself was stalled is in no figure of a run's tables."""

from __future__ import annotations

from typing import Any

import pytest

from history import RunFiles
from history.recording import Recording
from history.tables.schemas import TABLES
from pipeline import local_tables, read_table
from pipeline.tables.conclusions import conclusion_tables
from pipeline.tables.load_figures import batches_of, load_figures
from pipeline.tables.runs import last_moment, run_row
from tests.support.reports.stood_still import stand_still

S = 1_000_000_000
MOMENTS = ("started", "stood", "heal_started", "healed")


def figures_of(run: RunFiles) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The figures of the faults, and the row of the run."""
    local_tables(run, model="register", deadline_s=10)
    recording = Recording(run.root)
    tables = {name: read_table(run.table(name), name) for name in TABLES}
    figures = load_figures(batches_of(run.table("operations")), recording.clock, last_moment(tables["faults"]))
    tables |= conclusion_tables(recording, tables, figures)
    faults = [{name: cell for name, cell in row.items() if name not in MOMENTS} for row in tables["faults"].to_pylist()]
    return faults, run_row(recording, "test/run", figures, tables, "", 0)


@pytest.mark.parametrize("seed", [1, 3])
@pytest.mark.parametrize("at", [8.4, 14.0])
def test_a_standstill_changes_no_figure(make_random, seed: int, at: float) -> None:
    run = make_random(seed, operations=200)
    before = figures_of(run)
    assert None not in (before[1]["rate"], before[1]["unavailable_s"])
    assert before[1]["faults"]
    stand_still(run, round(at * S), 30 * S)
    assert figures_of(run) == before
    run.state.unlink()
    assert figures_of(run) != before, "the standstill was not within the load"
