"""Elections of the fake system."""

from __future__ import annotations

from harness.testing import FakeSystem


def elect_after_kills(system: FakeSystem, term: int | None = None) -> None:
    """When the leader is gone, make the first running node lead, in this term or else a new one."""
    usual = system.probes

    def probes():
        if system.leader and system.pids([system.leader])[system.leader] is None:
            system.leader = next(n for n, pid in system.pids(system.nodes.names).items() if pid)
            system.term = system.term + 1 if term is None else term
        return usual()

    system.probes = probes  # type: ignore[method-assign]
