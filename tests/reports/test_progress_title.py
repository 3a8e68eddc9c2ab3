"""The title of the chart of indexes: who is behind at the end, by what it applied or by what its log still holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from history import Probe
from reports.analysis.node_timeline import last_statuses, timelines_of
from reports.page.page import environment

S = 10**9
NODES = ("n1", "n2", "n3")


def probes(**ends: int) -> list[Probe]:
    """Answers four times a second for 20 s; all nodes apply 500 by 10 s.  ``ends``: of their logs from 12 s on."""
    found = []
    for tick in range(80):
        index = min(tick * 50 // 4, 500)
        for node in NODES:
            log_end = ends.get(node, 510) if tick >= 48 else index
            found.append(
                Probe(
                    tick * S // 4,
                    node,
                    "leader" if node == "n1" else "follower",
                    1,
                    committed=index,
                    applied=index,
                    log_end=log_end,
                )
            )
    return found


def test_the_chart_of_progress_says_of_a_node_whose_log_was_cut_that_it_is_its_log_that_is_short() -> None:
    template = environment().get_template("charts.html.j2")
    words: dict[str, Any] = dict.fromkeys(("windows", "violations", "invariant_violations", "snapshots"), ())
    words |= {
        "marked_text": "",
        "roles_known": True,
        "roles_seen": (),
        "lag_known": True,
        "progress_known": True,
        "calm": None,
        "outcome": str,
        "dead": (),
        "unapplied": 0,
        "is_cut": False,
        "stood_still": False,
        "transactions": False,
    }

    def title(ends: dict[str, int], applied: int) -> str:
        rows = [replace(one, applied=min(one.applied, applied)) if one.node == "n3" else one for one in probes(**ends)]
        page = template.render(last_statuses=last_statuses(timelines_of(rows, NODES)), **words)
        return page.partition("Replica progress")[2].partition("</h3>")[0]

    assert "n3's log 460 short of what was committed at the end" in title({"n3": 40}, 500)
    assert "n3's applied index 460 short of what was committed at the end" in title({}, 40)
    assert "at the end" not in title({}, 500)
