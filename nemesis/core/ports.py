"""Interfaces that a nemesis needs: nodes that run commands, and the system that runs on them.

The nemesis package imports nothing from the harness, which passes in objects that implement these protocols.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from history import Probe


@dataclass(frozen=True, slots=True)
class Command:
    """A command for one node, run there as root.  ``timeout`` is in seconds.

    ``argv`` is quoted only where it is sent.  ``stdin`` is the command's whole standard input.
    """

    argv: tuple[str, ...]
    stdin: str = ""
    timeout: float = 10.0


@dataclass(frozen=True, slots=True)
class Completed:
    """The result of a command.  ``code`` is -1 if a signal ended it; ``seconds`` is how long it took."""

    node: str
    code: int
    stdout: str
    stderr: str
    seconds: float


class StartError(Exception):
    """A process of the system under test was started but did not answer in time.

    This is a finding about the system, not a harness failure: a heal that raises it is recorded as unfinished,
    and the run goes on.  ``reasons`` maps each node to what is known (the last lines of its log).
    """

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{node}: {reason}" for node, reason in sorted(reasons.items())))
        self.reasons = dict(reasons)


class Nodes(Protocol):
    """The machines of a cluster.  Names are in the cluster's own order."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def address(self, node: str) -> str:
        """Return the IP address at which other nodes reach this one."""
        ...

    def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        """Run one command on each node, in parallel, and return when all have ended.

        An exit code other than 0 is a normal result.  Raises the harness's own exception if a node cannot be reached or
        a command exceeds its timeout.  That is a harness failure, which a nemesis does not catch.
        """
        ...


def run_each(nodes: Nodes, commands: Mapping[str, Command]) -> tuple[dict[str, Completed], dict[str, Exception]]:
    """Run one command on each node, in parallel; return the results, and the exceptions of nodes that failed.

    Use it for healing, where a node that cannot be reached must not hide the results of the others.
    """
    answers, errors = dict[str, Completed](), dict[str, Exception]()
    with ThreadPoolExecutor(max(1, len(commands)), thread_name_prefix="each") as pool:
        running = {node: pool.submit(nodes.run, {node: command}) for node, command in commands.items()}
    for node, future in running.items():
        try:
            answers.update(future.result())
        except Exception as error:  # noqa: BLE001 (returned with the answers)
            errors[node] = error
    return answers, errors


class SystemControl(Protocol):
    """The system under test, with one process on each node."""

    def pids(self, nodes: Iterable[str]) -> dict[str, int | None]:
        """Return each node's process id as seen on the node, or None if the process does not run there."""
        ...

    def start(self, nodes: Iterable[str]) -> None:
        """Start processes that are not running, and return when every named node answers on its client port.

        Raises StartError if one does not.
        """
        ...

    def probes(self) -> Mapping[str, Probe]:
        """Return the newest probe of every node."""
        ...
