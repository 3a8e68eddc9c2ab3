"""What each fault cost: by kind of operation, by node, and over a run by fault."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.judge.fault_figures import by_fault, with_details
from history import UNAPPLIED, Event, Operation, Probe, Receipt, pair
from history.columns.operations import from_operations, from_table
from history.metrics.awake_clock import AwakeClock
from history.metrics.recovery import LoadSpan, load_in, never_recovered
from history.records.events import Type
from history.tables.operations import operations_table
from pipeline.tables.load_figures import load_figures
from pipeline.tables.recovery import Slice, fault_table, ok_times
from pipeline.tables.runs import last_moment
from reports.text import recovery as recovery_text
from tests.support.draws import draws

S = 1_000_000_000
NODES = ("n1", "n2", "n3")
RECEIPT = Receipt(
    4, "kill-leader", "installed", 10 * S, ("n1",), stood=10 * S, heal_started=19 * S, healed=20 * S, witness={"x": 1}
)


def ok(f: str, *spans: tuple[float, float], rate: int = 50) -> list[Operation]:
    """ok operations of one kind at a steady rate within the spans (seconds)."""
    times = [round(a * S) + n * S // rate for a, b in spans for n in range(round((b - a) * rate))]
    return [Operation(0, f, "k", 1, 1, "ok", t, t, 2 * n, 2 * n + 1, phase="main") for n, t in enumerate(times)]


def probe(at: float, node: str, applied: int, role: Any = "follower") -> Probe:
    return Probe(round(at * S), node, role, 3, log_end=applied, committed=applied, applied=applied)


PROBES = [
    probe(9.5, "n1", 100, "leader"), probe(19.8, "n2", 500, "leader"),
    probe(20.2, "n2", 510, "leader"), probe(20.5, "n3", 505), probe(21.0, "n1", 90), probe(23.0, "n1", 500),
]  # fmt: skip


def detailed(
    operations: list[Operation], probes: Iterable[Probe] = PROBES, receipts: tuple[Receipt, ...] = (RECEIPT,)
) -> list[dict[str, Any]]:
    rows = [{"id": receipt.id, "fault": receipt.fault, "state": receipt.state} for receipt in receipts]
    return list(with_details(rows, receipts, from_operations(operations), list(probes), NODES, AwakeClock()))


def test_each_kind_has_figures_of_its_own() -> None:
    (row,) = detailed(ok("read", (0, 40)) + ok("write", (0, 10), (25, 40)))
    read, write = row["kinds"]["read"], row["kinds"]["write"]
    assert (read["rate_before"], read["rate_during"], read["first_ok_ms"]) == (50, 50, 0)
    assert (write["rate_before"], write["rate_during"], write["first_ok_ms"]) == (50, 0, 5000)
    assert write["longest_gap_ms"] == pytest.approx(15_000, abs=25)
    assert write["recovered_ms"] == 5000
    assert read["recovered_ms"] == 0


@pytest.mark.parametrize("at", [9.7, 15, 20.1, 22])
def test_a_standstill_of_the_harness_changes_no_figure(at: float) -> None:
    def later(time: Any) -> Any:
        return time if time is None or time < at * S else time + 30 * S

    operations = ok("read", (0, 40)) + ok("write", (0, 10), (25, 40))
    moved = [replace(one, invoked=later(one.invoked), returned=later(one.returned)) for one in operations]
    probes = [replace(one, time=later(one.time)) for one in PROBES]
    receipt = replace(RECEIPT, heal_started=later(RECEIPT.heal_started), healed=later(RECEIPT.healed))
    clock, row = AwakeClock([(round(at * S), round((at + 30) * S))]), {"id": RECEIPT.id}
    before = with_details([row], [RECEIPT], from_operations(operations), PROBES, NODES, AwakeClock())
    assert (
        with_details(
            [row],
            [replace(receipt, stood=later(receipt.stood), started=later(receipt.started))],
            from_operations(moved),
            probes,
            NODES,
            clock,
        )
        == before
    )
    assert before[0]["caught_up"]["nodes"]["n1"] == 3000.0


def test_a_kind_that_never_was_ok_is_reported_as_well() -> None:
    failed = [replace(one, f="cas", outcome="fail") for one in ok("read", (0, 40))]
    (row,) = detailed(ok("read", (0, 40)) + failed)
    assert row["kinds"]["cas"]["rate_during"] == 0
    assert row["kinds"]["cas"]["first_ok_ms"] is None


def test_a_kind_that_is_asked_only_at_the_end_has_no_figures() -> None:
    """The reads of a ledger, say: they would be called slow to come back, or never to have."""
    final = [replace(one, phase="final") for one in ok("read", (40, 45))]
    (row,) = detailed(ok("write", (0, 40)) + final)
    assert list(row["kinds"]) == ["write"]
    unphased = [replace(one, phase=None) for one in ok("write", (0, 40)) + final]
    (row,) = detailed(unphased)
    assert list(row["kinds"]) == ["read", "write"]


def test_the_kinds_add_up_to_the_table() -> None:
    """One definition: the table's rates are the sums of the kinds'."""
    operations = ok("read", (0, 12), (17, 40), rate=30) + ok("write", (0, 10), (25, 40))
    (row,) = detailed(operations)
    times = sorted(one.returned or 0 for one in operations)
    (whole,) = fault_table(
        [RECEIPT], np.array(times), load_in(from_operations(operations), [RECEIPT]), AwakeClock()
    ).to_pylist()
    for name in ("rate_before", "rate_during", "rate_after"):
        assert sum(figures[name] for figures in row["kinds"].values()) == pytest.approx(whole[name])


def test_each_node_has_its_own_way_back() -> None:
    (row,) = detailed(ok("read", (0, 40)))
    assert row["caught_up"] == {"target": 500, "nodes": {"n1": 3000.0, "n2": 200.0, "n3": 500.0}, "last_ms": 3000.0}


def test_a_node_that_stays_behind() -> None:
    (row,) = detailed(ok("read", (0, 40)), PROBES[:-1])
    assert row["caught_up"]["nodes"]["n1"] is None
    assert row["caught_up"]["last_ms"] is None
    assert (row["behind"], row["silent"]) == (["n1"], [])


@pytest.mark.parametrize(("end", "behind"), [(499, ["n3"]), (500, []), (-1, ["n3"])])
def test_a_node_whose_log_ends_before_what_was_committed_is_behind_whatever_it_applied(
    end: int, behind: list[str]
) -> None:
    (row,) = detailed(ok("read", (0, 40)), [*PROBES, replace(probe(24.0, "n3", 505), log_end=end)])
    assert (row["behind"], row["caught_up"]["nodes"]["n3"]) == (behind, 500.0)


@pytest.mark.parametrize(("began", "behind"), [(20.1, []), (20.4, []), (20.95, []), (21.5, ["n1"])])
def test_a_node_that_no_probe_asked_before_the_next_fault_is_not_behind(began: float, behind: list[str]) -> None:
    """n1 answers at 21.0 s that it is behind: before that no probe could have seen it catch up."""
    start = round(began * S)
    after = replace(RECEIPT, id=5, started=start, stood=start, heal_started=30 * S, healed=31 * S)
    rows = detailed(ok("read", (0, 40)), receipts=(RECEIPT, after))
    assert rows[0]["caught_up"]["last_ms"] is None
    assert rows[0]["behind"] == behind
    assert by_fault(rows[:1])["kill-leader"]["never_caught_up"] == len(behind)
    assert ("behind" in recovery_text.nodes_of(rows)[1]) == bool(behind)


def test_who_reached_what_a_leader_that_lacks_entries_had_committed_is_behind() -> None:
    """n2 leads again with 300 of the 500 that had been committed: n3, which applied those 300, is not caught up."""
    short = [probe(19.5, "n2", 300, "leader"), probe(20.2, "n2", 300, "leader"), probe(20.5, "n3", 300)]
    (row,) = detailed(ok("read", (0, 40)), [probe(9.5, "n1", 500, "leader"), *short, probe(21, "n1", 500)])
    assert (row["caught_up"]["target"], row["behind"]) == (500, ["n2", "n3"])
    (twin,) = detailed(ok("read", (0, 40)), [probe(9.5, "n1", 300, "leader"), *short, probe(21, "n1", 300)])
    assert (twin["caught_up"]["target"], twin["behind"]) == (300, [])


@pytest.mark.parametrize("end", [40, -1])
def test_a_log_that_was_cut_below_what_was_applied_has_no_way_back(end: int) -> None:
    cut = replace(probe(24.0, "n3", 505), log_end=end)
    (row,) = detailed(ok("read", (0, 40)), [*PROBES, cut])
    assert (row["caught_up"]["last_ms"], row["behind"]) == (None, ["n3"]), "it is in no distribution of ways back"
    (whole,) = detailed(ok("read", (0, 40)), [*PROBES, replace(cut, log_end=505)])
    assert (whole["caught_up"]["last_ms"], whole["behind"]) == (3000.0, [])
    without = [replace(one, log_end=-1) for one in PROBES]
    assert detailed(ok("read", (0, 40)), without)[0]["behind"] == []


@pytest.mark.parametrize("whole", ["", "n2"])
def test_nobody_is_behind_what_no_log_holds_any_more(whole: str) -> None:
    """After the heal every log ends at 300 of 500; the good twin: n2's holds them, so that the others are behind."""
    after = [probe(at, node, 300) for at in (20.2, 21.0) for node in ("n1", "n2", "n3")]
    after = [replace(one, log_end=500 if one.node == whole else 300) for one in after]
    (row,) = detailed(ok("read", (0, 40)), [probe(9.5, "n1", 500, "leader"), *after])
    if whole:
        assert ("gone" in row, row["behind"]) == (False, ["n1", "n2", "n3"])
    else:
        assert (row["gone"], row["behind"], row["caught_up"]) == (500, [], {})


