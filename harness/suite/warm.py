"""One cluster for all cells: its nodes stay up between cells, and are checked after each.

Before the first cell and after every cell, leftovers of the last run are removed.  Then everything that a run can
change is read from each node: firewall and queueing rules, addresses and routes, the data disk's mount, files, and our
processes.  This state must equal the one at the beginning.  If it does not, the differences are reported and everything
with our tags is healed; if differences remain, the nodes are recreated.  So no cell depends on the one before it, and a
fault that did not heal cannot be mistaken for a failure of the system in the next run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from harness.clusters import open_cluster
from harness.errors import HarnessError
from harness.execution.leftovers import heal_leftovers
from harness.remote.nodes import Remote
from harness.systems.deployment import Deployment, machines
from nemesis.core.ports import Command
from nemesis.core.roles import FIND

if TYPE_CHECKING:
    from harness.plan import Plan

Say = Callable[[str], None]
Look = Mapping[str, tuple[str, ...]]

#: iptables creates its tables and chains on first use and never removes them, so empty ones that accept everything do
#: not count as a difference.
_LOOK: Final = (
    FIND
    + r"""
PATH=$PATH:/usr/sbin:/sbin
for table in filter mangle nat; do
  iptables -t $table -S 2>/dev/null | grep -v '^-P .* ACCEPT$' | sed "s/^/iptables $table: /"
done
nft list ruleset 2>/dev/null | awk '
  /^[[:space:]]*([#}].*)?$/ {next}
  /^table/ {
    table = $2 " " $3; chain = ""; lazy = $2 ~ /^ip6?$/ && $3 ~ /^(filter|mangle|nat|raw|security)$/
    if (!lazy) print "nft:", table; next
  }
  /^[[:space:]]*chain / {chain = $2; if (!lazy) print "nft:", table, chain; next}
  lazy && /type .* hook .* policy accept;$/ {next}
  {sub(/^[[:space:]]+/, ""); print "nft:", table, chain ":", $0}'
tc qdisc show 2>/dev/null | sed 's/ [0-9a-f]*: / /; s/^/tc: /'
ip -o address show | awk '{print "address:", $2, $3, $4}'
ip route show | sed 's/^/route: /'
awk -v at="$1" '$2 == at {print "mount:", $2, $3, $4}' /proc/mounts
find "$1" -mindepth 1 -maxdepth 3 -path "$1/harness/programs" -prune -o ! -name 'lost+found' -print | sort | \
  sed 's/^/file: /'
members "$1/harness" "" | sed 's/^/process: /'
true
"""
)


class WarmCluster:
    """A context in which a cluster is up: it is brought up on entry if necessary, and taken down on exit if it is ours.

    ``ours`` says that this suite brought it up before it was killed and resumed.
    """

    def __init__(self, plan: Plan, say: Say, *, ours: bool = False) -> None:
        self._plan, self._say = plan, say
        self._cluster = open_cluster(plan.cluster, nodes=plan.nodes, say=say)
        self._fresh: Look = {}
        self.ours = ours
        self.renewed = 0

    def __enter__(self) -> Self:
        """Bring the cluster up, or heal it if it is already up.  Raises HarnessError."""
        self.ours = self.ours or not self._cluster.status().is_up or self._cluster.orphaned()
        try:
            if self._cluster.up(passing=True):
                self.heal()
            self._fresh = self.look()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.ours:
            self._cluster.down()

    def reset(self) -> tuple[str, ...]:
        """Restore the nodes after a cell, by healing or, if that does not suffice, by recreating them.

        Returns what differed and what was done about it; empty if nothing differed.  Raises HarnessError if the
        new nodes differ as well.
        """
        notes: list[str] = []
        try:
            notes += self._differences("left by this run")
            if not notes:
                return ()
            self.heal()
            again = self._differences("healing did not remove")
        except HarnessError as error:
            again = [f"cannot be healed: {error}"]
        if again:
            notes += [*again, "the nodes were recreated"]
            self._renew()
        return tuple(notes)

    def _differences(self, label: str) -> list[str]:
        return differences(self._fresh, self.look(), label)

    def look(self) -> Look:
        """Remove what the last run deliberately left, then read the state of the nodes.  Raises HarnessError."""
        with self._cluster.lock(), Remote(self._cluster.nodes) as remote:
            setup = self._plan.setup(machines(self._cluster.nodes))
            system = Deployment(self._plan.under_test, setup, remote, time.monotonic)
            system.kill(remote.names)
            system.wipe()
            homes = {node.name: node.data_dir for node in self._cluster.nodes}
            answers = remote.run({name: look_command(home) for name, home in homes.items()})
            return {name: tuple(answer.stdout.splitlines()) for name, answer in answers.items()}

    def heal(self) -> None:
        with self._cluster.lock(), Remote(self._cluster.nodes) as remote:
            heal_leftovers(remote).check()

    def _renew(self) -> None:
        self.renewed += 1
        self._cluster.down()
        self._cluster.up(passing=self.ours)
        left = self._differences("even with new nodes")
        if left:
            raise HarnessError(f"the cluster cannot be reset: {'; '.join(left[:3])}")


def look_command(data_dir: str) -> Command:
    """Return the command that prints everything that a run can change on a node, one item a line."""
    return Command(("sh", "-c", _LOOK, "look", str(PurePosixPath(data_dir))), timeout=20.0)


def differences(fresh: Look, now: Look, label: str) -> list[str]:
    """Return the lines that were added or removed since ``fresh``, each with its node."""
    lines: list[str] = []
    for node in sorted(set(fresh) | set(now)):
        before, after = fresh.get(node, ()), now.get(node, ())
        lines += [f"{node}: {label}: {line}" for line in after if line not in before]
        lines += [f"{node}: gone: {line}" for line in before if line not in after]
    return lines
