"""A run one of whose nodes reboots, or whose sshd hangs: neither is the system's doing, and the run says it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

from harness.clusters.netns import NetnsCluster
from history import read_history
from tests.support.cluster.dead_nodes import kill_node, start_node
from tests.support.cluster.run_jobs import NAME, THREE, Job, run_words, start, store

__all__ = ["store"]

pytestmark = [pytest.mark.cluster, pytest.mark.nightly]


class Unlocked(NetnsCluster):
    """The run's own cluster, which is locked by the run; a reboot of a machine does not ask."""

    def lock(self) -> AbstractContextManager[None]:
        return nullcontext()


def reboot(node: str) -> None:
    """End all of a node's processes and start it again: its disk is the same, ``/run`` is empty, no server runs."""
    cluster = Unlocked(NAME)
    kill_node(cluster, node)
    time.sleep(1.0)
    start_node(cluster, node)


def hang(node: str) -> None:
    """Stop a node's sshd for good, with the sessions that it has; the server goes on."""
    inside = Path(f"/proc/{Unlocked(NAME).init_of(node)}/ns/pid").readlink()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile
            if (process / "ns" / "pid").readlink() == inside and (process / "comm").read_text().startswith("sshd"):
                os.kill(int(process.name), signal.SIGSTOP)


def results_of(job: Job) -> dict[str, Any]:
    history = read_history(job.run / "history.jsonl")
    assert history.events
    assert not history.torn
    found: dict[str, Any] = json.loads((job.run / "results.json").read_text())
    return found


FAULTS = {
    "it is not touched": (),
    "an injected fault is aimed at it": ("--nemesis", "hammer-time@n2", "--interval", "4"),
}


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize(
    ("lose", "said"),
    [(reboot, "n2 was rebooted during the run"), (hang, "not reached at the end of the run: n2")],
)
def test_a_node_that_is_lost_is_named_and_the_system_is_not_blamed(
    store: Path, lose: Callable[[str], None], said: str, faults: tuple[str, ...]
) -> None:
    words = ("--dledger-version", "0.3.2", *THREE, "--time-limit", "10", "--recovery-time", "10")
    job = start(*run_words(store, *words, *faults))
    job.until("  main")
    time.sleep(1.0)
    lose("n2")
    assert job.end() == 255, job.text
    results = results_of(job)
    assert said in results["harness_failure"], job.text
    assert results["verdict"] == "unknown", job.text
    seen = {check["name"]: check["verdict"] for check in results["checks"]}
    assert (seen["linearizable"], seen["whole"]) == ("valid", "unknown"), job.text
    assert "HARNESS FAILURE" in job.text
