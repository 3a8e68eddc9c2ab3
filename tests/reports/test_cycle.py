"""A cycle of transactions as a drawing: cards with steps, arrows between the steps that prove each dependency."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import run_command
from history import Counterexample, Operation
from history.records.verdicts import Dependency
from reports.analysis.cycle import BROAD, SLIM, Arrow, Cycle, Size, cycle_of, step_text


def txn(process: int, *steps: Any, outcome: Any = "ok") -> Operation:
    made = [list(step) for step in steps]
    place = 2 * process
    return Operation(process, "txn", None, made, made, outcome, place, place + 1, place, place + 1)


#: T1 missed T2's append, T2 missed T3's, and T3 had returned before T1 began.
EXAMPLE = Counterexample(
    "G2-item-realtime",
    "…",
    (
        txn(0, ("r", "x", [1]), ("append", "z", 7)),
        txn(1, ("append", "x", 2), ("r", "y", [])),
        txn(2, ("append", "y", 3)),
    ),
    dependencies=(
        Dependency(0, 1, "rw", "x", "T1 did not see 2", (0, 0)),
        Dependency(1, 2, "rw", "y", "T2 did not see 3", (1, 0)),
        Dependency(2, 0, "realtime", None, "T3 had returned"),
    ),
)


def drawn(size: Size = BROAD) -> Cycle:
    cycle = cycle_of(EXAMPLE, size)
    assert cycle is not None
    return cycle


def heights(arrow: Arrow) -> tuple[float, float]:
    """Where an arrow begins and ends."""
    numbers = [float(number) for number in re.findall(r"[\d.]+", arrow.path)]
    return numbers[1], numbers[-1]


def test_a_card_has_the_steps_and_marks_those_that_prove_an_arrow() -> None:
    cards = drawn().cards
    assert [[step.text for step in card.steps] for card in cards] == [
        ["read [1] in x", "append 7 to z"], ["append 2 to x", "read [] in y"], ["append 3 to y"],
    ]  # fmt: skip
    assert [[step.proves for step in card.steps] for card in cards] == [[True, False], [True, True], [True]]
    for card, following in pairwise(cards):
        assert card.y + card.height < following.y


@pytest.mark.parametrize("size", [BROAD, SLIM])
def test_an_arrow_leads_from_the_step_to_the_step_that_comes_after(size: Size) -> None:
    cycle = drawn(size)
    for arrow, edge in zip(cycle.arrows, EXAMPLE.dependencies, strict=True):
        source, target = cycle.cards[edge.source], cycle.cards[edge.target]
        begin, end = heights(arrow)
        assert source.y < begin < source.y + source.height
        assert target.y < end < target.y + target.height
        if edge.steps:
            assert abs(begin - source.steps[edge.steps[0]].y) < 10
            assert abs(end - target.steps[edge.steps[1]].y) < 10
        assert 0 <= arrow.label_x <= size.width
    assert [arrow.anchor for arrow in cycle.arrows] == ["start", "start", "end"]


def test_the_label_has_kind_key_and_values() -> None:
    assert [arrow.label for arrow in drawn().arrows] == [
        ("rw", "key x", "[1] → 2"), ("rw", "key y", "[] → 3"), ("real time",),
    ]  # fmt: skip


def test_a_long_list_is_cut_to_its_ends() -> None:
    text = step_text(["r", 5, list(range(100))], 40)
    assert len(text) <= 40
    assert "99" in text
    assert step_text(["r", 5, None], 40) == "read nothing in 5"


def test_an_answer_that_never_came_is_not_shown_as_nothing() -> None:
    operations = (txn(0, ("r", "x", None), ("append", "y", 1), outcome="info"), *EXAMPLE.operations[1:])
    cycle = cycle_of(replace(EXAMPLE, operations=operations), BROAD)
    assert cycle is not None
    assert [step.text for step in cycle.cards[0].steps] == ["read x", "append 1 to y"]


def test_what_is_no_cycle_is_not_drawn() -> None:
    assert cycle_of(Counterexample("G1a", "…", EXAMPLE.operations), BROAD) is None


SKEW = """
{:type :invoke, :f :txn, :value [[:append 5 1] [:r 6 nil]], :process 0, :time 10, :index 0}
{:type :invoke, :f :txn, :value [[:r 5 nil] [:append 6 2]], :process 1, :time 11, :index 1}
{:type :ok, :f :txn, :value [[:append 5 1] [:r 6 nil]], :process 0, :time 13, :index 2}
{:type :ok, :f :txn, :value [[:r 5 nil] [:append 6 2]], :process 1, :time 14, :index 3}
"""


def test_the_page_of_a_file_has_the_cycle_the_level_and_what_holds(tmp_path: Path) -> None:
    (tmp_path / "history.edn").write_text(SKEW)
    page = tmp_path / "page.html"
    assert run_command(["report", str(tmp_path / "history.edn"), "--model", "list-append", "-o", str(page)]) in (0, 1)
    text = page.read_text()
    assert text.count('class="edge rw"') == 4, "two arrows, on a broad and on a slim screen"
    assert 'id="check-isolation"' in text
    for level in ("repeatable-read", "strong-snapshot-isolation"):
        assert f"<strong>{level}" in text or f"and {level}" in text
    head = text.partition('<p class="sentence">')[2].partition("</p>")[0]
    assert "2 transactions at 0.0 s form a cycle (G2-item)" in head
    assert "serializable" in head, "the level that was asked for"
    assert "repeatable-read" not in head
