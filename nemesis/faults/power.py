"""Power cuts: the node's data filesystem loses every byte that was not synced.

First the system's process is frozen, so that it can no longer answer from memory.  Then the filesystem is shut down
without flushing its log (XFS_IOC_GOINGDOWN, EXT4_IOC_SHUTDOWN), and the process is killed.  The witness mounts the
filesystem again, which replays its journal.  Our witness file, written just before the cut and not synced, must be
gone.  The witness also compares the store with what the process saw when it was frozen, and reports how many bytes were
lost.  If none were lost, it was still a power cut, but the system had synced everything.  Healing starts the process.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from nemesis.core.errors import FaultError
from nemesis.core.fault import Context, Family, Targets, Witness
from nemesis.core.ports import Command
from nemesis.core.roles import SIGNAL
from nemesis.faults.processes import ProcessFault, all_nodes, pids_of, random_subset, restart, see_gone, send, states

WITNESS: Final = ".harness-unsynced"
REPORT: Final = "/run/harness-cut.json"
#: How long the cut waits for a moment when the store has unsynced data.
MOMENT_S: Final = 1.0
FILESYSTEMS: Final = ("ext4", "xfs")

#: Prints the filesystem whose root is mounted at a directory: device numbers, type, device, options.  A bind mount of a
#: part of a filesystem does not count.  The last line wins, as it does in the kernel.
_MOUNT: Final = """mount_of() {
  awk -v d="$1" '$5 == d && $4 == "/" { for (i = 7; $i != "-"; i++); print $3, $(i+1), $(i+2), $6 }' \
    /proc/self/mountinfo | tail -n 1
}
"""

_LOOK: Final = _MOUNT + 'mount_of "$0"'

#: Freezes the role's processes at a moment when files of the store have unsynced pages, if the kernel shows these
#: (cachestat, Linux 6.5).  Then it stores a digest of every sector as the processes see it, and cuts the power.  If
#: anything ends it before the cut, such as its time limit, the processes continue.
_CUT: Final = """
import ctypes, glob, hashlib, json, os, signal, subprocess, sys, time
data, home, role, script, witness, store, patterns, report, within_s = sys.argv[1:]
patterns, deadline = json.loads(patterns), time.monotonic() + float(within_s)
libc = ctypes.CDLL(None)
def files():
    found = {path for one in patterns for path in glob.glob(os.path.join(store, one), recursive=True)}
    return sorted(path for path in found if os.path.isfile(path))
def unsynced():
    pages, span = 0, (ctypes.c_uint64 * 2)()
    for path in files():
        seen, file = (ctypes.c_uint64 * 5)(), os.open(path, os.O_RDONLY)
        refused = libc.syscall(451, file, span, seen, 0)
        os.close(file)
        if refused:
            return None
        pages += seen[1] + seen[2]
    return pages
def send(name):
    return subprocess.run(["sh", "-c", script, home, role, name]).returncode
def cut():
    while True:
        if send("STOP"):
            sys.exit("error: the processes do not stop")
        pages = unsynced()
        if pages != 0 or time.monotonic() > deadline:
            break
        send("CONT")
        time.sleep(0.003)
    seen = {}
    for path in files():
        content = open(path, "rb").read()
        sectors = {}
        for at in range(0, len(content), 512):
            if (sector := content[at:at + 512]).strip(b"\\0"):
                sectors[at] = hashlib.md5(sector).hexdigest()
        seen[path] = [len(content), sectors]
    open(report, "w").write(json.dumps({"unsynced_pages": pages, "files": seen}))
    open(os.path.join(data, witness), "w").write("lost")
    if subprocess.run(["xfs_io", "-x", "-c", "shutdown", data]).returncode:
        sys.exit("error: the filesystem was not shut down")
signal.signal(signal.SIGTERM, lambda *_: sys.exit("error: it took too long"))
try:
    cut()
except BaseException:
    send("CONT")
    raise
