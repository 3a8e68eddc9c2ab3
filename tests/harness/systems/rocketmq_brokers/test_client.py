"""RocketMQ's brokers: which answer proves what, and whom a client asks."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from harness.systems import Machine, Setup
from harness.systems.law import LOST, NOT_SENT, Outcome
from harness.systems.remoting import Answer
from harness.systems.rocketmq_brokers import DLEDGER, client
from harness.systems.rocketmq_brokers.client import LAW, REFUSED, Client, case_of
from harness.systems.rocketmq_brokers.messages import PULL, SEND, body_of
from harness.workloads import Invocation
from tests.support.harness.controller_socket import HANG_UP, SILENCE, ControllerSocket, answer, listening
from tests.support.harness.stored_messages import stored

NODES = tuple(Machine(f"n{number}", f"127.0.79.{number}") for number in (1, 2, 3))
SETUP = Setup(version="5.3.3", options={"queues": 2}, nodes=NODES, client_timeout=1.5)
SENT, PULLED = Invocation("send", "queue-1", 7), Invocation("pull", "queue-1", 4)
READ = Invocation("read", "queue-1", final=True)
TAKEN = answer(0, {"queueOffset": "4", "queueId": "1"})
REJECTED = answer(2, remark="[REJECTREQUEST]system busy, start flow control for a while")


def page(end: int, *messages: tuple[int, int], code: int = 0) -> tuple[Any, ...]:
    """An answer to a pull; a message's position in the commit log is a hundred times its offset."""
    found = b"".join(stored(at, body_of(payload), position=100 * at) for at, payload in messages)
    return answer(code, {"maxOffset": str(end)}, found)


