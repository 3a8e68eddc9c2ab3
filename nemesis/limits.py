"""Starved machines: the system's process is put into a control group with limits.

Control groups of either version are used, those with version 1 first; a node that sees none (it has its own /sys)
mounts the hierarchy for itself.  Groups are named after the node's process namespace, since the nodes may be parts of
one machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from nemesis.errors import FaultError
from nemesis.fault import Context, Family, Targets, Witness, wanted_nodes
from nemesis.processes import pids_of, random_subset, running_pids
from nemesis.view import Command

Kind = Literal["cpu", "memory", "blkio"]

_FIND: Final = r"""kind=$0; note=/run/harness-cgroup-$kind; own=no
name=harness-$(readlink /proc/self/ns/pid | tr -dc 0-9)-$kind
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
  if find_version_1; then version=1; elif find_version_2; then version=2
  else echo "error: no control groups for $kind" >&2; exit 1; fi
}
"""

# Each limit comes as three words: the file and value of version 1, or of version 2, by the first word.
_ENTER: Final = (
    _FIND
    + r"""pid=$1; shift
find_root
if [ $version = 1 ]; then
  home=$(awk -F: -v k="$kind" 'index("," $2 ",", "," k ",") { print $3 }' "/proc/$pid/cgroup")
else
  home=$(sed -n 's/^0:://p' "/proc/$pid/cgroup")
  echo "+$word" >"$root/cgroup.subtree_control" || exit
