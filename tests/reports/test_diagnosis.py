"""What broke in recorded runs: each number against the raw files, read by code that shares nothing with the page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import reports
from checker import check
from history import Counterexample, Probe, RunFiles
from reports.analysis.elections import leaderships_of
from reports.analysis.findings import prepare, recovery_of
from reports.analysis.invariant_violations import invariant_violations
from reports.analysis.lagging_nodes import lagging_nodes
from reports.analysis.log_falls import LogFall, leading_since, lost_for_good
from reports.analysis.node_timeline import timelines_of
from reports.load.run import read_run
from reports.page.context import places_of
from reports.story.aftermath import leaders_since, outages_text
from reports.story.diagnosis import Diagnosis, diagnosis_of
from tests.support.reports.raw import Raw, S
from tests.support.reports.recorded_runs import recorded_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    below = tmp_path_factory.mktemp("recorded")
    names = ("data-lost", "logs-cut", "replica-behind", "stale-reads")
    return {name: recorded_run(name, below) for name in names}


def diagnosis(root: Path) -> Diagnosis:
    run = read_run(RunFiles(root))
    found = diagnosis_of(prepare(run))
    assert found is not None
    assert run.notes.warnings == []
    return found


def numbers(text: str) -> list[float]:
    """All numbers of a sentence, those of names left out."""
    plain = re.sub(r"\b[nk]\d+|(?<=\d),(?=\d{3}\b)", "", text)
    return [float(number) for number in re.findall(r"(?<![\w.-])\d+(?:\.\d+)?", plain.replace("#", " #"))]


def assert_when(raw: Raw, text: str, moment: float) -> None:
    """The moment, and the fault that stood or had been healed then, as "29.3 s, 0.2 s after #1 x was healed"."""
    match = re.search(r"([\d.]+) s, ([\d.]+) s (into|after) #(\d+) (\S+?)(?: was healed)?[,;.]", text)
    assert match is not None, text
    name, began, healed = raw.fault(int(match[4]))
    assert name == match[5]
    assert float(match[1]) == pytest.approx(moment, abs=0.06)
    assert float(match[2]) == pytest.approx(moment - (began if match[3] == "into" else healed), abs=0.11)
    assert (began <= moment <= healed) == (match[3] == "into")


def assert_after(raw: Raw, text: str, onset: float) -> None:
    """Rates before and after, the end of the service, the leaders since."""
    served, load = raw.served(), raw.asked(final=False)
    said = r"([\d.]+) operations per second succeeded before ([\d.]+) s, ([\d.]+) after \(the load [a-z]+ \w+ ([\d.]+)"
    if match := re.search(said, text):
        before = sum(moment < onset for moment in served) / (onset - load[0])
        stop = max(served) if "the last success" in text else load[-1]
        since = sum(onset <= moment <= stop for moment in served) / (stop - onset)
        assert [float(match[1]), float(match[3])] == [pytest.approx(before, abs=0.1), pytest.approx(since, abs=0.1)]
        assert [float(match[4]), float(match[2])] == [pytest.approx(load[0], abs=0.06), pytest.approx(onset, abs=0.06)]
    match = re.search(r"(\d+|[Nn]o) leader changes? after ([\d.]+) s(?: \([^)]*\))?; (\w+) led", text)
    assert match is not None
    assert float(match[2]) == pytest.approx(onset, abs=0.06)
    led = {(p["node"], p["term"]) for p in raw.answers if p["role"] == "leader" and p["time"] / S >= onset}
    led -= {(p["node"], p["term"]) for p in raw.answers if p["role"] == "leader" and p["time"] / S < onset}
    assert (0 if match[1] in ("No", "no") else int(match[1])) == len(led)
    last = max((p for p in raw.answers if p["role"] == "leader"), key=lambda p: (p["term"], p["time"]))
    assert match[3] == last["node"]


def test_replicas_that_stopped_are_reported_with_the_fault_after_which_they_did(runs: dict[str, Path]) -> None:
    raw, diagnosed = Raw(runs["replica-behind"]), diagnosis(runs["replica-behind"])
    (one,) = diagnosed.breaks
    behind = [node for node in raw.nodes if raw.end - raw.last_rise(node, "applied") > 10]
    assert (one.severity, one.place, one.checks, list(one.nodes)) == (
        "replica behind",
        "recovery",
        ("recovery",),
        behind,
    )
    stands = {node: raw.of(node)[-1]["applied"] for node in behind}
    for node in behind:
        assert f"{node} {'stopped applying' if node == behind[0] else ''}".strip() in one.whole
    assert [node for node in raw.nodes if re.search(rf"{node} (?:stopped applying )?at [\d.]+ s", one.whole)] == behind
    assert_when(raw, one.whole, min(raw.last_rise(node, "applied") for node in behind))
    target = max(probe["committed"] for probe in raw.answers)
    since = {node: round(raw.last_rise(node, "applied"), 1) for node in behind}
    expected = [figure for node in behind for figure in (stands[node], since[node])]
    assert numbers(one.rest) == [*expected, target]
    assert one.rest.endswith(" that were committed by the end.")
    assert_after(raw, diagnosed.after, min(raw.last_rise(node, "applied") for node in behind))
    assert "n3, n5" in diagnosed.step


def test_lost_data_comes_before_the_outage_that_it_caused(runs: dict[str, Path]) -> None:
    raw, diagnosed = Raw(runs["data-lost"]), diagnosis(runs["data-lost"])
    lost, outage = diagnosed.breaks
    assert (lost.severity, outage.severity) == ("missing on nodes", "no commits")
    assert (lost.below, outage.below) == (False, True), "its leader lacks what had been committed"
    broken = ("leader-complete", "log-order", "committed-kept")
    moments = [moment for name in broken for moment in raw.finding(name)["moments"]]
    first = min(moments, key=lambda moment: moment["time"])
    assert first["node"] in lost.nodes
    assert set(lost.nodes) == {
        one["node"] for one in moments if round(one["time"] / S, 1) == round(first["time"] / S, 1)
    }
    assert_when(raw, lost.whole, first["time"] / S)
    assert {moment["node"] for moment in moments} == set(raw.nodes)
    assert lost.rest.startswith("It was seen on all nodes. n5 led without some ")
    drawn = prepare(read_run(RunFiles(runs["data-lost"])))
    sections = invariant_violations(drawn)
    places = places_of(drawn.run, diagnosed, sections)
    assert [places[one.name] for one in sections] == ["invariant-1", "invariant-2", "invariant-3"]
    highest = max(probe["committed"] for probe in raw.answers)
    ends = {node: raw.of(node)[-1]["log_end"] for node in raw.nodes}
    short = {node: end for node, end in ends.items() if end < highest}
    assert numbers(lost.detail) == [highest, *short.values()]
    assert all(f"{node} at " in lost.detail for node in short)
    last = min(probe["time"] for probe in raw.answers if probe["committed"] == highest) / S
    assert last < max(raw.last_rise(node, "committed") for node in raw.nodes) - 3, "n5 learned again what had been"
    assert_when(raw, outage.whole, last)
    assert f"({raw.end - last:.1f} s later)" in outage.whole
    assert f"{len(raw.nodes)} of {len(raw.nodes)} nodes answered at the end" in outage.detail
    assert max(raw.served()) <= last + 1
    reported = re.fullmatch(
        r"No operation succeeded after ([\d.]+) s, although clients sent requests until ([\d.]+) s\.",
        outages_text(prepare(read_run(RunFiles(runs["data-lost"])))),
    )
    assert reported is not None
    assert float(reported[1]) == pytest.approx(max(raw.served()), abs=0.06)
    assert float(reported[2]) == pytest.approx(max(raw.asked(final=True)), abs=0.06)
    assert_after(raw, diagnosed.after, first["time"] / S)


Change = Callable[[dict[str, Any]], dict[str, Any]]


def changed(root: Path, into: Path, change: Change) -> Path:
    """A recorded run with other probes."""
    for name in ("history.jsonl", "plan.json", "run.json", "results.json"):
        (into / name).write_bytes((root / name).read_bytes())
    header, *lines = (root / "probes.jsonl").read_text().splitlines()
    probes = [json.dumps(change(json.loads(line))) for line in lines]
    (into / "probes.jsonl").write_text("\n".join([header, *probes]) + "\n")
    return into


def probes_of(root: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / "probes.jsonl").read_text().splitlines()[1:]]


def test_data_that_no_log_holds_is_lost_since_the_last_one_held_it(runs: dict[str, Path], tmp_path: Path) -> None:
    """The same run with all logs cut in its last seconds: when the first of them was cut says nothing any more."""
    late = (Raw(runs["data-lost"]).end - 5) * S

    def cut(probe: dict[str, Any]) -> dict[str, Any]:
        shorter = {"log_end": min(probe.get("log_end", -1), 300)}
        return {**probe, **shorter} if probe["time"] > late and "role" in probe else probe

    raw = Raw(changed(runs["data-lost"], tmp_path, cut))
    highest = max(probe["committed"] for probe in raw.answers)
    ends = {node: raw.of(node)[-1]["log_end"] for node in raw.nodes}
    lowest = max(ends.values()) + 1
    held = {node: max(probe["time"] for probe in raw.of(node) if probe["log_end"] >= lowest) for node in raw.nodes}
    without = {
        node: min(probe["time"] for probe in raw.of(node) if probe["time"] > last) for node, last in held.items()
    }
    first = min(without, key=lambda node: without[node])
    ends_at = {probe["time"]: probe["log_end"] for probe in raw.of(first)}
    left = f"{ends_at[without[first]] + 1:,}–{min(highest, ends_at[held[first]]):,}"
    lost = diagnosis(tmp_path).breaks[0]
    assert lost.whole.startswith(f"committed entries {left} left {first}'s log by {without[first] / S:.1f} s")
    assert f", {lowest:,}–{highest:,} every log by " in lost.whole or left == f"{lowest:,}–{highest:,}"
    assert (lost.onset, lost.nodes) == (without[first] / S, (first,))
    for node in sorted(raw.nodes):
        assert node == first or f"{node} by {without[node] / S:.1f} s" in lost.detail
    assert lost.evidence is not None
    assert (lost.evidence.node, lost.evidence.at) == (first, without[first] / S)


def test_a_node_that_reports_no_index_is_dated_by_its_role(runs: dict[str, Path], tmp_path: Path) -> None:
    figures = ("log_begin", "log_end", "committed", "applied", "state_index", "term")

    def alone(probe: dict[str, Any]) -> dict[str, Any]:
        if "role" not in probe:
            return probe
        gone = probe["node"] in ("n3", "n5") and probe["time"] > 9 * S
        return {**probe, **dict.fromkeys(figures, -1), **({"role": "unknown", "leader": None} if gone else {})}

    changed(runs["replica-behind"], tmp_path, alone)
    found = next(one for one in diagnosis(tmp_path).breaks if one.place == "recovery")
    assert "n3 answers, and has neither led nor known a leader since " in found.whole
    unknown = [one["time"] for one in probes_of(tmp_path) if one["node"] in ("n3", "n5") and one["time"] > 9 * S]
    assert found.onset == min(unknown) / S
    assert "-1" not in found.whole


def restarted(probe: dict[str, Any], since: float) -> dict[str, Any]:
    """A node whose process began anew at a moment (s), and applied again in two seconds what it had applied before."""
    if "applied" not in probe or probe["time"] < since * S:
        return probe
    again = int(probe["applied"] * min(1.0, (probe["time"] / S - since) / 2))
    return {**probe, "pid": 99, "applied": again}


def test_what_a_restarted_process_applies_again_is_no_progress(runs: dict[str, Path], tmp_path: Path) -> None:
    """The onset stays where it was: both nodes were stuck long before they were restarted."""
    before = diagnosis(runs["replica-behind"]).breaks[0]
    changed(
        runs["replica-behind"],
        tmp_path,
        lambda probe: restarted(probe, 48.0) if probe["node"] in ("n3", "n5") else probe,
    )
    raw = Raw(tmp_path)
    assert min(raw.last_rise(node, "applied") for node in ("n3", "n5")) > 48, "the rise that must not count"
    after = diagnosis(tmp_path).breaks[0]
    assert (after.onset, after.text) == (before.onset, before.text)
    lagging = lagging_nodes(prepare(read_run(RunFiles(tmp_path))).timelines, ())
    assert [one.moved for one in lagging if one.node in ("n3", "n5")] == [
        one.moved for one in lagging_nodes(prepare(read_run(RunFiles(runs["replica-behind"]))).timelines, ())
    ]


def test_a_node_that_had_caught_up_by_the_end_is_dated_by_when_it_was_behind(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    """n3 applies nothing from 20 s until its last answers; the good twin never catches up."""
    raw = Raw(runs["replica-behind"])
    highest, ended = max(probe["committed"] for probe in raw.answers), raw.of("n3")[-4]["time"]

    def late(index: int, nodes: tuple[str, ...]) -> Callable[[dict[str, Any]], dict[str, Any]]:
        def change(probe: dict[str, Any]) -> dict[str, Any]:
            if probe["node"] not in nodes or "role" not in probe or probe["time"] < 20 * S:
                return probe
            if probe["time"] < ended:
                return {**probe, "applied": -1}
            return {**probe, "applied": index, "log_end": max(index, probe["log_end"])}

        return change

    def found(root: Path, index: int, restarting: float, *others: str) -> tuple[str, float | None]:
        root.mkdir()
        changed(runs["replica-behind"], root, late(index, ("n3", *others)))
        state = json.loads(RunFiles(root).state.read_text())
        state["moments"]["restarting"] = int(restarting * S)
        RunFiles(root).state.write_text(json.dumps(state))
        one = diagnosis(root).breaks[0]
        return one.whole, one.onset

    def logged_from(root: Path) -> float:
        """From when the section about the recovery shows log lines (s)."""
        about = recovery_of(prepare(read_run(RunFiles(root))))
        assert about is not None
        return float(about["stopped"].at)

    text, onset = found(tmp_path / "after", highest, ended / S - 1)
    first = next(probe["time"] / S for probe in raw.of("n3") if probe["time"] >= 20 * S)
    assert f"n3 applied nothing from {first:.1f} s, " in text
    assert f", until {ended / S:.1f} s; it caught up after the restart at the end" in text
    assert onset == pytest.approx(first)
    assert "it caught up by the end" in found(tmp_path / "never", highest, ended / S + 1)[0]
    assert "caught up" not in found(tmp_path / "behind", 7, ended / S - 1)[0]
    assert "n5 applied nothing from " in found(tmp_path / "both", highest, ended / S - 1, "n5")[0]
    since = min(probe["time"] / S for node in ("n3", "n5") for probe in raw.of(node) if probe["time"] >= 20 * S)
    assert logged_from(tmp_path / "both") == pytest.approx(since)


def test_a_node_that_names_neither_role_nor_log_is_not_dated_by_its_first_probe(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    """Nor is one that never answered, nor one that no answer shows to move; the good twin is n5, as recorded."""
    figures = ("log_begin", "log_end", "committed", "applied", "state_index", "term")

    def unknown(probe: dict[str, Any]) -> dict[str, Any]:
        blank = {**dict.fromkeys(figures, -1), "role": "unknown", "leader": None}
        return {**probe, **blank} if probe["node"] == "n3" and "role" in probe else probe

    def mute(probe: dict[str, Any]) -> dict[str, Any]:
        return {"time": probe["time"], "node": "n3", "error": "refused"} if probe["node"] == "n3" else probe

    def still(probe: dict[str, Any]) -> dict[str, Any]:
        if probe["node"] != "n3" or "role" not in probe:
            return probe
        return {**probe, "applied": 7, "log_end": max(7, probe["log_end"])}

    recorded = diagnosis(runs["replica-behind"]).breaks[0]
    reported = {unknown: "n3 answers, and named neither role nor log", mute: "n3 never answered a probe",
            still: "n3 was at 7 in all answers that it gave, of 2,458"}  # fmt: skip
    for number, (change, words) in enumerate(reported.items()):
        root = tmp_path / str(number)
        root.mkdir()
        found = diagnosis(changed(runs["replica-behind"], root, change)).breaks[0]
        assert words in found.whole
        assert "n5 stopped applying at 29.9 s" in found.whole
        assert "n3 stopped" not in found.whole
        assert recorded.onset is not None
        assert found.onset is not None
        assert found.onset > recorded.onset
        page = reports.write_report(RunFiles(root))
        assert page.warnings == []
        if change is mute:
            assert "never answered a probe" in RunFiles(root).report.read_text().partition("nodes-at-the-end")[2]


def test_a_node_that_fell_silent_is_dated_by_its_last_answer(runs: dict[str, Path], tmp_path: Path) -> None:
    def gone(probe: dict[str, Any]) -> dict[str, Any]:
        late = probe["node"] == "n3" and probe["time"] > 20 * S
        return {"time": probe["time"], "node": "n3", "error": "refused"} if late else probe

    raw = Raw(changed(runs["replica-behind"], tmp_path, gone))
    found = diagnosis(tmp_path).breaks[0]
    last = raw.of("n3")[-1]["time"] / S
    assert f"n3 gave its last answer at {last:.1f} s, " in found.whole
    assert found.onset == last


def test_leader_changes_of_a_system_without_terms_are_counted(runs: dict[str, Path], tmp_path: Path) -> None:
    """One node's term of -1 is the same before and after it led again, so a change is where another node leads."""
    changed(runs["data-lost"], tmp_path, lambda probe: {**probe, "term": -1} if "role" in probe else probe)
    drawn = prepare(read_run(RunFiles(tmp_path)))
    led = leaderships_of(drawn.timelines)
    assert {one.term for one in led} == {-1}
    nodes = [one.node for one in led]
    assert len(set(nodes)) > 1
    for onset in (0.0, 8.3, 23.8, 78.0):
        later = [b.node for a, b in pairwise([led[0], *led]) if b.start >= onset and (a is b or a.node != b.node)]
        assert leaders_since(drawn, onset) == later
    for one in led:
        node, since = leading_since(drawn.timelines, one.end) or ("", 0.0)
        assert node == one.node
        assert since <= one.start


