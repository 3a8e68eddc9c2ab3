"""Limit the resources of the processes of the role that faults hit, with a control group.

Control groups of both versions work; version 2 is used if it has the controller.  On a node without a hierarchy of
version 1, one is mounted.  The group has the name of the role's group, followed by the kind of limit (see
``nemesis.core.roles``). In version 2 the processes move to this group, which limits what they use from then on, and
they are found in either group.

No other processes are ever in the group, so the counts in its files are only about these.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from nemesis.core.errors import FaultError
from nemesis.core.fault import Context, Family, Targets, Witness, wanted_nodes
from nemesis.core.ports import Command
from nemesis.core.roles import FIND
from nemesis.faults.processes import pids_of, random_subset, restart, running_pids

Kind = Literal["cpu", "memory", "blkio"]

_FIND: Final = (
    FIND
    + r"""kind=$0; home=$1; role=$2; shift 2
note=/run/harness-cgroup-$kind; own=no
name=$(name_of "$home" "$role")@$kind
find_version_1() {
  root=$(awk -v k="$kind" '$3 == "cgroup" && index("," $4 ",", "," k ",") { print $2; exit }' /proc/self/mounts)
  [ -z "$root" ] || return 0
  root=$note.d; mkdir -p "$root"
  for options in "$kind" "cpu,cpuacct"; do
    case ",$options," in *",$kind,"*) ;; *) continue;; esac
    mount -t cgroup -o "$options" harness-cgroup "$root" 2>/dev/null && own=yes && return 0
  done
  rmdir "$root"; return 1
}
find_version_2() {
  root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
  case $kind in blkio) word=io;; *) word=$kind;; esac
  [ -n "$root" ] && grep -qw "$word" "$root/cgroup.controllers"
}
find_root() {
  if find_version_2; then version=2; elif find_version_1; then version=1
  else echo "error: no control groups for $kind" >&2; exit 1; fi
}
"""
)

#: Each limit is three words: the version of control groups that it is for, the file, and the value.
_ENTER: Final = (
    _FIND
    + r"""find_root
for most in "$@"; do :; done
pid=$(members "$home" "$role" | head -n 1)
[ -n "$pid" ] || { echo "error: no process of $role runs" >&2; exit 1; }
if [ $version = 1 ]; then
  origin=$(awk -F: -v k="$kind" 'index("," $2 ",", "," k ",") { print $3 }' "/proc/$pid/cgroup")
else
  origin=$(sed -n 's/^0:://p' "/proc/$pid/cgroup")
  echo "+$word" >"$root/cgroup.subtree_control" || exit
fi
echo "$root $origin $root/$name $own" >"$note"
mkdir -p "$root/$name" || exit
while [ $# -ge 3 ]; do
  [ "$1" != $version ] || echo "$3" >"$root/$name/$2" || exit
  shift 3
done
# Again, for what is forked meanwhile.
while left=$(members "$home" "$role" | grep -vxF "$(cat "$root/$name/cgroup.procs")"); [ -n "$left" ]; do
  for pid in $left; do echo "$pid" >"$root/$name/cgroup.procs" || [ ! -e "/proc/$pid" ] || exit; done
done
[ "$kind" = memory ] || exit 0
# What the processes have touched before is not charged to the group, and a server touches little anew: so it keeps
# what it touches in one second, and every page beyond that has to be won back from those.
sleep 1
case $version in 1) file=memory.limit_in_bytes;; 2) file=memory.high;; esac
i=0
while :; do
  # The kernel also counts pages that it keeps ready, and refuses a limit below its count: each try leaves more room.
  slack=$((4096 + i * 65536))
  used=$(awk -v s=$slack '$1 ~ /^(rss|cache|anon|file)$/ { s += $2 } END { print s }' "$root/$name/memory.stat")
  [ "$used" -lt "$most" ] || used=$most
  ! refused=$( { echo "$used" >"$root/$name/$file"; } 2>&1) || exit 0
  i=$((i + 1)); [ $i -lt 20 ] || { echo "error: no limit of $used bytes for $role: $refused" >&2; exit 1; }
done
"""
)

_LEAVE: Final = r"""note=/run/harness-cgroup-$0
[ -e "$note" ] || exit 0
read -r root origin group own <"$note"
if [ -d "$group" ]; then
  # What waits for memory must get memory before it can leave the group.
  [ ! -e "$group/memory.high" ] || echo max >"$group/memory.high"
  [ ! -e "$group/memory.limit_in_bytes" ] || echo -1 >"$group/memory.limit_in_bytes"
  i=0
  until
    for pid in $(cat "$group/cgroup.procs"); do echo "$pid" >"$root$origin/cgroup.procs"; done
    rmdir "$group" 2>/dev/null
  do
    i=$((i + 1)); [ $i -lt 100 ] || { rmdir "$group"; exit 1; }
    sleep 0.02
  done
fi
[ "$own" = no ] || { umount "$root" && rmdir "$root"; }
rm -f "$note"
echo left
"""

_TRY: Final = (
    _FIND
    + """find_root
