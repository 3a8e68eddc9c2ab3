"""Who was elected since something broke: again the same, another, or none; nothing where the record ends there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from history import Probe
from reports.analysis.findings import prepare
from reports.analysis.node_timeline import timelines_of
from reports.load.run import read_run
from reports.story.aftermath import after_onset
from tests.support.reports.made import Maker

S = 10**9


def led(*terms: tuple[float, float, str, int]) -> list[Probe]:
    """Probes of two nodes every quarter of a second: (from, to, node, term) are the leaderships."""
    found = []
    for tick in range(100):
        now = tick / 4
        leader, term = next(((node, term) for a, b, node, term in terms if a <= now < b), ("", 1))
        for node in ("n1", "n2"):
            role = "leader" if node == leader else "follower" if leader else "candidate"
            found.append(Probe(tick * S // 4, node, role, term))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(
    ("probes", "onset", "words"),
    [
        (led((0, 8, "n1", 1), (10, 25, "n1", 2)), 9.0, "n1 was elected again after 9.0 s; n1 led"),
        (led((0, 8, "n1", 1), (10, 25, "n2", 2)), 9.0, "1 leader change after 9.0 s; n2 led"),
        (led((0, 8, "n1", 1), (10, 12, "n2", 2), (13, 25, "n1", 3)), 9.0, "2 leader changes after 9.0 s; n1 led"),
        (led((0, 25, "n1", 1)), 9.0, "No leader change after 9.0 s; n1 led throughout"),
        (led((0, 15, "n1", 1), (20, 25, "n1", 1)), 9.0, "No leader change after 9.0 s; n1 led at the end"),
        (led((0, 25, "n1", 1)), 24.9, ""),
    ],
)
def test_leaders_since(made: Maker, probes: Sequence[Probe], onset: float, words: str) -> None:
    drawn = prepare(read_run(made("valid")))
    run = replace(drawn.run, probes=[*probes, Probe(25 * S, "n3", error="gone")])
    text = after_onset(replace(drawn, run=run, timelines=timelines_of(run.probes, ("n1", "n2"))), onset)
    assert words.lower() in text.lower()
    assert words or "leader" not in text
    alone = replace(drawn, run=run, timelines=timelines_of([p for p in probes if p.node == "n1"], ("n1",)))
    assert "led" not in after_onset(alone, onset), "there is no other to lead"
