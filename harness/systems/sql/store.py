"""How a database's files are made, and the user that owns them."""

from __future__ import annotations

from typing import Final

#: Runs a command as ``nobody``, because PostgreSQL refuses to run as root.
UNPRIVILEGED: Final = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "env", "HOME=/tmp")
#: Makes the directory ``$0``, fills it by the command that follows, and syncs all files at the end.
MAKE_STORE: Final = 'install -d -m 700 -o nobody -g nogroup "$0" && "$@" && sync -f "$0"'
