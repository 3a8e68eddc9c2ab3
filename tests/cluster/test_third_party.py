"""A third party's package on real nodes: its register stands many faults, its broken twins are found out."""

from __future__ import annotations

import pytest

from tests.support.cluster.machine import MakeCluster
from tests.support.harness.toy_package import EXAMPLE, Installed, install

pytestmark = pytest.mark.cluster

#: What the one that holds the data stands; where it is cut off or paused no client is served, which proves nothing.
STOOD = ("kill-all,partition-random-node@n2", "hammer-time@n3,packet-loss@n4")
#: Each bug, and the nemesis that it is made for.
TWINS = (("unlogged", "kill-all"), ("unsynced", "crash-all"), ("stale", "partition-random-node@n1"))


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(EXAMPLE, tmp_path_factory.mktemp("third-party"))


def verdict(toy: Installed, cluster: str, *more: str) -> tuple[int, str]:
    words = ("run", "--system", "toy-register", "--cluster", f"netns:{cluster}", "--no-spark", "--keep-cluster")
    done = toy.harness(*words, "--seed", "7", "--rate", "100", "--beyond-quorum", "--interval", "5", *more)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("faults", [STOOD[0], pytest.param(STOOD[1], marks=pytest.mark.nightly)])
def test_the_right_one_stands_it(toy: Installed, make_cluster: MakeCluster, faults: str) -> None:
    code, said = verdict(toy, make_cluster().name, "--nemesis", faults, "--time-limit", "22")
    assert (code, "\nlinearizable: yes; recovery: yes" in said) == (0, True), said


@pytest.mark.nightly  # a minute each; test_nemesis_toy_register.py has these twins of the same server in every run
@pytest.mark.parametrize("twin", TWINS)
def test_a_broken_twin_is_found_out(toy: Installed, make_cluster: MakeCluster, twin: tuple[str, str]) -> None:
    bug, nemesis = twin
    words = ("--nemesis", nemesis, "--time-limit", "14", "--planted-bug", bug, "--unsafe-test-mode")
    code, said = verdict(toy, make_cluster().name, *words)
    assert (code, "✕ linearizable " in said) == (1, True), said
