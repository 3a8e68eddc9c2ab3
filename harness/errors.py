"""Failures of the harness itself, as opposed to answers of the system under test.

Every message is one line that says what happened and, where possible, how to fix it.  ``exit_code`` is the exit code of
the command line::

    HarnessError                      255
    ├── UsageError                    254  bad arguments, plan or machine; raised before anything is touched
    ├── ClusterError                       nodes could not be provided or removed
    │   └── ClusterBusyError               another process holds the cluster
    ├── RemoteError                        a node could not be reached or used; ``node`` is its name
    │   ├── HostUnreachableError           no SSH server answered at that address
    │   └── RemoteTimeout                  a command outlived its deadline and was killed
    ├── ArtifactError                      the files of a system cannot be fetched
    ├── NotReadyError                      the system under test did not come up
    ├── StoreError                         the control node cannot record the run
    └── CheckError                         the recorded data cannot be read or judged
"""

from __future__ import annotations

from typing import ClassVar


class HarnessError(Exception):
    """A harness failure, which is neither a verdict nor an answer of the system under test."""

    exit_code: ClassVar[int] = 255


class UsageError(HarnessError):
    """Wrong usage.  The message names the option and how to fix it."""

    exit_code: ClassVar[int] = 254


class ClusterError(HarnessError):
    """Nodes could not be provided, found or removed."""


class ClusterBusyError(ClusterError):
    """Another process holds the cluster's lock; the message names it."""


class RemoteError(HarnessError):
    """A node could not be reached or used.  ``node`` is its name, which also starts the message."""

    def __init__(self, node: str, message: str) -> None:
        super().__init__(f"{node}: {message}")
        self.node = node


class HostUnreachableError(RemoteError):
    """No SSH server answered at the node's address."""


class RemoteTimeout(RemoteError):  # noqa: N818 - reads like the TimeoutError that it is
    """A command did not end in time.  It was killed on the node as well, unless the node itself is gone."""


class ArtifactError(HarnessError):
    """The files that a system runs from cannot be fetched."""


class NotReadyError(HarnessError):
    """The system under test did not come up.  The message has the last lines of its log."""


class StoreError(HarnessError):
    """The control node cannot record the run (disk full, no permission)."""


class CheckError(HarnessError):
    """The recorded data cannot be read or judged.  The message names the file and the place in it."""
