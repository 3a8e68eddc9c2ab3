"""The law of outcomes, rule by rule.  Every row of the table in ``harness.systems.dledger.outcomes`` has its test here.

Only an answer that proves that the operation had no effect is ``fail``; every doubt is ``info``.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.clients.wire import LostError, NotSentError
from harness.systems.dledger.outcomes import CAS_MISMATCH, completion_of, completion_of_error
from harness.workloads import Invocation
from history import UNAPPLIED

WRITE = Invocation("write", "k0", 7)
CAS = Invocation("cas", "k0", [7, 8])
READ = Invocation("read", "k0")
OF = {"write": WRITE, "cas": CAS, "read": READ}

OK: dict[str, dict[str, Any]] = {
    "write": {"ok": True, "applied": True},
    "cas": {"ok": True, "applied": True, "swapped": True},
    "read": {"ok": True, "applied": True, "value": 7},
}

BEFORE = {"ok": False, "code": 404, "name": "NOT_LEADER", "stage": "before-append", "message": "no", "leader": "n2"}
AFTER = {"ok": False, "code": 502, "name": "WAIT_QUORUM_ACK_TIMEOUT", "stage": "after-append", "message": "late"}
UNKNOWN = {"ok": False, "code": 500, "name": "INTERNAL", "stage": "unknown", "message": "?"}


def outcome_of(f: str, answer: dict[str, Any]) -> str:
    return completion_of(OF[f], answer, "n1").type


@pytest.mark.parametrize("f", ["write", "cas", "read"])
def test_rule_ok_is_ok(f: str) -> None:
    outcome = completion_of(OF[f], OK[f], "n1")
    assert (outcome.type, outcome.value, outcome.node, outcome.error) == ("ok", OF[f].value or 7, "n1", None)


def test_rule_ok_read_of_nothing_is_absent() -> None:
    outcome = completion_of(READ, {"ok": True, "applied": True, "value": None}, "n1")
    assert (outcome.type, outcome.value) == ("ok", None)


@pytest.mark.parametrize(("f", "value"), [("write", 7), ("read", 7)])
def test_rule_ok_but_the_entry_was_never_applied(f: str, value: int) -> None:
    outcome = completion_of(OF[f], {**OK[f], "applied": False}, "n1")
    assert (outcome.type, outcome.value, outcome.error) == ("ok", value, UNAPPLIED)


def test_rule_ok_cas_that_was_never_applied_is_info() -> None:
    for swapped in (True, None):
        outcome = completion_of(CAS, {"ok": True, "applied": False, "swapped": swapped}, "n1")
        assert (outcome.type, outcome.value) == ("info", [7, 8])


def test_an_unapplied_read_that_names_no_value_claims_nothing() -> None:
    assert outcome_of("read", {"ok": True, "applied": False}) == "fail"


@pytest.mark.parametrize("seen", [9, 7, -1, None])
def test_rule_cas_refused_because_the_value_was_another_is_ok_with_that_value(seen: int | None) -> None:
    outcome = completion_of(CAS, {"ok": True, "applied": True, "swapped": False, "value": seen}, "n1")
    assert (outcome.type, outcome.error, outcome.value) == ("ok", None, [7, 8, seen])


@pytest.mark.parametrize("unreported", [{}, {"value": "9"}, {"value": True}, {"value": 1.0}, {"value": [9]}])
def test_rule_cas_refused_without_a_word_of_the_value_is_fail(unreported: dict[str, Any]) -> None:
    outcome = completion_of(CAS, {"ok": True, "applied": True, "swapped": False, **unreported}, "n1")
    assert (outcome.type, outcome.error, outcome.value) == ("fail", CAS_MISMATCH, [7, 8])


def test_rule_cas_refused_but_never_applied_is_info() -> None:
    assert outcome_of("cas", {"ok": True, "applied": False, "swapped": False}) == "info"
    assert outcome_of("cas", {"ok": True, "applied": False, "swapped": False, "value": 9}) == "info"


@pytest.mark.parametrize("swapped", [None, "yes", 1])
def test_rule_cas_without_a_clear_result_is_info(swapped: object) -> None:
    assert outcome_of("cas", {"ok": True, "applied": True, "swapped": swapped}) == "info"
    assert outcome_of("cas", {"ok": True, "applied": True}) == "info"


@pytest.mark.parametrize("f", ["write", "cas", "read"])
def test_rule_error_raised_before_the_append_is_fail(f: str) -> None:
    outcome = completion_of(OF[f], BEFORE, "n1")
    assert (outcome.type, outcome.error, outcome.hint) == ("fail", "NOT_LEADER (404): no", "n2")
    assert outcome.not_leader
    assert outcome.reached


@pytest.mark.parametrize("answer", [AFTER, UNKNOWN, {"ok": False}, {}, {**BEFORE, "stage": None}, {"ok": "true"}])
@pytest.mark.parametrize(("f", "expected"), [("write", "info"), ("cas", "info"), ("read", "fail")])
def test_rule_error_raised_after_the_append_or_at_an_unknown_time(
    f: str, expected: str, answer: dict[str, Any]
) -> None:
    outcome = completion_of(OF[f], answer, "n1")
    assert outcome.type == expected
    assert not outcome.not_leader


@pytest.mark.parametrize("f", ["write", "cas", "read"])
def test_rule_never_sent_is_fail(f: str) -> None:
    outcome = completion_of_error(OF[f], NotSentError("no connection: Connection refused"), "n3")
    assert (outcome.type, outcome.node, outcome.reached) == ("fail", "n3", False)


@pytest.mark.parametrize(("f", "expected"), [("write", "info"), ("cas", "info"), ("read", "fail")])
def test_rule_sent_and_no_answer(f: str, expected: str) -> None:
    outcome = completion_of_error(OF[f], LostError("no answer within 4 s"), "n3")
    assert (outcome.type, outcome.error, outcome.reached) == (expected, "no answer within 4 s", False)


def test_an_ok_read_that_names_no_value_claims_nothing() -> None:
    assert outcome_of("read", {"ok": True, "applied": True}) == "fail"


def test_an_endless_message_is_cut_and_a_hint_must_be_a_name() -> None:
    outcome = completion_of(WRITE, {**BEFORE, "message": "x" * 10_000, "leader": 7}, "n1")
    assert outcome.error is not None
    assert len(outcome.error) == 300
    assert outcome.hint is None


COUNTED, COLLECTED = Invocation("read", "counter-0"), Invocation("read", "set-2")


def test_rule_a_counter_without_additions_is_0() -> None:
    assert completion_of(COUNTED, {"ok": True, "applied": True, "value": None}, "n1").value == 0
    assert completion_of(COUNTED, {"ok": True, "applied": True, "value": -3}, "n1").value == -3


def test_rule_a_set_has_each_element_as_often_as_it_was_added() -> None:
    answer = {"ok": True, "applied": True, "values": {"set-2/10": 1, "set-2/9": 2}}
    outcome = completion_of(COLLECTED, answer, "n1")
    assert (outcome.type, outcome.value) == ("ok", [9, 9, 10])
    assert completion_of(COLLECTED, {**answer, "values": {}}, "n1").value == []


@pytest.mark.parametrize(
    ("read", "answer"),
    [
        (COUNTED, {}), (COUNTED, {"value": "3"}), (COUNTED, {"value": True}),
        (COLLECTED, {}), (COLLECTED, {"values": None}), (COLLECTED, {"values": [1]}),
        (COLLECTED, {"values": {"set-2/x": 1}}), (COLLECTED, {"values": {"set-2/1": "1"}}),
    ],
)  # fmt: skip
def test_rule_a_read_of_what_cannot_be_claims_nothing(read: Invocation, answer: dict[str, Any]) -> None:
    outcome = completion_of(read, {"ok": True, "applied": True, **answer}, "n1")
    assert (outcome.type, outcome.value) == ("fail", None)


def test_rule_an_add_is_a_write() -> None:
    for key in ("set-0", "counter-0"):
        add = Invocation("add", key, 7)
        assert completion_of(add, OK["write"], "n1").type == "ok"
        assert completion_of(add, {**OK["write"], "applied": False}, "n1").error == UNAPPLIED
        assert completion_of(add, BEFORE, "n1").type == "fail"
        assert completion_of(add, AFTER, "n1").type == "info"
        assert completion_of_error(add, LostError("no answer"), "n1").type == "info"


APPEND, GET, LIST = Invocation("append", "log-0", 5), Invocation("get", "log-0", 3), Invocation("list", "log-0")
ACQUIRE, RELEASE = Invocation("acquire", "lock-0"), Invocation("release", "lock-0", 7)
HOLDER, TRANSFER = Invocation("read", "lock-0"), Invocation("transfer", "bank-0", [0, 1, 5])
DONE = {"ok": True, "applied": True}


def completed(invocation: Invocation, **answer: Any) -> tuple[str, Any]:
    outcome = completion_of(invocation, {**DONE, **answer}, "n1")
    return outcome.type, outcome.value


def test_rule_an_append_has_its_index_applied_or_not() -> None:
    assert completed(APPEND, index=8) == ("ok", 8)
    assert completed(APPEND, index=8, applied=False) == ("ok", 8)
    assert [completed(APPEND, **answer)[0] for answer in ({}, {"index": None}, {"index": -1}, {"index": "8"})] == [
        "info"
    ] * 4


def test_rule_a_get_of_what_is_not_committed_claims_nothing() -> None:
    assert completed(GET, value=5) == ("ok", 5)
    assert completed(GET, value=None) == completed(GET) == ("fail", None)


def test_rule_a_list_has_all_entries_by_their_indexes() -> None:
    assert completed(LIST, values={"10": 1, "9": 2}) == ("ok", [[9, 2], [10, 1]])
    assert completed(LIST, values={}) == ("ok", [])
    assert completed(LIST, values=None) == ("fail", None)


def test_rule_an_acquire_or_release_says_who_holds_the_lock() -> None:
    assert completed(ACQUIRE, acquired=True, token=9) == ("ok", ["acquired", 9])
    assert completed(ACQUIRE, acquired=False, token=9) == ("ok", ["held", 9])
    assert completed(RELEASE, released=True) == ("ok", ["released", 7])
    assert completed(RELEASE, released=False, token=9) == ("ok", ["held", 9])
    assert completed(RELEASE, released=False, token=None) == ("ok", ["free", None])


def test_rule_a_lock_without_a_clear_result_is_info() -> None:
    assert completed(ACQUIRE)[0] == completed(RELEASE)[0] == completed(ACQUIRE, acquired=True)[0] == "info"
    for unclear in (None, "yes", 1):
        assert completed(ACQUIRE, acquired=unclear)[0] == completed(RELEASE, released=unclear)[0] == "info"
    assert completed(ACQUIRE, acquired=True, token=9, applied=False)[0] == "info"
    assert completed(RELEASE, released=True, applied=False)[0] == "info"


def test_rule_a_lock_refused_without_a_word_of_the_holder_is_fail() -> None:
    assert completed(ACQUIRE, acquired=False)[0] == "fail"
    assert completed(RELEASE, released=False, token="x")[0] == "fail"


def test_rule_a_lock_that_was_given_back_is_free() -> None:
    assert [completed(HOLDER, value=value) for value in (7, -7, None, 0)] == [
        ("ok", 7),
        ("ok", None),
        ("ok", None),
        ("ok", None),
    ]


def test_rule_a_transfer_has_the_balances_that_it_left() -> None:
    left = {"bank-0/0": -5, "bank-0/1": 5}
    assert completed(TRANSFER, values=left) == ("ok", [[0, -5], [1, 5]])
    assert completed(TRANSFER, values=None) == ("ok", None)
    assert completed(TRANSFER, values=left, applied=False) == ("ok", None)
    assert completed(Invocation("read", "bank-0"), values=left) == ("ok", [[0, -5], [1, 5]])


@pytest.mark.parametrize("one", [APPEND, ACQUIRE, RELEASE, TRANSFER])
def test_rule_what_changes_the_state_is_in_doubt_like_a_write(one: Invocation) -> None:
    assert completion_of(one, BEFORE, "n1").type == "fail"
    assert completion_of(one, AFTER, "n1").type == "info"
    assert completion_of_error(one, LostError("no answer"), "n1").type == "info"
    assert completion_of_error(one, NotSentError("refused"), "n1").type == "fail"


@pytest.mark.parametrize("one", [GET, LIST])
def test_rule_what_reads_the_log_is_never_in_doubt(one: Invocation) -> None:
    assert completion_of(one, AFTER, "n1").type == completion_of_error(one, LostError("no answer"), "n1").type == "fail"


anything = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)
answers = st.dictionaries(
    st.sampled_from(["ok", "applied", "swapped", "value", "stage", "code", "name", "message", "leader"]),
    anything | st.sampled_from(["before-append", "after-append", "unknown"]),
)


@settings(max_examples=200)
@given(st.sampled_from(["write", "cas"]), answers)
def test_whatever_is_answered_fail_needs_its_proof(f: str, answer: dict[str, Any]) -> None:
    refused = f == "cas" and answer.get("ok") is True and answer.get("swapped") is False
    proof = refused or (answer.get("ok") is not True and answer.get("stage") == "before-append")
    assert (outcome_of(f, answer) == "fail") <= proof


@settings(max_examples=200)
@given(answers)
def test_a_read_is_never_in_doubt(answer: dict[str, Any]) -> None:
    assert outcome_of("read", answer) in ("ok", "fail")
