"""The fields from which the story on top of every recorded run is told, held against the raw files.

The raw files are read by json alone (``tests.support.reports.raw``): nothing here is shared with the page.
"""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from history import RunFiles
from history.records.finding import OUTAGE_S, Elements, ShortLogs, findings_in
from history.records.violations import counts_of
from reports.analysis.findings import Drawn, examples_of, prepare
from reports.analysis.outages import total_outages
from reports.load.run import read_run
from reports.story.aftermath import just_begun, leaders_since, rates_around
from reports.story.breaks import Break
from reports.story.diagnosis import diagnosis_of
from reports.story.lost_elements import added
from reports.story.repeated_lines import stuck_at
from reports.story.replicas_behind import classified
from tests.support.reports.raw import Raw, S
from tests.support.reports.recorded_runs import RUNS, recorded_run

Story = tuple[Raw, Drawn, list[Break]]


def story_of(root: Path) -> Story:
    drawn = prepare(read_run(RunFiles(root)))
    found = diagnosis_of(drawn)
    return Raw(root), drawn, list(found.breaks) if found else []


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Story]:
    below = tmp_path_factory.mktemp("recorded")
    return {name: story_of(recorded_run(name, below)) for name in RUNS}


def near(one: float | None, other: float, room: float = 1e-6) -> bool:
    return one is not None and abs(one - other) <= room


# -- logs and replicas ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["data-lost", "logs-cut", "stale-reads"])
def test_entries_went_from_logs_first_where_and_when_the_probes_show_it(stories: dict[str, Story], name: str) -> None:
    raw, _, breaks = stories[name]
    (one,) = [one for one in breaks if set(one.checks) & {"committed-kept", "log-order"}]
    at = raw.falls()[0][0]
    nodes = sorted({node for when, node in raw.falls() if round(when, 1) == round(at, 1)})
    assert (one.onset, one.nodes) == (at, tuple(nodes))


@pytest.mark.parametrize("name", ["data-lost", "logs-cut"])
def test_what_became_of_entries_is_what_the_ends_of_logs_show(stories: dict[str, Story], name: str) -> None:
    raw, drawn, _ = stories[name]
    found = [one for check in drawn.run.results["checks"] for one in findings_in(check) if isinstance(one, ShortLogs)]
    highest: dict[tuple[str, int], int] = {}
    gone = [-1]
    for probe in raw.answers:
        process = probe["node"], probe["pid"]
        highest[process] = max(highest.get(process, -1), probe["committed"])
        gone += [highest[process]] if probe["log_end"] < highest[process] else []
    ends = {node: raw.of(node)[-1]["log_end"] for node in raw.nodes}

    def may_reach(node: str, moment: int, index: int) -> bool:
        before = [probe["log_end"] for probe in raw.of(node) if probe["time"] <= moment][-1:]
        after = [probe["log_end"] for probe in raw.of(node) if probe["time"] > moment][:1]
        return max(before + after) >= index

    assert max(one.entries.index for one in found if one.entries) == max(gone)
    for entries in (one.entries for one in found if one.entries):
        assert entries.short == {node: end for node, end in ends.items() if end < entries.index}
        assert entries.nodes == len(raw.nodes)
        assert list(entries.holders) == [node for node in raw.nodes if may_reach(node, entries.time, entries.index)]


@pytest.mark.parametrize("name", RUNS)
def test_replicas_stopped_where_and_when_their_last_answers_say(stories: dict[str, Story], name: str) -> None:
    raw, drawn, breaks = stories[name]
    broken = [one for one in breaks if one.severity == "replica behind"]
    behind = [one for one in drawn.timelines if broken and one.node in broken[0].nodes]
    found = [one for one in classified(drawn, behind) if one.state == "stopped"]
    for one in found:
        last = raw.of(one.node)[-1]
        assert one.held == min(last["applied"], last["log_end"])
        assert near(one.since, raw.last_rise(one.node, "applied"))
    assert bool(found) == (name in {"replica-behind", "stuck-in-ring"})
    if found:
        assert near(broken[0].onset, min(raw.last_rise(one.node, "applied") for one in found))
        known = max(probe["committed"] for probe in raw.answers if probe["time"] / S < raw.end - 10)
        assert {one.node for one in found} == {node for node in raw.nodes if raw.of(node)[-1]["applied"] < known}


