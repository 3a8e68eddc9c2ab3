"""Committed entries that went from logs: lost for good, or there again at the end, reported alike everywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reports
from harness.judge.damage import NONE
from harness.judge.logs.committed_prefix import check_committed_prefix
from harness.judge.logs.log_order import log_order
from history import RunFiles
from history.records.probes import read_probes
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.load.run_row import RunRow, row_of
from reports.site import site
from reports.story.breaks import Break
from reports.story.diagnosis import diagnosis_of
from tests.support.reports.recorded_runs import recorded_run

S = 1e9
Change = Callable[[dict[str, Any]], dict[str, Any]]


def judged(below: Path, change: Change) -> Path:
    """The recorded run of logs that were cut and filled again with other answers of its nodes, judged by those."""
    below.mkdir()
    root = recorded_run("logs-cut", below)
    header, *lines = (root / "probes.jsonl").read_text().splitlines()
    probes = [json.dumps(change(json.loads(line))) for line in lines]
    (root / "probes.jsonl").write_text("\n".join([header, *probes]) + "\n")
    read = list(read_probes(root / "probes.jsonl"))
    anew = {check.name: check.to_json() for check in (log_order(read, NONE), check_committed_prefix(read, NONE))}
    assert {one["verdict"] for one in anew.values()} == {"invalid"}
    results = json.loads((root / "results.json").read_text())
    results["checks"] = [anew.get(check["name"], check) for check in results["checks"]]
    (root / "results.json").write_text(json.dumps(results))
    return root


def end_of(root: Path) -> int:
    """The time of the last probe."""
    return max(json.loads(line)["time"] for line in (root / "probes.jsonl").read_text().splitlines()[1:])


def reported(root: Path) -> tuple[Break, RunRow, str, str]:
    """The page's first break, the run's row, the page's banner and what `harness show` prints."""
    files = RunFiles(root)
    diagnosed = diagnosis_of(prepare(read_run(files)))
    assert diagnosed is not None
    reports.write_report(files)
    banner = files.report.read_text().partition('id="verdict"')[2].partition("</section>")[0]
    return diagnosed.breaks[0], row_of(files), banner, reports.render_run(files)


def test_logs_that_reach_as_far_again_are_no_lost_data_anywhere(tmp_path: Path) -> None:
    first, row, banner, shown = reported(judged(tmp_path / "again", lambda probe: probe))
    assert first.severity == "log truncated"
    assert first.detail == "At the end every log reaches as far again; at 23.5 s 3 of 5 did: n1, n3, n5."
    assert (row.finding, row.group) == ("log truncated: commit-beyond-log", "log truncated")
    assert "log truncated: commit-beyond-log<" in site.list_page([row])
    assert shown.startswith("INVALID\nlog truncated: committed entries left n4's log by ")
    for text in (banner, shown, row.sentence):
        assert "data lost" not in text.lower()


def test_logs_that_end_before_what_was_committed_are_lost_data_everywhere(tmp_path: Path) -> None:
    """The bad twin: in the last seconds every log ends at 300 again."""
    end = end_of(recorded_run("logs-cut", tmp_path))

    def cut(probe: dict[str, Any]) -> dict[str, Any]:
        late = probe["time"] > end - 3 * S and "log_end" in probe
        return {**probe, "log_end": min(probe["log_end"], 300)} if late else probe

    root = judged(tmp_path / "gone", cut)
    first, row, banner, shown = reported(root)
    assert first.severity == "data lost"
    probes = [json.loads(line) for line in (root / "probes.jsonl").read_text().splitlines()[1:]]
    held = [one["log_end"] for one in probes if one["node"] == "n4" and one["time"] <= end - 3 * S and "role" in one][
        -1
    ]
    assert held < 2716
    assert first.whole.startswith(f"committed entries 301–{held:,} left n4's log ")
    assert re.search(r", 301–2,716 every log by \d+\.\d s\.$", first.whole)
    assert row.finding.startswith("data lost: ")
    assert shown.startswith("INVALID\ndata lost: committed entries")
    for text in (first.whole, banner, shown):
        assert "again" not in text.partition("Next:")[0]


def test_one_log_that_stays_short_is_named_beside_those_that_reach_as_far(tmp_path: Path) -> None:
    end = end_of(recorded_run("logs-cut", tmp_path))

    def cut(probe: dict[str, Any]) -> dict[str, Any]:
        late = probe["node"] == "n3" and probe["time"] > end - 3 * S and "log_end" in probe
        return {**probe, "log_end": min(probe["log_end"], 300)} if late else probe

    first, row, *_ = reported(judged(tmp_path / "one", cut))
    assert (first.severity, row.severity) == ("missing on nodes", "missing on nodes")
    assert first.detail.startswith(
        "Logs of n1, n2, n4 and n5 reach 2,716 at the end; those of others end before it: n3 at 300"
    )


@pytest.mark.slow
def test_entries_that_no_log_held_at_some_moment_are_lost_though_logs_grew_again(tmp_path: Path) -> None:
    root = recorded_run("entries-lost", tmp_path)
    first, row, banner, shown = reported(root)
    assert (first.severity, row.severity) == ("data lost", "data lost")
    found = re.fullmatch(
        r"committed entries ([\d,]+)–([\d,]+) left the logs of ([n\d, and]+) by ([\d.]+) s, .*"
        r", ([\d,]+)–\2 every log by ([\d.]+) s\.",
        first.whole,
    )
    assert found is not None
    left, high, moment, low = (float(found[place].replace(",", "")) for place in (1, 2, 4, 5))
    probes = [json.loads(line) for line in (root / "probes.jsonl").read_text().splitlines()[1:]]
    answers = [one for one in probes if "role" in one]
    assert high in {one["committed"] for one in answers}
    gone = json.loads((root / "results.json").read_text())
    (until,) = {
        check["findings"][0]["entries"]["time"] for check in gone["checks"] if check["name"] == "committed-kept"
    }
    falls = {}
    for node in {one["node"] for one in answers}:
        mine = [one for one in answers if one["node"] == node and one["time"] <= until]
        held = max((one["time"] for one in mine if one["log_end"] >= low), default=None)
        falls[node] = min(one["time"] for one in mine if held is not None and one["time"] > held)
    first_node = min(falls, key=lambda node: falls[node])
    assert set(re.findall(r"n\d", found[3])) == {
        node for node, at in falls.items() if round(at / S, 1) == round(falls[first_node] / S, 1)
    }
    assert float(found[6]) == pytest.approx(max(falls.values()) / S, abs=0.06)
    assert moment == pytest.approx(falls[first_node] / S, abs=0.06)
    ends = [one["log_end"] for one in answers if one["time"] == falls[one["node"]] and one["node"] in found[3]]
    assert (left, len(ends)) == (max(ends) + 1, 3), "what all three had lost then, not what no log holds later"
    assert "At the end logs are as long again, but with other entries." in first.detail
    assert f"Next: Look in the charts at {first_node}, whose log " in " ".join(shown.split())
    assert "reaches as far again" not in banner
