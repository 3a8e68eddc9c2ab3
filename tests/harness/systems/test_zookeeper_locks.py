"""Locks of ZooKeeper's client on znodes in memory, where requests interleave and sessions are lost."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from types import SimpleNamespace
from typing import Any, Final, Literal

import pytest

pytest.importorskip("kazoo", reason="needs the extra zookeeper")

from hypothesis import given, settings
from hypothesis import strategies as st
from kazoo.exceptions import BadVersionError, ConnectionLoss, NodeExistsError, NoNodeError

from checker import check
from harness.systems import Machine, Setup
from harness.systems import zookeeper as zk
from harness.workloads import Invocation
from history import Event

NODE: Final = Machine("n1", "10.0.0.1")
SETUP: Final = Setup(version="3.9.4", options={"peeks": "plain", "commit_log": 500}, nodes=(NODE,), client_timeout=60.0)
KEYS: Final = ("lock-0", "lock-1")

#: ``unguarded``: a set takes place whatever version it names.  ``forgets``: some sets are acknowledged and not made.
#: ``stale``: some gets are answered with what was there before.
Bug = Literal["", "unguarded", "forgets", "stale"]


class Znodes:
    """One request at a time, of a session drawn at random; those of a session in their order."""

    def __init__(self, rng: random.Random, bug: Bug, lost: float) -> None:
        self.rng, self.bug, self.lost = rng, bug, lost
        self.sessions: list[Session] = []
        self.znodes: dict[str, tuple[bytes, int]] = {zk.BARRIER: (b"", 0)}
        self.before: dict[str, tuple[bytes, int]] = {}

    def session(self, _addresses: str = "") -> Session:
        self.sessions.append(Session(self, len(self.sessions) + 1))
        return self.sessions[-1]

    async def serve(self) -> None:
        while True:
            await asyncio.sleep(0)
            if waiting := [session for session in self.sessions if session.requests]:
                session = self.rng.choice(waiting)
                if self.rng.random() < self.lost:
                    self.lose(session)
                else:
                    request = session.requests.popleft()
                    request.end(self.done(request))

    def lose(self, session: Session) -> None:
        """Some of what it asked for is done all the same."""
        session.connected = False
        made = self.rng.randrange(len(session.requests) + 1)
        for number, request in enumerate(list(session.requests)):
            if number < made:
                self.done(request)
            request.end(ConnectionLoss())
        session.requests.clear()

    def done(self, request: Request) -> Any:
        f, path, *more = request.asked
        found = self.znodes.get(path)
        struck = path != zk.BARRIER and self.rng.random() < 0.1
        if f == "create_async":
            if found is not None:
                return NodeExistsError()
            self.znodes[path] = (more[0], 0)
            return path
        if found is None:
            return NoNodeError()
        if f == "get_async":
            data, version = self.before.get(path, found) if self.bug == "stale" and struck else found
            return data, SimpleNamespace(version=version)
        if len(more) > 1 and more[1] != found[1] and self.bug != "unguarded":
            return BadVersionError()
        if not (self.bug == "forgets" and struck):
            self.before[path], self.znodes[path] = found, (more[0], found[1] + 1)
        return SimpleNamespace(version=found[1] + 1)


class Request:
    """One that was asked, and which client learns of its end."""

    def __init__(self, *asked: Any) -> None:
        self.asked = asked
        self.tell: Any = None
        self.result: Any = None
        self.ended = False

    def rawlink(self, tell: Any) -> None:
        self.tell = tell
        if self.ended:
            tell(self)

    def end(self, result: Any) -> None:
        self.result, self.ended = result, True
        if self.tell is not None:
            self.tell(self)

    def get(self, *, block: bool) -> Any:
        assert not block
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


class Session:
    """What the client knows of kazoo."""

    def __init__(self, znodes: Znodes, number: int) -> None:
        self.client_id = (number, b"")
        self.connected = True
        self.requests: deque[Request] = deque()

    def start_async(self) -> None: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...

    def __getattr__(self, f: str) -> Any:
        def ask(*arguments: Any) -> Request:
            self.requests.append(Request(f, *arguments))
            return self.requests[-1]

        return ask


async def contend(seed: int, bug: Bug, lost: float, workers: int = 4, each: int = 30) -> list[Event]:
    """Workers take locks, and give back what they hold, or what they only heard of."""
    rng = random.Random(seed)
    znodes = Znodes(rng, bug, lost)
    events: list[Event] = []
    heard: dict[str, int] = {}

    def record(type_: Any, process: int, f: str, value: Any, key: str) -> None:
        events.append(Event(len(events), len(events), type_, process, f, value, key))

    async def work(worker: int) -> None:
        client, process = zk.Client(NODE, SETUP), worker
        for _ in range(each):
            key, f = rng.choice(KEYS), rng.choice(("acquire", "release", "read"))
            if f == "release" and key not in heard:
                continue
            value = heard[key] if f == "release" else None
            record("invoke", process, f, value, key)
            found = await client.perform(Invocation(f, key, value))
            record(found.type, process, f, found.value, key)
            token = found.value[1] if found.type == "ok" and f != "read" else found.value if f == "read" else None
            if token is not None:
                heard[key] = token
            process += workers if found.type == "info" else 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zk, "session", znodes.session)
        serving = asyncio.create_task(znodes.serve())
        try:
            await asyncio.gather(*(work(worker) for worker in range(workers)))
        finally:
            serving.cancel()
    return events


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.01, 0.05]))
def test_a_right_ensemble_is_always_right(seed: int, lost: float) -> None:
    assert check(asyncio.run(contend(seed, "", lost)), "fenced-lock").verdict == "valid"


@pytest.mark.parametrize("bug", ["unguarded", "forgets", "stale"])
def test_a_broken_one_is_found_out(bug: Bug) -> None:
    assert check(asyncio.run(contend(1, bug, 0.0, each=60)), "fenced-lock").verdict == "invalid"


def test_locks_are_taken_by_many_and_refused_to_many() -> None:
    """Else the tests above would show nothing."""
    events = asyncio.run(contend(5, "", 0.02, each=100))
    words = {event.value[0] for event in events if event.type == "ok" and event.f != "read"}
    assert words == {"acquired", "held", "released", "free"}
    assert {event.type for event in events} == {"invoke", "ok", "fail", "info"}