def test_a_node_that_never_answered_is_not_counted_as_up(runs: dict[str, Path], tmp_path: Path) -> None:
    """The outage of a real run, with one node's answers taken out."""

    def mute(probe: dict[str, Any]) -> dict[str, Any]:
        return {"time": probe["time"], "node": "n2", "error": "refused"} if probe["node"] == "n2" else probe

    changed(runs["data-lost"], tmp_path, mute)
    (outage,) = [one for one in diagnosis(tmp_path).breaks if one.severity == "no commits"]
    assert outage.detail.startswith("4 of 5 nodes answered at the end")


def test_logs_that_were_cut_and_filled_again_are_reported_as_that(runs: dict[str, Path]) -> None:
    raw, diagnosed = Raw(runs["logs-cut"]), diagnosis(runs["logs-cut"])
    (one,) = diagnosed.breaks
    assert one.detail.startswith("At the end every log reaches as far again; at ")
    moments = [m for name in ("log-order", "committed-kept") for m in raw.finding(name)["moments"]]
    assert_when(raw, one.whole, min(moment["time"] for moment in moments) / S)
    for node in raw.nodes:
        last = raw.of(node)[-1]
        known = max(p["committed"] for p in raw.answers if p["time"] <= last["time"] - S)
        assert last["log_end"] >= known
    assert_after(raw, diagnosed.after, min(moment["time"] for moment in moments) / S)


