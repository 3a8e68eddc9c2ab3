"""A time in which nothing at all succeeded stands in the head of the page, whatever the verdict is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

import reports
from history import UNAPPLIED, Operation
from history.columns.operations import from_operations
from reports.analysis.findings import Drawn, prepare
from reports.load.run import read_run
from reports.story.aftermath import outages_text
from tests.support.reports.made import Maker

S = 10**9


def asked(f: str, start: float, outcome: str = "ok", error: str | None = None) -> Operation:
    first, last = int(start * S), int((start + 0.5) * S)
    return Operation(0, f, "k", 1, 1, outcome, first, last, first, last, "n1", error, "main")  # type: ignore[arg-type]


def each_second(f: str, begin: int, end: int, outcome: str = "ok", error: str | None = None) -> list[Operation]:
    return [asked(f, second, outcome, error) for second in range(begin, end)]


@pytest.fixture
def drawn(made: Maker) -> Drawn:
    return replace(prepare(read_run(made("valid"))), windows=[])


def reported(drawn: Drawn, operations: Sequence[Operation]) -> str:
    return outages_text(replace(drawn, run=replace(drawn.run, operations=from_operations(operations))))


WELL = [*each_second("write", 0, 40), *each_second("read", 0, 40)]
FAILED = [*each_second("write", 10, 25, "fail"), *each_second("read", 10, 25, "info")]
AROUND = [one for one in WELL if not 10 * S <= one.invoked < 25 * S]


def test_what_ended_is_reported_with_its_length(drawn: Drawn) -> None:
    once = reported(drawn, [*AROUND, *FAILED])
    assert "no operation succeeded for 15.5 s until 25.5 s: the outage began at 10.0 s." in once
    again = [replace(one, invoked=one.invoked + 40 * S, returned=(one.returned or 0) + 40 * S) for one in FAILED]
    later = [*each_second("read", 40, 50), *again, *each_second("read", 65, 70)]
    assert "; another of 15.5 s began at 50.0 s." in reported(drawn, [*AROUND, *FAILED, *later])


def test_acknowledgements_that_were_not_applied_are_counted_and_are_no_success(drawn: Drawn) -> None:
    empty = [*each_second("write", 11, 14, error=UNAPPLIED), *each_second("read", 26, 30, error=UNAPPLIED)]
    all_empty, first_empty = (reported(drawn, [*AROUND, *FAILED, *some]) for some in (empty, empty[:1]))
    assert "no operation succeeded and was applied for 15.5 s until 25.5 s" in all_empty
    assert "3 were acknowledged but not applied." in all_empty
    assert "1 was acknowledged but not applied." in first_empty


def test_what_lasted_is_reported_until_clients_asked_for_the_last_time(drawn: Drawn) -> None:
    lasting = [one for one in AROUND if one.invoked < 10 * S] + FAILED
    assert (
        reported(drawn, lasting) == "No operation succeeded after 9.5 s, although clients sent requests until 24.0 s."
    )
    empty = each_second("write", 10, 25, error=UNAPPLIED)
    assert reported(drawn, [*lasting, *empty]) == (
        "No operation succeeded and was applied after 9.5 s, although clients sent requests until 24.0 s. "
        "In that time, 15 were acknowledged but not applied."
    )
    assert reported(drawn, FAILED) == "No operation succeeded, although clients sent requests until 24.0 s."


@pytest.mark.parametrize(
    "operations",
    [
        WELL,
        AROUND,  # no client asked
        [*AROUND, *each_second("write", 10, 25, "fail"), *each_second("read", 10, 25)],
        [one for one in [*AROUND, *FAILED] if not 12 * S <= one.invoked < 20 * S] + each_second("read", 14, 20),
        [],
    ],
    ids=["well", "not asked", "one kind succeeded", "too short", "none"],
)
def test_nothing_is_said_without_a_total_outage(drawn: Drawn, operations: list[Operation]) -> None:
    assert reported(drawn, operations) == ""


def test_it_stands_in_the_head_of_a_valid_run(fresh: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    files = fresh("valid")
    sentence = "No operation succeeded for 15.0 s"
    reports.write_report(files)
    assert sentence not in files.report.read_text()
    for place in ("reports.page.context.outages_text", "reports.text.terminal.outages_text"):
        monkeypatch.setattr(place, lambda _drawn: sentence + ".")
    reports.write_report(files)
    head = files.report.read_text().partition('id="verdict"')[2].partition("</section>")[0]
    assert sentence in head
    assert f"\n{sentence}." in reports.render_run(files)
