"""BookKeeper's client: what is sent, and which answer proves what, row by row."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from harness.systems import Machine
from harness.systems.bookkeeper import outcomes
from harness.systems.bookkeeper.client import Client, KnownLedgers, Prober
from harness.systems.law import LOST, NOT_SENT, Outcome
from harness.workloads import Invocation
from history.records.operations import was_applied, was_served
from tests.support.harness.gateway import ADDRESS, Gateway, setup_of

CREATE = Invocation("create", "l0")
WINDOW = Invocation("window", "l0", [10, 3])
TAIL = Invocation("tail", "l0", 1)
RECOVER = Invocation("recover", "l0")
CLOSE = Invocation("close", "l0")
READ = Invocation("read", "l0", final=True)


def talk(
    *invocations: Invocation, prepare: Callable[[Gateway], None] = lambda _: None, known: KnownLedgers | None = None
) -> tuple[list[Outcome], Gateway]:
    """The outcomes of one client's operations; ``prepare`` is called before the last of them."""
    gateway = Gateway()

    async def run() -> list[Outcome]:
        await gateway.start()
        client = Client(Machine("n1", ADDRESS), setup_of(timeout=1.0), KnownLedgers() if known is None else known)
        try:
            found = [await client.perform(one) for one in invocations[:-1]]
            prepare(gateway)
            return [*found, await client.perform(invocations[-1])]
        finally:
            await client.close()
            await gateway.stop()

    return asyncio.run(run()), gateway


def failing(op: str, code: int) -> Callable[[Gateway], None]:
    def prepare(gateway: Gateway) -> None:
        gateway.replies[op] = {"ok": False, "code": code, "error": "words"}

    return prepare


def answering(op: str, value: Any) -> Callable[[Gateway], None]:
    def prepare(gateway: Gateway) -> None:
        gateway.replies[op] = {"ok": True, "value": value}

    return prepare


def silent(op: str) -> Callable[[Gateway], None]:
    def prepare(gateway: Gateway) -> None:
        gateway.replies[op] = None

    return prepare


def test_a_ledger_from_its_create_to_its_last_read() -> None:
    found, gateway = talk(CREATE, WINDOW, TAIL, RECOVER, CLOSE, READ)
    assert [one.type for one in found] == ["ok"] * 6
    assert [one.value for one in found] == [
        7,
        [0, 1, 2],
        {"lac": 2, "first": 1, "entries": [11, 12]},
        {"last": 2, "length": 30},
        {"last": 2, "length": 30},
        {"last": 2, "closed": 2, "length": 30, "state": "CLOSED", "bytes": 30, "entries": [10, 11, 12]},
    ]
    create = gateway.asked[0]
    assert (create["ensemble"], create["write"], create["ack"]) == (3, 3, 2)
    assert all(0 < request["timeout_ms"] <= 800 for request in gateway.asked), "the gateway answers before we give up"


def test_the_handle_of_a_recovery_is_given_up_and_that_of_a_reader_kept() -> None:
    _, gateway = talk(CREATE, RECOVER, TAIL, TAIL)
    assert [one["op"] for one in gateway.asked] == [
        "create", "openRecover", "close", "openNoRecover", "readLAC", "readLAC",
    ]  # fmt: skip


def test_a_window_of_which_some_are_in_doubt() -> None:
    value = {"ids": [0, None, 2], "codes": {"-101": 1}, "sealed": False}
    found, _ = talk(CREATE, WINDOW, prepare=answering("add", value))
    assert (found[-1].type, found[-1].value) == ("ok", [0, None, 2])
    assert found[-1].error == "1 of 3: LedgerFenced (-101)"