code=0
if [ $version = 2 ]; then echo "+$word" >"$root/cgroup.subtree_control" || code=$?; fi
{ mkdir "$root/$name" && rmdir "$root/$name"; } || code=$?
[ $own = no ] || { umount "$root"; rmdir "$root"; }
exit $code
"""
)

#: Prints figures from the group's files and the threads of the processes.  A thread in state D waits for the kernel,
#: for a disk or memory.  Out of samples over about half a second, "waiting" counts those with such a thread.
_FELT: Final = (
    FIND
    + r"""pids=$(members "$1" "$2")
if read -r root origin group own 2>/dev/null </run/harness-cgroup-"$0"; then
  outside=
  for pid in $pids; do
    [ ! -e "/proc/$pid" ] || grep -qF "${group##*/}" "/proc/$pid/cgroup" || outside="$outside $pid"
  done
  [ -n "$outside" ] || echo inside
  cat "$group/cpu.stat" "$group/memory.events" 2>/dev/null
  [ ! -e "$group/memory.failcnt" ] || echo "failcnt $(cat "$group/memory.failcnt")"
  for file in memory.limit_in_bytes memory.high memory.max; do
    [ ! -e "$group/$file" ] || echo "$file $(cat "$group/$file")"
  done
  grep -s "^pgmajfault\|^under_oom\|^oom_kill " "$group/memory.stat" "$group/memory.oom_control" | sed "s/.*://"
  sed -n "s/.* Write \([0-9]*\)$/writes_served \1/p" "$group/blkio.throttle.io_serviced" 2>/dev/null
  sed -n "s/.* wios=\([0-9]*\).*/writes_served \1/p" "$group/io.stat" 2>/dev/null
