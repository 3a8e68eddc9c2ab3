"""Power cuts: the node's data filesystem loses every byte that was not synced.

The system's process is frozen first, so that it cannot answer from memory any more; then the filesystem is shut down
without a flush of its log (XFS_IOC_GOINGDOWN, EXT4_IOC_SHUTDOWN), then the process is killed.  Healing mounts the
filesystem anew, which replays its journal, and starts the process.  A canary that was written just before the cut and
not synced is looked for afterwards.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final

from nemesis.errors import FaultError
from nemesis.fault import Context, Family, Targets, Witness, wanted_nodes
from nemesis.processes import (
    Choose,
    everybody,
    kill,
    pids_of,
    random_subset,
    restart,
    running_pids,
    see_gone,
    states,
)
from nemesis.view import Command

CANARY: Final = ".harness-unsynced"
FILESYSTEMS: Final = ("ext4", "xfs")

# The whole filesystem at a directory: device numbers, type, device, options.  A part of one that is mounted a second
# time there is none of its own.  The last line wins, as it does in the kernel.
_MOUNT: Final = """mount_of() {
  awk -v d="$1" '$5 == d && $4 == "/" { for (i = 7; $i != "-"; i++); print $3, $(i+1), $(i+2), $6 }' \
    /proc/self/mountinfo | tail -n 1
}
"""

_LOOK: Final = _MOUNT + 'mount_of "$0"'

_CUT: Final = """kill -s STOP "$1" || exit
echo lost >"$0/$2"
xfs_io -x -c shutdown "$0" || { kill -s CONT "$1"; exit 1; }
kill -s KILL "$1"
"""

_WRITE: Final = (
    """if (: >"$0/.harness-write") 2>/dev/null; then rm -f "$0/.harness-write"; echo writable; else echo refused; fi"""
)

#: What is to be mounted where, as long as it is not: without it, what lies beneath the mount would pass for the disk.
UNMOUNTED: Final = "/run/harness-unmounted"

# The loop device is held open meanwhile: one that was set up by mount vanishes with its last user.  A node that has
# its own /dev may lack the device's file.
_REMOUNT: Final = (
    _MOUNT
    + """note=$2
put_back() {
  read -r numbers kind source options <"$note"
  device=/dev/harness-data
  rm -f "$device"; mknod "$device" b "${numbers%:*}" "${numbers#*:}" && exec 9<"$device" || return
  if [ -n "$(mount_of "$1")" ]; then
    i=0
    until said=$(umount "$1" 2>&1); do
      i=$((i + 1)); [ $i -lt 100 ] || { echo "error: $said" >&2; rm -f "$note"; return 1; }
      sleep 0.02
    done
  fi
  [ -b "$source" ] || source=$device
  mount -t "$kind" -o "$options" "$source" "$1" || return
  exec 9<&-
  rm -f "$device" "$note"
  echo remounted
}
if [ ! -e "$note" ] && ! (: >"$0/.harness-write") 2>/dev/null; then
  found=$(mount_of "$0")
  case "$found" in
    *" ext4 "* | *" xfs "*) echo "$found" >"$note" ;;
    "") echo "error: nothing is mounted at $0" >&2; exit 1 ;;
    *) echo "error: $0 is refused: $found" >&2; exit 1 ;;
  esac
fi
[ ! -e "$note" ] || put_back "$0" || exit
rm -f "$0/.harness-write"
if [ -s "$0/$1" ]; then echo "canary kept"; else echo "canary lost"; fi
rm -f "$0/$1"
"""
)

# A killed run may have left a filesystem shut down; nothing is done to one that can be written to, or is only full.
# A server that lives on holds it, and nobody knows what it believes after the errors that it met.
SWEEP: Final = f"""refused=
if grep -q " $2 " /proc/self/mounts; then refused=$( (: >"$2/.harness-write") 2>&1); fi
case "$refused" in *"No space left"*) refused=;; esac
if [ -n "$refused" ] || [ -e {UNMOUNTED} ]; then
  for pid in $(ours "$1"); do end "$pid" && echo "ended pid $pid, whose data filesystem was shut down"; done
  if said=$(sh -c '{_REMOUNT.replace("'", "'" + chr(92) + "''")}' "$2" {CANARY} {UNMOUNTED} 2>&1)
  then echo "remounted the data filesystem"
  else wrong "$2 stays shut down: $said"
  fi