def test_a_server_that_was_probed_and_did_not_answer_is_behind() -> None:
    refused = [probe for probe in PROBES if probe.node != "n3"] + [Probe(round(20.3 * S), "n3", error="refused")]
    after = replace(RECEIPT, id=5, started=22 * S, stood=22 * S, heal_started=30 * S, healed=31 * S)
    probes = sorted([*refused, probe(9.0, "n3", 100), probe(32, "n3", 600)], key=lambda one: one.time)
    first, _ = detailed(ok("read", (0, 40)), probes, receipts=(RECEIPT, after))
    assert (first["behind"], first["silent"]) == (["n1", "n3"], []), "n3 answered again, after the next fault"


GONE = [
    probe(9.5, "n1", 100),
    probe(9.5, "n2", 100, "leader"),
    Probe(19 * S, "n1", error="x"),
    Probe(40 * S, "n1", error="x"),
]


@pytest.mark.parametrize(
    ("healed", "silent"),
    [({"healed": 20 * S}, ["n1"]), ({"healed": None}, ["n1"]), ({"healed": None, "heal_started": None}, [])],
)
def test_a_node_that_never_answers_again_is_silent_whether_or_not_its_fault_counts_as_healed(
    healed: dict[str, Any], silent: list[str]
) -> None:
    """A server may end right after it was started, or before that is known: its node is gone in both.

    A fault whose healing was never tried still stands.
    """
    receipt = replace(RECEIPT, **healed)
    again = probe(30.0, "n1", 50)
    for probes, expected in ((GONE, silent), ([*GONE[:-1], again, GONE[-1]], [])):
        (row,) = detailed(ok("read", (0, 40)), probes, receipts=(receipt,))
        assert row["silent"] == expected
        behind = bool(row["behind"]) or bool(expected)
        assert by_fault([row])["kill-leader"]["never_caught_up"] == behind
    unindexed = [replace(one, committed=-1, applied=-1) for one in GONE]
    (row,) = detailed(ok("read", (0, 40)), unindexed, receipts=(receipt,))
    assert (row["silent"], row["behind"], row["caught_up"]) == (silent, [], {})
    assert by_fault([row])["kill-leader"]["never_caught_up"] == len(silent)


