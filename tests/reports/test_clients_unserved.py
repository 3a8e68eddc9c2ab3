"""A cluster of which only its clients show that it did not recover: dated by them, and seen in what they were answered.

Of such a system nodes report neither commits nor applied indexes, as of a program behind a gateway.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import reports
from history import RunFiles
from history.records.finding import Comeback
from history.records.violations import violations_of
from reports.load.run import read_run
from tests.support.reports.checks import recorded
from tests.support.reports.recorded_runs import recorded_run

HEALED = 29_071_940_171
BROKE = 16 * 10**9


def unserved(below: Path, *, again: int | None = None, seen: str = "no operation succeeded after the heal") -> RunFiles:
    """A recorded run of which clients were answered nothing since 16 s, but from ``again`` on (ns), without probes."""
    files = RunFiles(recorded_run("replica-behind", below))
    files.probes.unlink()
    head, *lines = files.history.read_text().splitlines()
    events = [json.loads(line) for line in lines]
    back = None
    for event in events:
        if event["type"] == "ok" and event["process"] != "nemesis" and event["time"] > BROKE:
            if again is not None and event["time"] >= again:
                back = back or event["time"]
            else:
                event.update(type="info", error="timed out", value=None)
    files.history.write_text("\n".join([head, *map(json.dumps, events), ""]))
    comeback = Comeback(healed_ns=HEALED, by_clients=True, served_ns=back, last_served_ns=10**9, end_ns=59 * 10**9)
    write_recovery(files, seen, comeback)
    return files


def write_recovery(files: RunFiles, seen: str, comeback: Comeback) -> None:
    results = json.loads(files.results.read_text())
    (check,) = [one for one in results["checks"] if one["name"] == "recovery"]
    check.update(seen=seen, **recorded(comeback.graded))
    files.results.write_text(json.dumps(results))


def head_of(files: RunFiles) -> str:
    return " ".join(reports.render_run(files, 160).partition("\n\n")[0].split())


def last_answer(files: RunFiles, before: float = float("inf")) -> float:
    """When the last client was answered ok before a moment (s), by the events alone."""
    events = [json.loads(line) for line in files.history.read_text().splitlines()[1:]]
    oks = (one["time"] / 1e9 for one in events if one["type"] == "ok" and one["process"] != "nemesis")
    return max(at for at in oks if at < before)


def test_it_is_dated_by_the_last_answer_and_seen_in_the_completions(tmp_path: Path) -> None:
    files = unserved(tmp_path)
    at, end = last_answer(files), read_run(files).end / 1e9
    said = (
        f"no commits: No operation succeeded from {at:.1f} s, 1.8 s into #1 kill-followers, to the end "
        f"({end - at:.1f} s later). No operation succeeded after the heal."
    )
    head = head_of(files)
    assert said in head
    assert f"Next: Look at completions in the charts around {at:.1f} s; this run has no node logs." in head
    assert "operations per second succeeded" not in head, "there is no rate of nothing"
    assert reports.write_report(files).warnings == []
    page = files.report.read_text()
    section = page.partition('<section id="recovery"')[2].partition("</section>")[0]
    (button,) = re.findall(r'data-from="([\d.]+)" data-to="[\d.]+" data-chart="([\w-]+)">Show in the charts', section)
    assert float(button[0]) == pytest.approx(at - 5)
    assert button[1] == "chart-rate"
    assert 'id="chart-rate"' in page


def test_clients_that_were_served_again_too_late_say_until_when_and_nothing_of_replicas(tmp_path: Path) -> None:
    files = unserved(tmp_path, again=55 * 10**9, seen="operations succeeded again only 26.0 s after the heal")
    results = json.loads(files.results.read_text())
    (check,) = [one for one in results["checks"] if one["name"] == "recovery"]
    assert [one.severity for one in violations_of(results)] == ["no commits"]
    since, until = last_answer(files, 50.0), check["findings"][0]["served_ns"] / 1e9
    said = f"No operation succeeded from {since:.1f} s, 1.8 s into #1 kill-followers, to {until:.1f} s. Operations"
    assert said in head_of(files)
    assert "replica behind" not in head_of(files)


def test_where_something_was_served_after_the_heal_the_check_speaks_for_itself(tmp_path: Path) -> None:
    """What is answered from one node's memory is no recovery, and no outage either."""
    files = unserved(tmp_path, again=40 * 10**9)
    comeback = Comeback(healed_ns=HEALED, by_clients=True, end_ns=59 * 10**9)
    write_recovery(files, "no operation succeeded after the heal", comeback)
    assert "no commits: no operation succeeded after the heal" in head_of(files)


@pytest.mark.parametrize("again", [False, True])
def test_a_kind_that_was_never_served_again_is_dated_by_its_last_answer(tmp_path: Path, again: bool) -> None:
    files = RunFiles(recorded_run("replica-behind", tmp_path))
    events = [json.loads(line) for line in files.history.read_text().splitlines()[1:]]
    at = max(event["time"] for event in events if (event["type"], event["f"]) == ("ok", "write"))
    healed = at - 5 * 10**9 if again else HEALED
    assert at < HEALED
    write_recovery(
        files, "no write succeeded after the heal", Comeback(healed_ns=healed, unserved=("write", "changes"))
    )
    said = "no write succeeded after the heal" if again else f"No write succeeded after {at / 1e9:.1f} s, "
    assert f": {said}" in head_of(files)
    assert ("read did" in head_of(files)) != again


@pytest.mark.parametrize(
    ("behind", "severity"), [((), "not served"), (("n1",), "replica behind"), (("n1", "n3"), "replica behind")]
)
def test_one_object_that_refuses_changes_is_about_service_if_no_replica_is_behind(
    behind: tuple[str, ...], severity: str, tmp_path: Path
) -> None:
    files = RunFiles(recorded_run("replica-behind", tmp_path))
    comeback = Comeback(
        healed_ns=HEALED,
        unserved=("changes on counter-0",),
        behind=behind,
        last_commit_ns=58 * 10**9,
        end_ns=59 * 10**9,
    )
    write_recovery(files, "no changes on counter-0 succeeded after the heal", comeback)
    assert [one.severity for one in violations_of(json.loads(files.results.read_text()))] == [severity]
    assert f"INVALID {severity}: " in head_of(files)
    assert reports.write_report(files).warnings == []
