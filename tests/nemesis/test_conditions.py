from __future__ import annotations

import pytest

from history import Probe
from nemesis.core.errors import ScheduleError
from nemesis.schedule.conditions import parse

NAMES = ("n1", "n2", "n3")


def probes(**changes: dict) -> dict[str, Probe]:
    base = {name: {"role": "follower", "term": 4, "applied": 100} for name in NAMES}
    return {name: Probe(0, name, **{**base[name], **changes.get(name, {})}) for name in NAMES}


@pytest.mark.parametrize(
    ("text", "now", "expected"),
    [
        ("n2 leads", probes(n2={"role": "leader"}), True),
        ("n2 leads", probes(n2={"role": "leader"}, n3={"role": "leader", "term": 5}), False),
        ("no leader", probes(), True),
        ("a leader", probes(), False),
        ("lag(n3) > 50", probes(n3={"applied": 49}), True),
        ("lag(n3) > 50", probes(n3={"applied": 50}), False),
        ("lag(any) >= 50", probes(n3={"applied": 50}), True),
        ("applied(followers) < 50", probes(n1={"applied": 9}, n2={"role": "leader"}, n3={"applied": 49}), True),
        ("applied(followers) < 50", probes(n1={"applied": 9}, n2={"role": "leader"}), False),
        ("applied(followers) < 500", probes(), False),
        ("applied(followers) < applied(any) - 9", probes(n2={"role": "leader", "applied": 110}), True),
        ("applied(followers) < applied(any) - 10", probes(n2={"role": "leader", "applied": 110}), False),
        ("applied(n1) == applied(n2)+5", probes(n1={"applied": 105}), True),
        ("term(n1) == term", probes(), True),
        ("applied(n1) < applied(n3)", {**probes(), "n3": Probe(0, "n3", error="timeout")}, False),
        ("term > 4", probes(n1={"term": 5}), True),
        ("term(n2) > 4", probes(n1={"term": 5}), False),
        ("applied(n1) == 100 and term <= 4", probes(), True),
        ("applied(n1) == 100 and term < 4", probes(), False),
        ("lag(n3) > 50", {**probes(), "n3": Probe(0, "n3", error="timeout")}, False),
        ("log_end(n3) < committed(any) - 4", probes(n3={"log_end": 5}, n1={"committed": 10}), True),
        ("log_end(n3) < committed(any) - 5", probes(n3={"log_end": 5}, n1={"committed": 10}), False),
        ("own.queue(n3) > 50", probes(n3={"own": {"queue": 51}}), True),
        ("own.queue(n3) > 50", probes(n3={"own": {"queue": 50.0}}), False),
        ("own.queue(any) > own.queue(n1) + 2", probes(n3={"own": {"queue": 8}}, n1={"own": {"queue": 5}}), True),
        ("own.queue(n3) > 50", probes(n2={"own": {"queue": 51}}), False),
        ("own.queue(n3) > 50", probes(n3={"own": {"queue": "long"}}), False),
    ],
)
def test_conditions_hold_by_the_probes(text, now, expected):
    assert parse(text, NAMES).holds(now, probes()) is expected


def test_a_snapshot_counts_from_when_it_is_watched():
    saved = parse("a snapshot was saved", NAMES)
    before = probes(n1={"snapshots_saved": 3})
    assert not saved.holds(before, before)
    assert saved.holds(probes(n1={"snapshots_saved": 3}, n2={"snapshots_saved": 1}), before)
    assert not parse("a snapshot was loaded", NAMES).holds(probes(n1={"snapshots_saved": 4}), before)


def test_a_heartbeat_is_awaited_when_all_else_holds_and_a_node_leads():
    assert not parse("after a heartbeat", NAMES).holds(probes(), probes())
    assert parse("after a heartbeat", NAMES).holds(probes(n1={"role": "leader"}), probes())
    condition = parse("n2 leads and after a heartbeat", NAMES)
    assert condition.after_heartbeat
    assert condition.holds(probes(n2={"role": "leader"}), probes())
    assert not condition.holds(probes(), probes())
    assert not parse("n2 leads", NAMES).after_heartbeat


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("n9 leads", "n9"),
        ("lag(n9) > 1", "n9"),
        ("speed(n1) > 1", "not a figure"),
        ("lag > 1", "needs a node"),
        ("lag(n1) > speed(n1)", "not a figure"),
        ("lag(n1) > lag(n9) + 1", "n9"),
        ("lag(n1) > lag(n2) * 2", "not a condition"),
        ("sunny", "not a condition"),
        ("n1 leads and", "not a condition"),
        ("", "not a condition"),
    ],
)
def test_what_is_no_condition_is_refused(text, complaint):
    with pytest.raises(ScheduleError, match=complaint):
        parse(text, NAMES)