def test_a_node_that_never_answered_at_all_is_not_said_to_be_gone_since_a_fault() -> None:
    (row,) = detailed(ok("read", (0, 40)), GONE[1:])
    assert row["silent"] == []


def test_what_was_committed_long_before_the_heal_is_to_be_reached_where_no_node_answers_around_it() -> None:
    probes = [probe(5, "n1", 400, "leader"), probe(5, "n2", 390), probe(25, "n2", 395), probe(26, "n1", 400)]
    (row,) = detailed(ok("read", (0, 40)), probes)
    assert row["caught_up"]["target"] == 400
    assert (row["caught_up"]["nodes"]["n1"], row["behind"]) == (6000.0, ["n2"])


def test_the_next_fault_ends_the_search() -> None:
    after = replace(RECEIPT, id=5, started=22 * S, stood=22 * S, heal_started=30 * S, healed=31 * S)
    first, _ = detailed(ok("read", (0, 40)), receipts=(RECEIPT, after))
    assert first["caught_up"]["nodes"] == {"n1": None, "n2": 200.0, "n3": 500.0}
    skipped = replace(after, state="skipped", stood=None, witness={})
    first, other = detailed(ok("read", (0, 40)), receipts=(RECEIPT, skipped))
    assert first["caught_up"]["last_ms"] == 3000.0
    assert (other["kinds"], other["caught_up"], other["behind"], other["silent"]) == ({}, {}, [], [])


