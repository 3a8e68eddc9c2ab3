"""Ensure that this process may open enough files for all clients of a run."""

from __future__ import annotations

import resource
from typing import Final

from harness.errors import UsageError

#: Descriptors beyond the clients' connections: SSH, the run's own files, libraries, the start of Spark.
OWN: Final = 256
#: Connections of probes and of the nemesis to each node.
HELPERS: Final = 2


def require_descriptors(clients: int, nodes: int) -> None:
    """Raise the soft limit so that every client can have a connection to every node.

    Raises UsageError with the remedy if the hard limit is too low: a client that cannot connect would look like a node
    that does not answer.
    """
    needed = (clients + HELPERS) * nodes + OWN
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise UsageError(
            f"--concurrency {clients} on {nodes} nodes needs {needed} open files, but this process may have only "
            f"{hard}: use fewer clients, or raise the limit first (ulimit -n {needed})"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
