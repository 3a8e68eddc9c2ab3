"""When a violation is said to have been: at the answer that leaves no order, not at the first of its operations."""

from __future__ import annotations

import json
from dataclasses import replace

import reports
from checker import check_operations
from history import Counterexample, Operation, RunFiles, pair, read_history
from reports.analysis.counterexample import picture_of
from reports.analysis.findings import around, examples_of, prepare
from reports.analysis.marks import marks_of
from reports.load.run import read_run
from reports.story.diagnosis import diagnosis_of
from tests.support.reports.made import Maker


def with_all_before(files: RunFiles, *, blamed: bool) -> Counterexample:
    """Show the violation by everything on its key until its end, and let nothing be blamed if so."""
    results = json.loads(files.results.read_text())
    key = next(key for key in results["keys"] if key["violations"])
    (record,) = key["counterexamples"]
    found = Counterexample.from_json(record)
    mine = [one for one in pair(read_history(files.history).events) if one.key == found.key]
    core = {one.invoke_index for one in found.operations}
    before = [one for one in mine if one.invoked < found.completed_at and one.invoke_index not in core]
    operations = (*before[:20], *found.operations)
    known = found.linearization
    assert known is not None
    suspects = tuple(place + len(operations) - len(found.operations) for place in known.suspects)
    alone = replace(known, points=(), suspects=suspects) if blamed else None
    example = replace(found, operations=operations, linearization=alone)
    key["counterexamples"] = [example.to_json()]
    files.results.write_text(json.dumps(results))
    return found


def test_without_a_culprit_it_is_the_last_answer_of_the_explanation(fresh: Maker) -> None:
    files = fresh("invalid")
    short = with_all_before(files, blamed=False)
    drawn = prepare(read_run(files))
    (violation,) = drawn.violations
    last = short.completing
    assert last is not None
    assert last.returned is not None
    assert not violation.suspects
    assert (violation.since, violation.answered_by) == (last.returned / 1e9, last.node)
    assert violation.start < violation.since - 1
    assert all(fault.stands(last.invoked / 1e9, short.completed_at / 1e9) for fault in violation.faults)
    (mark,) = marks_of(drawn).violations
    assert (mark.culprit, mark.at) == (last.invoke_index, violation.since)
    diagnosis = diagnosis_of(drawn)
    assert diagnosis is not None
    assert diagnosis.breaks[0].onset == short.completed_at / 1e9
    begun = sorted(one.invoked / 1e9 for one in violation.example.operations)
    start, end = around(drawn, short.completed_at / 1e9)
    assert start == max(begun[-3] - 1, 0)
    assert end == short.completed_at / 1e9 + 3
    assert around(drawn, 40.0) == (37.0, 43.0)
    reports.write_report(files)
    assert f'data-from="{start}" data-to="{end}"' in files.report.read_text()


def test_a_culprit_among_many_operations_is_drawn_as_one(fresh: Maker) -> None:
    files = fresh("invalid")
    short = with_all_before(files, blamed=True)
    (violation,) = prepare(read_run(files)).violations
    assert violation.picture is not None
    assert len(violation.picture.boxes) > 9
    assert [box.index for box in violation.picture.boxes if box.culprit] == [one.invoke_index for one in short.suspects]


def test_the_first_to_be_complete_is_shown_first(fresh: Maker) -> None:
    files = fresh("invalid")
    results = json.loads(files.results.read_text())
    key = next(key for key in results["keys"] if key["violations"])
    found = Counterexample.from_json(key["counterexamples"][0])
    read = found.completing
    assert read is not None
    assert read.returned is not None
    slow = replace(read, invoked=read.invoked - 5, returned=read.returned + 10**9)
    late = replace(found, operations=tuple(slow if one is read else one for one in found.operations))
    key["counterexamples"] = [late.to_json(), found.to_json()]
    files.results.write_text(json.dumps(results))
    assert [one.example for one in examples_of(read_run(files))] == [found, late]


def test_of_any_model_the_answer_that_no_order_explains_is_blamed_and_drawn_as_the_culprit() -> None:
    def op(f: str, value: object, at: int, result: object = None) -> Operation:
        return Operation(at, f, "l", value, result, "ok", at, at + 1, at, at + 1, "n1")

    lock = [op("acquire", None, 0), op("release", None, 2), op("acquire", None, 4), op("acquire", None, 6)]
    (example,) = check_operations([*lock, op("release", None, 8)], "mutex").counterexamples
    assert example.kind == "granted-twice"
    assert example.suspects == (lock[3],)
    assert example.completing == lock[3]
    picture = picture_of(example)
    assert picture is not None
    assert [box.index for box in picture.boxes if box.culprit] == [6]


def test_the_legend_names_what_the_pictures_have(fresh: Maker) -> None:
    files = fresh("invalid")
    judged = files.results.read_text()
    for blamed, points in ((None, True), (True, False), (False, False)):
        files.results.write_text(judged)
        if blamed is not None:
            with_all_before(files, blamed=blamed)
        reports.write_report(files)
        page = files.report.read_text()
        assert ("fits nowhere</li>" in page) == (blamed is not False)
        assert ("may have taken effect here" in page) == points
