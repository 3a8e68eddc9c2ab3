"""RocketMQ's controller: which answer proves what, whom a client asks, what brokers say."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest

from harness.systems import Machine, Setup
from harness.systems.law import LOST, NOT_SENT, Outcome
from harness.systems.remoting import Answer
from harness.systems.rocketmq import SYSTEM, brokers, client, requests
from harness.systems.rocketmq.client import LAW, Client, Prober
from harness.workloads import Invocation
from tests.support.harness.controller_socket import HANG_UP, SILENCE, ControllerSocket, answer, listening

NODES = tuple(Machine(f"n{number}", f"127.0.78.{number}") for number in (1, 2, 3))
OPTIONS: dict[str, Any] = {option.name: option.default for option in SYSTEM.options}
SETUP = Setup(version="5.3.3", options={**OPTIONS, "broker_sets": 1}, nodes=NODES, client_timeout=1.5)

READ, REGISTER = Invocation("read", "broker-0"), Invocation("register", "broker-0", 2)
ALTER, ELECT = Invocation("alter", "broker-0", [1, 2, 5, [1, 3]]), Invocation("elect", "broker-0", 3)
MASTER = {"masterBrokerId": "1", "masterEpoch": "2", "masterAddress": "x"}
SET = '{"syncStateSet":[3,1],"syncStateSetEpoch":5}'
STATE = [1, 2, [1, 3], 5]
#: As the controller writes it: other members have numbers for keys.
ELECTED = '{"brokerMemberGroup":{"brokerAddrs":{1:"a",2:"b"},"brokerName":"broker-0"},"syncStateSet":[3]}'
GRANTED = answer(0, {"newSyncStateSetEpoch": "6"}, '{"syncStateSet":[1,3],"syncStateSetEpoch":6}')
NOT_LEADER = answer(2007, remark="The controller is not in leader state")


@pytest.fixture(autouse=True)
def port(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that is free at every address: other tests, and controllers of other runs, have theirs."""
    with socket.socket() as one:
        one.bind(("", 0))
        free = one.getsockname()[1]
    for module in (requests, client, brokers):
        monkeypatch.setattr(module, "PORT", free)


def leader(number: int) -> tuple[Any, ...]:
    address = f"{NODES[number - 1].address}:{requests.PORT}"
    return answer(0, {"controllerLeaderAddress": address, "isLeader": "false"})


def scene(
    sockets: Sequence[ControllerSocket | None], talk: Callable[[Client], Awaitable[Any]], setup: Setup = SETUP
) -> Any:
    """The result of a talk of a client that is at home at the first of these controllers; None is one that is down."""

    async def run() -> Any:
        (found,) = SYSTEM.clients(setup, 1)
        assert isinstance(found, Client)
        async with AsyncExitStack() as stack:
            for one, node in zip(sockets, NODES, strict=False):
                if one is not None:
                    await stack.enter_async_context(listening(one.serve, node.address, requests.PORT))
            stack.push_async_callback(found.close)
            return await talk(found)

    return asyncio.run(run())


def perform(
    sockets: Sequence[ControllerSocket | None], *invocations: Invocation, setup: Setup = SETUP
) -> list[Outcome]:
    async def talk(found: Client) -> list[Outcome]:
        return [await found.perform(one) for one in invocations]

    result: list[Outcome] = scene(sockets, talk, setup)
    return result


# -- the law, row by row -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "invocation", "given", "outcome"),
    [
        ("done", READ, answer(0, MASTER, SET), ("ok", STATE)),
        ("done", READ, answer(0, {"masterEpoch": "0"}, '{"syncStateSet":[],"syncStateSetEpoch":0}'),
         ("ok", [None, 0, [], 0])),
        ("done", REGISTER, answer(0, MASTER, SET), ("ok", STATE)),
        ("done", REGISTER, answer(0, {}, SET), ("ok", [None, None, [1, 3], 5])),
        ("done", ALTER, GRANTED, ("ok", 6)),
        ("done", ELECT, answer(0, {"masterBrokerId": "3", "masterEpoch": "3", "syncStateSetEpoch": "6"}, ELECTED),
         ("ok", ["elected", 3, 3, [3], 6])),
        ("exists", ELECT, answer(2011, {**MASTER, "syncStateSetEpoch": "5"}, '{"syncStateSet":[1,3]}'),
         ("ok", ["exists", *STATE])),
        ("exists", ALTER, answer(2011), ("fail", ALTER.value)),
        *[("refused", ALTER, answer(code, {"newSyncStateSetEpoch": "0"}), ("fail", ALTER.value))
          for code in (2000, 2001, 2002, 2003, 2006, 2008, 2010, 2012, 2013, 2014)],
        ("refused", REGISTER, answer(2010), ("fail", None)),
        *[("error", ALTER, answer(code), ("info", ALTER.value)) for code in (1, 2, 2004, 2005, 2009, 2015, 2016)],
        ("error", ELECT, answer(2004), ("info", 3)),
        ("error", READ, answer(1, remark="TimeoutException"), ("fail", None)),
        ("error", READ, answer(0, MASTER, "{}"), ("fail", None)),
        ("error", ALTER, answer(0, {"newSyncStateSetEpoch": "7"}, SET), ("info", ALTER.value)),
        ("error", ALTER, answer(0), ("info", ALTER.value)),
        (LOST, ALTER, SILENCE, ("info", ALTER.value)),
        (LOST, ELECT, HANG_UP, ("info", 3)),
        (LOST, READ, SILENCE, ("fail", None)),
        (LOST, REGISTER, HANG_UP, ("fail", None)),
    ],
)  # fmt: skip
def test_the_law(case: str, invocation: Invocation, given: Any, outcome: tuple[str, Any]) -> None:
    code, *_ = requests.request(invocation.f, "broker-0", invocation.value)
    (found,) = perform([ControllerSocket({code: [given]})], invocation)
    assert (found.type, found.value, found.node) == (*outcome, "n1")
    assert found.type == LAW.type_of(case, invocation.f)


