"""What a probe of a PostgreSQL server says, and that one which cannot be asked says nothing."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

pytest.importorskip("psycopg", reason="needs the extra postgresql")

from harness.execution.probes import probe_of
from harness.judge.damage import NONE
from harness.judge.logs.committed_prefix import check_committed_prefix
from harness.judge.logs.leader_complete import leader_complete
from harness.judge.logs.log_order import log_order
from harness.systems import Machine
from harness.systems.postgresql import SYSTEM, server
from harness.systems.postgresql.prober import Prober, figures
from harness.systems.promise import Promise
from history import Probe


@pytest.mark.parametrize(("standby", "role"), [(False, "leader"), (True, "follower")])
def test_what_a_server_has_applied_is_committed(standby: bool, role: str) -> None:
    known = {"role": role, "term": 2, "log_end": 500}
    assert figures(standby=standby, timeline=2, log_end=500, applied=400) == {**known, "applied": 400, "committed": 400}
    assert figures(standby=standby, timeline=2, log_end=500, applied=None) == known
    assert figures(standby=standby, timeline=2, log_end=None, applied=None) == {**known, "log_end": -1}


@pytest.mark.parametrize(("after", "verdict"), [(600, "valid"), (500, "invalid")])
def test_a_promoted_standby_must_have_what_another_had_replayed(after: int, verdict: str) -> None:
    """As when the shorter log is promoted.  A new primary that waits for a standby knows of nothing committed."""
    clock = count(step=250_000_000)

    def said(node: str, *, standby: bool, timeline: int, end: int, applied: int | None) -> Probe:
        return probe_of(figures(standby=standby, timeline=timeline, log_end=end, applied=applied), node, next(clock))

    probes = [
        *(said("n1", standby=False, timeline=1, end=700, applied=590) for _ in range(4)),
        *(said("n2", standby=True, timeline=1, end=after, applied=500) for _ in range(4)),
        *(said("n3", standby=True, timeline=1, end=600, applied=600) for _ in range(4)),
        *(said("n2", standby=False, timeline=2, end=after, applied=None) for _ in range(4)),
        *(said("n2", standby=False, timeline=2, end=after + 50, applied=after + 20) for _ in range(4)),
    ]
    assert leader_complete(probes, NONE).verdict == verdict
    assert [check(probes, NONE).verdict for check in (log_order, check_committed_prefix)] == ["valid", "valid"]


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
