"""One machine of a cluster, and how to reach it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Node:
    """One machine of a cluster, and how to reach it.

    ``address`` is the IP at which other nodes reach it; ``ssh_host`` and ``ssh_port`` are for the control node.
    ``host_key`` is the server's public key as in a known-hosts file (``ssh-ed25519 AAAA…``), or None to look it up in
    the user's own known-hosts file.  It is checked in either case.
    """

    name: str
    address: str
    ssh_host: str
    ssh_port: int
    user: str
    key_file: Path
    host_key: str | None
    data_dir: str = "/data"
