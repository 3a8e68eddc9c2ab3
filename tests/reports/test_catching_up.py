"""Who had caught up after a fault: by what it applied, by what its log still holds, and of what was committed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from history import Probe, Receipt
from reports.analysis.node_timeline import last_statuses, timelines_of
from reports.page.page import environment
from reports.story.catching_up import catching_up, late_of
from reports.style.format import index
from reports.text import recovery

S = 10**9
NODES = ("n1", "n2", "n3")
KILL = Receipt(
    0, "kill", "installed", 10 * S, ("n1",), stood=11 * S, heal_started=12 * S, healed=13 * S, witness={"a": 1}
)


def probes(**ends: int) -> list[Probe]:
    """Answers four times a second for 20 s; all nodes apply 500 by 10 s.  ``ends``: of their logs from 12 s on."""
    found = []
    for tick in range(80):
        index = min(tick * 50 // 4, 500)
        for node in NODES:
            log_end = ends.get(node, 510) if tick >= 48 else index
            role = "leader" if node == "n1" else "follower"
            found.append(Probe(tick * S // 4, node, role, 1, committed=index, applied=index, ledger_end=log_end))
    return found


def run_of(target: int, receipts: tuple[Receipt, ...] = (KILL,), **took: float | None) -> Any:
    windows = [{"id": KILL.id, "fault": "kill", "caught_up": {"target": target, "nodes": took}}]
    windows += [{"id": one.id, "fault": one.fault, "caught_up": {}} for one in receipts[1:]]
    return SimpleNamespace(results={"windows": windows}, receipts=list(receipts), index=index)


def test_a_node_whose_log_was_cut_below_what_it_applied_has_not_caught_up() -> None:
    """The twin whose logs were not cut has; chart title, table of nodes and row of the fault all name the node."""
    run = run_of(500, n1=4.0, n2=None, n3=246.0)
    found = timelines_of(probes(n3=40), NODES)
    assert late_of(run, found) == {0: "not caught up by the end: n2, n3 (its log was cut)"}
    rows = recovery.nodes_of(run.results["windows"], 0, catching_up(run, found))
    assert rows[1] == ("0", "kill", "500", "4.0", "behind", "log cut")
    assert [(one.node, one.behind) for one in last_statuses(found) if one.cut] == [("n3", 460)]
    assert late_of(run, timelines_of(probes(), NODES)) == {0: "not caught up by the end: n2"}


def test_the_chart_of_progress_says_of_a_node_whose_log_was_cut_that_it_is_its_log_that_is_short() -> None:
    template = environment().get_template("charts.html.j2")
    words: dict[str, Any] = dict.fromkeys(("windows", "violations", "invariant_violations", "snapshots"), ())
    words |= {"marked_text": "", "roles_known": True, "progress_known": True, "calm": None, "outcome": str, "dead": ()}

    def title(ends: dict[str, int], applied: int) -> str:
        rows = [replace(one, applied=min(one.applied, applied)) if one.node == "n3" else one for one in probes(**ends)]
        page = template.render(last_statuses=last_statuses(timelines_of(rows, NODES)), **words)
        return page.partition("Replica progress")[2].partition("</h3>")[0]

    assert "n3's log 460 short of what was committed at the end" in title({"n3": 40}, 500)
    assert "n3 460 behind at the end" in title({}, 40)
    assert "at the end" not in title({}, 500)


def test_who_reached_what_a_leader_that_lacks_entries_had_committed_has_not_caught_up() -> None:
    """A restarted leader asks for 300 of the 500 that n2 and n3 had committed; n3's process applied 300 again."""
    rows = [one for one in probes() if one.time < 10 * S or one.node == "n2"]
    rows += [
        Probe((52 + t) * S // 4, "n3", "follower", 2, committed=300, applied=300, ledger_end=510) for t in range(28)
    ]
    rows += [Probe((52 + t) * S // 4, "n1", "leader", 2, committed=300, applied=300, ledger_end=510) for t in range(28)]
    found = timelines_of(sorted(rows, key=lambda one: one.time), NODES)
    run = run_of(300, n1=1.0, n2=38.0, n3=257.0)
    assert late_of(run, found) == {0: "not caught up by the end: n1 n3 (at 300 of 500)"}
    rows_ = recovery.nodes_of(run.results["windows"], 0, catching_up(run, found))
    assert rows_[1][2:] == ("300, of 500 committed", "behind", "38", "behind")
    healthy = run_of(500, n1=1.0, n2=38.0, n3=257.0)
    assert late_of(healthy, timelines_of(probes(), NODES)) == {}


@pytest.mark.parametrize(("pause_s", "text"), [(0.1, "not asked"), (1.0, "behind")])
def test_a_node_that_was_not_asked_before_the_next_fault_is_not_called_late(pause_s: float, text: str) -> None:
    """Probes come four times a second: between a heal at 13.05 s and a fault 0.1 s later there was none."""
    healed = 13 * S + S // 20
    later = Receipt(1, "kill", "installed", healed + int(pause_s * S), ("n1",), witness={"a": 1})
    run = run_of(500, (replace(KILL, healed=healed), later), n1=4.0, n2=None)
    found = timelines_of(probes(), NODES)
    assert catching_up(run, found)[0].nodes["n2"] == text
    assert late_of(run, found) == ({} if text == "not asked" else {0: "not caught up before the next: n2"})
