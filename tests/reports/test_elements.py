"""What the reads of a set lack, against a count by hand; and how long sentences become headlines."""

from __future__ import annotations

from pathlib import Path

import pytest

from history import RunFiles
from reports.analysis import elements
from reports.analysis.elements import lacking_of
from reports.load.run import read_run
from reports.style.format import HEADLINE, lead
from tests.support.reports.raw import Raw, S
from tests.support.reports.recorded_runs import recorded_run

NODES = ["n1", "n2", "n3", "n4", "n5"]


@pytest.mark.parametrize(("name", "lost"), [("element-lost", {"n1": 61}), ("three-losses", {"n1": 323, "n5": 455})])
def test_reads_lack_what_was_acknowledged_before_they_began(name: str, lost: dict[str, int], tmp_path: Path) -> None:
    root = recorded_run(name, tmp_path)
    found = lacking_of(read_run(RunFiles(root)).operations, NODES)
    assert found is not None
    begun: dict[object, float] = {}
    added: dict[int, float] = {}
    reads: dict[str, list[tuple[float, float, set[int]]]] = {node: [] for node in NODES}
    for event in Raw(root).events:
        process = event["process"]
        if event["type"] == "invoke" and process != "nemesis":
            begun[process] = event["time"]
        elif event["type"] == "ok" and event["f"] == "add":
            added[event["value"]] = event["time"]
        elif event["type"] == "ok" and event["f"] == "read":
            reads[event["node"]].append((event["time"] / S, begun[process], set(event["value"])))
    for node, (times, lacking) in zip(NODES, found, strict=True):
        by_hand = {
            time: sum(at < since and element not in held for element, at in added.items())
            for time, since, held in reads[node]
        }
        assert times
        assert dict(zip(times, lacking, strict=True)) == {time: by_hand[time] for time in times}
        assert times[-1] == max(by_hand), "what it lacks at the end is shown however many reads are left out"
        assert lacking[-1] == lost.get(node, lacking[-1])


def test_a_loss_is_dated_by_the_first_read_that_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operations = read_run(RunFiles(recorded_run("three-losses", tmp_path))).operations
    whole = lacking_of(operations, NODES)
    monkeypatch.setattr(elements, "MAX_ELEMENTS", 100_000)
    found = lacking_of(operations, NODES)
    assert whole is not None
    assert found is not None
    for (times, lacking), (all_times, all_lacking) in zip(found, whole, strict=True):
        assert len(times) < len(all_times)
        onset = next((time for time, count in zip(times, lacking, strict=True) if count > 100), None)
        assert onset == next((time for time, count in zip(all_times, all_lacking, strict=True) if count > 100), None)


def test_registers_and_ledgers_have_no_elements(tmp_path: Path) -> None:
    for name in ("logs-cut", "ledgers-lost"):
        assert lacking_of(read_run(RunFiles(recorded_run(name, tmp_path))).operations, NODES) is None


@pytest.mark.parametrize(
    ("text", "head", "rest"),
    [
        ("short: as it is.", "short: as it is.", ""),
        (f"{'word ' * 10}ends; {'more ' * 20}x.", f"{'word ' * 10}ends.", f"M{('more ' * 20)[1:]}x."),
        (f"a title: {'word ' * 30}x.", f"a title: {'word ' * 23}".rstrip() + "…", f"a title: {'word ' * 30}x."),
        (f"“{'word ' * 9}; {'b ' * 20}”.", f"“{'word ' * 9}; {'b ' * 14}b…", f"“{'word ' * 9}; {'b ' * 20}”."),
        (f"{'word ' * 9}n1 (why: {'more ' * 20}).", f"{'word ' * 9}n1.", f"(why: {'more ' * 20})."),
    ],
)
def test_a_headline_ends_where_a_clause_does(text: str, head: str, rest: str) -> None:
    assert lead(text) == (head, rest)
    assert len(head.split()) <= HEADLINE
