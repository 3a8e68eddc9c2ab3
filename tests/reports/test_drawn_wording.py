"""Operations in the words of their model, on the page and in texts; no term where a system reports none."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace

import reports
from checker.models.sync_state_set import SyncStateSet
from history import Counterexample, Linearization, Operation
from reports.analysis.counterexample import (
    LEFT,
    LONGEST_WORDING,
    SIGN,
    STRONG_SIGN,
    label_of,
    labels_by_elements,
    picture_of,
)
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.page.page import environment
from reports.page.series import operations_of
from reports.style.format import text_of
from reports.style.wording import by_values
from reports.text import text_diagram
from tests.support.reports.made import Maker

S = 10**9


def wording(operation: Operation) -> str:
    return f"seen as {operation.f} of {operation.process}" if operation.f == "read" else ""


def test_a_label_is_what_is_given_or_else_the_values() -> None:
    read, write = (Operation(3, f, "k", 7, 7, "ok", 0, 1, 0, 1) for f in ("read", "write"))
    assert (label_of(read, wording=wording), label_of(write, wording=wording)) == ("seen as read of 3", "write 7")
    assert label_of(read) == "read 7"
    assert len(label_of(read, wording=lambda _: "x" * 1000)) <= LONGEST_WORDING


def test_page_texts_and_drawings_tell_operations_alike(made: Maker) -> None:
    files = made("invalid")
    reported, plain = prepare(read_run(files, wording)), prepare(read_run(files))
    (violation,), (before,) = reported.violations, plain.violations
    assert violation.picture
    assert before.picture
    labels = [box.label for box in violation.picture.boxes]
    assert [label for label in labels if label.startswith("seen as read")]
    assert [one.label for one in violation.suspects] == [wording(one) for one in violation.example.suspects]
    assert not [box.label for box in before.picture.boxes if box.label.startswith("seen")]
    for text in (
        text_diagram.draw(violation.example, wording=wording),
        reports.render_run(files, 120, wording=wording),
    ):
        assert "seen as read of" in text
    for text in (text_diagram.draw(violation.example), reports.render_run(files)):
        assert "seen as" not in text


def test_a_long_label_leaves_room_for_the_times() -> None:
    operations = tuple(Operation(n, "read", "k", None, n, "ok", n * 10**8, n * 10**8 + 10**7, n, n) for n in (0, 1))
    drawn = text_diagram.draw(Counterexample("odd", "odd", operations), 100, lambda _: "x" * 200)
    assert [line.endswith("… 0.100 – 0.110 s") for line in drawn.splitlines()].count(True) == 1
    assert max(map(len, drawn.splitlines())) <= 100


def test_a_label_that_is_cut_keeps_the_epoch_that_was_expected(made: Maker) -> None:
    """It ended after "epoch 69", which reads as the epoch that was granted; the whole label is shown on hover."""
    error = "1: java.util.concurrent.Timeout"
    doubted = Operation(9, "alter", "b", [2, 10, 69, [1, 2, 3]], None, "info", 17 * S, 23 * S, 0, 9, error=error)
    read = Operation(8, "read", "b", None, [2, 10, [2], 71], "ok", 22 * S, 23 * S, 5, 8)
    example = Counterexample("odd", "odd", (doubted, read))
    picture = picture_of(example, wording=SyncStateSet().wording)
    assert picture
    (box,) = (box for box in picture.boxes if box.outcome == "info")
    assert "in doubt: expected epoch 69" in box.label
    assert box.whole == "alter to [1, 2, 3] in doubt: expected epoch 69, master 2 of epoch 10"
    assert "in doubt: expected epoch 69" in text_diagram.draw(example, 140, SyncStateSet().wording)
    files = made("invalid")
    reports.write_report(files, wording=lambda operation: f"seen {operation.f} {'x' * 100}")
    page = files.report.read_text()
    assert f"<title>seen read {'x' * 100}</title>" in page


def test_a_long_list_keeps_both_its_ends_and_is_whole_on_hover() -> None:
    """What is wrong with an answer is often its last item, and a label that is cut at its end does not show it."""
    items = list(range(1000, 1040))
    first = Operation(1, "append", "log", items, None, "ok", 0, S, 0, 1)
    last = Operation(2, "poll", "log", None, [*items, 7], "ok", 2 * S, 3 * S, 2, 3)
    example = Counterexample("odd", "odd", (first, last), Linearization(None, (), (1,)))
    picture = picture_of(example)
    assert picture is not None
    asked, answered = picture.boxes
    assert asked.label == "append [1000, 1001, …, 1039]"
    assert asked.title == f"append {items}"
    assert answered.label.startswith("poll → [1000, 1001, 1002, ")
    assert answered.label.endswith(", …, 1036, 1037, 1038, 1039, 7]")
    assert answered.title == f"poll → {[*items, 7]}"
    assert ", 7] 2.0" in text_diagram.draw(example)
    loader = environment().get_template("proof.html.j2")
    assert f"<title>poll → {[*items, 7]}</title>" in loader.render(p=picture, violation={"example": example})


def test_a_list_of_which_no_two_items_have_room_is_cut_at_its_end() -> None:
    assert text_of(["x" * 30, 1], 24) == '["' + "x" * 21 + "…"
    assert text_of([1], 24) == "[1]"
    assert all(len(text_of([10**n] * 40, most)) <= most for n in range(30) for most in (24, 60))


def test_the_timeline_holds_what_is_said_of_each_operation(made: Maker) -> None:
    files = made("invalid")
    names = _names(operations_of(prepare(read_run(files, wording))))
    assert names["w"]
    assert all(name.startswith("seen as read of ") for name in names["w"])
    assert "w" not in _names(operations_of(prepare(read_run(files, by_values))))


def _names(packed: str) -> dict[str, list[str]]:
    body = zlib.decompress(base64.b64decode(packed))
    head = json.loads(body[4 : 4 + int.from_bytes(body[:4], "little")])
    names: dict[str, list[str]] = head["data"]["names"]
    return names


def test_a_term_is_left_out_where_none_is_reported(fresh: Maker) -> None:
    files = fresh("invalid")
    reports.write_report(files)
    text, page = reports.render_run(files), files.report.read_text()
    assert re.search(r"Leader then: n\d, term \d+\.", text)
    assert re.search(r"Leader .*</span>, term \d+\.</span>", page)
    lines = files.probes.read_text().splitlines()
    records = [{name: value for name, value in json.loads(line).items() if name != "term"} for line in lines[1:]]
    files.probes.write_text("\n".join([lines[0], *map(json.dumps, records)]) + "\n")
    reports.write_report(files)
    text, page = reports.render_run(files), files.report.read_text()
    assert re.search(r"Leader then: n\d\.", text)
    assert re.search(r"Leader .*</span>\.</span>", page)
    assert "term -1" not in text + page


def test_texts_of_a_picture_end_within_it() -> None:
    """Wherever the bar is, and right of the processes' names; a short text stands at its bar's begin, if it fits."""
    many = tuple(
        Operation(n, "read", "k", None, n, "ok", n * 10**8, n * 10**8 + 10**7, 2 * n, 2 * n + 1) for n in range(9)
    )
    for words in ("x" * 200, "x" * 90, "few"):

        def wording(_: Operation, words: str = words) -> str:
            return words

        picture = picture_of(Counterexample("odd", "odd", many), wording=wording)
        assert picture is not None
        for box in picture.boxes:
            wide = STRONG_SIGN * len(box.label) + SIGN * (len(box.times) + 1)
            first = box.label_x if box.anchor == "start" else box.label_x - wide
            assert LEFT - 1 <= first <= first + wide <= picture.width + 10
        assert picture.boxes[0].label_x == picture.boxes[0].x or words != "few"


def test_long_answers_are_distinguished_by_the_elements_that_matter() -> None:
    numbers = list(range(100, 130))
    adds = Operation(1, "add", "set", 4483, None, "info", 0, 5 * 10**7, 0, 1, error="ConnectionLoss")
    first = Operation(2, "read", "set", None, [*numbers, 4483], "ok", 10**8, 2 * 10**8, 2, 3)
    later = Operation(3, "read", "set", None, [*numbers, 7], "ok", 3 * 10**8, 4 * 10**8, 4, 5)
    example = Counterexample("read-inversion", "odd", (adds, first, later), Linearization(None, (), (2,)))
    picture = picture_of(example)
    assert picture is not None
    assert [box.label for box in picture.boxes] == ["add 4483", "read of 31, with 4483", "read of 31, without 4483"]
    assert [box.culprit for box in picture.boxes] == [False, False, True]
    assert picture.boxes[0].times == "0.000 s, outcome unknown (ConnectionLoss at 0.050 s)"
    short_ones = replace(example, operations=tuple(replace(one, result=[1, 2]) for one in example.operations[1:]))
    assert [label_of(one, wording=labels_by_elements(short_ones)) for one in short_ones.operations] == [
        "read [1, 2]"
    ] * 2