@pytest.mark.parametrize(
    ("case", "invocation", "prepare", "type_"),
    [
        ("answered", RECOVER, lambda _: None, "ok"),
        ("no-handle", WINDOW, failing("add", 404), "fail"),
        ("sealed", WINDOW, answering("add", {"ids": [None], "codes": {"-11": 1}, "sealed": True}), "fail"),
        ("error", WINDOW, answering("add", {"ids": [None], "codes": {"-11": 1}, "sealed": False}), "info"),
        ("error", WINDOW, answering("add", {"ids": [None], "codes": {"-101": 1}, "sealed": True}), "info"),
        ("error", WINDOW, answering("add", {"ids": [None], "codes": {"-21": 1}, "sealed": False}), "info"),
        ("error", CREATE, failing("create", -6), "info"),
        ("error", RECOVER, failing("openRecover", -10), "info"),
        ("error", CLOSE, failing("close", -17), "info"),
        ("error", TAIL, failing("readLAC", -23), "fail"),
        ("error", READ, failing("openRecover", -10), "fail"),
        ("no-ledger", RECOVER, failing("openRecover", -25), "info"),
        ("no-ledger", TAIL, failing("openNoRecover", -25), "fail"),
        ("no-ledger", READ, failing("openRecover", -25), "ok"),
        ("error", READ, failing("openRecover", -7), "fail"),  # a bookie's word
        (LOST, WINDOW, silent("add"), "info"),
        (LOST, WINDOW, failing("add", 408), "info"),
        (LOST, RECOVER, silent("openRecover"), "info"),
        (LOST, READ, silent("metadata"), "fail"),
    ],
)
def test_the_law(case: str, invocation: Invocation, prepare: Callable[[Gateway], None], type_: str) -> None:
    found, _ = talk(CREATE, invocation, prepare=prepare)
    assert outcomes.LAW.type_of(case, invocation.f) == type_
    assert found[-1].type == type_
    assert found[-1].node == "n1"
    assert type_ == "ok" or found[-1].error


def test_no_gateway_no_operation() -> None:
    client = Client(Machine("n1", ADDRESS), setup_of(timeout=0.3), KnownLedgers(ids={"l0": 7}))
    assert asyncio.run(client.perform(RECOVER)).type == "fail"
    assert outcomes.LAW.type_of(NOT_SENT, "recover") == "fail"


def test_a_ledger_whose_create_was_not_seen_is_read_as_none_by_a_gateway_that_answers() -> None:
    found, gateway = talk(READ)
    assert (found[0].type, found[0].value) == ("ok", None)
    assert was_applied("ok", found[0].error), "it counts as read"
    assert not was_served("ok", found[0].error), "no bookie was asked"
    assert [one["op"] for one in gateway.asked] == ["status"]
    assert talk(WINDOW)[0][0].type == "fail"
    assert talk(READ, prepare=silent("status"))[0][0].type == "fail"


def test_every_row_of_the_law_has_a_test() -> None:
    marks = [mark for mark in vars(test_the_law)["pytestmark"] if mark.name == "parametrize"]
    tested = {row[0] for row in marks[0].args[1]}
    assert tested | {NOT_SENT, "never-created"} == set(outcomes.LAW.rules)


def test_long_ledgers_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.systems.bookkeeper.client.CHUNK", 2)
    found, gateway = talk(CREATE, WINDOW, READ)
    assert found[-1].value["entries"] == [10, 11, 12]
    assert [(one["first"], one["last"]) for one in gateway.asked if one["op"] == "read"] == [(0, 1), (2, 2)]


@pytest.mark.parametrize(
    ("reply", "error"),
    [({}, None), ({"ok": False, "code": -9, "error": "no metadata"}, ValueError), (None, OSError)],
)
def test_what_a_node_says_of_itself(reply: dict[str, Any] | None, error: type[Exception] | None) -> None:
    async def run() -> Any:
        gateway = Gateway()
        gateway.replies["status"] = reply
        await gateway.start()
        prober = Prober(Machine("n1", ADDRESS))
        try:
            return await prober.ask(0.5)
        finally:
            await prober.close()
            await gateway.stop()

    if error is None:
        assert asyncio.run(run()) == {"gateway_pid": 1, "handles": 0, "writable_bookies": 4}
    else:
        with pytest.raises(error):
            asyncio.run(run())


def test_an_error_names_its_code() -> None:
    assert outcomes.name_of(-6) == "NotEnoughBookies (-6)"
    assert outcomes.name_of(-999) == "code (-999)"
