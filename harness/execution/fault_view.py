"""The run as seen by faults: its machines, its clock, and the system under test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from harness.errors import NotReadyError
from harness.systems.api import Role, Surface
from history import Probe
from nemesis.core.errors import FaultError
from nemesis.core.fault import HOME, Settings
from nemesis.core.ports import Nodes, StartError


class NodesWithData(Nodes, Protocol):
    """Nodes with their data directories; implemented by ``harness.remote.nodes.Remote``."""

    @property
    def data_dirs(self) -> Mapping[str, str]: ...


class RunClock:
    """The run's own clock, as the nemesis uses it."""

    def __init__(self, clock_ns: Callable[[], int]) -> None:
        self._clock_ns = clock_ns

    def now(self) -> int:
        return self._clock_ns()

    def wait(self, seconds: float, stop: threading.Event) -> bool:
        return stop.wait(max(seconds, 0.0))


class Target(Protocol):
    """The system under test, as faults use it; implemented by ``harness.systems.Deployment``."""

    @property
    def surface(self) -> Surface: ...

    @property
    def members(self) -> tuple[str, ...]: ...

    @property
    def hit(self) -> Mapping[str, Role]:
        """The role that faults hit on each node."""
        ...

    def pids(self, nodes: Iterable[str]) -> dict[str, int | None]: ...

    def start(self, nodes: Iterable[str]) -> None: ...

    def set_environments(self, environments: Mapping[str, Mapping[str, str]]) -> None: ...


class SystemView:
    """The system as seen by faults.  A process that does not start again is a finding about the system."""

    def __init__(self, system: Target, probes: Callable[[], Mapping[str, Probe]]) -> None:
        self._system = system
        self._probes = probes

    def pids(self, nodes: Iterable[str]) -> dict[str, int | None]:
        return self._system.pids(nodes)

    def start(self, nodes: Iterable[str]) -> None:
        names = list(nodes)
        try:
            self._system.start(names)
        except NotReadyError as error:
            raise StartError(dict.fromkeys(names, str(error))) from None

    def probes(self) -> Mapping[str, Probe]:
        return self._probes()


class TransferringView(SystemView):
    """The view of a system that accepts requests to transfer leadership."""

    def __init__(
        self, system: Target, probes: Callable[[], Mapping[str, Probe]], transfer: Callable[[str, str], None]
    ) -> None:
        super().__init__(system, probes)
        self._transfer = transfer

    def transfer_leader(self, leader: str, to: str) -> None:
        """Ask the leader to transfer leadership to another node.  Raises FaultError if it refuses the request."""
        try:
            self._transfer(leader, to)
        except (OSError, ValueError, KeyError) as error:
            raise FaultError(f"{leader} did not accept the request: {error}") from None


class PromotingView(SystemView):
    """The view of a system whose followers are promoted by its operator."""

    def __init__(
        self, system: Target, probes: Callable[[], Mapping[str, Probe]], promote: Callable[[str], str]
    ) -> None:
        super().__init__(system, probes)
        self._promote = promote

    def promote(self, dead: str) -> str:
        """Promote a follower in place of the dead leader, and return it.  Raises FaultError if that fails."""
        try:
            return self._promote(dead)
        except (OSError, ValueError) as error:
            raise FaultError(f"no follower was promoted: {error}") from None


def view_of(system: Target, probes: Callable[[], Mapping[str, Probe]]) -> SystemView:
    """Return the system as seen by faults, with the operations that only some systems have."""
    surface = system.surface
    if surface.promote is not None:
        return PromotingView(system, probes, surface.promote)
    transfer = surface.transfer_leader
    return SystemView(system, probes) if transfer is None else TransferringView(system, probes, transfer)


def settings_of(system: Target, data_dirs: Mapping[str, str]) -> Settings:
    """Return the settings of the system that faults need."""
    surface = system.surface
    return Settings(
        members=system.members,
        roles={node: role.name for node, role in system.hit.items()},
        programs={node: role.command[0] for node, role in system.hit.items()},
        peer_ports=surface.peer_ports,
        data_dirs=data_dirs,
        store=f"{HOME}/{surface.store}",
        store_files=surface.store_files,
        snapshots=surface.snapshot_entries > 0,
        snapshot_threshold=surface.snapshot_entries,
        heartbeat=surface.heartbeat,
    )
