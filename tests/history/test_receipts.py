"""Receipts: four nemesis events become one receipt; a missing end is never taken for a good one."""

from __future__ import annotations

import pytest

from history import Event, Receipt, receipts_of
from history.records.events import Type


def event(index: int, type_: Type, action: str, number: int = 0, **value: object) -> Event:
    return Event(index, index * 10, type_, "nemesis", "kill-one", {"action": action, "id": number, **value})


INVOKE = event(0, "invoke", "inject", nodes=["n1"], targets={"nodes": ["n1"], "pid": 4}, leader="n2")
STOOD = event(1, "ok", "inject", witness={"pid_gone": 4})
HEALING = event(2, "invoke", "heal")
HEALED = event(3, "ok", "heal", witness={"new_pid": 5})


def test_the_whole_life_of_a_fault() -> None:
    assert receipts_of([INVOKE, STOOD, HEALING, HEALED]) == [
        Receipt(
            0, "kill-one", "installed", 0, ("n1",), {"nodes": ["n1"], "pid": 4}, "n2",
            stood=10, heal_started=20, healed=30, witness={"pid_gone": 4, "new_pid": 5},
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("events", "state", "reason"),
    [
        ([INVOKE], "indeterminate", "the injection never completed"),
        ([INVOKE, event(1, "fail", "inject", reason="no node leads")], "skipped", "no node leads"),
        (
            [INVOKE, event(1, "info", "inject", reason="no packet was dropped")],
            "indeterminate",
            "no packet was dropped",
        ),
        ([INVOKE, STOOD], "installed", None),
    ],
)
def test_how_an_injection_ends(events: list[Event], state: str, reason: str | None) -> None:
    (receipt,) = receipts_of(events)
    assert (receipt.state, receipt.reason, receipt.healed) == (state, reason, None)


def test_a_heal_that_failed_leaves_healed_empty() -> None:
    (receipt,) = receipts_of([INVOKE, STOOD, HEALING, event(3, "info", "heal", reason="ssh")])
    assert (receipt.heal_started, receipt.healed, receipt.state) == (20, None, "installed")


def test_a_second_heal_that_succeeds_counts() -> None:
    again = [event(4, "invoke", "heal"), event(5, "ok", "heal")]
    (receipt,) = receipts_of([INVOKE, STOOD, HEALING, event(3, "info", "heal"), *again])
    assert receipt.healed == 50


def test_the_healing_begins_with_its_first_try() -> None:
    """Which may have freed some of the nodes: what is done from then on was not done under the fault."""
    again = [event(4, "invoke", "heal"), event(5, "ok", "heal")]
    (receipt,) = receipts_of([INVOKE, STOOD, HEALING, event(3, "info", "heal"), *again])
    assert (receipt.heal_started, receipt.healed) == (20, 50)


def test_a_fault_that_had_ended_by_itself_before_it_was_healed_is_doubt() -> None:
    healed = event(3, "ok", "heal", witness={"lapsed": "the helper had ended"})
    (receipt,) = receipts_of([INVOKE, STOOD, HEALING, healed])
    assert (receipt.state, receipt.reason, receipt.healed) == ("indeterminate", "the helper had ended", 30)
    (receipt,) = receipts_of([INVOKE, event(1, "info", "inject", reason="no packet"), HEALING, healed])
    assert (receipt.state, receipt.reason) == ("indeterminate", "no packet")


def test_installed_without_a_witness_cannot_be_expressed() -> None:
    with pytest.raises(ValueError, match="without a witness"):
        Receipt(0, "kill-one", "installed", 0)
    with pytest.raises(ValueError, match="without a witness"):
        receipts_of([INVOKE, event(1, "ok", "inject")])


def test_faults_stand_in_the_order_of_their_start_and_do_not_mix() -> None:
    events = [INVOKE, event(1, "invoke", "inject", 1), event(2, "fail", "inject", 1, reason="r"), STOOD, HEALED]
    assert [(receipt.id, receipt.state) for receipt in receipts_of(events)] == [(0, "installed"), (1, "skipped")]


def test_client_events_are_passed_over() -> None:
    assert receipts_of([Event(0, 0, "invoke", 1, "write", {"id": 3})]) == []


def test_json_round_trip() -> None:
    (receipt,) = receipts_of([INVOKE, STOOD, HEALING, HEALED])
    assert Receipt.from_json(receipt.to_json()) == receipt


def test_family_and_summary_are_those_of_the_fault_and_empty_in_older_runs() -> None:
    (receipt,) = receipts_of([event(0, "invoke", "inject", family="kill", summary="SIGKILL to one")])
    assert (receipt.family, receipt.summary) == ("kill", "SIGKILL to one")
    record = receipts_of([INVOKE])[0].to_json()
    assert (record.pop("family"), record.pop("summary")) == ("", "")
    assert Receipt.from_json(record) == receipts_of([INVOKE])[0]