@pytest.mark.parametrize("receipt", [replace(RECEIPT, healed=None, heal_started=None)])
def test_what_was_never_healed_has_no_way_back(receipt: Receipt) -> None:
    (row,) = detailed(ok("read", (0, 40)), receipts=(receipt,))
    assert row["caught_up"] == {}
    assert row["kinds"]["read"]["rate_during"] == pytest.approx(50, rel=0.05)


def test_without_probes_nothing_is_said_of_nodes() -> None:
    assert detailed(ok("read", (0, 40)), [])[0]["caught_up"] == {}


def test_nothing_at_all() -> None:
    assert with_details([], [], from_operations([]), [], NODES, AwakeClock()) == ()
    assert by_fault([]) == {}


# -- over a run --------------------------------------------------------------------------------------------------------


def window(fault: str = "a", **figures: Any) -> dict[str, Any]:
    return {
        "fault": fault, "state": "installed", "healed": 1, "rate_before": 9.0, "rate_after": 9.0,
        "longest_gap_ms": 5.0, "first_ok_ms": 1.0, "recovered_ms": 2.0, "caught_up": {"last_ms": 7.0}, **figures,
    }  # fmt: skip


def test_the_distribution_over_the_windows_of_a_fault() -> None:
    rows = [window(recovered_ms=ms) for ms in (1.0, 2.0, 30.0)]
    rows += [
        window(recovered_ms=None, caught_up={"last_ms": None}, behind=["n1"]),
        window("b"),
        window("a", state="skipped"),
    ]
    found = by_fault(rows)
    assert found["a"]["windows"] == 4
    assert found["a"]["recovered_ms"] == {"least": 1.0, "median": 2.0, "most": 30.0}
    assert (found["a"]["never_recovered"], found["a"]["never_caught_up"]) == (1, 1)
    assert found["a"]["caught_up_ms"] == {"least": 7.0, "median": 7.0, "most": 7.0}
    assert (found["b"]["windows"], found["b"]["never_recovered"], found["b"]["never_caught_up"]) == (1, 0, 0)


def test_what_cannot_be_compared_is_no_failure_to_recover() -> None:
    row = window(rate_before=None, recovered_ms=None, caught_up={})
    found = by_fault([row])["a"]
    assert (found["never_recovered"], found["never_caught_up"]) == (0, 0)
    assert "recovered_ms" not in found
    assert "caught_up_ms" not in found


@pytest.mark.parametrize(("before", "reported"), [(0.0, False), (1.3, False), (6.4, True)])
def test_the_way_back_to_next_to_nothing_is_no_figure(before: float, reported: bool) -> None:
    assert ("recovered_ms" in by_fault([window(rate_before=before)])["a"]) == reported


# -- the load, the same everywhere ------------------------------------------------------------------------------------

moment = st.integers(0, 9)
drawn_operations = st.lists(
    st.tuples(moment, moment, st.sampled_from(["ok", "fail", "info"]), st.booleans(), st.booleans()), max_size=20
)


def recorded(drawn: list[tuple[int, int, Any, bool, bool]], *, phased: bool) -> list[Event]:
    """The events of operations (invoked, took, outcome, in the main phase, answered), each by a process of its own."""
    found: list[tuple[int, Type, int, Any]] = []
    for process, (invoked, took, kind, main, answered) in enumerate(drawn):
        phase: Any = ("main" if main else "final") if phased else None
        found.append((invoked, "invoke", process, phase))
        found += [(invoked + took, kind, process, phase)] if answered else []
    found.sort(key=lambda event: event[0])
    return [Event(n, t * S, kind, p, "write", 1, key="k", phase=phase) for n, (t, kind, p, phase) in enumerate(found)]


