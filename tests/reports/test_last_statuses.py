"""The table of the nodes at the end: no column of which no node says anything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from history import Probe, RunFiles
from reports.analysis.findings import prepare
from reports.analysis.node_timeline import last_statuses, timelines_of
from reports.load.run import read_run
from reports.page.page import environment
from tests.support.reports.raw import Raw, S
from tests.support.reports.recorded_runs import RUNS, recorded_run


@pytest.mark.parametrize("name", RUNS)
def test_every_column_has_a_figure(name: str, tmp_path: Path) -> None:
    drawn = prepare(read_run(RunFiles(recorded_run(name, tmp_path))))
    context = {"last_statuses": last_statuses(drawn.timelines), "nodes": (*drawn.run.nodes, "n99")}
    for snapshots in ({}, {"n1": {"saved": 1}}):
        table = environment().get_template("last_statuses.html.j2").render(**context, snapshots=snapshots)
        rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall(r"<tr>.*?</tr>", table)]
        heads, *nodes, never = rows
        assert {len(row) for row in nodes} == {len(heads)}
        (across,) = re.findall(r'colspan="(\d+)"', table)
        assert never[0] == "n99"
        assert int(across) + 1 == len(heads)
        for place, head in enumerate(heads):
            assert {row[place] for row in nodes} != {"–"}, head


@pytest.mark.parametrize("name", ["replica-behind", "logs-cut", "stuck-in-ring"])
def test_a_leader_is_not_behind_by_what_was_committed_after_its_answer(name: str, tmp_path: Path) -> None:
    """n2 led and stood 19 behind its follower, which answered 150 ms later."""
    drawn = prepare(read_run(RunFiles(recorded_run(name, tmp_path))))
    raw, found = Raw(drawn.run.files.root), last_statuses(drawn.timelines)
    for one in found:
        assert one.silent_s < 3
        until = [[p for p in raw.of(node) if p["time"] / S <= one.at][-1] for node in raw.nodes]
        assert one.behind == max(0, max(p["committed"] for p in until) - min(one.applied, one.log_end))
    (leader,) = [one for one in found if one.role == "leader"]
    assert not leader.late
    assert leader.behind is not None
    assert leader.behind <= 2, "what it committed and had not applied"


def test_nobody_is_behind_what_no_log_holds() -> None:
    """Ten entries were committed, and every log ends at 4 or before; the good twin has one log with all of them."""

    def behind(*ends: int) -> list[int | None]:
        probes = [Probe(at * 10**9, node, "follower", committed=10, applied=2, log_end=end)
                  for at in (1, 2) for node, end in zip(("n1", "n2"), ends, strict=True)]  # fmt: skip
        return [one.behind for one in last_statuses(timelines_of(probes, ["n1", "n2"]))]

    assert behind(4, 3) == [2, 2]
    assert behind(10, 3) == [8, 8]