@pytest.mark.parametrize("name", RUNS)
def test_nothing_was_committed_from_when_the_highest_index_was_first_reported(
    stories: dict[str, Story], name: str
) -> None:
    raw, _, breaks = stories[name]
    for one in (one for one in breaks if one.severity == "no commits"):
        highest = max(probe["committed"] for probe in raw.answers)
        assert near(one.onset, min(probe["time"] for probe in raw.answers if probe["committed"] == highest) / S)


def test_how_often_a_replica_logged_what_it_is_stuck_at_is_counted(stories: dict[str, Story], tmp_path: Path) -> None:
    """Lines that differ in their numbers, beside others, when it stopped."""
    root = tmp_path / "run"
    shutil.copytree(stories["replica-behind"][0].root, root)
    raw = Raw(root)
    started = datetime.fromisoformat(raw.header["started"])

    def lines(text: str, times: int, after: float) -> str:
        moments = [started + timedelta(seconds=after + place / 1000) for place in range(times)]
        return "".join(f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d} WARN {text}\n" for at in moments)

    early = lines("other", 150, 3) + lines("pushed 7 behind 9", 180, 30.5) + lines("reset 5", 120, raw.end - 4)
    (root / "nodes" / "n3").mkdir(parents=True)
    (root / "nodes" / "n3" / "server.log").write_text(early)
    _, drawn, breaks = story_of(root)
    line = stuck_at(drawn, breaks[0].nodes)
    assert line is not None
    assert (line.node, line.times) == ("n3", 180)
    assert line.text.endswith("WARN pushed 7 behind 9")
    assert near(line.seconds, 30.5, 0.001)
    assert near(line.last, 30.679, 0.001)


# -- what clients were answered ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RUNS)
def test_every_operation_of_a_counterexample_is_one_of_the_history(stories: dict[str, Story], name: str) -> None:
    raw, drawn, breaks = stories[name]
    known = {one["index"]: one for one in raw.operations()}
    examples = [one.example for one in examples_of(drawn.run)]
    for operation in (operation for one in examples for operation in one.operations):
        own = known[operation.invoke_index]
        assert operation.outcome in (own["type"], "info"), "an answer that came later is left open"
        assert (operation.process, operation.f) == (own["process"], own["f"])
        assert (operation.key, operation.value) == (own.get("key"), own["value"])
        assert near(operation.invoked / S, own["begin"])
        if operation.outcome == "ok":
            assert operation.result == own["result"]
            assert near((operation.returned or 0) / S, own["end"])
    for one in (one for one in breaks if one.is_drawn and not one.lost_on):
        of_check = [shown.example for shown in examples_of(drawn.run) if shown.check in {*one.checks, "linearizable"}]
        assert near(one.onset, min(example.completed_at for example in of_check) / S)
    assert sum(counts_of(drawn.run.results).values()) >= len(examples)


def missed(raw: Raw, read: dict[str, Any]) -> set[int]:
    """The elements that a read lacks though they were acknowledged before it began."""
    adds = (one for one in raw.operations() if one["f"] == "add" and one["type"] == "ok")
    return {one["value"] for one in adds if one["end"] < read["begin"] and one["value"] not in read["result"]}


