"""The client of a broker, and the law of outcomes: what an answer of a broker proves.

A send goes to the broker that took the last one, until it refuses or does not answer.  A pull goes to the broker of the
worker's own node, whatever its role is, so that all replicas are read.  Nothing that may have had an effect is sent
twice: unlike RocketMQ's own producers, this client does not retry after a timeout or an error, so a message is in its
queue at most once.

In DLedger mode, a send waits for the entry to be committed, and gives up after 2.5 s with the entry still in the log of
the leader.  Such an answer leaves the outcome in doubt, whichever code a version returns for it (1, or 2 with
``[PC_SYNCHRONIZED]``).
"""

from __future__ import annotations

import asyncio
import time
from itertools import cycle, islice
from typing import Any, Final

from harness.clients.wire import NoAnswerError
from harness.systems.api import Machine, Setup
from harness.systems.law import LOST, NOT_SENT, Law, Outcome, Rule
from harness.systems.remoting import Answer, Connection, left
from harness.systems.rocketmq_brokers.messages import (
    BUSY,
    MESSAGE_ILLEGAL,
    NO_PERMISSION,
    NO_QUEUE,
    NO_TOPIC,
    NOT_AVAILABLE,
    NOT_FOUND,
    OFFSET_MOVED,
    OK,
    PORT,
    PULL,
    SEND,
    Page,
    body_of,
    page_in,
    pull_header,
    send_header,
)
from harness.workloads import Invocation

LAW: Final = Law(
    Rule("done", "0; for a pull also 19 and 21: no message at that place, and the end of the queue", "ok"),
    Rule("not-leader", "2 [REJECTREQUEST]: it is not the leader, or not ready to lead; the request was not processed",
         "fail"),
    Rule("refused", "13, 16, 17, 29: a message, topic or queue that it refuses before the append",
         "fail"),
    Rule("not-available", "14: a slave of 4.9, or the wait for the quorum timed out", "info", pull="fail", read="fail"),
    Rule("error", "any other code, such as 1 and 2 when the wait for the quorum ended; a malformed answer",
         "info", pull="fail", read="fail"),
    reads=("pull", "read"),
)  # fmt: skip
REFUSED: Final = frozenset({MESSAGE_ILLEGAL, NO_PERMISSION, NO_TOPIC, NO_QUEUE})
#: Seconds for which a read of a whole queue retries a place below the end at which there is nothing, and the pause
#: between two attempts.
PATIENCE_S: Final = 2.0
AGAIN_S: Final = 0.1


class Client:
    """One worker's connection to the brokers."""

    def __init__(self, home: Machine, setup: Setup) -> None:
        self.home = home.name
        self._timeout = setup.client_timeout
        self._connections = {node.name: Connection((node.address, PORT)) for node in setup.nodes}
        #: The order in which nodes are asked to take a message, starting with the one that took the last.
        self._order = sorted(self._connections, key=lambda name: name != home.name)

    async def open(self) -> None:
        """Do nothing: the first operation connects."""

    async def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    async def perform(self, invocation: Invocation) -> Outcome:
        deadline = time.monotonic() + self._timeout
        if invocation.f == "send":
            return await self._send(invocation, deadline)
        try:
            if invocation.f == "pull":
                value = shown(invocation.value, [await self._page(str(invocation.key), invocation.value, deadline)])
            else:
                value = await self._whole(str(invocation.key), deadline)
        except NoAnswerError as error:
            return LAW.outcome(error.case, invocation, self.home, str(error))
        except _RefusedError as error:
            return LAW.outcome(case_of(invocation.f, error.answer), invocation, self.home, str(error.answer))
        except ValueError as error:
            return LAW.outcome("error", invocation, self.home, str(error)[:200])
        return LAW.outcome("done", invocation, self.home, value=value)

    async def _send(self, invocation: Invocation, deadline: float) -> Outcome:
        """Send to one node after another, moving on only with proof that nothing happened at the last one."""
        for node in tuple(self._order):
            outcome, case = await self._send_to(node, invocation, deadline)
            if case in (NOT_SENT, LOST, "not-leader", "not-available"):
                self._order.append(self._order.pop(0))
            if case not in (NOT_SENT, "not-leader") or time.monotonic() >= deadline:
                break
        return outcome

    async def _send_to(self, node: str, invocation: Invocation, deadline: float) -> tuple[Outcome, str]:
        header, body = send_header(str(invocation.key)), body_of(invocation.value)
        try:
            answer = await self._connections[node].ask(SEND, body, header, timeout=left(deadline))
        except NoAnswerError as error:
            return LAW.outcome(error.case, invocation, node, str(error)), error.case
        case = case_of("send", answer)
        if case != "done":
            return LAW.outcome(case, invocation, node, str(answer)), case
        return LAW.outcome(case, invocation, node, value=int(answer.ext["queueOffset"])), case

    async def _page(self, key: str, offset: int, deadline: float) -> Page:
        """Pull one page.  Raises NoAnswerError, _RefusedError, or ValueError for a malformed answer."""
        answer = await self._connections[self.home].ask(PULL, ext=pull_header(key, offset), timeout=left(deadline))
        if case_of("pull", answer) != "done":
            raise _RefusedError(answer)
        return page_in(answer)

    async def _whole(self, key: str, deadline: float) -> dict[str, Any]:
        """Read the queue from 0 to its end, or to the first place below the end at which there is nothing."""
        pages = [await self._page(key, 0, deadline)]
        patience = time.monotonic() + PATIENCE_S
        while (place := sum(len(page.messages) for page in pages)) < pages[-1].end:
            if not pages[-1].messages:
                if time.monotonic() >= patience:
                    break
                await asyncio.sleep(AGAIN_S)
            pages.append(await self._page(key, place, deadline))
        return {**shown(0, pages), "positions": [position for page in pages for _, position, _ in page.messages]}


class _RefusedError(Exception):
    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.remark)
        self.answer = answer


def shown(first: int, pages: list[Page]) -> dict[str, Any]:
    """Return what a read saw: payloads from the place ``first`` on, and the queue's ``end`` by the last answer.

    ``own`` lists as [place, offset] the places of messages whose stored offset differs from their place.
    """
    messages = [message for page in pages for message in page.messages]
    own = [[place, offset] for place, (offset, _, _) in enumerate(messages, first) if offset != place]
    value: dict[str, Any] = {"first": first, "payloads": [payload for *_, payload in messages], "end": pages[-1].end}
    return {**value, "own": own} if own else value


def case_of(f: str, answer: Answer) -> str:
    """Return the law's case for an answer."""
    if f == "send":
        if answer.code == OK:
            return "done" if answer.ext.get("queueOffset", "").isdigit() else "error"
        if answer.code == BUSY and answer.remark.startswith("[REJECTREQUEST]"):
            return "not-leader"
        if answer.code == NOT_AVAILABLE:
            return "not-available"
    elif answer.code in (OK, NOT_FOUND, OFFSET_MOVED):
        return "done" if answer.ext.get("maxOffset", "").isdigit() else "error"
    return "refused" if answer.code in REFUSED else "error"


def clients(setup: Setup, number: int) -> list[Client]:
    """Make ``number`` clients, spread evenly over the nodes."""
    return [Client(home, setup) for home in islice(cycle(setup.nodes), number)]
