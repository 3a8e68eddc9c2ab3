"""Who led when: one answer for a moment and for what is drawn; systems without leaders and without indexes."""

from __future__ import annotations

import json

import reports
from history import Probe, RunFiles
from history.records.probes import Role
from reports.analysis.elections import leaderships_of
from reports.analysis.node_timeline import have_indexes, have_roles, leader_at, timelines_of
from tests.support.reports.made import Maker

S = 10**9
NODES = ("n1", "n2", "n3")


def _probe(at: float, node: str, role: Role, leader: str | None) -> Probe:
    return Probe(int(at * S), node, role, leader=leader)


def test_who_led_is_the_same_for_a_moment_and_for_what_is_drawn() -> None:
    """Without terms n1 goes on saying that it leads; from 2 s on a majority names n2."""
    probes = [_probe(at / 4, "n1", "leader", "n1") for at in range(17)]
    probes += [_probe(at / 4, "n2", "leader" if at >= 8 else "follower", "n2" if at >= 8 else "n1") for at in range(17)]
    probes += [_probe(at / 4, "n3", "follower", "n2" if at >= 8 else "n1") for at in range(17)]
    found = timelines_of(sorted(probes, key=lambda probe: probe.time), NODES)
    led = leaderships_of(found)
    assert [(one.node, one.start) for one in led] == [("n1", 0.0), ("n2", 2.0)]
    for tenth in range(1, 50):
        moment = tenth / 10 + 0.01
        drawn = next((one.node for one in led if one.start <= moment < one.end), None)
        if moment < 4.25:
            assert drawn == leader_at(found, moment)
    # A node that is silent from then on leads until it was asked again.
    alone = timelines_of(
        [_probe(at / 4, "n1", "leader", "n1") for at in range(4)] + [Probe(6 * S, "n1", error="x")], NODES
    )
    (only,) = leaderships_of(alone)
    assert (only.start, only.end) == (0.0, 1.0)
    assert (leader_at(alone, 0.9), leader_at(alone, 1.1)) == ("n1", None)


def _without(files: RunFiles, names: tuple[str, ...], **changed: object) -> str:
    lines = files.probes.read_text().splitlines()
    records = [json.loads(line) for line in lines[1:]]
    for record in records:
        if "error" not in record:
            record.update(dict.fromkeys(names, -1), **changed)
    files.probes.write_text("\n".join([lines[0], *map(json.dumps, records)]) + "\n")
    reports.write_report(files)
    return files.report.read_text()


def test_a_system_without_leaders_is_not_said_to_have_none(fresh: Maker) -> None:
    files = fresh("invalid")
    reports.write_report(files)
    assert "Answers to probes" not in files.report.read_text()
    page = _without(files, ("term",), role="unknown", leader=None)
    assert "called itself leader" not in page
    assert "No leader" not in reports.render_run(files)
    assert "Answers to probes" in page
    assert "reported no role" not in page


def test_charts_without_data_are_left_out_with_the_reason(fresh: Maker) -> None:
    files = fresh("no-recovery")
    reports.write_report(files)
    assert 'id="chart-progress"' in files.report.read_text()
    page = _without(files, ("log_begin", "log_end", "committed", "applied"))
    assert "Replica progress and lag are not drawn, because no node reported its position in the log." in page
    assert 'id="chart-progress"' not in page
    assert 'data-chart="chart-lag"' not in page


def test_what_nodes_tell() -> None:
    mute = timelines_of([Probe(S, "n1")], NODES)
    assert (have_roles(mute), have_indexes(mute)) == (False, False)
    reported = timelines_of([Probe(S, "n1", "follower", committed=3)], NODES)
    assert (have_roles(reported), have_indexes(reported)) == (True, True)