def test_a_write_that_was_overwritten_is_no_lost_data(runs: dict[str, Path]) -> None:
    """Judged anew: the first of the stale reads of a planted bug missed a write that later writes had replaced."""
    raw = Raw(runs["stale-reads"])
    writes = {(e["key"], e["value"]): e["time"] for e in raw.events if e["type"] == "invoke" and e["f"] == "write"}
    seen = {(e["key"], e["value"]) for e in raw.events if e["type"] == "ok" and e["f"] == "read"}
    results = check(runs["stale-reads"] / "history.jsonl")
    kinds = {example.kind for key in results.keys for example in key.counterexamples}
    assert "stale-read" in kinds
    for key in results.keys:
        for example in key.counterexamples:
            if example.kind == "lost-write":
                missed = missed_by(example)
                later = {pair for pair, at in writes.items() if pair[0] == key.key and at >= writes[key.key, missed]}
                assert not later & seen, example.sentence


def missed_by(example: Counterexample) -> object:
    match = re.search(r"missed the write of (\S+?),", example.sentence)
    assert match is not None
    return json.loads(match[1])


def test_page_and_terminal_begin_with_it_and_show_its_sections_in_its_order(runs: dict[str, Path]) -> None:
    files = RunFiles(runs["data-lost"])
    reports.write_report(files)
    page = files.report.read_text()
    banner = page.partition('id="verdict"')[2].partition("</section>")[0]
    assert banner.index("Missing on nodes") < banner.index("No commits") < banner.index("Next:")
    assert page.index('id="invariant-1"') < page.index('id="recovery"')
    text = " ".join(reports.render_run(files).split())
    assert text.startswith("INVALID missing on nodes: committed entries left the logs of n1, n2 and n3 by 8.3 s")
    next_step = " ".join(text.partition(" Next: ")[2].split())
    assert next_step.startswith("Look in the charts at n5, which led at 28.5 s with a log that ended at 291, though ")
    assert page.count("The run's directory no longer has the nodes' logs, which were read when it was judged.") == 1
    assert "logged nothing" not in page