fi
rm -f "$2/.harness-write" "$2/{CANARY}"
"""


def mounts(ctx: Context) -> dict[str, tuple[str, str]]:
    """(filesystem type, device numbers) of each node's data directory; nodes where it is no mount are left out."""
    answers = ctx.nodes.run(ctx.at_data(ctx.nodes.names, _LOOK))
    words = {node: answer.stdout.split() for node, answer in answers.items()}
    return {node: (found[1], found[0]) for node, found in words.items() if len(found) == 4}


def places(ctx: Context, nodes: Iterable[str]) -> str:
    """The data directories of some nodes, for people."""
    return ", ".join(f"{ctx.settings.data_dir(node)} on {node}" for node in nodes)


def refused_writes(ctx: Context, targets: Targets) -> Witness:
    """Raises FaultError when one of the nodes can still write to its data filesystem."""
    answers = ctx.nodes.run(ctx.at_data(targets.nodes, _WRITE))
    if alive := [node for node, answer in answers.items() if "refused" not in answer.stdout]:
        raise FaultError(f"the data directory can still be written to: {places(ctx, alive)}")
    return {"writes_refused": list(targets.nodes)}


class PowerCut:
    """The nodes' data filesystems are shut down without a flush, their processes killed."""

    family: Family = "machine"
    stops = True

    def __init__(self, name: str, summary: str, choose: Choose, *, beyond_quorum: bool = False) -> None:
        self.name = name
        self.summary = summary
        self.choose = choose
        self.beyond_quorum = beyond_quorum

    def precheck(self, ctx: Context) -> str | None:
        if why := ctx.facts.refusal("xfs_io", "mount", "umount"):
            return why
        found = mounts(ctx)
        if none := [node for node in ctx.nodes.names if found.get(node, ("", ""))[0] not in FILESYSTEMS]:
            return f"no XFS or ext4 filesystem of its own: {places(ctx, none)}"
        shared = [node for node, (_, device) in found.items() if not device.startswith("7:")]
        if shared and not ctx.settings.option("cut_real_disks"):
            return f"on a real disk: {places(ctx, shared)}; the option cut_real_disks allows to shut it down"
        return None

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        nodes = wanted_nodes(ctx, lambda: self.choose(ctx, rng))
        return Targets(nodes, detail={"pids": running_pids(ctx, nodes)})

    def inject(self, ctx: Context, targets: Targets) -> None:
        cuts = {
            node: Command(("sh", "-c", _CUT, ctx.settings.data_dir(node), str(pid), CANARY))
            for node, pid in pids_of(targets).items()
        }
        ctx.run_checked(cuts)

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        return {**see_gone(ctx, pids_of(targets)), **refused_writes(ctx, targets)}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        answers = ctx.run_checked(ctx.at_data(targets.nodes, _REMOUNT, CANARY, UNMOUNTED, timeout=30.0))
        lost = {node: "canary lost" in answer.stdout for node, answer in answers.items()}
        return {**restart(ctx, targets.nodes), "unsynced_lost": lost}


class DiskError(PowerCut):
    """The disk fails under the running process: from one moment on every write is answered with an I/O error.

    What had reached the journal is flushed first, so this tells how a system takes errors, not what it loses.
    """

    def inject(self, ctx: Context, targets: Targets) -> None:
        paths = {node: ctx.settings.data_dir(node) for node in targets.nodes}
        ctx.run_checked({node: Command(("xfs_io", "-x", "-c", "shutdown -f", path)) for node, path in paths.items()})

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        now = states(ctx, pids_of(targets))
        return {**refused_writes(ctx, targets), "process": {node: letter or "gone" for node, letter in now.items()}}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        """A process that has met the errors is ended: it holds the filesystem, and nobody knows what it believes."""
        answers = ctx.nodes.run(ctx.at_data(targets.nodes, _WRITE))
        broken = [node for node, answer in answers.items() if "refused" in answer.stdout]
        # ext4 refuses reads, too, once it is shut down: the file that tells the pid may be out of reach.
        recorded = {node: pid for node, pid in pids_of(targets).items() if node in broken}
        alive = states(ctx, recorded)
        running = {node: pid for node, pid in recorded.items() if alive[node]}
        running |= {node: pid for node, pid in ctx.system.pids(broken).items() if pid is not None}
        kill(ctx, running)
        see_gone(ctx, running)
        return super().heal(ctx, targets)


POWER: Iterable[PowerCut] = (
    PowerCut("crash-random-nodes", "a power cut: random nodes lose every byte that was not synced", random_subset),
    PowerCut("crash-all", "a power cut of all nodes at once", everybody, beyond_quorum=True),
    DiskError("disk-error", "every write to the disks of random nodes is answered with an I/O error", random_subset),
)