@pytest.mark.parametrize("invocation", [ALTER, READ])
def test_what_has_no_connection_is_not_sent(invocation: Invocation) -> None:
    (found,) = perform([None], invocation)
    assert found.type == LAW.type_of(NOT_SENT, invocation.f) == "fail"


def test_every_row_of_the_law_has_a_test() -> None:
    rows = test_the_law.pytestmark[0].args[1]
    assert {row[0] for row in rows} | {NOT_SENT, "not-leader"} == set(LAW.rules)


def test_a_change_fails_only_by_a_code_that_proves_it() -> None:
    made = {code: Answer(code, "", {}, b"", 1) for code in range(2100)}
    outcomes = {code: client.outcome_of(*client.case_of(ALTER, one), ALTER, one, "n1") for code, one in made.items()}
    failed = {code for code, outcome in outcomes.items() if outcome.type == "fail"}
    assert failed == client.REFUSED | {requests.NOT_LEADER, requests.MASTER_STILL_EXISTS}


# -- whom a client asks ------------------------------------------------------------------------------------------------


def test_it_goes_on_to_the_leader_that_its_home_names_and_stays_there() -> None:
    home = ControllerSocket({requests.ALTER: [NOT_LEADER], requests.METADATA: [leader(3)]})
    other, third = ControllerSocket({}), ControllerSocket({requests.ALTER: [GRANTED]})
    found = perform([home, other, third], ALTER, ALTER)
    assert [(one.type, one.node) for one in found] == [("ok", "n3"), ("ok", "n3")]
    assert (home.codes(), other.codes()) == ([requests.ALTER, requests.METADATA], [])


def test_it_asks_the_others_when_its_home_is_down_and_three_at_the_most() -> None:
    sockets = [ControllerSocket({requests.ALTER: [NOT_LEADER], requests.METADATA: [leader(1)]}) for _ in range(2)]
    (found,) = perform([None, *sockets], ALTER)
    assert (found.type, found.node) == ("fail", "n3")
    assert [one.codes().count(requests.ALTER) for one in sockets] == [1, 1]


@pytest.mark.parametrize("given", [SILENCE, HANG_UP, answer(1), answer(2015)])
def test_what_may_have_had_an_effect_is_asked_once(given: Any) -> None:
    home, other = ControllerSocket({requests.ALTER: [given]}), ControllerSocket({requests.ALTER: [GRANTED]})
    (found,) = perform([home, other], ALTER)
    assert (found.type, other.codes()) == ("info", [])


def test_what_is_sent() -> None:
    home = ControllerSocket({requests.ALTER: [GRANTED], requests.ELECT: [answer(2012)]})
    perform([home], ALTER, ELECT)
    (_, altered, body), (_, elected, _) = home.asked
    assert body == b'{"syncStateSet":[1,3],"syncStateSetEpoch":5}'
    assert altered.pop("invokeTime").isdigit()
    assert altered == {"brokerName": "broker-0", "masterBrokerId": "1", "masterEpoch": "2"}
    assert (elected["brokerId"], elected["designateElect"]) == ("3", "true")


# -- reads from memory -------------------------------------------------------------------------------------------------

LOCAL = replace(SETUP, options={**SETUP.options, "reads": "local"})
LAST = Invocation("read", "broker-0", final=True)


