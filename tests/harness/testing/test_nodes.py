"""The nodes in memory: what is gone stays gone."""

from __future__ import annotations

import pytest

from harness.testing import FakeNodes, FakeSystem
from nemesis.core.roles import Signal, signal


@pytest.mark.parametrize("name", ["STOP", "CONT"])
def test_no_signal_wakes_a_process_that_was_killed(name: Signal) -> None:
    nodes = FakeNodes()
    system = FakeSystem(nodes)
    pid = system.last["n1"]
    nodes.run({"n1": signal("/data/harness", "server", "STOP")})
    assert nodes.states["n1", pid] == "T"
    nodes.run({"n1": signal("/data/harness", "server", "KILL")})
    nodes.run({"n1": signal("/data/harness", "server", name)})
    assert system.pids(["n1"]) == {"n1": None}