@pytest.mark.parametrize("name", ["element-lost", "three-losses"])
def test_each_loss_is_of_what_the_last_reads_lack_and_dated_by_the_first_read_without_it(
    stories: dict[str, Story], name: str
) -> None:
    raw, drawn, breaks = stories[name]
    (of_sets,) = [
        one for check in drawn.run.results["checks"] for one in findings_in(check) if isinstance(one, Elements)
    ]
    reads = [one for one in raw.operations() if one["f"] == "read" and one["type"] == "ok"]
    last = {one["node"]: one for one in reads if one["phase"] == "final"}
    lacking = {node: found for node, read in last.items() if (found := missed(raw, read))}
    assert {one.node: one.lost for one in of_sets.losses} == {node: len(found) for node, found in lacking.items()}
    adds = {one["value"]: one for one in raw.operations() if one["f"] == "add" and one["type"] == "ok"}
    for one in of_sets.losses:
        mine, moments = [read for read in reads if read["node"] == one.node], []
        for element in lacking[one.node]:
            had = max((read["begin"] for read in mine if element in read["result"]), default=0.0)
            moments.append(min(read["end"] for read in mine if read["begin"] > max(had, adds[element]["end"])))
        assert near(one.seen_ns / S, min(moments))
        elsewhere = {element for node, read in last.items() if node != one.node for element in read["result"]}
        assert one.elsewhere == len(lacking[one.node] & elsewhere)
    assert near(next(one.onset for one in breaks if one.lost_on), min(one.seen_ns for one in of_sets.losses) / S)
    for group in added(drawn.run.operations, of_sets.losses):
        mine = [adds[element] for element in lacking[group.nodes[0]]]
        assert near(group.first, min(one["end"] for one in mine))
        assert near(group.last, max(one["end"] for one in mine))
        assert group.by == sorted({one["node"] for one in mine})


# -- what came then ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RUNS)
def test_rates_and_leaders_around_each_break_are_those_of_the_files(stories: dict[str, Story], name: str) -> None:
    raw, drawn, breaks = stories[name]
    leading = sorted((probe for probe in raw.answers if probe["role"] == "leader"), key=lambda probe: probe["time"])
    for onset in (one.onset for one in breaks if one.onset is not None):
        if (rates := rates_around(drawn, onset)) is not None:
            load, served = raw.asked(final=False), raw.served()
            assert near(rates.first, load[0])
            assert near(rates.until, max(served) if rates.ended else load[-1])
            assert near(rates.before, sum(at < onset for at in served) / (onset - load[0]), 0.01)
            assert near(rates.since, sum(onset <= at <= rates.until for at in served) / (rates.until - onset), 0.01)
        led = {(one["node"], one["term"]) for one in leading if one["time"] / S >= onset}
        led -= {(one["node"], one["term"]) for one in leading if one["time"] / S < onset}
        assert sorted(leaders_since(drawn, onset)) == sorted(node for node, _ in led)
        firsts: dict[tuple[str, int], float] = {}
        for probe in leading:
            firsts.setdefault((probe["node"], probe["term"]), probe["time"] / S)
        # The first leadership of a run began with it.
        begun = sorted((at, node) for (node, _), at in list(firsts.items())[1:] if onset - 2 <= at < onset)
        assert [(node, round(at, 6)) for at, node in just_begun(drawn, onset)] == [
            (node, round(at, 6)) for at, node in begun
        ]


@pytest.mark.parametrize("ended", [True, False])
def test_times_without_any_success_are_counted_to_their_ends(
    stories: dict[str, Story], tmp_path: Path, ended: bool
) -> None:
    """As of a run in which every answer of two stretches was none; the second may last to the end."""
    root = tmp_path / "run"
    shutil.copytree(stories["replica-behind"][0].root, root)
    history, last = root / "history.jsonl", 45 if ended else 10**6
    events = [json.loads(line) for line in history.read_text().splitlines()]
    for event in events[1:]:
        out = 6 * S < event["time"] < 17 * S or 31 * S < event["time"] < last * S
        if event["type"] == "ok" and event["process"] != "nemesis" and out:
            event["type"] = "info"
    history.write_text("".join(json.dumps(event) + "\n" for event in events))
    served, run = Raw(root).served(), read_run(RunFiles(root))
    found = [one for one in total_outages(run.operations, run.end, run.clock) if one.length >= OUTAGE_S]
    assert [one.ended for one in found] == [True, ended]
    for one, begin in zip(found, (6, 31), strict=True):
        before = max(at for at in served if at <= begin)
        assert before <= one.start < before + 1
        assert not one.ended or near(one.stop, min(at for at in served if at > begin))
