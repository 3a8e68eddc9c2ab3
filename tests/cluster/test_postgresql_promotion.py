"""Promotion of a standby, on servers of the distribution's version at three addresses of this machine."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="needs the extra postgresql")

import psycopg

from harness.systems import Machine, Setup
from harness.systems.postgresql import SYSTEM
from harness.systems.postgresql.binaries import PACKAGED, PACKAGED_BIN
from harness.systems.postgresql.prober import Prober
from harness.systems.postgresql.promotion import promote
from harness.systems.postgresql.server import connection_words, primary_words
from nemesis.core.ports import StartError
from nemesis.faults.leadership import DEPOSED

pytestmark = pytest.mark.cluster

OPTIONS: dict[str, bool | int | float | str] = {
    "standbys": 2,
    "synchronous_standbys": 1,
    "isolation": "repeatable-read",
}


class Servers:
    """A primary and two standbys, which are started and killed as the harness does it."""

    def __init__(self, below: Path) -> None:
        nodes = tuple(Machine(f"n{place}", f"127.0.91.{place}", str(below / f"n{place}")) for place in (1, 2, 3))
        defaults = {one.name: one.default for one in SYSTEM.options}
        self.setup = Setup(version=PACKAGED, options=defaults | OPTIONS, nodes=nodes, workload="list-append")
        self.roles = SYSTEM.roles(self.setup)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        for node in nodes:
            Path(node.home).mkdir(parents=True)
            (make,) = (one for one in self.roles if one.node == node.name and one.name == "make-store")
            subprocess.run(make.command, cwd=node.home, check=True, capture_output=True)
            self.start(node.name)

    def start(self, name: str) -> None:
        (role,) = (one for one in self.roles if one.node == name and not one.task)
        home = Path(self.setup.node(name).home)
        for below, text in role.files.items():
            (home / below).write_text(text)
        with (home / "console.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(role.command, cwd=home, stdout=log, stderr=log)
        self.until(lambda: self.ask(name, "SELECT true"))

    def kill(self, name: str) -> None:
        """Kill the server and what it had started, and bar it from leading."""
        process = self.processes.pop(name)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.kill()
        process.wait()
        subprocess.run(["kill", "-s", "KILL", *children], check=False, capture_output=True)
        (Path(self.setup.node(name).home) / DEPOSED).touch()

    def ask(self, name: str, query: str, words: str | None = None) -> Any:
        try:
            asked = connection_words(self.setup.node(name)) if words is None else {"conninfo": words}
            with psycopg.connect(**asked, autocommit=True) as connection:
                cursor = connection.execute(query)
                row = cursor.fetchone() if cursor.description else None
                return row[0] if row else None
        except psycopg.OperationalError:
            return None

    def write(self, number: int) -> None:
        make = f"INSERT INTO txn0 VALUES ({number}, '') RETURNING id"
        self.until(lambda: self.ask("", make, primary_words(self.setup)))

    def probe(self, name: str) -> dict[str, Any]:
        prober = Prober(self.setup.node(name), 1)

        async def ask() -> dict[str, Any]:
            try:
                return dict(await prober.ask(5))
            finally:
                await prober.close()

        return asyncio.run(ask())

    def contents(self, name: str) -> Any:
        return self.ask(name, "SELECT array_agg(id ORDER BY id) FROM txn0")

    @staticmethod
    def until(true: Any) -> None:
        late = time.monotonic() + 60
        while not true():
            assert time.monotonic() < late
            time.sleep(0.05)


@pytest.fixture
def servers() -> Iterator[Servers]:
    if not Path(PACKAGED_BIN).is_dir():
        pytest.skip("needs the package postgresql-15")
    with tempfile.TemporaryDirectory(prefix="harness-pg-", ignore_cleanup_errors=True) as directory:
        Path(directory).chmod(0o755)  # the servers run as nobody
        made = Servers(Path(directory))
        try:
            yield made
        finally:
            for name in list(made.processes):
                with suppress(FileNotFoundError):
                    made.kill(name)


def test_the_longest_log_leads_and_the_old_primary_follows_it(servers: Servers) -> None:
    setup = servers.setup
    servers.until(lambda: SYSTEM.leads(setup) == "n1")
    servers.write(1)
    servers.ask("n2", "ALTER SYSTEM SET primary_conninfo = ''")
    servers.ask("n2", "SELECT pg_reload_conf()")
    servers.until(lambda: servers.ask("n2", "SELECT count(*) = 0 FROM pg_stat_wal_receiver"))
    servers.write(2)
    before = servers.probe("n1")
    assert (before["role"], before["term"]) == ("leader", 1)
    assert before["committed"] == before["log_end"], "one of the two has it"
    servers.kill("n1")
    assert [promote(setup, "n1"), promote(setup, "n1")] == ["n3", "n3"]
    after = servers.probe("n3")
    assert (after["role"], after["term"]) == ("leader", 2)
    servers.write(3)
    servers.start("n1")
    assert not (Path(setup.node("n1").home) / DEPOSED).exists()
    servers.write(4)
    for name in ("n1", "n2", "n3"):
        servers.until(lambda name=name: servers.contents(name) == [1, 2, 3, 4])
    assert servers.probe("n1")["role"] == "follower"
    assert SYSTEM.leads(setup) == "n3"


def test_nobody_is_promoted_while_a_standby_is_silent(servers: Servers) -> None:
    servers.until(lambda: SYSTEM.leads(servers.setup) == "n1")
    servers.kill("n2")
    servers.kill("n1")
    with pytest.raises(StartError, match=r"127\.0\.91\.2"):
        promote(servers.setup, "n1")
    assert servers.ask("n3", "SELECT pg_is_in_recovery()")