@pytest.fixture(autouse=True)
def port(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that is free at every address: other tests, and brokers of other runs, have theirs."""
    with socket.socket() as free:
        free.bind(("", 0))
        monkeypatch.setattr(client, "PORT", free.getsockname()[1])
    monkeypatch.setattr(client, "PATIENCE_S", 0.3)
    monkeypatch.setattr(client, "AGAIN_S", 0.01)


def scene(sockets: Sequence[ControllerSocket | None], talk: Callable[[Client], Awaitable[Any]]) -> Any:
    """The result of a talk of a client that is at home at the first of these brokers; None is one that is down."""

    async def run() -> Any:
        (made,) = DLEDGER.clients(SETUP, 1)
        assert isinstance(made, Client)
        async with AsyncExitStack() as stack:
            for one, node in zip(sockets, NODES, strict=False):
                if one is not None:
                    await stack.enter_async_context(listening(one.serve, node.address, vars(client)["PORT"]))
            stack.push_async_callback(made.close)
            return await talk(made)

    return asyncio.run(run())


def perform(sockets: Sequence[ControllerSocket | None], *invocations: Invocation) -> list[Outcome]:
    async def talk(made: Client) -> list[Outcome]:
        return [await made.perform(one) for one in invocations]

    result: list[Outcome] = scene(sockets, talk)
    return result


# -- the law, row by row -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "invocation", "given", "outcome"),
    [
        ("done", SENT, TAKEN, ("ok", 4)),
        ("done", PULLED, page(6, (4, 70), (5, 80)), ("ok", {"first": 4, "payloads": [70, 80], "end": 6})),
        ("done", PULLED, page(6, (4, 70), (7, 80)),
         ("ok", {"first": 4, "payloads": [70, 80], "end": 6, "own": [[5, 7]]})),
        ("done", PULLED, page(4, code=19), ("ok", {"first": 4, "payloads": [], "end": 4})),
        ("done", PULLED, page(2, code=21), ("ok", {"first": 4, "payloads": [], "end": 2})),
        *[("refused", SENT, answer(code), ("fail", 7)) for code in (13, 16, 17, 29)],
        ("refused", PULLED, answer(17), ("fail", None)),
        ("error", SENT, answer(0), ("info", 7)),
        ("error", SENT, answer(1, remark="the in-sync replicas not enough"), ("info", 7)),
        ("error", SENT, answer(2, remark="[PC_SYNCHRONIZED]broker busy"), ("info", 7)),
        ("error", SENT, answer(2, remark="[TIMEOUT_CLEAN_QUEUE]broker busy"), ("info", 7)),
        *[("error", SENT, answer(code, {"queueOffset": "4"}), ("info", 7)) for code in (10, 11, 12, 19, 21)],
        ("not-available", SENT, answer(14, {"queueOffset": "4"}), ("info", 7)),
        ("error", PULLED, answer(0, {"maxOffset": "5"}, b"\0\0\0\1"), ("fail", None)),
        ("error", PULLED, answer(0), ("fail", None)),
        *[("error", PULLED, answer(code, {"maxOffset": "5"}), ("fail", None)) for code in (1, 2, 20, 24)],
        (LOST, SENT, SILENCE, ("info", 7)),
        (LOST, SENT, HANG_UP, ("info", 7)),
        (LOST, PULLED, SILENCE, ("fail", None)),
        (LOST, READ, HANG_UP, ("fail", None)),
    ],
)  # fmt: skip
def test_the_law(case: str, invocation: Invocation, given: Any, outcome: tuple[str, Any]) -> None:
    code = SEND if invocation.f == "send" else PULL
    (ended,) = perform([ControllerSocket({code: [given]})], invocation)
    assert (ended.type, ended.value, ended.node) == (*outcome, "n1")
    assert ended.type == LAW.type_of(case, invocation.f)


@pytest.mark.parametrize("invocation", [SENT, PULLED, READ])
def test_what_has_no_connection_is_not_sent(invocation: Invocation) -> None:
    (ended,) = perform([None], invocation)
    assert ended.type == LAW.type_of(NOT_SENT, invocation.f) == "fail"


def test_what_no_broker_takes_fails() -> None:
    (ended,) = perform([ControllerSocket({SEND: [REJECTED]}) for _ in NODES], SENT)
    assert ended.type == LAW.type_of("not-leader", "send") == "fail"


def test_every_row_of_the_law_has_a_test() -> None:
    rows = test_the_law.pytestmark[0].args[1]
    assert {row[0] for row in rows} | {NOT_SENT, "not-leader"} == set(LAW.rules)


def test_a_send_fails_only_by_an_answer_that_proves_it() -> None:
    failed = {
        code for code in range(300) if LAW.type_of(case_of("send", Answer(code, "", {}, b"", 1)), "send") == "fail"
    }
    assert failed == REFUSED


# -- whom a client asks ------------------------------------------------------------------------------------------------


def test_a_send_goes_on_after_a_proof_that_it_had_no_effect_and_stays_where_it_was_taken() -> None:
    home, third = ControllerSocket({SEND: [REJECTED]}), ControllerSocket({SEND: [TAKEN]})
    ended = perform([home, None, third], SENT, SENT)
    assert [(one.type, one.node) for one in ended] == [("ok", "n3"), ("ok", "n3")]
    assert (home.codes(), third.connections) == ([SEND], 1)


@pytest.mark.parametrize("given", [SILENCE, HANG_UP, answer(1), answer(14), answer(2, remark="[PC_SYNCHRONIZED]")])
def test_what_may_have_had_an_effect_is_sent_once(given: Any) -> None:
    home, other = ControllerSocket({SEND: [given]}), ControllerSocket({SEND: [TAKEN]})
    (ended,) = perform([home, other], SENT)
    assert (ended.type, other.codes()) == ("info", [])


def test_the_next_send_goes_on_from_a_broker_that_did_not_answer() -> None:
    home, other = ControllerSocket({SEND: [SILENCE]}), ControllerSocket({SEND: [TAKEN]})
    ended = perform([home, other], SENT, SENT)
    assert [(one.type, one.node) for one in ended] == [("info", "n1"), ("ok", "n2")]


def test_the_next_send_goes_on_from_a_slave_that_is_not_available() -> None:
    home, other = ControllerSocket({SEND: [answer(14)]}), ControllerSocket({SEND: [TAKEN]})
    ended = perform([home, other], SENT, SENT)
    assert [(one.type, one.node) for one in ended] == [("info", "n1"), ("ok", "n2")]


def test_what_is_sent() -> None:
    home = ControllerSocket({SEND: [TAKEN], PULL: [page(4, code=19)]})
    perform([home], SENT, PULLED)
    (_, sent, body), (_, pulled, _) = home.asked
    assert body == body_of(7)
    assert (sent["topic"], sent["queueId"], sent["batch"]) == ("harness", "1", "false")
    assert (pulled["queueId"], pulled["queueOffset"], pulled["suspendTimeoutMillis"]) == ("1", "4", "0")


# -- the whole queue ---------------------------------------------------------------------------------------------------


def test_a_whole_queue_is_read_by_places_that_the_client_counts() -> None:
    home = ControllerSocket({PULL: [page(2, (0, 5), (1, 6)), page(3, (2, 7))]})
    (ended,) = perform([home], READ)
    assert ended.value == {"first": 0, "payloads": [5, 6], "end": 2, "positions": [0, 100]}
    home = ControllerSocket({PULL: [page(3, (0, 5), (1, 6)), page(3, code=19), page(3, (2, 7))]})
    (ended,) = perform([home], READ)
    assert ended.value == {"first": 0, "payloads": [5, 6, 7], "end": 3, "positions": [0, 100, 200]}
    assert [ext["queueOffset"] for _, ext, _ in home.asked] == ["0", "2", "2"]


def test_a_hole_is_answered_after_a_while() -> None:
    (ended,) = perform([ControllerSocket({PULL: [page(3, (0, 5)), page(3, code=19)]})], READ)
    assert (ended.type, ended.value) == ("ok", {"first": 0, "payloads": [5], "end": 3, "positions": [0]})