def test_the_next_step_is_the_leader_that_lacks_entries_to_the_end(runs: dict[str, Path]) -> None:
    """Logs that had been cut before were full again: it is for this leader that nothing was committed any more."""
    found, raw = diagnosis(runs["data-lost"]), Raw(runs["data-lost"])
    moment = min(raw.finding("leader-complete")["moments"], key=lambda one: one["time"])
    led = [probe for probe in raw.of("n5") if probe["role"] == "leader" and probe["term"] == moment["term"]]
    assert led[-1]["time"] / S > raw.end - 3
    assert led[-1]["log_end"] < moment["committed"] == max(probe["committed"] for probe in raw.answers)
    assert led[0]["time"] < moment["time"] == led[1]["time"], "the check needs a second answer to prove it"
    assert found.step == (
        f"Look in the charts at n5, which led at {led[0]['time'] / S:.1f} s with a log that ended at "
        f"{led[0]['log_end']}, though {moment['committed']:,} had been committed"
    )
    assert found.charts is not None
    assert found.charts.start < moment["time"] / S < found.charts.end


@pytest.mark.parametrize("name", ["logs-cut", "stale-reads"])
def test_the_next_step_is_the_first_event_of_the_first_finding(name: str, runs: dict[str, Path]) -> None:
    """In the charts where no log is held: a section that has none to show would be no step."""
    found, raw = diagnosis(runs[name]), Raw(runs[name])
    about = next(one for one in found.breaks if one.place.startswith("invariant"))
    (at, node), section = raw.falls()[0], raw.finding(about.section)["moments"]
    (moment,) = [one for one in section if one["time"] / S == about.onset]
    assert about.onset == at
    assert node in about.nodes
    assert found.step == (
        f"{'For “log truncated”, l' if name == 'stale-reads' else 'L'}ook in the charts at {node}, "
        f"whose log ended at {moment['bound']:,} by {at:.1f} s, "
        f"though {moment['index']:,} had been committed there"
    )
    assert found.charts is not None
    assert found.charts.start < at < found.charts.end
    assert (found.charts.chart, found.charts.column) == ("chart-progress", "log_end")
    assert found.place == about.place
    sections = invariant_violations(prepare(read_run(RunFiles(runs[name]))))
    assert node in {one.node for one in sections[int(found.place.partition("-")[2]) - 1].moments}