@pytest.mark.parametrize(
    ("setup", "invocation", "applied", "found", "codes"),
    [
        (LOCAL, LAST, answer(0), "ok", [requests.APPLY_BROKER_ID, requests.REPLICA_INFO]),
        (LOCAL, LAST, answer(1), "fail", [requests.APPLY_BROKER_ID]),
        (LOCAL, LAST, SILENCE, "fail", [requests.APPLY_BROKER_ID]),
        (LOCAL, READ, SILENCE, "ok", [requests.REPLICA_INFO]),
        (SETUP, LAST, SILENCE, "ok", [requests.REPLICA_INFO]),
    ],
)  # fmt: skip
def test_a_last_read_from_memory_follows_an_entry_of_the_log(
    setup: Setup, invocation: Invocation, applied: Any, found: str, codes: list[int]
) -> None:
    """What a leader has in memory shows no majority that serves: it would count as recovery."""
    home = ControllerSocket({requests.APPLY_BROKER_ID: [applied], requests.REPLICA_INFO: [answer(0, MASTER, SET)]})
    (outcome,) = perform([home], invocation, setup=setup)
    assert (outcome.type, home.codes()) == (found, codes)


@pytest.mark.parametrize(("setup", "found"), [(SETUP, "ok"), (LOCAL, "fail")])
def test_an_elect_of_the_master_is_a_read_only_where_it_waits_for_an_entry(setup: Setup, found: str) -> None:
    exists = answer(2011, {**MASTER, "syncStateSetEpoch": "5"}, '{"syncStateSet":[1,3]}')
    (outcome,) = perform([ControllerSocket({requests.ELECT: [exists]})], ELECT, setup=setup)
    assert outcome.type == found


def test_a_peek_is_the_same_request_as_a_read_and_never_in_doubt() -> None:
    home = ControllerSocket({requests.REPLICA_INFO: [answer(0, MASTER, SET), SILENCE]})
    seen, lost = perform([home], *[Invocation("peek", "broker-0")] * 2, setup=LOCAL)
    assert (seen.type, lost.type, home.codes()) == ("ok", "fail", [requests.REPLICA_INFO] * 2)


# -- brokers, probes ---------------------------------------------------------------------------------------------------


def test_brokers_beat_to_all_on_connections_of_their_own_while_a_client_is_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(brokers, "EVERY_S", 0.01)
    sockets = [ControllerSocket({requests.HEARTBEAT: [answer(0)]}) for _ in NODES]

    async def talk(_: Client) -> tuple[list[int], list[int]]:
        found = SYSTEM.clients(SETUP, 2)
        for one in (*found, *found):
            await one.open()
        async with asyncio.timeout(10):
            while min(len(one.asked) for one in sockets) < 2 * len(requests.IDS):
                await asyncio.sleep(0.01)
        await found[0].close()
        before = min(len(one.asked) for one in sockets)
        async with asyncio.timeout(10):
            while min(len(one.asked) for one in sockets) < before + len(requests.IDS):
                await asyncio.sleep(0.01)
        beaten = [len(one.asked) for one in sockets]
        await found[1].close()
        await asyncio.sleep(0.05)
        ended = [len(one.asked) for one in sockets]
        await asyncio.sleep(0.1)
        assert [len(one.asked) for one in sockets] == ended, "it went on after the last client"
        return beaten, [one.connections for one in sockets]

    beaten, connections = scene(sockets, talk)
    assert min(beaten) >= 3 * len(requests.IDS)
    assert connections == [len(requests.IDS)] * 3
    names = {(ext["brokerName"], ext["brokerId"]) for _, ext, _ in sockets[0].asked}
    assert names == {("broker-0", "1"), ("broker-0", "2"), ("broker-0", "3")}


def test_brokers_try_again_where_no_node_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brokers, "EVERY_S", 0.01)
    home = ControllerSocket({requests.HEARTBEAT: [HANG_UP]})

    async def talk(found: Client) -> None:
        await found.open()
        await asyncio.sleep(0.2)

    scene([home, None, None], talk)
    assert home.connections > len(requests.IDS)


async def probe(_: Client) -> Any:
    prober = Prober(NODES[0], SETUP)
    try:
        return await prober.ask(1.0)
    finally:
        await prober.close()


@pytest.mark.parametrize(
    ("leads", "named", "stated"),
    [
        ("true", "127.0.78.1", {"role": "leader", "leader": "n1"}),
        ("false", "127.0.78.2", {"role": "follower", "leader": "n2"}),
        ("false", None, {"role": "unknown", "leader": None}),
    ],
)
def test_what_a_controller_says_of_itself(leads: str, named: str | None, stated: dict[str, Any]) -> None:
    ext = {"isLeader": leads, **({"controllerLeaderAddress": f"{named}:{requests.PORT}"} if named else {})}
    assert scene([ControllerSocket({requests.METADATA: [answer(0, ext)]})], probe) == stated


@pytest.mark.parametrize(
    ("sockets", "error"), [([None], OSError), ([ControllerSocket({1005: [answer(1)]})], ValueError)]
)
def test_one_that_says_nothing(sockets: list[ControllerSocket | None], error: type[Exception]) -> None:
    with pytest.raises(error):
        scene(sockets, probe)
