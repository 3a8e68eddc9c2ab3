"""The first sentence of a page: its length, over recorded runs and whatever a break may say."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

import reports
from harness.cli.main import run_command
from harness.files import wording_of
from history import RunFiles
from history.records.finding import SEVERITIES, Severity
from reports.story.breaks import Break, Clause, fitted
from reports.story.diagnosis import diagnosis_of
from reports.style.format import HEADLINE
from reports.write import prepared
from tests.support.reports.recorded_runs import PACKED, recorded_run

NAMES = sorted(path.name.removesuffix(".tar.xz") for path in PACKED.glob("*.tar.xz"))


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n == "entries-lost" else n for n in NAMES])
def test_the_first_sentence_of_a_recorded_run_is_short_with_its_label(name: str, tmp_path: Path) -> None:
    files = RunFiles(recorded_run(name, tmp_path))
    drawn = prepared(files, wording_of(files.history))
    found = diagnosis_of(drawn)
    for one in found.breaks if found else ():
        assert len(f"{one.label}: {one.headline}".split()) <= HEADLINE - 2 * one.intended
        facts = re.findall(r"\bn\d\b|#\d|\d+\.\d s", one.whole)
        below = f"{one.headline} {one.rest} {one.detail} {found.after if found else ''}"
        assert one.onset is None or f"{one.onset:.1f} s" in below
        assert {fact for fact in facts if not fact.endswith(" s")} <= set(re.findall(r"\bn\d\b|#\d", below + one.label))
    reports.write_report(drawn)
    (shown,) = re.findall(r'<p class="sentence.*?</p>', files.report.read_text())
    assert len(unescape(re.sub(r"<[^>]+>", "", shown)).split()) <= HEADLINE


#: One of two reads of 1 is wrong, and nothing shows which.
EITHER_READ = """
{:type :invoke, :f :write, :value 1, :process 0, :time 10, :index 0}
{:type :invoke, :f :read, :value nil, :process 1, :time 20, :index 1}
{:type :ok, :f :read, :value 1, :process 1, :time 30, :index 2}
{:type :invoke, :f :write, :value 2, :process 2, :time 40, :index 3}
{:type :ok, :f :write, :value 2, :process 2, :time 50, :index 4}
{:type :invoke, :f :read, :value nil, :process 1, :time 60, :index 5}
{:type :ok, :f :read, :value 1, :process 1, :time 70, :index 6}
"""


def test_two_reads_of_one_value_are_named_once_and_do_not_contradict_each_other(tmp_path: Path) -> None:
    (tmp_path / "history.edn").write_text(EITHER_READ)
    page = tmp_path / "page.html"
    assert run_command(["report", str(tmp_path / "history.edn"), "--model", "register", "-o", str(page)]) in (0, 1)
    head = unescape(page.read_text().partition('<p class="sentence">')[2].partition("</p>")[0])
    assert head.count("read 1") == 1
    assert "contradict each other" not in head


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("words", [1, 10, 24, 25, 26, 90])
def test_whatever_a_break_says_its_first_sentence_is_short(severity: Severity, words: int) -> None:
    clauses = (Clause((f", {'long ' * 30}end", ", short"), "alone"), Clause((f"; {'word ' * words}end",), "below"))
    for nodes in ((), ("n1", "n2", "n3"), tuple(f"n{number}" for number in range(1, 10))):
        one = Break(
            severity, f"{'word ' * words}x", 1.0, "recovery", ("a",), lost_on=nodes, clauses=clauses, intended=True
        )
        assert len(f"Planted bug: {one.title}: {one.headline}".split()) <= HEADLINE
        assert one.headline.endswith((".", "…"))


def test_what_has_no_room_stands_below_and_what_fits_does_not() -> None:
    clauses = (
        Clause((", after a long one", ", after it"), "It came after"),
        Clause(("; and more of it",), "more of it"),
    )
    assert fitted("n1 broke", clauses, 10) == ("n1 broke, after a long one; and more of it.", "")
    assert fitted("n1 broke", clauses, 9) == ("n1 broke, after it; and more of it.", "")
    assert fitted("n1 broke", clauses, 7) == ("n1 broke, after a long one.", "More of it.")
    assert fitted("n1 broke", clauses, 4) == ("n1 broke, after it.", "More of it.")
    assert fitted("n1 broke", clauses, 3) == ("n1 broke.", "It came after. More of it.")
    assert fitted("n1 broke at once today", (), 3) == ("n1 broke at…", "n1 broke at once today.")


@pytest.mark.parametrize(("name", "close"), [("stale-reads", True), ("ledgers-lost", False)])
def test_an_answer_that_came_in_the_same_tenth_is_dated_by_how_much_earlier_it_was(
    name: str, close: bool, tmp_path: Path
) -> None:
    files = RunFiles(recorded_run(name, tmp_path))
    found = diagnosis_of(prepared(files, wording_of(files.history)))
    assert found is not None
    whole = found.breaks[0].whole
    (gap,) = re.findall(r"n5 acknowledged .* (\d\.\d{3}) s before", whole) or ("",)
    assert bool(gap) == close
    assert not close or 0 < float(gap) < 0.1
    assert close or re.search(r"n3 acknowledged .* at \d+\.\d s", whole)


def test_a_moment_stands_next_to_what_dates_it_whatever_else_is_said() -> None:
    down = Clause((", added while it was down",))
    other = Clause(("; n2 lacks 3, seen since 50.0 s",), "n2 lacks 3")
    dated = Clause((", 1.2 s after #0 kill was healed",), "It was seen 1.2 s after #0", dates=True)
    text = "n1 lacks 5, seen since 40.0 s"
    for clauses in ((down, other, dated), (dated, other, down), (other, down, dated)):
        said = f"{text}{dated.forms[0]}{down.forms[0]}{other.forms[0]}."
        assert fitted(text, clauses, 90) == (said, "")
        assert Break("data lost", text, 40.0, "a", ("a",), clauses=clauses).whole == said
    # The order in which clauses get room stays theirs.
    assert fitted(text, (down, other, dated), 13) == (
        f"{text}{down.forms[0]}.",
        "n2 lacks 3. It was seen 1.2 s after #0.",
    )
    assert fitted(text, (dated, down), 14) == (f"{text}{dated.forms[0]}.", "")


def test_only_the_first_of_several_losses_is_dated_by_the_fault_before_it(tmp_path: Path) -> None:
    files = RunFiles(recorded_run("three-losses", tmp_path))
    found = diagnosis_of(prepared(files, wording_of(files.history)))
    assert found is not None
    assert re.findall(r"(n\d) first lacked some in a read, [\d.]+ s after #0", found.breaks[0].whole) == ["n1"]