sys.exit(send("KILL"))
"""

#: Compares the remounted filesystem with what the process saw when it was frozen.  A sector of zeros has no digest; it
#: is lost if the file now ends before it.
_LOST: Final = """
import hashlib, json, os, sys
store, report = sys.argv[1:]
cut, lost = json.load(open(report)), {}
for path, (size, sectors) in cut["files"].items():
    content = open(path, "rb").read() if os.path.exists(path) else None
    now = content or b""
    gone = {int(at) for at, digest in sectors.items()
            if hashlib.md5(now[int(at):int(at) + 512]).hexdigest() != digest}
    if gone or content is None or len(now) < size:
        ends = ((at, min(at + 512, size)) for at in range(0, size, 512))
        lost[os.path.relpath(path, store)] = {
            "bytes": sum(end - at if at in gone else max(0, end - max(at, len(now))) for at, end in ends),
            "sectors_of_512": len(gone), "first_byte": min(gone, default=len(now)),
            "size": size, "size_now": None if content is None else len(now)}
print(json.dumps({"unsynced_pages": cut["unsynced_pages"], "lost": lost}))
"""

_WRITE: Final = (
    """if (: >"$0/.harness-write") 2>/dev/null; then rm -f "$0/.harness-write"; echo writable; else echo refused; fi"""
)

#: Records a mount that must be made again.  Without it, the directory under the mount point could pass for the disk.
UNMOUNTED: Final = "/run/harness-unmounted"

#: The loop device is held open meanwhile, because one that mount set up vanishes with its last user.  A node with its
#: own /dev may lack the device's file.
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
if [ -s "$0/$1" ]; then echo "witness kept"; else echo "witness lost"; fi
rm -f "$0/$1"
"""
)

#: Remounts a filesystem that a killed run left shut down, but does not touch one that is writable or merely full.  It
#: ends a server that still runs, which keeps the filesystem busy and whose state after the errors is unknown.
SWEEP: Final = f"""refused=
if grep -q " $2 " /proc/self/mounts; then refused=$( (: >"$2/.harness-write") 2>&1); fi
case "$refused" in *"No space left"*) refused=;; esac
if [ -n "$refused" ] || [ -e {UNMOUNTED} ]; then
  for pid in $(members "$1" ""); do end "$pid" && echo "ended pid $pid, whose data filesystem was shut down"; done
  if said=$(sh -c '{_REMOUNT.replace("'", "'" + chr(92) + "''")}' "$2" {WITNESS} {UNMOUNTED} 2>&1)
  then echo "remounted the data filesystem"
  else wrong "$2 stays shut down: $said"
  fi
fi
rm -f "$2/.harness-write" "$2/{WITNESS}" {REPORT}
"""


def mounts(ctx: Context) -> dict[str, tuple[str, str]]:
    """Return (filesystem type, device numbers) of each node's data directory, leaving out those that are not mounts."""
    answers = ctx.nodes.run(ctx.at_data(ctx.nodes.names, _LOOK))
    words = {node: answer.stdout.split() for node, answer in answers.items()}
    return {node: (fields[1], fields[0]) for node, fields in words.items() if len(fields) == 4}


def places(ctx: Context, nodes: Iterable[str]) -> str:
    """Format the data directories of some nodes as text."""
    return ", ".join(f"{ctx.settings.data_dir(node)} on {node}" for node in nodes)


def refused_writes(ctx: Context, targets: Targets) -> Witness:
    """Prove that no node can write to its data filesystem.  Raises FaultError if one still can."""
    answers = ctx.nodes.run(ctx.at_data(targets.nodes, _WRITE))
    if alive := [node for node, answer in answers.items() if "refused" not in answer.stdout]:
        raise FaultError(f"the data directory can still be written to: {places(ctx, alive)}")
    return {"writes_refused": list(targets.nodes)}


#: States that only our own writes prove a disk fault: the kernel does not count a process's failed writes, and a mapped
#: file has none.
WRITER: Final[Witness] = {
    "writer": "ours, on the same filesystem; whether the process wrote in the meantime cannot be seen"
}


