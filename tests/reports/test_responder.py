"""Who answered, and on which side of a cut."""

from __future__ import annotations

from dataclasses import replace

import pytest

import reports
from history import Operation
from reports.analysis.faults import sides_of
from reports.analysis.findings import prepare
from reports.analysis.responder import missed_write, side_of
from reports.load.run import read_run
from tests.support.reports.made import Maker

NODES = ("n1", "n2", "n3", "n4", "n5")
HALVES = {
    "n1": ["n2", "n4"],
    "n3": ["n2", "n4"],
    "n5": ["n2", "n4"],
    "n2": ["n1", "n3", "n5"],
    "n4": ["n1", "n3", "n5"],
}


def test_the_sides_of_a_clean_cut_the_leaders_first() -> None:
    assert sides_of(HALVES, NODES, "n4") == (("n2", "n4"), ("n1", "n3", "n5"))
    assert sides_of(HALVES, NODES, "n5") == (("n1", "n3", "n5"), ("n2", "n4"))
    assert sides_of({"n2": ["n1", "n3", "n4", "n5"]}, NODES) == (("n2",), ("n1", "n3", "n4", "n5"))


@pytest.mark.parametrize(
    "grudge",
    [
        {},
        {"n1": ["n3", "n4"], "n2": ["n4", "n5"], "n3": ["n5", "n1"], "n4": ["n1", "n2"], "n5": ["n2", "n3"]},
        {"n1": ["n2"], "n2": ["n1"]},
        {"n1": ["n1"]},
    ],
    ids=["none", "ring", "one link", "itself"],
)
def test_links_that_cross_make_no_sides(grudge: dict[str, list[str]]) -> None:
    assert sides_of(grudge, NODES) == ()


def test_a_node_stands_on_a_side_only_while_the_cut_stands(fresh: Maker) -> None:
    drawn = prepare(read_run(fresh("invalid")))
    cut = replace(
        drawn.windows[0], id=3, grudge={n: tuple(p) for n, p in HALVES.items()}, leader="n4", started=4, healed=9
    )
    assert side_of("n4", 5.0, [cut], NODES, NODES) == "on the side of the minority in #3: n2 n4 | n1 n3 n5"
    # n1 and n3 keep no data: of n2, n4, n5 the first two are a majority.
    assert side_of("n4", 5.0, [cut], NODES, ("n2", "n4", "n5")).startswith("on the side of the majority in #3: n2 n4 |")
    assert side_of("n1", 5.0, [cut], NODES, NODES).startswith("on the side of the majority in #3")
    assert (
        side_of("n4", 9.5, [cut], NODES, NODES)
        == side_of("n4", 3.0, [cut], NODES, NODES)
        == side_of(None, 5.0, [cut], NODES, NODES)
        == ""
    )
    assert side_of("n4", 5.0, [replace(cut, state="skipped")], NODES, NODES) == ""


def op(f: str, value: object, invoked: int, returned: int, outcome: str = "ok") -> Operation:
    asked, answered = (None, value) if f == "read" else (value, None)
    return Operation(0, f, "k", asked, answered, outcome, invoked, returned, invoked, returned, "n1")  # type: ignore[arg-type]


def test_what_a_read_missed_is_the_last_change_acknowledged_before_it() -> None:
    stale = op("read", 1, 70, 80)
    before = [op("write", 1, 0, 10), op("write", 2, 20, 30), op("cas", [2, 3], 40, 50), op("write", 9, 60, 90)]
    assert missed_write([*before, stale], stale) == before[2]
    assert missed_write([*before[:2], stale], stale) == before[1]
    assert missed_write([before[0], stale], stale) is None
    assert missed_write([before[0], op("write", 2, 20, 30, "info"), stale], stale) is None
    assert missed_write(before, before[0]) is None


def test_the_page_names_who_answered_what_was_missed_and_in_which_phase(fresh: Maker) -> None:
    files = fresh("invalid")
    drawn = prepare(read_run(files))
    violation = drawn.violations[0]
    (suspect,) = violation.suspects
    assert violation.missed is not None
    assert (suspect.node, suspect.phase) == (violation.answered_by, "main")
    reports.write_report(files)
    page = files.report.read_text()
    assert f"<strong>{violation.missed.label}</strong>, was acknowledged at {violation.missed.seconds} s" in page
    assert "Phase: <strong>main</strong>." in page
