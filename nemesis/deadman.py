"""A dead man's timer: a node lifts our faults by itself if the control node is gone.

A watcher on every node has the sweep (see ``sweep``) and a lease, which is a file that the control node renews every
few seconds.  If the lease is not renewed for ``LEASE_S``, the watcher sweeps the node and exits; if the file is gone,
it just exits.  The timer is for machines that outlive a run.  Namespaces do not need it, because they are on the
machine where the run was killed.

The lease uses the node's uptime, so setting the clock does not affect it.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Final, Self

from nemesis.core.errors import FaultError
from nemesis.core.fault import complaint
from nemesis.core.ports import Command, Nodes, run_each
from nemesis.sweep import LEASE

#: Longer than a control node stands still when it is merely busy or briefly suspended.
LEASE_S: Final = 120.0
RENEW_S: Final = 5.0

_WATCH: Final = """lease=$0; seconds=$1; shift
while read -r renewed <"$lease"; do
  read -r now rest </proc/uptime
  if [ $((${now%.*} - renewed)) -ge "$seconds" ]; then
    rm -f "$lease"
    said=$(sh -c "$@" 2>&1)
    echo "$said" >"$lease.lifted"
    exit
  fi
  sleep 0.5
done 2>/dev/null"""

_RENEW: Final = """read -r now rest </proc/uptime && echo "${now%.*}" >"$0.new" && mv "$0.new" "$0" """

#: Checks the command line as well, because the pid may belong to another process by now.
_WATCHED: Final = """grep -qsF -- "$0" "/proc/$(cat "$0.pid" 2>/dev/null)/cmdline\""""

#: Ends the timer of an earlier run first.
_ARM: Final = f"""watch=$1; shift
if {_WATCHED}; then kill -s KILL "$(cat "$0.pid")"; fi
rm -f "$0.lifted"
{_RENEW} || exit
setsid sh -c "$watch" "$0" "$@" >/dev/null 2>&1 </dev/null &
echo $! >"$0.pid" """

_KEEP: Final = f"""[ -e "$0" ] && {_WATCHED} || {{ echo "its timer is gone" >&2; exit 1; }}
{_RENEW}"""

_DISARM: Final = """rm -f "$0" "$0.new" "$0.pid" """


class DeadMansTimer:
    """Context manager that keeps timers armed on all nodes, with a thread that renews them.

    ``sweeps`` has the command that each node runs when the lease expires.  ``lost`` maps nodes whose timer is gone to
    the reason.  After :meth:`leave`, the timers stay armed when the context ends.
    """

    def __init__(
        self,
        nodes: Nodes,
        sweeps: dict[str, Command],
        *,
        lease_s: float = LEASE_S,
        renew_s: float = RENEW_S,
        lease: str = LEASE,
    ) -> None:
        self._nodes = nodes
        self._sweeps = sweeps
        self._lease, self._lease_s = lease, lease_s
        self._renew_s = renew_s
        self._over = threading.Event()
        self._renewing = threading.Thread(target=self._renew_forever, name="dead-man", daemon=True)
        self._stays = False
        self.lost: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Arm the timer on every node.  Raises FaultError if one cannot be armed; then do not inject any fault."""
        arm = {
            node: Command(("sh", "-c", _ARM, self._lease, _WATCH, f"{self._lease_s:.0f}", *sweep.argv[2:]))
            for node, sweep in self._sweeps.items()
        }
        wrong, unasked = self._on_each(arm)
        if wrong or unasked:
            self._disarm()
            raise FaultError(f"the dead man's timer cannot be armed: {'; '.join((wrong | unasked).values())}")
        self._renewing.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._renewing.join()
        self._renew()  # a timer may have gone off since the last renewal
        if not self._stays:
            self._disarm()

    def leave(self) -> None:
        """Leave the timers armed, so that nodes lift the remaining faults when the lease expires."""
        self._stays = True

    def _renew_forever(self) -> None:
        while not self._over.wait(self._renew_s):
            self._renew()

    def _renew(self) -> None:
        # A node that cannot be reached now may still have its timer, so ignore its error.
        wrong, _ = self._on_each(dict.fromkeys(self._sweeps, Command(("sh", "-c", _KEEP, self._lease))))
        self.lost = {**wrong, **self.lost}

    def _disarm(self) -> None:
        self._on_each(dict.fromkeys(self._sweeps, Command(("sh", "-c", _DISARM, self._lease))))

    def _on_each(self, commands: dict[str, Command]) -> tuple[dict[str, str], dict[str, str]]:
        """Run the commands; return the nodes' complaints, and the errors of nodes that could not be reached."""
        answers, errors = run_each(self._nodes, commands)
        wrong = {node: f"{node}: {complaint(answer.stderr)}" for node, answer in answers.items() if answer.code}
        return wrong, {node: str(error) for node, error in errors.items()}