def test_the_next_step_of_a_replica_that_stopped_is_in_the_charts_where_no_log_is_held(runs: dict[str, Path]) -> None:
    found, raw = diagnosis(runs["replica-behind"]), Raw(runs["replica-behind"])
    stopped = min(raw.last_rise(node, "applied") for node in ("n3", "n5"))
    assert found.step == (
        f"Look at replica progress in the charts around {stopped:.1f} s, n3, n5 first; this run has no node logs"
    )
    assert found.charts is not None
    assert found.charts.start < stopped < found.charts.end
    assert (found.charts.chart, found.charts.column) == ("chart-progress", "applied")
    files = RunFiles(runs["replica-behind"])
    assert reports.write_report(files).warnings == []
    (button,) = re.findall(r'<p class="next">.*?<a (.*?)>(.*?)</a>', files.report.read_text())
    assert f'data-from="{found.charts.start}"' in button[0]
    assert button[1] == found.step


def test_a_run_without_probes_leads_to_the_section(runs: dict[str, Path], tmp_path: Path) -> None:
    changed(runs["logs-cut"], tmp_path, lambda probe: {"time": probe["time"], "node": probe["node"], "error": "gone"})
    found = diagnosis(tmp_path)
    assert found.charts is None
    assert found.step.startswith("Look at n4, whose log ended at 283 by 23.5 s")


