"""Existing machines, listed in a TOML file.

::

    user = "root"                     # another user needs sudo without a password
    key = "~/.ssh/id_ed25519"         # relative to this file
    # port = 22, data_dir = "/data"

    [[nodes]]
    name = "n1"                       # n1, n2, … when left out
    host = "10.0.0.11"                # where we reach its sshd
    address = "10.0.0.11"             # where the other nodes reach it; the host's when left out
    host_key = "ssh-ed25519 AAAA…"    # the user's known_hosts when left out

``user``, ``key``, ``port`` and ``data_dir`` may be given once for all nodes, or for each node.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final

from msgspec import Meta, to_builtins

from harness.clusters.base import Say
from harness.clusters.machines import NODE_NAME, Machines, check_machines
from harness.errors import UsageError
from harness.remote.node import Node
from history.schema import convert, list_of, table
from history.toml_file import read_toml

_SHARED: Final = {"user": str, "key": str, "port": Annotated[int, Meta(ge=1, le=65535)], "data_dir": str}
_NAME: Final = Annotated[
    str, Meta(pattern=rf"^{NODE_NAME.pattern}$(?!\n)", title="lowercase letters and digits, such as n1")
]
_NODE: Final = table("Node", {"name": _NAME, "host": str, "address": str, "host_key": str, **_SHARED}, needed=["host"])
INVENTORY: Final = table("Inventory", {**_SHARED, "nodes": list_of(_NODE)}, needed=["nodes"])
_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9/._-]+")
_SYSTEMS_OWN: Final = ("bin", "boot", "dev", "etc", "lib", "proc", "root", "run", "sbin", "sys", "tmp", "usr", "var")
_DEFAULTS: Final = {"user": "root", "port": 22, "data_dir": "/data"}


class InventoryCluster(Machines):
    """Machines listed in a file.  As they are not ours, ``up`` only checks them and ``down`` leaves them alone."""

    def __init__(self, file: Path, nodes: tuple[Node, ...], say: Say) -> None:
        super().__init__(file.stem, file)
        self._nodes = nodes
        self._say = say

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self._nodes

    def up(self, *, passing: bool = False) -> bool:  # noqa: ARG002 (they are not taken down in passing)
        """Check that we can log in to every machine, and return True.  Raises RemoteError or ClusterError."""
        with self.lock():
            check_machines(self._nodes)
            self._say(f"cluster {self.name}: {len(self._nodes)} machines answer")
        return True

    def down(self) -> None:
        """Do nothing: ``up`` created no machine, so none is removed."""
        with self.lock():
            self._say(
                f"cluster {self.name}: the machines of an inventory are never taken down; `harness heal` removes faults"
            )


def read_inventory(file: Path, say: Say) -> InventoryCluster:
    """Read an inventory file.  Raises UsageError that names the file, the place in it, and what is wrong."""
    try:
        content = read_toml(file)
    except (OSError, ValueError) as error:
        raise _bad(file, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return InventoryCluster(file, parse_nodes(content, file), say)


def parse_nodes(content: dict[str, Any], file: Path) -> tuple[Node, ...]:
    """Return the nodes of a parsed inventory.  Raises UsageError."""
    try:
        shared = to_builtins(convert(content, INVENTORY))
    except ValueError as error:
        raise _bad(file, str(error)) from None
    tables = shared.pop("nodes")
    nodes = tuple(
        _node({**_DEFAULTS, "name": f"n{number + 1}", **shared, **table}, file, f"nodes[{number}]")
        for number, table in enumerate(tables)
    )
    for field in ("name", "address"):
        values = [getattr(node, field) for node in nodes]
        if twice := {value for value in values if values.count(value) > 1}:
            raise _bad(file, f"repeats the {field} {', '.join(sorted(twice))}")
    return nodes


def _node(values: dict[str, Any], file: Path, where: str) -> Node:
    if "key" not in values:
        raise _bad(file, f"{where} has no key: name one for it, or for all nodes")
    if why := _unusable(values["data_dir"]):
        raise _bad(
            file, f"{where}: data_dir {why}: {values['data_dir']!r}; give it a directory of its own, such as /srv/data"
        )
    return Node(
        name=values["name"],
        address=_address(values.get("address", values["host"]), file, where),
        ssh_host=values["host"],
        ssh_port=values["port"],
        user=values["user"],
        key_file=file.parent / Path(values["key"]).expanduser(),
        host_key=values.get("host_key"),
        data_dir=_plain(values["data_dir"]),
    )


def _unusable(data_dir: str) -> str | None:
    """Return why faults must not fill, cut and remount this directory, or None if they may."""
    if not data_dir.startswith("/"):
        return "must be an absolute path"
    if not _PLAIN_PATH.fullmatch(data_dir):
        return "may contain only letters, digits, and / . _ -"
    if ".." in data_dir.split("/"):
        return "must not have .. in it"
    if _plain(data_dir) in ("/", *(f"/{name}" for name in _SYSTEMS_OWN)):
        return "must not be a system directory"
    return None


def _plain(path: str) -> str:
    """Return a path without trailing or doubled slashes."""
    return "/" + str(PurePosixPath(path)).lstrip("/")


def _address(text: str, file: Path, where: str) -> str:
    """Return the IP address of a host, given as an address or by name."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        pass
    try:
        return str(socket.getaddrinfo(text, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise _bad(file, f"{where}: the address of {text} cannot be found ({error.strerror})") from None


def _bad(file: Path, problem: str) -> UsageError:
    return UsageError(f"--cluster inventory:{file}: {problem}")
