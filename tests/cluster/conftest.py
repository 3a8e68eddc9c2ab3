"""Clusters of namespaces for tests, and what is on the machine before and after them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.clusters.netns import NetnsCluster
from tests.support.cluster.machine import MakeCluster, await_nothing_left


@pytest.fixture(autouse=True)
def _needs_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture
def make_cluster() -> Iterator[MakeCluster]:
    """Makes clusters of a test's own, and checks at the end that `down` leaves nothing of them."""
    made: dict[str, NetnsCluster] = {}

    def make(letter: str = "a", **options: object) -> NetnsCluster:
        name = f"t-{os.getpid()}-{letter}"
        made[name] = NetnsCluster(name, **options)  # type: ignore[arg-type]
        return made[name]

    yield make
    for cluster in made.values():
        cluster.down()
        assert not (Path("/var/lib/harness/clusters") / cluster.name).exists()
    await_nothing_left(*made)
    for name in made:
        Path(f"/var/lib/harness/clusters/{name}.lock").unlink(missing_ok=True)
