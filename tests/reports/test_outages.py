"""Times without a success by kind of operation, against brute force and against recorded runs' raw events."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reports
from history import UNAPPLIED, Operation, RunFiles
from history.columns.operations import from_operations
from history.metrics.awake_clock import AwakeClock
from reports.analysis.faults import FIGURES, FaultWindow
from reports.analysis.findings import prepare
from reports.analysis.outages import LONG_S, Outage, by_fault, outages_of, services_of
from reports.load.run import read_run
from reports.page.context import lasting_of, slower_of
from tests.support.reports.recorded_runs import recorded_run

S = 10**9


def asked(f: str, start: float, stop: float | None, outcome: str = "ok", error: str | None = None) -> Operation:
    first, last = int(start * S), None if stop is None else int(stop * S)
    return Operation(0, f, "k", 1, 1, outcome, first, last, first, last, "n1", error, "main")  # type: ignore[arg-type]


def test_a_stretch_goes_on_over_phases_and_counts_no_answer_that_was_not_applied() -> None:
    operations = [asked("write", n, n + 0.1) for n in range(10)]
    operations += [asked("write", n, n + 1, "info") for n in range(10, 20)]
    operations += [replace(asked("read", n, n + 0.1, error=UNAPPLIED), phase="final") for n in range(20, 30)]
    operations += [asked("read", n, n + 0.1) for n in range(12)]
    operations += [replace(asked("write", 24, None, "info"), phase="final")]
    write, read = services_of(from_operations(operations), 32 * S, AwakeClock())
    assert (write.longest.start, write.longest.stop, write.longest.ended) == (10, 32, False)
    assert (read.longest.start, read.longest.stop, read.longest.ended) == (20, 29.1, False)
    assert [outage.kind for outage in outages_of([write, read])] == [
        "write",
        "read",
    ]


def test_a_pause_is_not_waited_through() -> None:
    quiet = [asked("read", 0, 1), asked("read", 30, 31), asked("write", 0, 1), asked("write", 1, 2, "fail")]
    read, write = services_of(from_operations([*quiet, asked("write", 30, 31)]), 40 * S, AwakeClock())
    assert (read.outages, write.outages) == ((), ())
    (read,) = services_of(from_operations([*quiet[:2], asked("read", 15, 17, "fail")]), 40 * S, AwakeClock())
    assert [(outage.start, outage.stop) for outage in read.outages] == []


def test_a_pause_in_which_no_client_asked_belongs_to_no_outage_whatever_failed_around_it() -> None:
    """As where the reads of the final phase come long after the load's, and the first of them fail."""
    before = [asked("read", 0, 1), asked("read", 1, 2, "fail"), asked("read", 2, 9, "info")]
    after = [asked("read", 40, 41, "fail"), asked("read", 41, 42), asked("read", 42, 43)]
    (read,) = services_of(from_operations([*before, *after]), 50 * S, AwakeClock())
    assert [(outage.start, outage.stop, outage.ended) for outage in read.outages] == [(1, 9, True)]
    assert read.longest == read.outages[0]
    long = [asked("read", 40 + n, 41 + n, "fail") for n in range(7)]
    (read,) = services_of(from_operations([*before, *long, asked("read", 47, 48)]), 50 * S, AwakeClock())
    assert [(outage.start, outage.stop) for outage in read.outages] == [(1, 9), (40, 48)]
    assert read.total == 16
    (read,) = services_of(from_operations([*before, *long]), 50 * S, AwakeClock())
    assert [(outage.stop, outage.ended) for outage in read.outages] == [(9, False), (47, False)]


rows_of = st.lists(
    st.tuples(st.sampled_from("wr"), st.integers(0, 60), st.integers(1, 4), st.sampled_from(["ok", "info"])),
    max_size=12,
)


