"""What a probe of a PostgreSQL server says, and that one which cannot be asked says nothing."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("psycopg", reason="needs the extra postgresql")

from harness.systems import Machine
from harness.systems.postgresql.prober import Prober, figures


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
