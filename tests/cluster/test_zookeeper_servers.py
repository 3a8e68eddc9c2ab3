"""ZooKeeper's own servers on the loopback network: what their answers, deaths and silences prove to clients."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kazoo", reason="needs the extra zookeeper")

from harness.systems import zookeeper as zk
from harness.systems.api import Client
from harness.workloads import Invocation
from tests.support.harness.zookeeper_servers import Servers

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="needs Java and Maven"),
]
VALUES = count(1)


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Callable[..., Servers]]:
    made: list[Servers] = []

    def start(version: str, number: int) -> Servers:
        made.append(Servers(tmp_path, version, number))
        made[-1].start(made[-1].roles)
        made[-1].until_it_serves()
        return made[-1]

    yield start
    for one in made:
        one.close()


def talk(servers: Servers, words: Callable[[list[Client]], Any]) -> Any:
    """The result of a conversation with one client a server."""

    async def run() -> Any:
        clients = list(zk.SYSTEM.clients(servers.setup, len(servers.setup.nodes)))
        for client in clients:
            await client.open()
        try:
            return await words(clients)
        finally:
            for client in clients:
                await client.close()

    return asyncio.run(run())


async def until_ok(client: Client, invocation: Invocation, within_s: float = 60.0) -> Any:
    deadline = time.monotonic() + within_s
    while (outcome := await client.perform(invocation)).type != "ok":
        assert time.monotonic() < deadline, outcome
        await asyncio.sleep(0.1)
    return outcome.value


async def add(client: Client) -> int:
    """Add an element that is acknowledged; a doubtful one is another's."""
    for value in VALUES:
        if (await client.perform(Invocation("add", "set", value))).type == "ok":
            return value
        await asyncio.sleep(0.1)
    raise AssertionError


def test_each_kind_of_operation_and_the_figures(servers: Callable[..., Servers]) -> None:
    three = servers("3.9.4", 3)

    async def words(clients: list[Client]) -> None:
        first, second, third = clients
        assert await until_ok(first, Invocation("read", "k0")) is None
        assert await until_ok(first, Invocation("write", "k0", 5)) == 5
        assert await until_ok(second, Invocation("read", "k0")) == 5
        assert await until_ok(second, Invocation("cas", "k0", [5, 6])) == [5, 6]
        assert (await second.perform(Invocation("cas", "k0", [5, 7]))).type == "fail"
        assert await until_ok(second, Invocation("peek", "k0")) == [6, 1]
        assert await until_ok(third, Invocation("cas", "k1", [None, 1])) == [None, 1]
        assert [await until_ok(one, Invocation("append", "sequence", 10 + n)) for n, one in enumerate(clients)] == [
            0, 1, 2,
        ]  # fmt: skip
        assert await until_ok(third, Invocation("list", "sequence")) == [10, 11, 12]
        both = [["r", 1, None], ["w", 2, 7], ["r", 2, None]]
        assert await until_ok(first, Invocation("txn", None, both)) == [["r", 1, None], ["w", 2, 7], ["r", 2, 7]]
        assert await until_ok(second, Invocation("txn", None, [["w", 1, 8], *both[:1]])) == [["w", 1, 8], ["r", 1, 8]]
        assert await until_ok(third, Invocation("txn", None, [*both[:1], *both[2:]])) == [["r", 1, 8], ["r", 2, 7]]
        at_once = [one.perform(Invocation("txn", None, [["r", 2, None], ["w", 2, n]])) for n, one in enumerate(clients)]
        won = [one.value for one in await asyncio.gather(*at_once) if one.type == "ok"]
        assert len({steps[0][2] for steps in won}) == len(won), "no two overwrote the same"
        added = {await add(client) for client in clients}
        assert set(await until_ok(second, Invocation("read", "set"))) == added
        answers = [await zk.Prober(node.address).ask(5.0) for node in three.setup.nodes]
        assert sorted(one["role"] for one in answers) == ["follower", "follower", "leader"]
        assert {one["term"] for one in answers} == {1}

    talk(three, words)


def test_a_dead_and_a_silent_server(servers: Callable[..., Servers]) -> None:
    three = servers("3.9.4", 3)

    async def words(clients: list[Client]) -> None:
        first, second, _ = clients
        await add(first)
        doubtful = next(VALUES)
        three.pause("n1")
        try:
            assert (await first.perform(Invocation("add", "set", doubtful))).type == "info"
        finally:
            three.resume("n1")
        added = await add(first)
        three.kill(["n2"])
        await asyncio.sleep(1.0)
        unsent = next(VALUES)
        refused = await second.perform(Invocation("add", "set", unsent))
        assert (refused.type, refused.node) == ("fail", "n2")
        three.start(["n2"])
        found = set(await until_ok(second, Invocation("read", "set")))
        assert added in found
        assert unsent not in found, "what was not sent is not sent later"

    talk(three, words)


@pytest.mark.nightly
@pytest.mark.parametrize(("version", "lost"), [("3.9.3", True), ("3.9.4", False)])
def test_a_stale_follower_that_leads_loses_znodes_of_another(
    servers: Callable[..., Servers], version: str, lost: bool
) -> None:
    """ZOOKEEPER-4925: what a follower missed is not in its log of commits, and a server that it syncs never gets it."""
    five = servers(version, 5)

    async def words(clients: list[Client]) -> bool:
        by_home = {client.home: client for client in clients}
        five.kill(["n1"])
        witness = by_home["n2"]
        added = {await add(witness) for _ in range(5)}
        five.kill(["n5"])
        added |= {await add(witness) for _ in range(5)}
        five.start(["n5"])
        await until_ok(by_home["n5"], Invocation("read", "set"))
        leader = await five.leader()
        if leader is not None and leader != "n5":
            five.kill([leader])
            while await five.leader() != "n5":
                await asyncio.sleep(0.2)
        five.start(["n1"])
        return bool(added - set(await until_ok(by_home["n1"], Invocation("read", "set"))))

    assert talk(five, words) == lost
