"""The client of a broker, and the law of outcomes: what an answer of a controller proves.

An elect that finds that its broker is already the master is also ok, and counts as a read.

With ``reads=local``, requests that change nothing are answered from one controller's memory, which may be stale and
does not show that a majority serves.  A read is then a ``peek``, and an elect of the present master counts as refused.
Before the final reads, a broker applies for the number that it already has, which adds an entry to the log but changes
nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import cycle, islice
from typing import Any, Final

from harness.clients.wire import NoAnswerError
from harness.systems.api import Machine, Setup
from harness.systems.law import LOST, NOT_SENT, Law, Outcome, Rule
from harness.systems.remoting import Answer, Connection, left
from harness.systems.rocketmq.brokers import Brokers
from harness.systems.rocketmq.requests import (
    APPLY_BROKER_ID,
    IDS,
    MASTER_STILL_EXISTS,
    METADATA,
    NOT_LEADER,
    OK,
    PORT,
    Broker,
    answers_from_memory,
    request,
    state_in,
)
from harness.workloads import Invocation

LAW: Final = Law(
    Rule("done", "0", "ok"),
    Rule("exists", "2011: the broker to elect is already the master", "fail", elect="ok"),
    Rule("refused", "2000-2003, 2006, 2008, 2010, 2012-2014: processed, but nothing was appended", "fail"),
    Rule("not-leader", "2007: it is not the leader; nothing was appended", "fail"),
    Rule("error", "any other code, or a malformed answer", "info", read="fail", peek="fail", register="fail"),
    reads=("read", "peek", "register"),
)
REFUSED: Final = frozenset({2000, 2001, 2002, 2003, 2006, 2008, 2010, 2012, 2013, 2014})
#: The most controllers to ask for one operation, each after proof that nothing happened at the one before.
HOPS: Final = 3


class Client:
    """One worker's connection to the leader: the controller that answered last, or else the one that its home names.

    It moves on only from a controller that cannot be reached or says that it is not the leader.
    """

    def __init__(self, home: Machine, setup: Setup, brokers: Brokers) -> None:
        self.home = home.name
        self._timeout = setup.client_timeout
        self._brokers = brokers
        self._local = answers_from_memory(setup)
        self._connections = {node.name: Connection((node.address, PORT)) for node in setup.nodes}
        self._nodes = {f"{node.address}:{PORT}": node.name for node in setup.nodes}
        self._leader: str | None = None
        self._open = False

    async def open(self) -> None:
        if not self._open:
            self._open = True
            await self._brokers.open()

    async def close(self) -> None:
        if self._open:
            self._open = False
            await self._brokers.close()
        for connection in self._connections.values():
            connection.close()

    async def perform(self, invocation: Invocation) -> Outcome:
        deadline = time.monotonic() + self._timeout
        node, tried = self._leader or self.home, list[str]()
        while True:
            outcome, case = await self._ask(invocation, node, deadline)
            tried.append(node)
            onward = case in (NOT_SENT, "not-leader")
            self._leader = None if onward or case == LOST else node
            if not onward or len(tried) == HOPS or time.monotonic() >= deadline:
                return outcome
            named = await self._leader_by(node, deadline)
            others = [other for other in (named, *self._connections) if other is not None and other not in tried]
            if not others:
                return outcome
            node = others[0]

    async def _ask(self, invocation: Invocation, node: str, deadline: float) -> tuple[Outcome, str]:
        """Return the outcome of the operation at this node, and its case."""
        code, ext, body = request(invocation.f, str(invocation.key), invocation.value)
        connection, logged = self._connections[node], invocation.final and self._local
        try:
            if logged:
                entry = Broker(str(invocation.key), IDS[0]).application()
                answer = await connection.ask(APPLY_BROKER_ID, ext=entry, timeout=left(deadline))
            if not logged or answer.code == OK:
                answer = await connection.ask(code, body, ext, timeout=left(deadline))
        except NoAnswerError as error:
            return LAW.outcome(error.case, invocation, node, str(error)), error.case
        case, value = case_of(invocation, answer)
        if self._local and case == "exists":
            case = "refused"
        return outcome_of(case, value, invocation, answer, node), case

    async def _leader_by(self, node: str, deadline: float) -> str | None:
        """Return the leader that this node knows."""
        try:
            answer = await self._connections[node].ask(METADATA, timeout=left(deadline))
        except NoAnswerError:
            return None
        return self._nodes.get(answer.ext.get("controllerLeaderAddress", ""))


def outcome_of(case: str, value: Any, invocation: Invocation, answer: Answer, node: str) -> Outcome:
    """Return the outcome that an answer of this case proves, with the value in it."""
    if case in ("done", "exists") and LAW.type_of(case, invocation.f) == "ok":
        return LAW.outcome(case, invocation, node, value=value)
    return LAW.outcome(case, invocation, node, str(answer))


def case_of(invocation: Invocation, answer: Answer) -> tuple[str, Any]:
    """Return the law's case for an answer, and the value in it."""
    if answer.code == NOT_LEADER:
        return "not-leader", None
    if answer.code in REFUSED:
        return "refused", None
    if answer.code not in (OK, MASTER_STILL_EXISTS):
        return "error", None
    if answer.code == MASTER_STILL_EXISTS and invocation.f != "elect":
        return "exists", None
    try:
        return ("done" if answer.code == OK else "exists"), value_of(invocation.f, answer)
    except ValueError:
        return "error", None


def value_of(f: str, answer: Answer) -> Any:
    """Return the value in an answer.  Raises ValueError if something is missing."""
    state = state_in(answer)
    if f == "alter":  # only with code 0: the epoch in the header is zero if nothing was granted
        if str(state[3]) != answer.ext.get("newSyncStateSetEpoch"):
            raise ValueError(f"two epochs: {state[3]} and {answer.ext.get('newSyncStateSetEpoch')}")
        return state[3]
    if f == "elect":
        return ["elected" if answer.code == OK else "exists", *state]
    return state


def clients(setup: Setup, number: int) -> list[Client]:
    """Make ``number`` clients, spread evenly over the nodes, and the brokers that send heartbeats meanwhile."""
    brokers = Brokers(setup)
    return [Client(home, setup, brokers) for home in islice(cycle(setup.nodes), number)]


class Prober:
    """A prober that asks one controller whether it leads, and which one leads.  Answers have no term and no index."""

    def __init__(self, node: Machine, setup: Setup) -> None:
        self._connection = Connection((node.address, PORT))
        self._nodes = {f"{machine.address}:{PORT}": machine.name for machine in setup.nodes}

    async def ask(self, timeout: float) -> Mapping[str, Any]:
        answer = await self._connection.ask(METADATA, timeout=timeout)
        if answer.code != OK:
            raise ValueError(f"code {answer}")
        leader = self._nodes.get(answer.ext.get("controllerLeaderAddress", ""))
        leads = answer.ext.get("isLeader") == "true"
        return {"role": "leader" if leads else "follower" if leader else "unknown", "leader": leader}

    async def close(self) -> None:
        self._connection.close()
