"""Full disks and damaged files.

Damage is done while the process is down, to a file in the system's store that the process reads when it starts again.
Over a whole run, at most a minority of nodes is damaged, because a system must survive the loss of some copies but not
of all.  Damage is never undone: healing starts the process on what is left.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from typing import Any, Final, Literal

from nemesis.core.errors import FaultError, SkippedError
from nemesis.core.fault import Context, Family, Fault, Targets, Witness, as_recorded, wanted_nodes
from nemesis.core.grudges import majority
from nemesis.core.ports import Command
from nemesis.faults.power import WRITER, mounts, places
from nemesis.faults.processes import last_probes, pids_of, random_subset, restart, running_pids, see_gone, send, spare

FILLER: Final = ".harness-full"
REPORT: Final = "/run/harness-damage.json"

#: Fills reserved blocks and remainders as well: first with large pieces from fallocate, halving the size when one
#: fails, then block by block until none is left.
_FILL: Final = """n=0
size=$(( $(stat -f -c %a "$0") * $(stat -f -c %S "$0") ))
while [ "$size" -ge 4096 ]; do
  fallocate -o "$n" -l "$size" "$0/$1" 2>/dev/null && n=$((n + size)) || size=$((size / 2))
done
dd if=/dev/zero of="$0/$1" bs=4096 oflag=append conv=notrunc 2>/dev/null
[ -s "$0/$1" ]"""

_TRY: Final = """if dd if=/dev/zero of="$0/.harness-write" bs=65536 count=1 conv=fsync 2>"/run/harness-write.log"
then echo written; else grep -o 'No space left' /run/harness-write.log || tail -n 1 /run/harness-write.log; fi
rm -f "$0/.harness-write" /run/harness-write.log"""

_FREE: Final = """rm -f "$0/$1"; [ ! -e "$0/$1" ]"""

SWEEP: Final = f"""if [ -e "$2/{FILLER}" ]; then
  if rm -f "$2/{FILLER}"; then echo "freed the data filesystem"; else wrong "$2 stays full"; fi
fi
rm -f {REPORT}"""

#: Draws first the class, then the file, then the place.  Otherwise, a store with one large file and ten small ones
#: would be hit in a small one ten times out of eleven.  A file of zeros has no content to damage.  If a class has
#: several directories, such as one for each snapshot, only the newest one counts, because the system reads only that
#: one.
_DAMAGE: Final = """
import glob, hashlib, json, os, pathlib, random, sys
store, kind, amount, seed, report = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
patterns, weights = json.loads(sys.argv[6]), json.loads(sys.argv[7])
rng = random.Random(seed)
content = {}
for name in sorted(patterns):
    found = {path for one in patterns[name] for path in glob.glob(os.path.join(store, one), recursive=True)}
    whole = sorted(path for path in found if os.path.isfile(path) and pathlib.Path(path).read_bytes().strip(b"\\0"))
    if whole and weights.get(name, 0) > 0:
        newest = max(whole, key=lambda path: (os.stat(path).st_mtime_ns, path))
        content[name] = newest, [path for path in whole if os.path.dirname(path) == os.path.dirname(newest)]
if not content:
    sys.exit("error: no file with content of the classes " + ", ".join(sorted(weights)) + " in " + store)
kind_of_file = rng.choices(list(content), [weights[name] for name in content])[0]
newest, candidates = content[kind_of_file]
path = rng.choice(candidates)
data = bytearray(pathlib.Path(path).read_bytes())
used = len(data.rstrip(b"\\0"))
done = {"class": kind_of_file, "file": path, "size": len(data), "used": used}
done["before"] = hashlib.sha256(data).hexdigest()
if kind == "truncate":
    cut = min(amount, used)
    # A mapped file is full of zeros behind its content: cutting those off would take nothing away.
    done["bytes"] = [used - cut, used]
    done["destroyed_bytes"] = cut
    with open(path, "r+b") as file:
        file.truncate(used - cut); os.fsync(file.fileno())