@given(rows_of)
def test_an_outage_is_what_brute_force_finds_second_by_second(rows: list[tuple[str, int, int, str]]) -> None:
    """A second is one of waiting if an operation is open in it, or if it lies in a pause that is not too long."""
    operations = [asked(f, at, at + took, outcome) for f, at, took, outcome in rows]
    for service in services_of(from_operations(operations), 70 * S, AwakeClock()) if operations else ():
        mine = [(at, at + took, outcome) for f, at, took, outcome in rows if f == service.kind]
        open_in = {second for at, until, _ in mine for second in range(at, until)}
        ends = {until for _, until, outcome in mine if outcome == "ok"}
        edges = sorted({min(at for at, *_ in mine), max(until for _, until, _ in mine)} | ends)
        found = []
        for low, high in pairwise(edges):
            seconds = sorted(open_in & set(range(low, high)))
            begin = seconds[:1]
            for one, other in pairwise(seconds):
                if other - one - 1 > LONG_S:
                    found.append((begin[0], one + 1))
                    begin = [other]
            found += [(begin[0], high)] if begin else []
        assert [(outage.start, outage.stop) for outage in service.outages] == [
            (a, b) for a, b in found if b - a >= LONG_S
        ]


@given(
    st.lists(
        st.tuples(st.sampled_from("wr"), st.integers(0, 60), st.integers(1, 4), st.sampled_from(["ok", "info"])),
        max_size=40,
    )
)
def test_while_clients_always_ask_outages_are_the_gaps_between_successes(rows: list[tuple[str, int, int, str]]) -> None:
    """A client always waits for a failing operation of each kind, so that no pause cuts anything."""
    operations = [asked(f, at, at + took, outcome) for f, at, took, outcome in rows]
    operations += [asked(f, at, at + 1, "fail") for f in "wr" for at in range(70)]
    for service in services_of(from_operations(operations), 70 * S, AwakeClock()):
        oks = sorted({at + took for f, at, took, outcome in rows if f == service.kind and outcome == "ok"})
        edges = [0, *oks, 70]
        gaps = [(a, b) for a, b in pairwise(edges) if b - a >= LONG_S]
        assert [(outage.start, outage.stop) for outage in service.outages] == gaps
        assert all(outage.ended == (outage.stop in oks) for outage in service.outages)


@pytest.mark.parametrize("name", ["data-lost", "logs-cut", "replica-behind"])
def test_a_recorded_run_has_the_gaps_of_its_events(name: str, tmp_path: Path) -> None:
    root = recorded_run(name, tmp_path)
    events = [json.loads(line) for line in (root / "history.jsonl").read_text().splitlines()[1:]]
    clients = [event for event in events if event["process"] != "nemesis"]
    run = read_run(RunFiles(root))
    for service in services_of(run.operations, run.end, AwakeClock()):
        mine = [event for event in clients if event["f"] == service.kind]
        oks = [event["time"] / 1e9 for event in mine if event["type"] == "ok" and not event.get("error")]
        assert not [at for at in oks if service.longest.start < at < service.longest.stop]
        later = [at for at in oks if at >= service.longest.stop]
        assert service.longest.ended == bool(later)
        assert service.longest.stop == pytest.approx(waited_until(mine, service.longest.start, run.end), abs=1e-6)


def waited_until(events: list[dict[str, Any]], start: float, end: int) -> float:
    """Until when clients waited for a success from ``start`` on (s): one, a long pause, or the last completion."""
    open_ones: set[int] = set()
    known = 0.0
    for event in events:
        at = event["time"] / 1e9
        if event["type"] == "invoke":
            if not open_ones and at - known > LONG_S and known > start:
                return known
            open_ones.add(event["process"])
            continue
        open_ones.discard(event["process"])
        known = at
        if event["type"] == "ok" and not event.get("error") and at > start:
            return at
    return end / 1e9 if open_ones else known


def window(number: int, started: float, healed: float | None, state: str = "installed") -> FaultWindow:
    costs: dict[str, Any] = dict.fromkeys(FIGURES)
    return FaultWindow(
        number, "kill", "kill", "", state, (), {}, None, None, started, started, healed, healed, **costs,
        reason=None, witness={},
    )  # fmt: skip


def test_an_outage_is_reported_once_at_the_fault_that_it_overlaps_longest() -> None:
    faults = [window(0, 10, 20), window(1, 20, 30), window(2, 40, None), window(3, 16, 40, "skipped")]
    short, long = Outage("read", 18, 27, ended=True), Outage("write", 19.5, 60, ended=False)
    beside, first = Outage("read", 31, 38, ended=True), Outage("read", 1, 7, ended=True)
    reported = by_fault([first, short, long, beside], faults, 60.0)
    assert reported == {1: [short, beside], 2: [long]}
    assert by_fault([short], faults[3:], 60.0) == {}


