"""What became of committed entries that went from logs: against the definition, moment by moment, and by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.logs.entry_fate import entry_fate
from history import Probe
from history.records.finding import EntryFate, Fate
from reports.words.of_nodes import entries_text

S = 1_000_000_000
NODES = ("n1", "n2", "n3")


def answer(time: int, node: str, end: int, committed: int = -1) -> Probe:
    return Probe(time * S, node, "follower", 1, log_end=end, committed=committed)


def long_logs(*more: Probe) -> list[Probe]:
    """Three logs that reach 100 at 1 s, which is committed, and more answers."""
    return [*(answer(1, node, 100, 100) for node in NODES), *more]


def test_what_no_log_reaches_at_some_moment_is_lost_however_long_logs_are_later() -> None:
    short = [answer(time, node, end) for time, end in ((2, 40), (3, 60), (4, 300)) for node in NODES]
    found = entry_fate(long_logs(*short), [100], 0)
    # Until the answers of 2 s each log may have reached 100, and after those of 3 s 300.
    assert found == EntryFate("lost", 100, 2 * S, longest=60, nodes=3)
    assert entries_text(found) == ["entries 61 to 100, which were committed, were in no node's log at 2.0 s"]


def test_a_node_that_does_not_answer_may_have_them() -> None:
    dead = Probe(3 * S, "n3", error="no connection")
    short = [answer(time, node, end) for time, end in ((2, 40), (3, 60), (4, 300)) for node in NODES[:2]]
    assert entry_fate(long_logs(*short, dead), [100], 0).fate == "held"
    assert entry_fate(long_logs(*short, dead, answer(5, "n3", 100)), [100], 0).fate == "held"


def test_logs_that_are_short_at_the_end_are_named_beside_those_that_may_have_them() -> None:
    found = entry_fate(long_logs(answer(2, "n1", 40), answer(2, "n2", 50), answer(2, "n3", 100)), [100, 30], 0)
    assert found == EntryFate("missing", 100, 2 * S, short={"n1": 40, "n2": 50}, holders=("n3",), nodes=3)
    assert entries_text(found) == []


def test_entries_lost_before_are_no_less_lost_for_higher_ones_that_are_not() -> None:
    """100 is lost at 2 s; 500 is committed later, and goes from one log only."""
    early = [answer(time, node, end) for time, end in ((2, 40), (3, 40)) for node in NODES]
    late = [answer(4, node, 500, 500) for node in NODES]
    probes = long_logs(*early, *late, answer(5, "n1", 100), answer(6, "n1", 500))
    assert (entry_fate(probes, [500], 0).fate, entry_fate(probes, [500, 100], 0).fate) == ("held", "lost")


@pytest.mark.parametrize(
    ("fate", "severity"), [("lost", "data lost"), ("missing", "missing on nodes"), ("held", "log truncated")]
)
def test_each_fate_is_as_bad_as_it_is(fate: Fate, severity: str) -> None:
    assert EntryFate(fate, 1, 0).severity == severity


ANSWERS = st.lists(st.tuples(st.sampled_from(NODES), st.integers(-1, 6), st.integers(-1, 6)), min_size=1, max_size=14)


@given(ANSWERS)
def test_fates_are_as_by_the_definition(drawn: list[tuple[str, int, int]]) -> None:
    probes = [answer(time, node, end, committed) for time, (node, end, committed) in enumerate(drawn, 1)]
    reporting = [probe for probe in probes if probe.log_end >= 0]
    known = sorted({probe.committed for probe in probes if probe.committed >= 0})
    if not known or not reporting:
        return

    def reaches(node: str, moment: float) -> int:
        mine = [probe for probe in reporting if probe.node == node]
        before = [probe.log_end for probe in mine if probe.time <= moment][-1:]
        after = [probe.log_end for probe in mine if probe.time > moment][:1]
        return max([*before, *after], default=-1)

    nodes = sorted({probe.node for probe in reporting})

    def lost(index: int) -> bool:
        since = min(probe.time for probe in probes if probe.committed >= index)
        moments = [since, *(probe.time for probe in reporting if probe.time > since)]
        return any(max(reaches(node, moment) for node in nodes) < index for moment in moments)

    found = entry_fate(probes, known, 0)
    gone = [index for index in known if lost(index)]
    last = {node: [probe.log_end for probe in reporting if probe.node == node][-1] for node in nodes}
    if gone:
        assert (found.fate, found.index) == ("lost", max(gone))
    else:
        assert found.short == {node: end for node, end in last.items() if end < max(known)}
        assert found.fate == ("missing" if found.short else "held")
