"""A broken promise of a workload is drawn like any counterexample: a recorded run of ledgers, and one that kept all."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import reports
from history import Check, RunFiles, pair, read_history
from history.columns.operations import from_operations
from history.records.finding import contradictions
from reports.analysis.findings import Drawn, examples_of, prepare, violation_count
from reports.analysis.invariant_violations import invariant_violations
from reports.analysis.marks import marks_of
from reports.load.nearby_operations import MAX_GAP_NS, MAX_NEARBY, nearby_operations
from reports.load.run import read_run
from reports.load.run_row import row_of
from reports.story.diagnosis import diagnosis_of
from tests.support.reports.recorded_runs import recorded_run
from tests.support.reports.unpack import unpack


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> RunFiles:
    return RunFiles(recorded_run("ledgers-lost", tmp_path_factory.mktemp("promises")))


@pytest.fixture(scope="module")
def drawn(lost: RunFiles) -> Drawn:
    return prepare(read_run(lost))


def test_what_was_promised_and_what_contradicts_it_are_distinguished_from_what_went_on_beside(drawn: Drawn) -> None:
    first = drawn.violations[0]
    assert (first.check, first.key, first.example.kind) == ("ledgers", "l0", "unreadable-entry")
    assert first.picture is not None
    contradicted = [box for box in first.picture.boxes if box.contradicted]
    culprit = [box for box in first.picture.boxes if box.culprit]
    assert [box.label for box in contradicted] == ["window: 1 acknowledged with id 1"]
    assert [box.label for box in culprit] == ["read: finds no entry 1, the ledger ends at 1"]
    beside = [box for box in first.picture.boxes if box.beside]
    assert len(beside) == len(first.picture.boxes) - 2 == 2 * MAX_NEARBY
    assert "recover → last 1, length 255" in [box.label for box in beside]
    shown = {operation.invoke_index for operation in first.example.operations}
    assert shown == {box.index for box in (*contradicted, *culprit)}
    assert [box.x for box in first.picture.boxes] == sorted(box.x for box in first.picture.boxes)


def test_the_legend_speaks_for_whichever_side_is_drawn_red(lost: RunFiles) -> None:
    """An acknowledgement is the promise of one violation, and in another it is what contradicts a settled end."""
    reports.write_report(lost)
    legend = lost.report.read_text().partition('id="counterexample"')[2].partition("</ul>")[0]
    contradicted, culprit = (
        legend.partition(key)[2].partition("</li>")[0] for key in ("contradicted-key", "culprit-key")
    )
    assert "promised or settled" in contradicted
    assert "contradicts it" in culprit


def test_all_broken_promises_are_listed_counted_and_marked(drawn: Drawn) -> None:
    assert [one.example.kind for one in drawn.violations] == ["unreadable-entry", "read-then-gone", "wrong-length"]
    assert violation_count(drawn.run) == len(examples_of(drawn.run)) == 3
    marks = marks_of(drawn)
    assert (marks.violated, marks.findings) == (3, ())
    assert marks.violations[0].says == ("1 acknowledged with id 1", "finds no entry 1, the ledger ends at 1")
    assert marks.violations[0].culprit == marks.violations[0].operations[1]


def test_no_check_hides_the_counterexamples_of_another(lost: RunFiles) -> None:
    run = read_run(lost)
    early = [one.example for one in examples_of(run)]
    moved = tuple(replace(one, invoked=10**12, returned=10**12 + 1) for one in early[0].operations)
    late = replace(early[0], kind="late", operations=moved)
    examples = (late, replace(late, kind="later"))
    other = Check("other", "check", "invalid", "asked", "seen", contradictions("other", examples), examples)
    run.results["checks"].append(other.to_json())
    assert [one.example.kind for one in examples_of(run)] == [
        "unreadable-entry", "late", "read-then-gone", "wrong-length", "later",
    ]  # fmt: skip


def test_the_list_the_page_and_the_sentence_count_the_same(tmp_path: Path, drawn: Drawn) -> None:
    """Violations of every check; where several found some, the page says how many each."""
    lost = RunFiles(recorded_run("ledgers-lost", tmp_path))
    assert row_of(lost).violations == violation_count(drawn.run) == 3
    reports.write_report(lost)
    assert "3 violations: 3 drawn; earliest first" in lost.report.read_text()
    text = reports.render_run(drawn)
    assert text.startswith("INVALID, AS INTENDED\n")
    assert "Counterexamples: 3 violations, 3 shown" in text
    results = json.loads(lost.results.read_text())
    (ledgers,) = [check for check in results["checks"] if check["name"] == "ledgers"]
    results["checks"].append(json.loads(json.dumps({**ledgers, "name": "other"}).replace("wrong-length", "too-long")))
    lost.results.write_text(json.dumps(results))
    reports.write_report(lost)
    counted = row_of(lost).violations
    assert f"{counted} violations (ledgers 3, other {counted - 3}): " in lost.report.read_text()


def test_the_first_sentence_leads_to_the_drawing_and_no_section_blames_the_nodes(drawn: Drawn) -> None:
    found = diagnosis_of(drawn)
    assert found is not None
    assert found.place == "counterexample"
    assert found.breaks[0].whole.startswith("unreadable-entry on l0: at 18.9 s n1 found no entry 1")
    first = min(one.example.completed_at for one in drawn.violations) / 1e9
    assert (found.breaks[0].onset, round(first, 1)) == (first, 18.9)
    assert ", 0.1 s after #0 kill-random-processes of n3 was healed" in found.breaks[0].whole
    assert "after #0 kill-random-processes of n3" in found.breaks[0].headline
    assert "acknowledged at 0.2 s" in found.breaks[0].headline
    assert found.breaks[0].detail.endswith(" 3 violations, this the first.")
    assert invariant_violations(drawn) == []


def test_entries_that_are_gone_are_data_lost(lost: RunFiles, drawn: Drawn) -> None:
    found = diagnosis_of(drawn)
    assert found is not None
    assert found.breaks[0].severity == row_of(lost).severity == "data lost"
    assert row_of(lost).finding == "as intended: data lost: unreadable-entry"


def test_a_check_of_answers_is_no_finding_about_nodes_and_brings_its_own_words(tmp_path: Path) -> None:
    """Also where none is drawn."""
    files = RunFiles(recorded_run("ledgers-lost", tmp_path))
    results = json.loads(files.results.read_text())
    (ledgers,) = [check for check in results["checks"] if check["name"] == "ledgers"]
    ledgers["counterexamples"] = []
    ledgers["words"] = {"tail": "a read without recovery"}
    files.results.write_text(json.dumps(results))
    reports.write_report(files)
    page = files.report.read_text()
    assert 'id="invariant-1"' in page
    assert "clients may not have noticed" not in page
    assert "<dt>tail</dt><dd>a read without recovery.</dd>" in page


def test_the_page_holds_what_each_operation_has_to_do_with_it(lost: RunFiles) -> None:
    assert reports.write_report(lost).warnings == []
    page = lost.report.read_text()
    columns, data = unpack(page)
    assert [one["kind"] for one in data["violations"]] == ["unreadable-entry", "read-then-gone", "wrong-length"]
    for one in data["violations"]:
        assert len(one["says"]) == len(one["ops"])
        assert set(one["ops"]) <= set(columns["i"].tolist())
    assert "cannot be placed among the others" not in page
    assert "each ledger has one end" in page


def test_the_texts_draw_it_too(lost: RunFiles) -> None:
    text = reports.render_run(lost)
    assert "Counterexamples: 3 violations, 3 shown" in text
    assert "window: 1 acknowledged with id 1, 0.17" in text


def test_ledgers_that_were_kept_have_no_drawing(tmp_path: Path) -> None:
    files = RunFiles(recorded_run("ledgers-kept", tmp_path))
    found = prepare(read_run(files))
    assert (found.violations, marks_of(found).violations, violation_count(found.run)) == ([], (), 0)
    reports.write_report(files)
    assert 'id="counterexample"' not in files.report.read_text()


def test_what_is_beside_is_on_the_same_object_and_near(drawn: Drawn) -> None:
    example = drawn.violations[0].example
    mine = {operation.invoke_index for operation in example.operations}
    for one in nearby_operations(drawn.run.operations, example):
        gaps = [
            max(one.invoked - (other.returned or 0), other.invoked - (one.returned or one.invoked))
            for other in example.operations
        ]
        assert one.key == "l0"
        assert one.invoke_index not in mine
        assert min(gaps) <= MAX_GAP_NS


def test_a_row_of_the_columns_is_the_operation_that_was_recorded(lost: RunFiles) -> None:
    recorded = pair(read_history(lost.history).events)
    columns = from_operations(recorded)
    again = [columns.at(row) for row in np.arange(len(columns)).tolist()]
    plain = [one.to_json() | {"intended": None} for one in recorded]
    assert [one.to_json() | {"intended": None} for one in again] == plain


def test_a_promise_of_which_another_check_is_drawn_says_in_its_own_words_how_much_it_is(
    lost: RunFiles, tmp_path: Path
) -> None:
    files = RunFiles(Path(shutil.copytree(lost.root, tmp_path / "run")))
    results = json.loads(files.results.read_text())
    (found,) = (check for check in results["checks"] if check["name"] == "ledgers")
    record = found["counterexamples"][0]
    found["counterexamples"] = [{**record, "sentence": "30 entries are gone"}]
    results["keys"] = [{"key": "l0", "verdict": "invalid", "violations": 1, "counterexamples": [record]}]
    files.results.write_text(json.dumps(results))
    drawn = prepare(read_run(files))
    assert [one.check for one in drawn.violations] == ["linearizable"]
    diagnosis = diagnosis_of(drawn)
    assert diagnosis is not None
    sentences = [one.whole for one in diagnosis.breaks if "ledgers" in one.checks]
    assert sentences == ["30 entries are gone."]