def test_page_and_terminal_tell_an_outage_to_its_end_in_the_row_of_the_fault_in_which_it_began(tmp_path: Path) -> None:
    files = RunFiles(recorded_run("data-lost", tmp_path))
    drawn = prepare(read_run(files))
    read = next(
        one for one in services_of(drawn.run.operations, drawn.run.end, AwakeClock()) if one.kind == "read"
    ).longest
    longest = max(
        drawn.windows, key=lambda w: min(w.healed or drawn.run.end / 1e9, read.stop) - max(w.started, read.start)
    )
    reported = lasting_of(drawn)
    assert [number for number, outages in reported.items() if read in outages] == [longest.id]
    reports.write_report(files)
    page = files.report.read_text()
    row = page.partition(f'id="fault-{longest.id}"')[2].partition("</tr>")[0]
    assert f"no read for {read.length:.1f} s" in row
    assert "none after it" in page.partition('id="outages"')[2].partition("</table>")[0]
    text = reports.render_run(files)
    assert f"from {read.start:.1f} to {read.stop:.1f} s, none after it" in text
    assert all(len(line) <= 80 for line in text.splitlines() if "report" not in line and "harness" not in line)


def test_a_kind_that_came_back_later_than_the_others_has_its_own_figures_in_the_row(tmp_path: Path) -> None:
    """Reads were answered 10 ms after the heal; beside "no write for 5.1 s" that read as if all was well."""
    files = RunFiles(recorded_run("stale-reads", tmp_path))
    drawn = prepare(read_run(files))
    (fault,) = drawn.windows
    assert fault.healed is not None
    events = [json.loads(line) for line in files.history.read_text().splitlines()[1:]]
    oks = [e["time"] / 1e9 for e in events if (e["f"], e["type"]) == ("write", "ok") and not e.get("error")]
    first = 1e3 * (min(at for at in oks if at >= fault.healed) - fault.healed)
    assert first > 100
    assert [(kind, back[0]) for kind, back in slower_of(drawn)[0]] == [("write", f"{first:.0f}")]
    assert reports.write_report(files).warnings == []
    row = files.report.read_text().partition('<tr id="fault-0"')[2].partition("</tr>")[0]
    cell = row.partition('data-label="first ok, ms">')[2].partition("</td>")[0]
    assert f">write {first:.0f}</span>" in cell
    assert "no write for 5.1 s" in row


@pytest.mark.parametrize("name", ["logs-cut", "data-lost"])
def test_figures_of_a_kind_stand_only_beside_an_outage_of_its_own_over_the_heal(name: str, tmp_path: Path) -> None:
    drawn = prepare(read_run(RunFiles(recorded_run(name, tmp_path))))
    lasting = lasting_of(drawn)
    for window in drawn.windows:
        healed = window.healed or 0.0
        kinds = {one.kind for one in lasting.get(window.id, ()) if one.start < healed < one.stop}
        assert {kind for kind, _ in slower_of(drawn).get(window.id, ())} == kinds


@pytest.mark.parametrize("name", ["ledgers-lost", "data-lost"])
def test_page_and_terminal_say_alike_after_which_stretch_nothing_succeeded(name: str, tmp_path: Path) -> None:
    """Whether it was short of an outage or not: of ``tail`` the terminal said it and the page did not."""
    files = RunFiles(recorded_run(name, tmp_path))
    state = json.loads(files.state.read_text())
    files.state.write_text(json.dumps({**state, "pace": None}))  # of a cut history none is given
    run = read_run(files)
    last = [one.kind for one in services_of(run.operations, run.end, AwakeClock()) if not one.longest.ended]
    assert last
    reports.write_report(files)
    table = files.report.read_text().partition('id="outages"')[2].partition("</table>")[0]
    rows = table.split('<tr><th scope="row">')[1:]
    assert [row.partition("<")[0] for row in rows if "none after it" in row] == last
    assert reports.render_run(files).count(" s, none after it") == len(last)