class PowerCut(ProcessFault):
    """Shut down the nodes' data filesystems without a flush, and kill their processes."""

    family: Family = "kill"

    def precheck(self, ctx: Context) -> str | None:
        if why := ctx.facts.refusal("xfs_io", "mount", "umount", "python3"):
            return why
        mounted = mounts(ctx)
        if none := [node for node in ctx.nodes.names if mounted.get(node, ("", ""))[0] not in FILESYSTEMS]:
            return f"no XFS or ext4 filesystem of its own: {places(ctx, none)}"
        shared = [node for node, (_, device) in mounted.items() if not device.startswith("7:")]
        if shared and not ctx.settings.option("cut_real_disks"):
            return f"on a real disk: {places(ctx, shared)}; the option cut_real_disks allows shutting it down"
        return None

    def inject(self, ctx: Context, targets: Targets) -> None:
        patterns = json.dumps([pattern for patterns in ctx.settings.store_files.values() for pattern in patterns])
        cuts = {}
        for node in targets.nodes:
            place = (ctx.settings.data_dir(node), *ctx.settings.role(node))
            words = (*place, SIGNAL, WITNESS, ctx.settings.store_dir(node), patterns, REPORT, f"{MOMENT_S:g}")
            cuts[node] = Command(("python3", "-c", _CUT, *words), timeout=30.0)
        ctx.run_checked(cuts)

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        """Remount the filesystems and report what was lost, by node and file.  The process stays down."""
        cut = {**see_gone(ctx, pids_of(targets)), **refused_writes(ctx, targets)}
        kept = [node for node, output in self.remount(ctx, targets).items() if "witness kept" in output]
        if kept:
            raise FaultError(f"what was not synced is still there on {', '.join(kept)}")
        stores = {node: ctx.settings.store_dir(node) for node in targets.nodes}
        looks = {n: Command(("python3", "-c", _LOST, store, REPORT), timeout=30.0) for n, store in stores.items()}
        answers = ctx.run_checked(looks)
        reports: dict[str, dict[str, Any]] = {node: json.loads(answer.stdout) for node, answer in answers.items()}
        lost = {node: report["lost"] for node, report in reports.items()}
        lost_bytes = {node: sum(file["bytes"] for file in files.values()) for node, files in lost.items()}
        pages = {node: report["unsynced_pages"] for node, report in reports.items()}
        whole = [node for node, files in lost.items() if not files]
        witness = {**cut, "lost_bytes": lost_bytes, "lost": lost, "unsynced_pages": pages}
        if whole:
            witness["note"] = f"nothing was unsynced at that moment on {', '.join(whole)}: no byte was lost"
        return witness

    def remount(self, ctx: Context, targets: Targets) -> dict[str, str]:
        """Remount filesystems that refuse writes; return the output of each node."""
        commands = ctx.at_data(targets.nodes, _REMOUNT, WITNESS, UNMOUNTED, timeout=30.0)
        return {node: answer.stdout for node, answer in ctx.run_checked(commands).items()}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        """Remount the filesystems and start the processes.

        Processes on a filesystem that was shut down are killed, because they keep it busy and their state is unknown.
        All others are continued, because a cut that failed midway may have left them frozen, and a frozen process still
        accepts connections.
        """
        answers = ctx.nodes.run(ctx.at_data(targets.nodes, _WRITE))
        broken = [node for node, answer in answers.items() if "refused" in answer.stdout]
        send(ctx, broken, "KILL")
        send(ctx, [node for node in targets.nodes if node not in broken], "CONT")
        self.remount(ctx, targets)
        ctx.run_checked(dict.fromkeys(targets.nodes, Command(("rm", "-f", REPORT))))
        return restart(ctx, targets.nodes)


class DiskError(PowerCut):
    """Make the disk fail under the running process: from some moment on, every write gets an I/O error.

    The journal is flushed first, so this shows how a system handles errors, not what it loses.
    """

    family = "disk"

    def inject(self, ctx: Context, targets: Targets) -> None:
        paths = {node: ctx.settings.data_dir(node) for node in targets.nodes}
        ctx.run_checked({node: Command(("xfs_io", "-x", "-c", "shutdown -f", path)) for node, path in paths.items()})

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        now = states(ctx, targets.nodes)
        letters = {node: now[node].get(pid, "gone") for node, pid in pids_of(targets).items()}
        return {**refused_writes(ctx, targets), **WRITER, "process": letters}


POWER: Iterable[PowerCut] = (
    PowerCut("crash-random-nodes", "a power cut: random nodes lose every byte that was not synced", random_subset),
    PowerCut(
        "crash-all", "a power cut to all members (nodes that hold data or vote) at once", all_nodes, beyond_quorum=True
    ),
    DiskError("disk-error", "every write to the disks of random nodes is answered with an I/O error", random_subset),
)
