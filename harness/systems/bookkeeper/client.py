"""A worker's connection to its node's gateway, which creates, extends, follows, recovers and reads ledgers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any, Final, TypeAlias

from harness.clients.wire import LostError, NoAnswerError, Wire
from harness.systems.api import Machine, Setup
from harness.systems.bookkeeper.options import quorum
from harness.systems.bookkeeper.outcomes import CASES, LAW, case_of_window, name_of
from harness.systems.bookkeeper.processes import GATEWAY_PORT
from harness.systems.law import NOT_SENT, Outcome
from harness.workloads import Invocation
from history.records.operations import NEVER_MADE

#: Entries per read request: an answer must fit into one line.
CHUNK: Final = 2000
#: Seconds by which the gateway's deadline is earlier than the client's.
AHEAD_S: Final = 0.2

_Key: TypeAlias = str | int | None


@dataclass(slots=True)
class KnownLedgers:
    """Ids of ledgers and handles of their writers, shared by all workers of a run."""

    ids: dict[_Key, int] = field(default_factory=dict)
    writers: dict[_Key, int] = field(default_factory=dict)


class CodeError(Exception):
    """The gateway answered with an error code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{name_of(code)}: {text}")
        self.code = code


class Client:
    """The client of one worker.  All its operations go to one gateway, which has the handles that they need."""

    def __init__(self, node: Machine, setup: Setup, known: KnownLedgers) -> None:
        self.home = node.name
        self._wire = Wire(node.address, GATEWAY_PORT)
        self._timeout = setup.client_timeout
        self._quorum = quorum(setup)
        self._known = known
        self._deadline = 0.0
        self._reader: tuple[_Key, int] | None = None

    async def open(self) -> None:
        """Do nothing: the first operation connects."""

    async def close(self) -> None:
        self._wire.close()

    async def perform(self, invocation: Invocation) -> Outcome:
        self._deadline = asyncio.get_running_loop().time() + self._timeout
        known, key = self._known, invocation.key
        if invocation.f != "create" and key not in known.ids:
            return await self._never_created(invocation)
        operations = {
            "create": self._create, "window": self._window, "tail": self._tail, "recover": self._recover,
            "close": self._close, "read": self._read,
        }  # fmt: skip
        try:
            return await operations[invocation.f](invocation)
        except NoAnswerError as error:
            return LAW.outcome(error.case, invocation, self.home, str(error))
        except CodeError as error:
            return LAW.outcome(CASES.get(error.code, "error"), invocation, self.home, str(error))

    async def _ask(self, op: str, **words: Any) -> dict[str, Any]:
        """Return the gateway's value for a request.  Raises NoAnswerError or CodeError."""
        left = self._deadline - asyncio.get_running_loop().time()
        if left <= AHEAD_S:
            raise LostError("no time is left")
        answer = await self._wire.ask({"op": op, "timeout_ms": round((left - AHEAD_S) * 1000) or 1, **words}, left)
        if not answer["ok"]:
            raise CodeError(answer["code"], answer["error"])
        value: dict[str, Any] = answer["value"]
        return value

    async def _never_created(self, invocation: Invocation) -> Outcome:
        """Answer for a ledger that was never created, if the gateway responds at all."""
        try:
            await self._ask("status")
        except (NoAnswerError, CodeError) as error:
            return LAW.outcome(NOT_SENT, invocation, self.home, str(error))
        return LAW.outcome("never-created", invocation, self.home, NEVER_MADE, value=None)

    async def _create(self, invocation: Invocation) -> Outcome:
        ensemble, write, ack = self._quorum
        value = await self._ask("create", ensemble=ensemble, write=write, ack=ack)
        self._known.ids[invocation.key] = value["ledger"]
        self._known.writers[invocation.key] = value["handle"]
        return LAW.outcome("answered", invocation, self.home, value=value["ledger"])

    async def _window(self, invocation: Invocation) -> Outcome:
        first, count = invocation.value
        handle = self._known.writers.get(invocation.key, -1)
        value = await self._ask("add", handle=handle, first=first, count=count)
        case, error = case_of_window(value)
        if case != "answered":
            return LAW.outcome(case, invocation, self.home, error)
        return LAW.outcome(case, invocation, self.home, error, value=value["ids"])

    async def _close(self, invocation: Invocation) -> Outcome:
        value = await self._ask("close", handle=self._known.writers.pop(invocation.key, -1))
        return LAW.outcome("answered", invocation, self.home, value=_end(value))

    async def _recover(self, invocation: Invocation) -> Outcome:
        value = await self._ask("openRecover", ledger=self._known.ids[invocation.key])
        await self._release(value["handle"])
        return LAW.outcome("answered", invocation, self.home, value=_end(value))

    async def _tail(self, invocation: Invocation) -> Outcome:
        """Read LastAddConfirmed, and the entries up to it from the requested one on."""
        first, handle = invocation.value, await self._follow(invocation.key)
        try:
            lac = (await self._ask("readLAC", handle=handle))["lac"]
            answer = await self._entries(handle, first, min(lac, first + CHUNK - 1))
        except (NoAnswerError, CodeError):
            self._reader = None
            raise
        value = {"lac": lac, "first": first, "entries": answer[0]}
        return LAW.outcome("answered", invocation, self.home, value=value)

    async def _follow(self, key: _Key) -> int:
        """Return the handle of this worker's reader of a ledger, opened without recovery."""
        if self._reader is None or self._reader[0] != key:
            if self._reader is not None:
                await self._release(self._reader[1])
                self._reader = None
            opened = await self._ask("openNoRecover", ledger=self._known.ids[key])
            self._reader = (key, opened["handle"])
        return self._reader[1]

    async def _read(self, invocation: Invocation) -> Outcome:
        """Read the whole ledger after recovery, and the end that its metadata record."""
        ledger = self._known.ids[invocation.key]
        try:
            opened = await self._ask("openRecover", ledger=ledger)
        except CodeError as error:
            if CASES.get(error.code) != "no-ledger":
                raise
            return LAW.outcome("no-ledger", invocation, self.home, str(error), value=None)
        entries, size = await self._entries(opened["handle"], 0, opened["last"], each=True)
        metadata = await self._ask("metadata", ledger=ledger)
        await self._release(opened["handle"])
        value = {
            "last": opened["last"], "closed": metadata["last"], "length": metadata["length"],
            "state": metadata["state"], "bytes": size, "entries": entries,
        }  # fmt: skip
        return LAW.outcome("answered", invocation, self.home, value=value)

    async def _entries(self, handle: int, first: int, last: int, *, each: bool = False) -> tuple[list[Any], int]:
        """Return the payloads with ids from ``first`` to ``last``, both included, and their total size in bytes.

        With ``each``, an entry that no replica has is None instead of an error.
        """
        entries: list[Any] = []
        size = 0
        for begin in range(first, last + 1, CHUNK):
            request = {"first": begin, "last": min(last, begin + CHUNK - 1), "each": each}
            value = await self._ask("read", handle=handle, **request)
            entries += value["entries"]
            size += value["bytes"]
        return entries, size

    async def _release(self, handle: int) -> None:
        """Close a reader's handle, which does not affect the ledger."""
        try:
            await self._ask("close", handle=handle)
        except (NoAnswerError, CodeError):
            return


def _end(value: dict[str, Any]) -> dict[str, Any]:
    return {"last": value["last"], "length": value["length"]}


class Prober:
    """A prober that asks a node's gateway how many bookies it can write to, and how many handles it has."""

    def __init__(self, node: Machine) -> None:
        self._wire = Wire(node.address, GATEWAY_PORT)

    async def ask(self, timeout: float) -> Mapping[str, Any]:
        answer = await self._wire.ask({"op": "status", "timeout_ms": round(timeout * 1000)}, timeout)
        if not answer["ok"]:
            raise ValueError(answer["error"])
        value = answer["value"]
        return {"gateway_pid": value["pid"], "handles": value["handles"], "writable_bookies": value["writable_bookies"]}

    async def close(self) -> None:
        self._wire.close()


def clients(setup: Setup, number: int) -> Sequence[Client]:
    """Make ``number`` clients, spread evenly over the gateways."""
    known = KnownLedgers()
    return [Client(node, setup, known) for node in islice(cycle(setup.nodes), number)]
