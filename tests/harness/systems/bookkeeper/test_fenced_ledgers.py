"""Ledgers that a fence ends: a good and a bad twin for each promise, and all of them against brute force."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.systems.bookkeeper import fenced_ledgers
from harness.systems.bookkeeper.fenced_ledgers import KINDS, LedgerHistory, LedgerReport
from harness.systems.bookkeeper.promises import size_of
from history import Operation
from tests.support.harness.oracle_ledgers import kinds_of, ledger_history

#: So large that no length of these tests counts it, but those that are to.
LARGE = 1000


def check_fenced_ledgers(operations: Iterable[Operation]) -> LedgerReport:
    return fenced_ledgers.check_fenced_ledgers(operations, lambda _payload: LARGE)


def operation(at: int, f: str, value: Any = None, result: Any = None, outcome: str = "ok", until: int = 0) -> Operation:
    """The operation number ``at``, which ends before the next one begins, or before the operation ``until``."""
    end = 2 * max(at, until) + 1
    return Operation(
        at, f, "l0", value, result, outcome, at * 10**8, end * 10**8, 2 * at, end, "n1"  # type: ignore[arg-type]
    )  # fmt: skip


def whole(at: int, entries: list[int | None], **changes: Any) -> Operation:
    """A read of a ledger after recovery, whose entries have ten bytes each."""
    size, last = 10 * sum(one is not None for one in entries), len(entries) - 1
    result = {"last": last, "closed": last, "length": size, "bytes": size, "entries": entries, **changes}
    return operation(at, "read", None, result)


CREATE = operation(0, "create", None, 7)
WINDOW = operation(1, "window", [10, 3], [0, 1, None])
FENCED = operation(3, "recover", None, {"last": 1, "length": 20})
TAIL = operation(2, "tail", 0, {"lac": 1, "first": 0, "entries": [10, 11]})
WHOLE = whole(4, [10, 11])
DOUBTED = operation(1, "window", [10, 2], None, "info")
GOOD = [CREATE, WINDOW, TAIL, FENCED, WHOLE]


def kinds(*operations: Operation) -> list[str]:
    return [one.kind for one in check_fenced_ledgers(operations).violations]


def test_a_good_ledger() -> None:
    report = check_fenced_ledgers(GOOD)
    assert report.verdict == "valid"
    assert report.counts == {"ledgers": 1, "acknowledged": 2, "doubted": 1, "kept": 0, "ends": 3}


@pytest.mark.parametrize(
    "operations",
    [
        [CREATE, WINDOW, TAIL, operation(3, "recover", None, {"last": 2, "length": 30}), whole(4, [10, 11, 12])],
        [CREATE, DOUBTED, operation(2, "window", [12, 1], [1]), whole(3, [11, 12])],
        [CREATE, WINDOW, operation(2, "tail", 0, {"lac": -1, "first": 0, "entries": []}), WHOLE],
        [CREATE, WINDOW, operation(2, "recover", None, None, "info"), WHOLE],
        [CREATE, WINDOW, operation(2, "window", [13, 1], None, "fail"), WHOLE],
    ],
    ids=["a doubted add was kept", "some of a doubted window", "nothing is confirmed", "a doubted recovery", "sealed"],
)  # fmt: skip
def test_what_is_permitted(operations: list[Operation]) -> None:
    assert check_fenced_ledgers(operations).verdict == "valid"


LATE = operation(1, "window", [10, 3], [0, 1, 2], until=3)

BAD = {
    "lost-add": [CREATE, operation(1, "window", [10, 3], [0, 1, 2]), FENCED, WHOLE],
    "acknowledged-beyond-end": [CREATE, LATE, operation(2, "recover", None, {"last": 1, "length": 20})],
    "unreadable-entry": [CREATE, WINDOW, whole(4, [10, None])],
    "ledger-gone": [CREATE, WINDOW, operation(2, "read", None, None)],
    "other-payload": [CREATE, WINDOW, whole(2, [10, 12])],
    "ends-differ": [CREATE, WINDOW, FENCED, operation(4, "close", None, {"last": 2, "length": 30})],
    "read-then-gone": [CREATE, operation(1, "window", [10, 2], [0, None]), TAIL, whole(3, [10])],
    "confirmed-beyond-end": [CREATE, WINDOW, operation(2, "tail", 2, {"lac": 2, "first": 2, "entries": []}), WHOLE],
    "duplicate": [CREATE, operation(1, "window", [10, 3], [0, None, None]), whole(2, [10, 11, 10])],
    "never-added": [CREATE, WINDOW, whole(2, [10, 11, 99])],
    "failed-add-found": [CREATE, WINDOW, operation(2, "window", [13, 1], None, "fail"), whole(3, [10, 11, 13])],
    "order": [CREATE, operation(1, "window", [10, 2], [1, 0]), whole(2, [11, 10])],
    "hole": [CREATE, WINDOW, whole(2, [10, 11, None])],
    "wrong-length": [CREATE, WINDOW, whole(2, [10, 11], length=30)],
    "length-beyond-end": [CREATE, WINDOW, whole(2, [10, 11], length=20 + LARGE)],
}


@pytest.mark.parametrize(
    ("length", "kind"),
    [(20 + LARGE, "length-beyond-end"), (20 + 3 * LARGE, "length-beyond-end"), (20 + 4 * LARGE, "wrong-length"),
     (10, "wrong-length"), (21, "wrong-length")],
)  # fmt: skip
def test_a_length_that_counts_adds_behind_the_end_is_told_from_any_other(length: int, kind: str) -> None:
    """Three adds are behind the end: one of the first window, two that are in doubt; a third certainly failed."""
    doubted, failed = operation(2, "window", [13, 2], None, "info"), operation(3, "window", [15, 1], None, "fail")
    assert kinds(CREATE, WINDOW, doubted, failed, whole(4, [10, 11], length=length)) == [kind]
    assert kinds(CREATE, WINDOW, doubted, failed, whole(4, [11], length=length)) != [kind]


def test_a_payload_is_as_large_as_the_gateway_makes_it() -> None:
    """Of a run on 4.18.0: five entries of 576 bytes, and with the seven adds behind the end 1545."""
    assert sum(map(size_of, range(77_000_000, 77_000_005))) == 576
    assert sum(map(size_of, range(77_000_000, 77_000_012))) == 1545


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_found_and_shown(kind: str) -> None:
    report = check_fenced_ledgers(BAD[kind])
    assert report.verdict == "invalid"
    assert kind in [one.kind for one in report.violations]
    shown = next(one for one in report.violations if one.kind == kind)
    assert shown.sentence.startswith("ledger l0 (ledger 7 in the logs): ")
    assert [role.contradicts for role in shown.roles].count(True) == 1
    assert kinds(*GOOD) == []


@pytest.mark.parametrize(("kind", "shown"), [("read-then-gone", [1]), ("confirmed-beyond-end", [2]), ("lost-add", [])])
def test_the_report_says_which_entry_a_reader_was_shown(kind: str, shown: list[int]) -> None:
    report = check_fenced_ledgers(BAD[kind])
    assert (report.logged[kind], report.shown.get(kind, [])) == (["7"], shown)


@pytest.mark.parametrize("kind", ["wrong-length", "unreadable-entry", "ends-differ"])
def test_the_answer_that_came_first_is_the_one_that_contradicts(kind: str) -> None:
    """Of two readers the later one was asked first, and answered last."""
    *before, bad = BAD[kind]
    slow = replace(bad, invoke_index=bad.invoke_index + 1, return_index=bad.invoke_index + 50, process=9)
    quick = replace(bad, invoke_index=bad.invoke_index + 2, return_index=bad.invoke_index + 40, process=8)
    for order in ([slow, quick], [quick, slow]):
        shown = next(one for one in check_fenced_ledgers([*before, *order]).violations if one.kind == kind)
        (suspect,) = shown.suspects
        assert suspect.process == 8


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("lost-add", ["12 acknowledged with id 2", "the ledger ends at 1"]),
        ("acknowledged-beyond-end", ["12 acknowledged with id 2", "the ledger ends at 1"]),
        ("ends-differ", ["the ledger ends at 1", "the ledger ends at 2"]),
        ("confirmed-beyond-end", ["LastAddConfirmed 2", "the ledger ends at 1"]),
        ("read-then-gone", ["reads 11 with id 1", "finds no entry 1, the ledger ends at 0"]),
        ("ledger-gone", ["creates the ledger", "finds no such ledger"]),
    ],
)
def test_each_operation_says_what_it_has_to_do_with_it(kind: str, says: list[str]) -> None:
    shown = next(one for one in check_fenced_ledgers(BAD[kind]).violations if one.kind == kind)
    assert [role.says for role in shown.roles] == says
    late = kind == "acknowledged-beyond-end"
    assert [role.contradicts for role in shown.roles] == [late, not late], "by the order of what was answered"


def test_a_doubted_add_may_be_acknowledged_before_the_recovery_that_leaves_it_out_is_asked() -> None:
    """Ids decide, and not times: whichever came first, both cannot be true."""
    early, late = operation(1, "window", [10, 3], [0, 1, 2]), LATE
    recovery = operation(2, "recover", None, {"last": 1, "length": 20})
    assert kinds(CREATE, early, recovery) == ["lost-add"]
    assert kinds(CREATE, late, recovery) == ["acknowledged-beyond-end"]


def test_an_add_beyond_several_ends_is_held_against_the_first_that_was_reported() -> None:
    """The recovery had answered the end when the add was asked for; later readers of the ledger only repeat it."""
    late = operation(4, "window", [12, 1], [2])
    wrong = check_fenced_ledgers([CREATE, WINDOW, FENCED, late, whole(5, [10, 11])])
    assert [one.kind for one in wrong.violations] == ["acknowledged-beyond-end"]
    assert [role.says for role in wrong.violations[0].roles] == ["the ledger ends at 1", "12 acknowledged with id 2"]
    assert "ended it at 1, and then 12 was acknowledged with id 2" in wrong.violations[0].sentence
    refused = operation(4, "window", [12, 1], None, "info")
    assert kinds(CREATE, WINDOW, FENCED, refused, whole(5, [10, 11])) == []


def test_recoverers_that_race_agree() -> None:
    first = operation(2, "recover", None, {"last": 1, "length": 20}, until=4)
    assert kinds(CREATE, WINDOW, first, operation(3, "recover", None, {"last": 1, "length": 20}), WHOLE) == []
    assert "ends-differ" in kinds(
        CREATE, WINDOW, first, operation(3, "recover", None, {"last": 2, "length": 20}), WHOLE
    )


def test_the_metadata_tell_an_end_as_well() -> None:
    assert kinds(CREATE, WINDOW, whole(2, [10, 11], closed=2, length=20)) == ["ends-differ"]


def test_what_was_not_read_whole_is_unknown() -> None:
    report = check_fenced_ledgers([CREATE, WINDOW, FENCED])
    assert (report.verdict, report.unread) == ("unknown", ("l0",))


def test_without_an_acknowledged_add_nothing_was_asked() -> None:
    assert check_fenced_ledgers([CREATE, whole(1, [])]).verdict == "unknown"
    assert check_fenced_ledgers([]).verdict == "unknown"


def test_a_ledger_whose_create_is_in_doubt_is_passed_over() -> None:
    doubted = operation(0, "create", None, None, "info")
    assert check_fenced_ledgers(GOOD).counts["ledgers"] == 1
    assert check_fenced_ledgers([doubted, operation(1, "read", None, None)]).counts["ledgers"] == 0


@given(st.randoms(use_true_random=False), st.sampled_from([0.0, 0.03, 0.1, 0.3]))
def test_brute_force_finds_the_same(rng: Random, wrong: float) -> None:
    operations = ledger_history(rng, wrong)
    report = check_fenced_ledgers(operations)
    assert {(one.key, one.kind) for one in report.violations} == kinds_of(operations)
    if wrong == 0.0:
        assert report.violations == ()


def test_a_ledger_whose_number_was_not_answered_has_its_key_alone() -> None:
    doubted = operation(0, "create", None, None, "info")
    assert (
        LedgerHistory("l0", [doubted], size_of).broken("lost-add", "odd", (doubted, "odd")).sentence == "ledger l0: odd"
    )
