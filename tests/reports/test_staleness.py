"""A page that was drawn before its run was judged again is distinguished from one that shows what the results say."""

from __future__ import annotations

import json
from typing import Any

import pytest

import reports
from history import RunFiles
from reports.load.run import read_run
from reports.load.run_row import row_of
from reports.load.staleness import NAME, STALE, digest_of, is_stale
from tests.support.reports.made import Maker


def judged_again(files: RunFiles, **changes: Any) -> None:
    files.results.write_text(json.dumps({**json.loads(files.results.read_text()), **changes}))


def reported(files: RunFiles) -> tuple[bool, bool]:
    """Whether the list of runs and the terminal call the page stale."""
    return STALE in row_of(files).sentence, STALE in reports.render_run(files)


def test_a_page_is_stale_from_another_verdict_until_it_is_drawn_again(fresh: Maker) -> None:
    files = fresh("invalid")
    assert reported(files) == (False, False)
    reports.write_report(files)
    assert reported(files) == (False, False)
    judged_again(files, sentence="in other words")
    assert reported(files) == (True, True)
    assert row_of(files).sentence == f"({STALE}) in other words"
    reports.write_report(files)
    assert reported(files) == (False, False)


def test_a_run_that_was_only_judged_faster_has_the_same_page(fresh: Maker) -> None:
    files = fresh("invalid")
    reports.write_report(files)
    judged_again(files, timings={"tables": 99.0})
    assert reported(files) == (False, False)


@pytest.mark.parametrize("part", ["verdict", "checks", "keys"])
def test_every_part_that_is_given_counts(fresh: Maker, part: str) -> None:
    files = fresh("invalid")
    reports.write_report(files)
    changed: Any = {"verdict": "unknown", "checks": [], "keys": []}[part]
    judged_again(files, **{part: changed})
    assert is_stale(files, read_run(files).results)


def test_a_page_that_does_not_say_is_taken_as_it_is(fresh: Maker) -> None:
    files = fresh("invalid")
    reports.write_report(files)
    files.report.write_text(files.report.read_text().replace(f'name="{NAME}"', 'name="other"'))
    judged_again(files, sentence="in other words")
    assert reported(files) == (False, False)


@pytest.mark.parametrize("examples", [None, 5, "text", [5, None], [{}]])
def test_odd_results_have_a_digest_too(examples: Any) -> None:
    assert digest_of({"keys": [{"counterexamples": examples}]})
