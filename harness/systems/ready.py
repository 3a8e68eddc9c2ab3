"""Ways to tell that a process is ready: its port, a command on its node, or a line in its log."""

from __future__ import annotations

import socket

from harness.systems.api import Ready, Shell
from nemesis.core.ports import Command

_TIMEOUT_S = 3.0


def listening(port: int) -> Ready:
    """Make a check that the process accepts connections on this TCP port."""

    def ready(shell: Shell) -> bool:
        try:
            with socket.create_connection((shell.machine.address, port), _TIMEOUT_S):
                return True
        except OSError:
            return False

    return ready


def succeeds(*command: str) -> Ready:
    """Make a check that this command, run in the node's home, ends with 0."""

    def ready(shell: Shell) -> bool:
        words = ("sh", "-c", 'cd "$0" && exec "$@"', shell.machine.home, *command)
        return shell.run(Command(words, timeout=_TIMEOUT_S)).code == 0

    return ready


def logged(pattern: str, file: str) -> Ready:
    """Make a check that a line of a file in the node's home matches an extended regular expression."""
    return succeeds("grep", "-qsE", "-e", pattern, file)
