"""What a probe of a PostgreSQL server says, and that one which cannot be asked says nothing."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

pytest.importorskip("psycopg", reason="needs the extra postgresql")

from harness.execution.probes import probe_of
from harness.judge.damage import NONE
from harness.judge.logs.leader_complete import leader_complete
from harness.systems import Machine
from harness.systems.postgresql import SYSTEM, server
from harness.systems.postgresql.prober import Prober, figures
from harness.systems.promise import Promise


def test_the_primary_has_committed_what_is_on_its_disk() -> None:
    assert figures(standby=False, timeline=1, log_end=500, applied=500) == {
        "role": "leader", "term": 1, "log_end": 500, "applied": 500, "committed": 500
    }  # fmt: skip


def test_a_standby_follows_and_does_not_know_what_is_committed() -> None:
    assert figures(standby=True, timeline=2, log_end=500, applied=400) == {
        "role": "follower",
        "term": 2,
        "log_end": 500,
        "applied": 400,
    }
    assert figures(standby=True, timeline=2, log_end=None, applied=None) == {
        "role": "follower",
        "term": 2,
        "log_end": -1,
        "applied": -1,
    }


def test_a_server_that_is_not_there_is_an_oserror() -> None:
    async def ask() -> None:
        await Prober(Machine("n1", "127.0.78.9")).ask(0.5)

    with pytest.raises(OSError, match=r"\S"):
        asyncio.run(ask())


@pytest.mark.parametrize(("after", "verdict"), [(500, "invalid"), (9000, "valid")])
def test_a_log_that_lost_what_was_flushed_breaks_a_promise(after: int, verdict: str) -> None:
    """A server that lost nothing goes on after its restart where it was."""
    ends = [*range(1000, 9000, 1000), *range(after, after + 500, 100)]
    said = (figures(standby=False, timeline=1, log_end=end, applied=end) for end in ends)
    clock = count(step=250_000_000)
    check = leader_complete([probe_of(one, "n1", next(clock)) for one in said], NONE)
    assert check.verdict == verdict
    assert any(check.name in promise.checks for promise in SYSTEM.promises if isinstance(promise, Promise))
    assert check.name in SYSTEM.planted_bugs[0].found_by


def test_a_server_that_falls_silent_is_cut_off_and_asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server lets the first one in, and answers nothing else.  Nobody may ask it to cancel what it was asked."""
    heard: list[list[int]] = []

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append([])
        while len(heard) == 1 and (size := await reader.read(4)):
            heard[-1].append(int.from_bytes((await reader.read(int.from_bytes(size, "big") - 4))[:4], "big"))
            if heard[-1][-1] not in (_SSL, _GSS):
                # Welcome; a statement of yours is cancelled with these numbers; ready for one.
                writer.write(b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x07\0\0\0\x08Z\0\0\0\x05I")
                await reader.read(-1)
                break
            writer.write(b"N")
        writer.close()
        ended.set()

    async def ask() -> None:
        async with await asyncio.start_server(silent, "127.0.0.1", 0) as listening:
            monkeypatch.setattr(server, "PORT", listening.sockets[0].getsockname()[1])
            prober = Prober(Machine("n1", "127.0.0.1"))
            for asked in (1, 2):
                with pytest.raises(OSError, match=r"\S"):
                    await prober.ask(0.5)
                await ended.wait()
                assert (len(heard) > 1) == (asked > 1)

    ended = asyncio.Event()
    asyncio.run(ask())


_SSL, _GSS = 80877103, 80877104