fi
samples=0; waiting=0
while [ $samples -lt 25 ]; do
  samples=$((samples + 1))
  ! for pid in $pids; do cat /proc/"$pid"/task/*/stat; done 2>/dev/null | grep -q ") D " || waiting=$((waiting + 1))
  sleep 0.02
done
echo "samples $samples"; echo "waiting $waiting"
"""
)
#: Prints the processes in a group with this limit, on any node that shares this machine and is visible from here.
_INSIDE: Final = FIND + r"""grep -lF "$(name_of "$1" "$2")@$0" /proc/[0-9]*/cgroup; exit 0"""

SWEEP: Final = f"""for note in /run/harness-cgroup-cpu /run/harness-cgroup-memory /run/harness-cgroup-blkio; do
  [ -f "$note" ] || continue
  kind=${{note##*-}}
  if sh -c '{_LEAVE}' "$kind" >/dev/null; then echo "removed limits ($kind)"; else wrong "limits ($kind) stay"; fi
done"""


Figures = Mapping[str, int]

#: How long a process may take to reach its limits.  An idle one reaches them with its next heartbeats.
FELT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class ResourceLimit:
    """Limits of one resource.

    ``lines`` returns (version, file, value) for each limit.  ``felt`` returns whether a process has reached its limits,
    given the figures from before the limits and the current ones.
    """

    kind: Kind
    lines: Callable[[Context, str], Sequence[tuple[str, str, str]]]
    felt: Callable[[Figures, Figures], bool]

    def enter(self, ctx: Context, node: str, device: str) -> Command:
        words = [word for line in self.lines(ctx, device) for word in line]
        return Command(("sh", "-c", _ENTER, self.kind, *ctx.settings.role(node), *words))

    def leave(self) -> Command:
        return Command(("sh", "-c", _LEAVE, self.kind))


def look(ctx: Context, kind: Kind, nodes: Iterable[str]) -> dict[str, list[str]]:
    """Read the figures of these nodes' processes, and of their groups if they are in one; return lines by node."""
    looks = {node: Command(("sh", "-c", _FELT, kind, *ctx.settings.role(node))) for node in nodes}
    return {node: answer.stdout.splitlines() for node, answer in ctx.run_checked(looks).items()}


class Starve:
    """Limit the resources of the processes on a random minority of nodes."""

    family: Family = "resource"
    stops = False
    beyond_quorum = False

    def __init__(self, name: str, summary: str, limits: ResourceLimit) -> None:
        self.name = name
        self.summary = summary
        self.limits = limits
        self.takes_memory = limits.kind == "memory"

    def precheck(self, ctx: Context) -> str | None:
        tries = {n: Command(("sh", "-c", _TRY, self.limits.kind, *ctx.settings.role(n))) for n in ctx.nodes.names}
        refused = [node for node, answer in ctx.nodes.run(tries).items() if answer.code]
        return f"no control groups for {self.limits.kind} on {', '.join(refused)}" if refused else None

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        nodes = wanted_nodes(ctx, lambda: random_subset(ctx, rng))
        looks = ctx.nodes.run(ctx.at_data(nodes, 'stat -c "%Hd:%Ld" "$0"'))
        devices = {node: answer.stdout.strip() for node, answer in looks.items()}
        pids = running_pids(ctx, nodes)
        before = {node: _figures(lines) for node, lines in look(ctx, self.limits.kind, nodes).items()}
        return Targets(nodes, detail={"pids": pids, "devices": devices, "before": before})

    def inject(self, ctx: Context, targets: Targets) -> None:
        devices = targets.detail["devices"]
        ctx.run_checked({node: self.limits.enter(ctx, node, devices[node]) for node in targets.nodes})

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        """Wait until all processes have reached their limits.

        Raises FaultError that names the nodes on which they did not.
        """
        before, now = targets.detail["before"], dict[str, Figures]()

        def all_felt() -> bool | None:
            waiting = [node for node in targets.nodes if not self._felt(before, now, node)]
            lines = look(ctx, self.limits.kind, waiting)
            if outside := [node for node in lines if "inside" not in lines[node]]:
                raise FaultError(f"a process is not in its group on {', '.join(outside)}")
            now.update({node: _figures(lines[node]) for node in lines})
            return True if all(self._felt(before, now, node) for node in targets.nodes) else None

        if not ctx.until(all_felt, FELT_S, every_s=0.1):
            free = [node for node in targets.nodes if not self._felt(before, now, node)]
            figures = {node: now.get(node) for node in free}
            raise FaultError(f"the process did not reach its limits on {', '.join(free)}: {figures}")
        return {"felt": dict(now), "before": dict(before)}

    def _felt(self, before: Mapping[str, Figures], now: Mapping[str, Figures], node: str) -> bool:
        return node in now and self.limits.felt(before[node], now[node])

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        ctx.run_checked(dict.fromkeys(targets.nodes, self.limits.leave()))
        looks = {n: Command(("sh", "-c", _INSIDE, self.limits.kind, *ctx.settings.role(n))) for n in targets.nodes}
        if inside := [node for node, answer in ctx.nodes.run(looks).items() if answer.stdout.split()]:
            raise FaultError(f"processes are still under limits on {', '.join(inside)}")
        return {"limits_gone": list(targets.nodes), **self._ended(ctx, targets), **restart(ctx, targets.nodes)}

    def _ended(self, ctx: Context, targets: Targets) -> Witness:
        """Return the nodes whose process ended although the fault only slows it down."""
        if self.takes_memory:
            return {}
        now = ctx.system.pids(targets.nodes)
        ended = [node for node, pid in pids_of(targets).items() if now.get(node) != pid]
        return {"ended": ended} if ended else {}


def _figures(lines: Sequence[str]) -> dict[str, int]:
    """Parse figures by name, adding up those that occur once for each disk."""
    figures: Counter[str] = Counter()
    for words in map(str.split, lines):
        if len(words) == 2 and words[1].isdigit():
            figures[words[0]] += int(words[1])
    return dict(figures)


def _cpu(ctx: Context, device: str) -> Sequence[tuple[str, str, str]]:  # noqa: ARG001 (one shape for all)
    quota = round(ctx.settings.option("cpu_share") * 100_000)
    return (
        ("1", "cpu.cfs_period_us", "100000"),
        ("1", "cpu.cfs_quota_us", str(quota)),
        ("2", "cpu.max", f"{quota} 100000"),
    )


def _memory(ctx: Context, device: str) -> Sequence[tuple[str, str, str]]:  # noqa: ARG001 (one shape for all)
    most = str(round(ctx.settings.option("memory_mb")) << 20)
    # In version 1 the kernel would kill the process.  This setting makes it wait, as in version 2 ("high").
    return (("1", "memory.oom_control", "1"), ("1", "memory.limit_in_bytes", most), ("2", "memory.max", most))


def _disk(ctx: Context, device: str) -> Sequence[tuple[str, str, str]]:
    writes = round(ctx.settings.option("writes_a_second"))
    return (
        ("1", "blkio.throttle.write_iops_device", f"{device} {writes}"),
        ("2", "io.max", f"{device} wiops={writes}"),
    )


def _reclaimed(_: Figures, now: Figures) -> bool:
    """Return whether the process had to wait for memory."""
    return any(now.get(name, 0) > 0 for name in ("failcnt", "high", "max"))


def _stalled(before: Figures, now: Figures) -> bool:
    """Return whether writes of the process were served and its threads wait for the disk far more than before."""
    share, usual = (row.get("waiting", 0) / row["samples"] if row.get("samples") else 0.0 for row in (now, before))
    return now.get("writes_served", 0) > 0 and share >= min(0.9, usual + 0.3)


RESOURCES: tuple[Starve, ...] = (
    Starve(
        "cpu-starve",
        "the processes of a random minority get 5 % of one processor",
        ResourceLimit("cpu", _cpu, lambda _, now: now.get("nr_throttled", 0) > 0),
    ),
    Starve(
        "memory-pressure",
        "the processes of a random minority get no more memory than they use in a second (16 MB)",
        ResourceLimit("memory", _memory, _reclaimed),
    ),
    Starve(
        "disk-slow",
        "the disks of a random minority take 20 writes a second",
        ResourceLimit("blkio", _disk, _stalled),
    ),
)
