"""Whatever the JSON files hold, there is a page, a summary and no exception."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reports
from history import RunFiles
from reports.load.run import read_run
from reports.load.run_row import row_of
from reports.text import junit
from tests.support.draws import draws
from tests.support.reports.runs import make
from tests.support.reports.shapes import Shape

names = st.sampled_from(
    [
        "verdict",
        "sentence",
        "checks",
        "keys",
        "counts",
        "receipts",
        "windows",
        "harness_failure",
        "environment",
        "warnings",
        "timings",
        "name",
        "kind",
        "seen",
        "findings",
        "moments",
        "words",
        "counterexamples",
        "operations",
        "key",
        "violations",
        "fault",
        "id",
        "started",
        "healed",
        "state",
        "test",
        "nemesis",
        "seed",
        "timers",
        "snapshot",
        "planted_bug",
        "version",
        "command",
        "failures",
        "moments",
        "main",
    ]
)
leaves = st.none() | st.booleans() | st.integers(-3, 10**20) | st.floats() | st.text(max_size=8)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4), max_leaves=12
)
records = st.dictionaries(names, values, max_size=8)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> RunFiles:
    return make(tmp_path_factory.mktemp("odd") / "t" / "run", Shape(operations=60, rate=10.0, interval_s=1.0))


@pytest.mark.slow
@settings(max_examples=draws(20, 300), suppress_health_check=[HealthCheck.too_slow])
@given(results=records, plan=records, state=records)
def test_any_json_has_a_page(
    files: RunFiles, results: dict[str, Any], plan: dict[str, Any], state: dict[str, Any]
) -> None:
    files.results.write_text(json.dumps(results))
    files.plan.write_text(json.dumps(plan))
    files.state.write_text(json.dumps(state))
    outcome = reports.write_report(files)
    assert outcome.paths == [files.report], outcome.warnings
    assert isinstance(reports.render_run(files), str)
    junit.write(read_run(files), files.junit)
    row_of(files)


def test_a_byte_that_is_not_utf8_costs_a_character_and_not_the_file(tmp_path: Path) -> None:
    files = make(tmp_path / "t" / "run", Shape(operations=60, rate=10.0, interval_s=1.0))
    before = read_run(files), row_of(files)
    for path in (files.results, files.plan, files.state):
        path.write_bytes(path.read_bytes().replace(b"{", b'{"odd": "\xff",', 1))
    run = read_run(files)
    assert run.notes.warnings == before[0].notes.warnings
    for found, was in ((run.results, before[0].results), (run.plan, before[0].plan), (run.state, before[0].state)):
        assert found == {"odd": "\ufffd", **was}
    assert row_of(files) == before[1]


def test_a_run_directory_that_goes_away_is_a_warning(tmp_path: Path) -> None:
    files = make(tmp_path / "t" / "run", Shape(operations=60, rate=10.0, interval_s=1.0))
    shutil.rmtree(files.root)
    outcome = reports.write_all(files)
    assert outcome.paths == []
    assert outcome.warnings