def test_the_first_sentence_is_short_and_its_evidence_stands_below(tmp_path: Path) -> None:
    """RocketMQ's was five lines long; what, since when and under which fault is said before what else could be."""
    files = RunFiles(recorded_run("epoch-granted-twice", tmp_path))
    (one,) = diagnosis(files.root).breaks
    assert one.whole.startswith("wrong-epoch on broker-0: at 23.1 s n3 answered epoch 71")
    assert "#1 pause-majority's healing began" in f"{one.headline} {one.rest}"
    assert "could only be master 2 of epoch 10" in one.detail
    assert " The check linearizable found it too: " in one.detail
    assert one.checks == ("epochs", "linearizable")
    reports.write_report(files)
    head, _, rest = files.report.read_text().partition('<section id="counterexample"')
    assert "could only be" not in head
    assert "could only be" in rest.partition('<p class="detail">')[2]


def test_one_section_has_one_name_in_heading_link_and_sentence(
    runs: dict[str, Path],
) -> None:
    """It was *Replica behind*, *No recovery* and *Recovery*."""
    for name, title in (("replica-behind", "Replica behind"), ("data-lost", "No commits")):
        files = RunFiles(runs[name])
        reports.write_report(files)
        page = files.report.read_text()
        assert f'<h2 id="h-recovery">{title} ' in page
        assert f'<a href="#recovery">{title}</a>' in page.partition("</nav>")[0]
        assert f'<a href="#recovery">{title}</a>:' in page.partition('id="verdict"')[2].partition("</section>")[0]