else:
    done["bits"] = sorted(rng.sample(range(used * 8), min(amount, used * 8)))
    done["bytes"] = [done["bits"][0] // 8, done["bits"][-1] // 8 + 1]
    done["destroyed_bytes"] = len({bit // 8 for bit in done["bits"]})
    for bit in done["bits"]:
        data[bit // 8] ^= 1 << bit % 8
    with open(path, "r+b") as file:
        file.write(data); file.flush(); os.fsync(file.fileno())
# The newest content of its class: what the node had acknowledged last lies there.
done["tail"] = path == newest and done["bytes"][1] == used
done["after"] = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
pathlib.Path(report).write_text(json.dumps(done))
"""

_INSPECT: Final = """
import hashlib, json, os, sys
done = json.load(open(sys.argv[1]))
done["now"] = hashlib.sha256(open(done["file"], "rb").read()).hexdigest()
done["size_now"] = os.path.getsize(done["file"])
print(json.dumps(done))
"""


class DiskFull:
    """Fill the data filesystem.  Healing frees the blocks and starts processes that died."""

    name = "disk-full"
    summary = "the data filesystem of random nodes is filled to the last block"
    family: Family = "disk"
    stops = True
    beyond_quorum = False

    def precheck(self, ctx: Context) -> str | None:
        if why := ctx.facts.refusal("dd", "fallocate", "stat"):
            return why
        mounted = mounts(ctx)
        if shared := [node for node in ctx.nodes.names if node not in mounted]:
            return f"no filesystem of its own: {places(ctx, shared)}; filling another would harm more than the system"
        if memory := [node for node, (kind, _) in mounted.items() if kind in ("tmpfs", "ramfs")]:
            return f"in memory: {places(ctx, memory)}"
        return None

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        nodes = wanted_nodes(ctx, lambda: random_subset(ctx, rng))
        return Targets(nodes, detail={"pids": running_pids(ctx, nodes)})

    def inject(self, ctx: Context, targets: Targets) -> None:
        ctx.run_checked(ctx.at_data(targets.nodes, _FILL, FILLER, timeout=60.0))

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        answers = self._write(ctx, targets)
        if any("No space left" not in text for text in answers.values()):
            raise FaultError(f"a write of 64 KiB was answered: {answers}")
        return {"writes_answered": answers, **WRITER}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        ctx.run_checked(ctx.at_data(targets.nodes, _FREE, FILLER))
        answers = self._write(ctx, targets)
        if any("written" not in text for text in answers.values()):
            # This is our failure, not the system's: the filesystem that we provided is too small for what it wrote.
            raise FaultError(f"our filler is gone, but a write of 64 KiB is still answered: {answers}")
        return {**restart(ctx, targets.nodes), "writes_answered_now": answers}

    def _write(self, ctx: Context, targets: Targets) -> dict[str, str]:
        """Try to write to each filesystem, and return the result by node."""
        answers = ctx.nodes.run(ctx.at_data(targets.nodes, _TRY))
        return {node: answer.stdout.strip() for node, answer in answers.items()}


class FileDamage:
    """Damage a file in the store while the process is down.

    Damage is never repaired, so at most a minority of nodes is damaged over a whole run, unless the plan allows more.
    """

    family: Family = "disk"
    stops = True
    beyond_quorum = False
    destroys = True

    def __init__(self, name: str, summary: str, kind: Literal["truncate", "bitflip"], option: str) -> None:
        self.name = name
        self.summary = summary
        self.kind = kind
        self.option = option

    def precheck(self, ctx: Context) -> str | None:
        if not any(weights(ctx).values()):
            return "no class of files may be damaged: every weight in the fault options is 0"
        return ctx.facts.refusal("python3")

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        nodes = wanted_nodes(ctx, lambda: self._choose(ctx, rng))
        if len(self._damaged(ctx) | set(nodes) & set(ctx.members)) > self._most(ctx):
            raise SkippedError(
                f"{', '.join(sorted(self._damaged(ctx)))} was damaged in this run: with {', '.join(nodes)} it would be "
                f"more than a minority ({self._most(ctx)} of {len(ctx.members)})"
            )
        most = int(ctx.settings.option(self.option))
        amount, seed = rng.randint(1, most), rng.randrange(2**31)
        drawn: dict[str, Any] = {"amount": as_recorded(ctx, "amount", amount), "seed": as_recorded(ctx, "seed", seed)}
        detail = {"pids": running_pids(ctx, nodes), "last_probe": last_probes(ctx, nodes), **drawn}
        return Targets(nodes, detail=detail)

    def _most(self, ctx: Context) -> int:
        n = len(ctx.members)
        return n if ctx.settings.beyond_quorum else n - majority(n)

    @staticmethod
    def _damaged(ctx: Context) -> frozenset[str]:
        return ctx.damaged & frozenset(ctx.members)

    def _choose(self, ctx: Context, rng: random.Random) -> list[str]:
        """Choose a free member at random; once the limit is reached, only one that was damaged before."""
        open_to = [n for n in ctx.free if len(self._damaged(ctx) | {n}) <= self._most(ctx)]
        return [rng.choice(open_to)] if open_to and spare(ctx) else []

    def inject(self, ctx: Context, targets: Targets) -> None:
        send(ctx, targets.nodes, "KILL")
        see_gone(ctx, pids_of(targets))
        figures = (self.kind, str(targets.detail["amount"]), str(targets.detail["seed"]), REPORT)
        files = {name: list(patterns) for name, patterns in ctx.settings.store_files.items()}
        arguments = (*figures, json.dumps(files), json.dumps(weights(ctx)))
        damage = {
            node: Command(("python3", "-c", _DAMAGE, ctx.settings.store_dir(node), *arguments), timeout=60.0)
            for node in targets.nodes
        }
        ctx.run_checked(damage)

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        answers = ctx.run_checked(dict.fromkeys(targets.nodes, Command(("python3", "-c", _INSPECT, REPORT))))
        reports: dict[str, dict[str, Any]] = {node: json.loads(answer.stdout) for node, answer in answers.items()}
        if whole := [node for node, report in reports.items() if report["now"] == report["before"]]:
            raise FaultError(f"the file is unchanged on {', '.join(whole)}")
        return {"damaged": reports}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        """Start the process without undoing the damage."""
        ctx.run_checked(dict.fromkeys(targets.nodes, Command(("rm", "-f", REPORT))))
        return restart(ctx, targets.nodes)


def weights(ctx: Context) -> dict[str, float]:
    """Return the weight of each class of files, from the fault options ``damage_…``."""
    return {name: ctx.settings.option(f"damage_{name}") for name in ctx.settings.store_files}


DISKS: Iterable[Fault] = (
    DiskFull(),
    FileDamage("file-truncate", "the last bytes of a file of one node's store are gone", "truncate", "truncate_bytes"),
    FileDamage("file-bitflip", "bits of a file of one node's store are flipped", "bitflip", "bitflips"),
)