fi
echo "$root $home $root/$name $own" >"$note"
mkdir -p "$root/$name" || exit
while [ $# -ge 3 ]; do
  [ "$1" != $version ] || echo "$3" >"$root/$name/$2" || exit
  shift 3
done
echo "$pid" >"$root/$name/cgroup.procs"
"""
)

_LEAVE: Final = r"""note=/run/harness-cgroup-$0
[ -e "$note" ] || exit 0
read -r root home group own <"$note"
if [ -d "$group" ]; then
  for pid in $(cat "$group/cgroup.procs"); do echo "$pid" >"$root$home/cgroup.procs"; done
  i=0
  until rmdir "$group" 2>/dev/null; do
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
if [ $version = 2 ]; then echo "+$word" >"$root/cgroup.subtree_control" || code=$?; fi
mkdir "$root/$name-try" && rmdir "$root/$name-try"; code=$?
[ $own = no ] || { umount "$root"; rmdir "$root"; }
exit $code
"""
)

# A shell that joins the group, does some work there, and prints what the group's own files say.
_WORK: Final = r"""read -r root home group own </run/harness-cgroup-"$0" || exit
grep -qF "$(basename "$group")" "/proc/$1/cgroup" && echo inside
echo $$ >"$group/cgroup.procs" || exit
began=$(date +%s%N)
sh -c "$2" work "$3" >/dev/null 2>&1
echo "took_ms $(( ($(date +%s%N) - began) / 1000000 ))"
cat "$group/cpu.stat" "$group/memory.events" 2>/dev/null
[ ! -e "$group/memory.failcnt" ] || echo "failcnt $(cat "$group/memory.failcnt")"
echo $$ >"$root$home/cgroup.procs"
exit 0"""

SWEEP: Final = f"""for note in /run/harness-cgroup-cpu /run/harness-cgroup-memory /run/harness-cgroup-blkio; do
  [ -f "$note" ] || continue
  kind=${{note##*-}}
  if sh -c '{_LEAVE}' "$kind" >/dev/null; then echo "removed limits ($kind)"; else wrong "limits ($kind) stay"; fi
done"""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is limited: (version, file, value) lines, the work that must feel it, and how that is seen."""

    kind: Kind
    lines: Callable[[Context, str], Sequence[tuple[str, str, str]]]
    work: str
    felt: Callable[[Context, Mapping[str, int]], bool]

    def enter(self, ctx: Context, pid: int, device: str) -> Command:
        words = [word for line in self.lines(ctx, device) for word in line]
        return Command(("sh", "-c", _ENTER, self.kind, str(pid), *words))

    def leave(self) -> Command:
        return Command(("sh", "-c", _LEAVE, self.kind))


class Starve:
    """The processes of a random minority under limits."""

    family: Family = "machine"
    stops = False
    beyond_quorum = False

    def __init__(self, name: str, summary: str, limits: Limits) -> None:
        self.name = name
        self.summary = summary
        self.limits = limits

    def precheck(self, ctx: Context) -> str | None:
        tries = dict.fromkeys(ctx.nodes.names, Command(("sh", "-c", _TRY, self.limits.kind)))
        refused = [node for node, answer in ctx.nodes.run(tries).items() if answer.code]
        return f"no control groups for {self.limits.kind} on {', '.join(refused)}" if refused else None

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        nodes = wanted_nodes(ctx, lambda: random_subset(ctx, rng))
        looks = ctx.nodes.run(ctx.at_data(nodes, 'stat -c "%Hd:%Ld" "$0"'))
        devices = {node: answer.stdout.strip() for node, answer in looks.items()}
        return Targets(nodes, detail={"pids": running_pids(ctx, nodes), "devices": devices})

    def inject(self, ctx: Context, targets: Targets) -> None:
        devices = targets.detail["devices"]
        ctx.run_checked({n: self.limits.enter(ctx, pid, devices[n]) for n, pid in pids_of(targets).items()})

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        pids, limits = pids_of(targets), self.limits
        work = {
            node: Command(
                ("sh", "-c", _WORK, limits.kind, str(pid), limits.work, ctx.settings.data_dir(node)), timeout=30.0
            )
            for node, pid in pids.items()
        }
        seen = {node: answer.stdout.splitlines() for node, answer in ctx.run_checked(work).items()}
        if outside := [node for node, lines in seen.items() if "inside" not in lines]:
            raise FaultError(f"the process is not in its group on {', '.join(outside)}")
        figures = {node: _figures(lines) for node, lines in seen.items()}
        if free := [node for node in figures if not limits.felt(ctx, figures[node])]:
            raise FaultError(f"the limits were not felt on {', '.join(free)}: {figures}")
        return {"felt": figures}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        ctx.run_checked(dict.fromkeys(targets.nodes, self.limits.leave()))
        look = Command(("sh", "-c", 'grep -l "harness-[0-9]*-$0" /proc/[0-9]*/cgroup; exit 0', self.limits.kind))
        left = {
            node: answer.stdout.split() for node, answer in ctx.nodes.run(dict.fromkeys(targets.nodes, look)).items()
        }
        if inside := [node for node, found in left.items() if found]:
            raise FaultError(f"processes are still under limits on {', '.join(inside)}")
        ctx.system.start(targets.nodes)
        return {"limits_gone": list(targets.nodes)}


def _figures(lines: Sequence[str]) -> dict[str, int]:
    words = (line.split() for line in lines)
    return {pair[0]: int(pair[1]) for pair in words if len(pair) == 2 and pair[1].isdigit()}


def _cpu(ctx: Context, device: str) -> Sequence[tuple[str, str, str]]:  # noqa: ARG001 (one shape for all)
    quota = round(ctx.settings.option("cpu_share") * 100_000)
    return (
        ("1", "cpu.cfs_period_us", "100000"),
        ("1", "cpu.cfs_quota_us", str(quota)),
        ("2", "cpu.max", f"{quota} 100000"),
    )


def _memory(ctx: Context, device: str) -> Sequence[tuple[str, str, str]]:  # noqa: ARG001 (one shape for all)
    most = str(round(ctx.settings.option("memory_mb")) << 20)
    return (("1", "memory.limit_in_bytes", most), ("2", "memory.max", most))


def _disk(ctx: Context, device: str) -> Sequence[tuple[str, str, str]]:
    writes = round(ctx.settings.option("writes_a_second"))
    return (
        ("1", "blkio.throttle.write_iops_device", f"{device} {writes}"),
        ("2", "io.max", f"{device} wiops={writes}"),
    )


_SPIN: Final = "timeout 0.7 sh -c 'while :; do :; done'"
_FILL_CACHE: Final = 'dd if=/dev/zero of="$1/.harness-write" bs=1M count=48; rm -f "$1/.harness-write"'
_SYNCED_WRITES: Final = """for i in 1 2 3 4 5 6 7 8 9 10; do
  dd if=/dev/zero of="$1/.harness-write" bs=4k count=1 conv=fsync,notrunc
done
rm -f "$1/.harness-write\""""


def _slower(ctx: Context, figures: Mapping[str, int]) -> bool:
    """Ten synced writes take half as long as the limit says, at the least."""
    return figures.get("took_ms", 0) >= 0.5 * 10_000 / ctx.settings.option("writes_a_second")


LIMITS: tuple[Starve, ...] = (
    Starve(
        "cpu-starve",
        "the processes of a random minority get 5 % of one processor",
        Limits("cpu", _cpu, _SPIN, lambda _, figures: figures.get("nr_throttled", 0) > 0),
    ),
    Starve(
        "memory-pressure",
        "the processes of a random minority get 16 MB for whatever they touch anew",
        Limits("memory", _memory, _FILL_CACHE, lambda _, f: f.get("failcnt", 0) > 0 or f.get("max", 0) > 0),
    ),
    Starve(
        "disk-slow",
        "the disks of a random minority take 20 writes a second",
        Limits("blkio", _disk, _SYNCED_WRITES, _slower),
    ),
)
