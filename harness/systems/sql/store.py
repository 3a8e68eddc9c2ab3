"""How a database's files are made, the user that owns them, and where its primary is."""

from __future__ import annotations

from typing import Final

from harness.systems.api import Setup

#: Runs a command as ``nobody``, because PostgreSQL refuses to run as root.
UNPRIVILEGED: Final = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "env", "HOME=/tmp")
#: Makes the directory ``$0``, fills it by the command that follows, and syncs all files at the end.
MAKE_STORE: Final = 'install -d -m 700 -o nobody -g nogroup "$0" && "$@" && sync -f "$0"'


def primary_of(setup: Setup) -> str:
    """Return where the clients of the primary send their transactions, as the history names it.

    With standbys this is not the name of a node, because a promotion moves these clients to another node.
    """
    return "primary" if setup.options.get("standbys") else setup.nodes[0].name
