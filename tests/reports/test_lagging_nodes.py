"""Replicas that are behind in recorded runs: which are named, where each stands, and since when."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from history import RunFiles
from reports.analysis import node_timeline as timelines
from reports.analysis.findings import Drawn, prepare, recovery_of
from reports.analysis.lagging_nodes import lagging_nodes
from reports.load.run import read_run
from reports.story.diagnosis import diagnosis_of
from tests.support.reports.raw import Raw, S
from tests.support.reports.recorded_runs import recorded_run


def lagging_of(name: str, below: Path) -> tuple[dict[str, str], Drawn, Raw]:
    """What the section about the recovery says of each node that is behind."""
    root = recorded_run(name, below)
    drawn = prepare(read_run(RunFiles(root)))
    about = recovery_of(drawn)
    assert about is not None
    return {sentence.partition(" ")[0].removesuffix("'s"): sentence for sentence in about["lagging"]}, drawn, Raw(root)


def test_every_node_that_the_tables_have_red_is_among_those_that_are_behind(tmp_path: Path) -> None:
    """n3 of the run that lost data had applied all that was committed, and its log ends long before."""
    lagging, drawn, raw = lagging_of("data-lost", tmp_path)
    assert set(lagging) == {last.node for last in timelines.last_statuses(drawn.timelines) if last.late}
    last = raw.of("n3")[-1]
    assert (last["applied"], last["committed"]) == (4183, 4183)
    assert f": it ends at {last['log_end']}, below what had been applied; n3 fell behind at " in lagging["n3"]
    about = recovery_of(drawn)
    labels = {line.node: line.label for line in about["picture"].lines} if about else {}
    assert labels["n1"] == "n1 –", "as in the table of the nodes beside it"
    assert labels["n3"] == "n3 4,183"


def test_a_node_whose_log_grew_after_it_was_cut_is_not_said_to_have_applied_until_then(tmp_path: Path) -> None:
    """n3 applied nothing after 23.8 s; its log, cut to 64 at 26.3 s, grew to 204 until 27.0 s."""
    lagging, _, raw = lagging_of("data-lost", tmp_path)
    applied, grew = raw.last_rise("n3", "applied"), raw.last_rise("n3", "log_end")
    assert grew - applied > 3
    assert lagging["n3"].startswith(f"n3's log last grew at {grew:.1f} s, ")
    assert lagging["n5"].startswith(f"n5 stopped applying at {raw.last_rise('n5', 'applied'):.1f} s, ")


def test_what_a_node_showed_last_before_a_fault_struck_it_is_not_when_it_fell_behind(tmp_path: Path) -> None:
    lagging, _, raw = lagging_of("replica-behind", tmp_path)
    name, began, _ = raw.fault(1)
    for node in ("n3", "n5"):
        seen = [probe for probe in raw.of(node) if probe["time"] / S < began]
        struck = f"; it fell behind when #1 {name} struck it, at {began:.1f} s, at {seen[-1]['applied']:,}"
        assert lagging[node].endswith(struck)
        assert lagging[node].startswith(f"{node} stopped applying at {raw.last_rise(node, 'applied'):.1f} s, ")


@pytest.mark.parametrize("name", ["replica-behind", "stuck-in-ring"])
def test_the_story_and_the_section_name_both_moments_in_the_same_words(name: str, tmp_path: Path) -> None:
    """When a replica fell behind, and when it stopped applying: two moments, seconds apart."""
    lagging, drawn, _ = lagging_of(name, tmp_path)
    found = diagnosis_of(drawn)
    assert found is not None
    story = f"{found.breaks[0].whole} {found.breaks[0].detail}"
    for node, sentence in lagging.items():
        stopped = re.search(r"stopped applying at ([\d.]+ s)", sentence)
        fell = re.search(r"fell behind ((?:at|when) .*?), at [\d,]+$", sentence)
        assert stopped is not None
        assert fell is not None
        assert stopped[1] in story
        moment = re.escape(fell[1]).replace("struck\\ it", "struck (?:it|them)")
        assert re.search(rf"\b{node}\b[^.]* fell behind earlier, {moment}", story)


def with_index(root: Path, index: Callable[[float, int], int]) -> Drawn:
    """The run with another applied index of n3, made from the time (s) and the recorded index."""
    head, *lines = (root / "probes.jsonl").read_text().splitlines()
    probes = [json.loads(line) for line in lines]
    for one in probes:
        if one["node"] == "n3" and "applied" in one:
            one["applied"] = index(one["time"] / S, one["applied"])
            one["log_end"] = max(one["log_end"], one["applied"])
    (root / "probes.jsonl").write_text("".join(f"{line}\n" for line in (head, *map(json.dumps, probes))))
    return prepare(read_run(RunFiles(root)))


def test_an_index_that_goes_up_and_down_is_dated_by_when_the_node_last_had_what_the_others_had(tmp_path: Path) -> None:
    """The last rise of a sawtooth is near the end of the run, however long the node had been behind."""
    drawn = with_index(
        recorded_run("replica-behind", tmp_path), lambda at, own: own if at < 29 else 1400 + int(at * 4) % 8 * 50
    )
    (n3,) = (one for one in lagging_nodes(drawn.timelines, drawn.windows) if one.node == "n3")
    raw = Raw(tmp_path / "replica-behind")
    rises = [b["time"] / S for a, b in pairwise(raw.of("n3")) if b["applied"] > a["applied"]]
    assert rises[-1] > raw.end - 3, "it rises to the end"
    reached = [one["time"] / S for one in raw.of("n3") if one["applied"] >= 1317]
    assert n3.fell_back
    assert n3.since == n3.fell == pytest.approx(min(reached), abs=1.5)
    found = diagnosis_of(drawn)
    assert found is not None
    assert found.breaks[0].onset == pytest.approx(n3.fell)
    assert "n3 never caught up after " in found.breaks[0].whole


def test_a_node_that_stops_at_its_highest_index_is_dated_by_when_it_reached_that(tmp_path: Path) -> None:
    """The good twin: the index goes up and down, and then rises once more and stays."""
    drawn = with_index(
        recorded_run("replica-behind", tmp_path),
        lambda at, own: own if at < 29 else 1900 if at > 40 else 1400 + int(at * 4) % 8 * 50,
    )
    (n3,) = (one for one in lagging_nodes(drawn.timelines, drawn.windows) if one.node == "n3")
    raw = Raw(tmp_path / "replica-behind")
    assert not n3.fell_back
    assert n3.since == min(one["time"] / S for one in raw.of("n3") if one["applied"] == 1900)


def test_a_node_that_catches_up_in_the_end_is_not_behind(tmp_path: Path) -> None:
    drawn = with_index(
        recorded_run("replica-behind", tmp_path),
        lambda at, own: own if at < 29 else 2458 if at > 50 else 1400 + int(at * 4) % 8 * 50,
    )
    assert [one.node for one in lagging_nodes(drawn.timelines, drawn.windows)] == ["n5"]


def test_without_a_commit_index_the_others_indexes_count(tmp_path: Path) -> None:
    """As of brokers, which say how long their logs are and nothing about commits."""
    root = recorded_run("replica-behind", tmp_path)
    dated = {one.node: one for one in lagging_nodes(prepare(read_run(RunFiles(root))).timelines, ())}
    lines = [json.loads(line) for line in (root / "probes.jsonl").read_text().splitlines()]
    plain = [{**one, "committed": -1} if "committed" in one else one for one in lines]
    (root / "probes.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in plain))
    found = {one.node: one for one in lagging_nodes(prepare(read_run(RunFiles(root))).timelines, ())}
    for node in ("n3", "n5"):
        assert (found[node].moved, found[node].held) == (dated[node].moved, dated[node].held)
        assert found[node].fell == pytest.approx(dated[node].fell, abs=1.0)


@pytest.mark.parametrize("unit", ["bytes", ""])
def test_indexes_that_count_something_else_than_entries_name_their_unit(unit: str, tmp_path: Path) -> None:
    files = RunFiles(recorded_run("replica-behind", tmp_path))
    results = json.loads(files.results.read_text())
    results["environment"] |= {"index_unit": unit} if unit else {}
    files.results.write_text(json.dumps(results))
    found = diagnosis_of(prepare(read_run(files)))
    assert found is not None
    assert f"of 2,458 {unit} that were".replace("  ", " ") in found.breaks[0].whole