@settings(max_examples=draws(40, 500))
@given(drawn_operations, st.booleans(), st.lists(st.tuples(moment, st.none() | moment), max_size=2))
def test_the_load_is_the_same_wherever_it_is_looked_for(
    drawn: list[tuple[int, int, Any, bool, bool]], phased: bool, faults: list[tuple[int, int | None]]
) -> None:
    receipts = [
        Receipt(n, "kill", "indeterminate", 2 * a * S, healed=b and 2 * b * S) for n, (a, b) in enumerate(faults)
    ]
    events = recorded(drawn, phased=phased)
    operations = pair(events, "here")
    table = operations_table(operations)
    slices = [Slice.of(table.slice(n, 3)) for n in range(0, table.num_rows, 3)]
    load = load_in(from_table(table), receipts)
    assert load == Slice.load(slices, receipts)
    answered = sum(one.outcome == "ok" and (one.phase == "main" or not phased) for one in operations)
    last = last_moment(fault_table(receipts, np.empty(0, np.int64), load, AwakeClock()))
    found, same_load, _ = load_figures(lambda: iter(table.to_batches(3)), AwakeClock(), last)
    assert same_load == load
    assert found["rate"] == (pytest.approx(answered * S / (load.end - load.begin)) if load.end > load.begin else None)
    assert sum(one.applied for one in operations) == len(ok_times(table))


def test_an_acknowledgement_that_was_never_applied_is_no_service_anywhere() -> None:
    operations = pair(recorded([(begin, 1, "ok", True, True) for begin in range(4)], phased=True), "here")
    operations = [replace(op, error=UNAPPLIED) if number % 2 else op for number, op in enumerate(operations)]
    columns = from_table(operations_table(operations))
    assert ok_times(operations_table(operations)).tolist() == [1 * S, 3 * S]
    assert columns.returned[columns.applied].tolist() == [1 * S, 3 * S]


def hung(answered_at: float | None) -> list[Operation]:
    """A client that is answered for nine seconds, and then asks once more, in vain, in the fault from 10 to 20 s."""
    last = Operation(1, "read", "k", None, None, "info", 11 * S, None, 900, None, phase="main")
    if answered_at is not None:
        last = replace(last, returned=round(answered_at * S), return_index=901)
    final = Operation(2, "read", "k", None, None, "fail", 48 * S, 49 * S, 902, 903, phase="final")
    return [*ok("write", (0, 9)), last, final]


@pytest.mark.parametrize(("answered_at", "gap_s"), [(11.0, 11 - 10), (41.0, 41 - 10), (None, 49 - 10)])
def test_clients_that_hang_until_the_end_were_kept_waiting(answered_at: float | None, gap_s: float) -> None:
    """The good twin is answered at once; the bad ones time out late, or never: that was no time without load."""
    operations = hung(answered_at)
    times = np.array([op.returned for op in operations if op.outcome == "ok"])
    (row,) = fault_table([RECEIPT], times, load_in(from_operations(operations), [RECEIPT]), AwakeClock()).to_pylist()
    assert row["longest_gap_ms"] == pytest.approx(gap_s * 1000)
    assert never_recovered(row) == (gap_s > 20)
    assert row["rate_during"] == 0.0
    (detailed,) = with_details([row], [RECEIPT], from_operations(operations), [], NODES, AwakeClock())
    assert detailed["kinds"]["write"]["longest_gap_ms"] == row["longest_gap_ms"]


def test_the_record_of_a_killed_run_ends_with_its_last_fault() -> None:
    """All clients hang in their operations while a fault is healed after them: they waited until then."""
    operations = [*ok("write", (0, 9)), *hung(None)[-2:-1]]
    assert load_in(from_operations(operations), [RECEIPT]) == LoadSpan(0, 20 * S, 20 * S)
    assert load_in(from_operations(operations), []) == LoadSpan(0, 11 * S, 11 * S)


# -- as text -----------------------------------------------------------------------------------------------------------


def test_the_text_of_the_figures() -> None:
    rows = detailed(ok("read", (0, 40)) + ok("write", (0, 10)), PROBES[:-1])
    kinds = recovery_text.kinds_of(rows)
    assert [line[:3] for line in kinds[1:]] == [("4", "kill-leader", "read"), ("4", "kill-leader", "write")]
    assert kinds[2][-1] == "never"
    assert recovery_text.nodes_of(rows)[0] == ("#", "fault", "to index", "n1", "n2", "n3")
    assert recovery_text.nodes_of(rows)[1][3] == "behind"
    (head, line) = recovery_text.faults_of(by_fault([window(), window()]))
    assert len(head) == len(line)
    assert line[:2] == ("a", "2")


@pytest.mark.parametrize("windows", [[], [{}], [{"kinds": None, "caught_up": None}], [{"kinds": {}, "caught_up": {}}]])
def test_results_of_an_earlier_release_have_no_such_text(windows: list[dict[str, Any]]) -> None:
    assert recovery_text.kinds_of(windows) == []
    assert recovery_text.nodes_of(windows) == []
    assert recovery_text.faults_of({}) == []
