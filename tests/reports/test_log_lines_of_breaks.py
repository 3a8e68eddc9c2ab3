"""What nodes logged around a break, in the sentences on top of the page; logs are written beside recorded runs."""

from __future__ import annotations

import json
import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import reports
from history import RunFiles, node_logs
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.story.diagnosis import Diagnosis, diagnosis_of
from tests.support.reports.raw import Raw
from tests.support.reports.recorded_runs import recorded_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    below = tmp_path_factory.mktemp("recorded")
    return {name: recorded_run(name, below) for name in ("data-lost", "logs-cut", "replica-behind")}


def clock(recorded: Path, seconds: float) -> str:
    """What a node's log says so many seconds after the run's start."""
    started = json.loads((recorded / "history.jsonl").read_text().splitlines()[0])["started"]
    return f"{datetime.fromisoformat(started) + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}"


def logged(recorded: Path, into: Path, logs: dict[str, str]) -> Diagnosis:
    """The diagnosis of a recorded run with logs of these nodes."""
    shutil.copytree(recorded, into)
    for node, text in logs.items():
        (into / "nodes" / node).mkdir(parents=True)
        (into / "nodes" / node / "server.log").write_text(text)
    found = diagnosis_of(prepare(read_run(RunFiles(into))))
    assert found is not None
    return found


def test_next_goes_to_logs_only_where_the_node_logged_something_then(runs: dict[str, Path], tmp_path: Path) -> None:
    def diagnosed(node: str, seconds: float) -> Diagnosis:
        line = f"{clock(runs['logs-cut'], seconds)} INFO Server - nothing of note\n"
        return logged(runs["logs-cut"], tmp_path / f"{node}-{seconds}", {node: line})

    found = diagnosed("n4", 23.6)
    ended = "n4, whose log ended at 283 by 23.5 s, though 1,786 had been committed there"
    assert found.step == f"Look at {ended}"
    assert found.at == found.breaks[0].onset
    for other in (diagnosed("n2", 23.6), diagnosed("n4", 28)):
        assert other.step == f"Look in the charts at {ended}"
        assert other.at is None
        assert other.charts is not None


def test_next_goes_to_the_charts_where_no_log_has_a_line_of_that_time(runs: dict[str, Path], tmp_path: Path) -> None:
    line = f"{clock(runs['replica-behind'], 5)} INFO Server - nothing of note\n"
    found = logged(runs["replica-behind"], tmp_path / "early", {"n3": line})
    assert found.step.endswith(" s, n3, n5 first; no log of n3, n5 has a line of that time")
    assert found.charts is not None


def test_next_goes_to_the_end_of_a_log_without_dates(runs: dict[str, Path], tmp_path: Path) -> None:
    """As that of the tutorial's server: no line can be looked for by the time at which the replica stopped."""
    found = logged(runs["replica-behind"], tmp_path / "undated", {"n3": "listening on 7000\nlost the primary\n"})
    assert found.step == "Read the end of n3's server.log, whose lines have no dates"
    assert found.place == "logs"


def test_next_opens_the_log_lines_of_the_node_that_leads_without_entries(runs: dict[str, Path], tmp_path: Path) -> None:
    line = f"{clock(runs['data-lost'], 28.7)} INFO Server - nothing of note\n"
    there, elsewhere = ({node: line} for node in ("n5", "n1"))
    assert logged(runs["data-lost"], tmp_path / "n5", there).at == pytest.approx(28.502, abs=0.001)
    assert logged(runs["data-lost"], tmp_path / "n1", elsewhere).at is None


@pytest.mark.slow
def test_next_counts_a_repeated_line_as_the_section_shows_it(runs: dict[str, Path], tmp_path: Path) -> None:
    """By the same count over the whole run; those of nodes that are behind first, however often others repeat one."""
    behind, raw = runs["replica-behind"], Raw(runs["replica-behind"])
    stopped = min(raw.last_rise(node, "applied") for node in ("n3", "n5"))
    late = clock(behind, stopped + 3)

    def step(**times: int) -> str:
        logs = {
            node: "".join(f"{late} WARN [Push-{node}] no entry {17 * n}\n" for n in range(often))
            + f"{clock(behind, raw.end - 5)} WARN [Push-{node}] no entry 5\n" * 300
            for node, often in times.items()
        }
        name = "-".join(f"{node}{often}" for node, often in times.items())
        found = logged(behind, tmp_path / name, logs)
        files = RunFiles(tmp_path / name)
        reports.write_report(files)
        section = files.report.read_text().partition('<section id="recovery"')[2].partition("</section>")[0]
        if often := re.search(r"logged ([\d,]+) times from ([\d.]+) s.* to ([\d.]+) s$", found.step):
            assert f"{often[1]} times, until " in section
            assert abs(float(often[2]) - (stopped + 3)) < 1.05, "the dates of these lines are whole seconds"
            assert abs(float(often[3]) - (raw.end - 5)) < 1.05
            assert found.place == "recovery"
        return found.step

    assert "n1" in raw.nodes
    assert "times" not in step(n3=99)
    mine = step(n3=100)
    assert mine.startswith("Read the line that n3 logged 400 times from ")
    assert step(n1=900, n5=200).startswith("Read the line that n5 logged 500 times")
    assert step(n1=900).startswith("Read the line that n1 logged 1,200 times")


