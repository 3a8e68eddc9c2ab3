"""A third party's package on real nodes: its register stands many faults, its broken twins are found out."""

from __future__ import annotations

import pytest

from tests.support.cluster.machine import MakeCluster
from tests.support.harness.toy_package import EXAMPLE, Installed, install

pytestmark = pytest.mark.cluster

#: The nemesis that each bug is made for.
TWINS = {
    "unlogged": "kill-all",
    "unsynced": "crash-all",
    "stale": "partition-random-node@n1",
}
#: What the one that holds the data stands; where it is cut off or paused nobody is served, which proves nothing.
FAULTS = "kill-all,partition-random-node@n2,hammer-time@n3,packet-loss@n4"


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(EXAMPLE, tmp_path_factory.mktemp("third-party"))


def verdict(toy: Installed, cluster: str, *more: str) -> tuple[int, str]:
    words = ("run", "--system", "toy-register", "--cluster", f"netns:{cluster}", "--no-spark", "--keep-cluster")
    done = toy.harness(*words, "--seed", "7", "--rate", "100", "--beyond-quorum", "--interval", "5", *more)
    return done.returncode, done.stdout + done.stderr


def test_the_right_one_is_valid_and_its_twins_are_not(toy: Installed, make_cluster: MakeCluster) -> None:
    cluster = make_cluster().name
    code, said = verdict(toy, cluster, "--nemesis", FAULTS, "--time-limit", "45")
    assert (code, "\nlinearizable: yes; recovery: yes" in said) == (0, True), said
    for bug, nemesis in TWINS.items():
        words = ("--nemesis", nemesis, "--time-limit", "20", "--canary", bug, "--unsafe-test-mode")
        code, said = verdict(toy, cluster, *words)
        assert (code, "linearizable: no" in said) == (1, True), f"{bug}\n{said}"
