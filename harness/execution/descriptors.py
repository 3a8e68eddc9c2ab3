"""How many files this process may have open, against what a run's clients need."""

from __future__ import annotations

import resource
from typing import Final

from harness.errors import UsageError

#: Beyond the connections of clients: SSH, the run's own files, libraries, the warming of Spark.
OWN: Final = 256
#: Of probes and of the nemesis, to each node.
HELPERS: Final = 2


def require_descriptors(clients: int, nodes: int) -> None:
    """Let this process have a connection from every client to every node; a soft limit is raised for it.

    Raises UsageError with the mend where the hard limit forbids it: a client that cannot connect would look like a
    node that does not answer.
    """
    needed = (clients + HELPERS) * nodes + OWN
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise UsageError(
            f"--concurrency {clients} on {nodes} nodes needs {needed} open files, and this process may have {hard}: "
            f"take fewer clients, or raise the limit first (ulimit -n {needed})"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
