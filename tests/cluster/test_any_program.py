"""The key-value server of the tutorial on real nodes, with its clients in Python and in the shell."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from checker import check
from harness.remote.nodes import Remote
from tests.support.cluster.machine import MakeCluster
from tests.support.cluster.program_run import ProgramRun

pytestmark = pytest.mark.cluster
FILE = Path(__file__).resolve().parents[2] / "examples" / "kv" / "kv.toml"


def test_one_file_tells_the_right_server_from_the_one_that_answers_before_it_copies(
    make_cluster: MakeCluster, tmp_path: Path
) -> None:
    """Under a kill and a cut; each with one of the clients."""
    cluster = make_cluster()
    cluster.up()
    verdicts = {}
    with Remote(cluster.nodes) as remote:
        for replication, client in (("async", "./client.sh"), ("sync", "./client.py")):
            run = ProgramRun(FILE, cluster, remote, replication=replication, client=client)
            run.begin()
            asyncio.run(run.drive([run.kill, run.cut], stand_s=8))
            assert run.deployment.collect(tmp_path / replication) == []
            run.deployment.kill(run.names)
            counts = Counter((event.f, event.type) for event in run.events)
            assert min(counts["read", "ok"], counts["write", "ok"]) > 20, counts
            verdicts[replication] = check(run.events, "register").verdict
    assert verdicts == {"async": "invalid", "sync": "valid"}