def test_the_line_that_a_replica_repeated_when_it_stopped_stands_beside_that_it_stopped(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    """Those of other nodes and of other times are not the cause; nor is what it logged now and then."""
    behind = runs["replica-behind"]
    stopped = min(Raw(behind).last_rise(node, "applied") for node in ("n3", "n5"))

    def text(name: str, line: str, times: int, after: float, node: str = "n5") -> str:
        at = clock(behind, stopped + after)
        return logged(behind, tmp_path / name, {node: f"{at} WARN {line}\n" * times}).breaks[0].detail

    fell = "[PushFallBehind] last index=7 smaller than current ledgerEndIndex=9"
    said = text("often", fell, 150, 2)
    quoted = re.search(r"n5 logged 150 times at ([\d.]+) s: WARN (.*)\.$", said)
    assert quoted is not None
    assert stopped + 1 < float(quoted[1]) <= stopped + 2, "the dates of these lines are whole seconds"
    assert quoted[2] == fell
    for other in (
        text("seldom", fell, 99, 2),
        text("late", fell, 150, 9),
        text("early", fell, 150, -2),
        text("healthy", fell, 150, 2, "n1"),
    ):
        assert "logged" not in other


@pytest.mark.slow
def test_what_a_leader_repeats_thousands_of_times_about_a_replica_goes_before_what_the_replica_logs(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    """As in DLedger 0.4.0, where the leader resends the same entries for ever, and a replica warns for a second."""
    behind = runs["replica-behind"]
    stopped = min(Raw(behind).last_rise(node, "applied") for node in ("n3", "n5"))

    def text(line: str, times: int, after: float) -> str:
        at = clock(behind, stopped + after)
        return "".join(f"{at} WARN {line.replace('#', str(place))}\n" for place in range(times))

    fell = {node: text("[PushFallBehind] last index=#, a snapshot?", 300, 2) for node in ("n3", "n5")}

    def found(name: str, leader: str) -> Diagnosis:
        return logged(behind, tmp_path / name, {**fell, "n1": leader})

    about = text("[Push-n5]Reset write index to #", 1200, 3) + text("[Push-n3]Reset write index to #", 1100, 3)
    both = found("both", about + text("[Push-n2]Reset write index to #", 1500, 3))
    quoted = r"n1 logged 1,200 times at ([\d.]+) s: WARN \[Push-n5\]Reset write index to 0\."
    said = re.search(rf"{quoted} n1 logged the same about n3\.$", both.breaks[0].detail)
    assert said is not None
    assert both.step == f"Read the line that n1 logged 1,200 times at {said[1]} s"
    files = RunFiles(tmp_path / "both")
    reports.write_report(files)
    fold = files.report.read_text().partition('<section id="recovery"')[2].partition("</section>")[0]
    assert re.findall(r"([\d,]+) times</td>", fold) == ["1,500", "1,200", "1,100", "300", "300"]

    one = found("one", text("[Push-n5]Reset write index to #", 1200, 3) + text("n3 did not answer", 1100, 3))
    assert one.breaks[0].detail.endswith("WARN [Push-n5]Reset write index to 0.")
    for other in ("[Push-n51]Reset write index", "[Push-n2]Reset write index"):
        elsewhere = found(other, text(other, 1500, 3))
        assert elsewhere.step.startswith("Read the line that n3 logged 300 times")
    seldom = found("seldom", text("[Push-n5]Reset write index to #", 999, 3))
    assert "n3 logged 300 times" in seldom.breaks[0].detail
    assert seldom.step.startswith("Read the line that n3 logged 300 times"), "the line that the first sentences quote"


@pytest.mark.slow
def test_the_logs_around_a_stop_are_read_once_for_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first sentences, the next step and the section about recovery quote the same lines."""
    calls, excerpt = [], node_logs.excerpt

    def counting(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        return excerpt(*arguments, **options)

    monkeypatch.setattr(node_logs, "excerpt", counting)
    outcome = reports.write_report(RunFiles(recorded_run("stuck-in-ring", tmp_path)))
    assert len(outcome.paths) == len(calls) == 1
