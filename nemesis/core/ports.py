"""Ports of a nemesis: nodes that run commands, and the system that runs on them.

A nemesis imports nothing of the harness; the harness passes objects that implement these protocols.
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

    ``argv`` is quoted where it is sent, and nowhere else; ``stdin`` is given to the command and then closed.
    """

    argv: tuple[str, ...]
    stdin: str = ""
    timeout: float = 10.0


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that has ended.  ``code`` is -1 when a signal ended it; ``seconds`` is how long it took."""

    node: str
    code: int
    stdout: str
    stderr: str
    seconds: float


class StartError(Exception):
    """A process of the system under test was started and did not answer in time.

    This is a finding about the system, not a failure of the harness: a heal that meets it is recorded as unfinished
    and the run goes on.  ``reasons`` maps the node to what is known (the last lines of its log).
    """

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{node}: {reason}" for node, reason in sorted(reasons.items())))
        self.reasons = dict(reasons)


class Nodes(Protocol):
    """The machines.  Names are in the cluster's own order."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def address(self, node: str) -> str:
        """The IP address at which the other nodes reach this one."""
        ...

    def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        """Run one command a node, all nodes in parallel, and return when all have ended.

        An exit code other than 0 is a result.  Raises whatever the harness raises when a node cannot be reached or
        a command outlives its timeout: that is a failure of the harness, and a nemesis does not catch it.
        """
        ...


def run_each(nodes: Nodes, commands: Mapping[str, Command]) -> tuple[dict[str, Completed], dict[str, Exception]]:
    """Run one command a node, in parallel: the results, and the exceptions of the other nodes.

    For healing: a node that cannot be reached must not hide the results of the others.
    """
    answers, errors = dict[str, Completed](), dict[str, Exception]()
    with ThreadPoolExecutor(max(1, len(commands)), thread_name_prefix="each") as pool:
        running = {node: pool.submit(nodes.run, {node: command}) for node, command in commands.items()}
    for node, one in running.items():
        try:
            answers.update(one.result())
        except Exception as error:  # noqa: BLE001 (returned with the answers)
            errors[node] = error
    return answers, errors


class System(Protocol):
    """The system under test: one process a node."""

    def pids(self, nodes: Iterable[str]) -> dict[str, int | None]:
        """The process id inside the node, None where the process does not run."""
        ...

    def start(self, nodes: Iterable[str]) -> None:
        """Start what does not run and return when every named node answers on its client port.

        Raises StartError when one does not.
        """
        ...

    def probes(self) -> Mapping[str, Probe]:
        """The newest probe of every node."""
        ...