def test_of_a_fault_after_which_nothing_succeeded_no_gap_is_given_as_if_it_had_ended(runs: dict[str, Path]) -> None:
    files = RunFiles(runs["data-lost"])
    reports.write_report(files)
    part = files.report.read_text().partition('id="faults"')[2].partition("</table>")[0]
    gaps = re.findall(r'data-label="longest gap, s">(.*?)</td>', part)
    assert "never back" not in gaps[0]
    assert gaps[1].startswith('<span class="red strong">never back</span>')


def test_entries_are_lost_since_the_first_log_that_never_held_them_again() -> None:
    """n1 and n2 were cut and filled again, then n2, n1 and n3 for good; n4 was never asked, n5 never held them."""

    def log(node: str, *ends: int) -> list[Probe]:
        return [Probe(at * 10**9, node, "follower", log_end=end, committed=9) for at, end in enumerate(ends, 1)]

    probes = [*log("n1", 9, 2, 9, 9, 5, 9, 9), *log("n2", 9, 9, 3, 9, 4, 4, 4), *log("n3", 9, 9, 9, 9, 9, 6, 6)]
    probes += log("n5", 4, 4, 4, 4, 4, 4, 4)
    found = timelines_of(sorted(probes, key=lambda one: one.time), ["n1", "n2", "n3", "n4", "n5"])
    assert lost_for_good(found, 7, 5.5) == [LogFall(5.0, "n1", 5, 4.0, 9), LogFall(5.0, "n2", 4, 4.0, 9)]
    assert lost_for_good(found, 7, 7.0) == [LogFall(5.0, "n2", 4, 4.0, 9), LogFall(6.0, "n3", 6, 5.0, 9)]
    assert lost_for_good(found, 99, 7.0) == []
    assert leading_since(found, 7.0) is None
