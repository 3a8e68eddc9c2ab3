"""PostgreSQL as it is run from the command line: a release that keeps its level, and the one that is known not to."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="needs the extra postgresql")

import psycopg

from harness.systems.postgresql.binaries import PACKAGED_BIN
from harness.testing import assert_isolation
from tests.support.cluster.machine import HARNESS, MakeCluster

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(not shutil.which("mvn"), reason="needs Maven")]


def run(
    make_cluster: MakeCluster, store: Path, version: str, *words: str, nodes: int = 1
) -> tuple[int, dict[str, Any], str]:
    cluster = make_cluster(nodes=nodes).name
    on = ("--nodes", str(nodes), "--cluster", f"netns:{cluster}")
    command = (HARNESS, "run", "--system", f"postgresql@{version}", *on)
    more = ("--no-spark", "--store", str(store), "--seed", "5", "--workload", "list-append", *words)
    done = subprocess.run([*command, *more], capture_output=True, text=True)
    return done.returncode, json.loads((store / "latest" / "results.json").read_text()), done.stdout + done.stderr


def test_a_healthy_release_keeps_its_level(make_cluster: MakeCluster, tmp_path: Path) -> None:
    # Two clients, because the race in docs/postgresql.md takes three transactions at a time.
    words = ("--rate", "300", "--concurrency", "2", "--warm-up", "0", "--time-limit", "4")
    code, results, said = run(make_cluster, tmp_path, "12.10", *words)
    assert code == 0, said
    (check,) = (one for one in results["checks"] if one["name"] == "isolation")
    assert (check["verdict"], results["keys"][0]["engine"]) == ("valid", "dependency graph")
    assert results["environment"]["postgres"] == "postgres (PostgreSQL) 12.10"
    assert results["counts"]["ok"] > results["counts"]["phases"]["final"]["txn"]["ok"] > 0


@pytest.mark.nightly
def test_the_known_defect_of_12_3_is_found(make_cluster: MakeCluster, tmp_path: Path) -> None:
    code, results, said = run(make_cluster, tmp_path, "12.3", "--rate", "2000", "--time-limit", "30")
    assert code == 1, said
    assert {kind["kind"] for kind in results["keys"][0]["kinds"]} == {"G2-item"}
    assert all(example["dependencies"] for example in results["keys"][0]["counterexamples"])


@pytest.mark.nightly
def test_standbys_catch_up_after_cuts_and_kills(make_cluster: MakeCluster, tmp_path: Path) -> None:
    words = ("-o", "standbys=2", "-o", "isolation=repeatable-read", "--nemesis", "partition-random-node,kill-followers")
    more = ("--rate", "300", "--interval", "5", "--time-limit", "22")
    code, results, said = run(make_cluster, tmp_path, "18.6", *words, *more, nodes=3)
    assert code == 0, said
    assert {one["fault"] for one in results["receipts"] if one["state"] == "installed"} == {
        "partition-random-node", "kill-followers"
    }  # fmt: skip
    (check,) = (one for one in results["checks"] if one["name"] == "recovery")
    (comeback,) = (one for one in check["findings"] if one["type"] == "Comeback")
    assert all(comeback["applied"][node] >= comeback["target"] > 0 for node in ("n1", "n2", "n3"))


@pytest.mark.nightly
@pytest.mark.parametrize("synchronous", [1, 0])
def test_acknowledged_appends_survive_if_commits_wait_for_a_standby(
    synchronous: int, make_cluster: MakeCluster, tmp_path: Path
) -> None:
    """The primary is cut off, and acknowledges appends for four seconds; then a standby is promoted."""
    words = ("-o", "standbys=2", "-o", "isolation=repeatable-read", "-o", f"synchronous_standbys={synchronous}")
    more = ("--schedule", "postgresql-promotion", "--rate", "300", "--time-limit", "30")
    _, results, said = run(make_cluster, tmp_path, "18.6", *words, *more, nodes=3)
    verdicts = {one["name"]: one["verdict"] for one in results["checks"]}
    if synchronous:  # readers of primary and standby may see a long fork, with or without a promotion
        assert {name for name, verdict in verdicts.items() if verdict != "valid"} <= {"isolation"}, said
        assert {one["kind"] for one in results["keys"][0]["kinds"]} <= {"G-nonadjacent"}, said
    assert verdicts["acknowledged"] == ("valid" if synchronous else "invalid"), said
    (promotion,) = (one for one in results["receipts"] if one["fault"] == "promote-follower")
    assert (promotion["state"], promotion["witness"]["promoted"]["term"]) == ("installed", 2)


@pytest.fixture
def server() -> Iterator[str]:
    """A server of the distribution's version on this machine, with an empty table of lists; its DSN."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    user = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "env", "HOME=/tmp")
    with tempfile.TemporaryDirectory(prefix="harness-pg-") as directory:
        shutil.chown(directory, "nobody", "nogroup")
        data, options = f"{directory}/data", f"-h 127.0.0.1 -p {port} -k {directory} -c deadlock_timeout=20ms"
        make = (f"{PACKAGED_BIN}/initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N")
        subprocess.run([*user, *make], check=True, capture_output=True)
        control = (*user, f"{PACKAGED_BIN}/pg_ctl", "-D", data, "-w")
        subprocess.run([*control, "-l", f"{directory}/log", "-o", options, "start"], check=True, capture_output=True)
        try:
            dsn = f"host=127.0.0.1 port={port} user=postgres dbname=postgres"
            with psycopg.connect(dsn) as connection:
                connection.execute("CREATE TABLE lists (id int PRIMARY KEY, items int[])")
            yield dsn
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=True, capture_output=True)


@pytest.mark.nightly
@pytest.mark.skipif(not Path(PACKAGED_BIN).is_dir(), reason="needs the package postgresql-15")
def test_a_database_of_ones_own_is_tested_in_threads(server: str) -> None:
    """As docs/testing-kit.md shows it: at SERIALIZABLE it keeps that level, at READ COMMITTED it does not."""

    def at(level: str) -> Any:
        def transact(connection: Any, steps: Any) -> Any:
            with connection.transaction():
                connection.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
                for step in steps:
                    if step[0] == "append":
                        connection.execute(
                            "INSERT INTO lists AS l VALUES (%s, ARRAY[%s::int]) "
                            "ON CONFLICT (id) DO UPDATE SET items = l.items || excluded.items",
                            step[1:],
                        )
                    else:
                        row = connection.execute("SELECT items FROM lists WHERE id = %s", step[1:2]).fetchone()
                        step[2] = row[0] if row else []
            return steps

        return transact

    assert assert_isolation(server, at("SERIALIZABLE"), "serializable").counts == {}
    with psycopg.connect(server) as connection:
        connection.execute("TRUNCATE lists")
    with pytest.raises(AssertionError, match="serializable "):
        assert_isolation(server, at("READ COMMITTED"), "serializable")
