"""Full disks and damaged files.

Damage is done while the process is down, to a file of the system's own store, and to a minority of nodes at most: what
a system must survive is the loss of that copy, not of all.  It is not undone: healing starts the process again on what
is left.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from typing import Any, Final, Literal

from nemesis.errors import FaultError
from nemesis.fault import Context, Family, Fault, Targets, Witness, as_recorded, wanted_nodes
from nemesis.power import mounts, places
from nemesis.processes import kill, pids_of, random_one, random_subset, restart, running_pids, see_gone
from nemesis.view import Command

FILLER: Final = ".harness-full"
REPORT: Final = "/run/harness-damage.json"

# Reserved blocks and remainders too: first what fallocate gives at once, in halves, then blocks until none is left.
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

_DAMAGE: Final = """
import hashlib, json, os, random, sys
store, kind, amount, seed, report = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
rng = random.Random(seed)
paths = sorted(os.path.join(at, name) for at, _, names in os.walk(store) for name in names)
paths = [path for path in paths if os.path.getsize(path) and open(path, "rb").read().strip(b"\\0")]
if not paths:
    sys.exit("error: no file with content in " + store)
path = rng.choice(paths)
data = bytearray(open(path, "rb").read())
digest = hashlib.sha256(data).hexdigest()
used = len(data.rstrip(b"\\0"))
done = {"file": path, "size": len(data), "used": used, "before": digest}
if kind == "truncate":
    cut = min(amount, used)
    # A mapped file is full of zeros behind its content: cutting those off would take nothing away.
    done["cut_from"] = used - cut
    with open(path, "r+b") as file:
        file.truncate(used - cut); os.fsync(file.fileno())
else:
    done["flipped"] = sorted(rng.randrange(used * 8) for _ in range(amount))
    for bit in done["flipped"]:
        data[bit // 8] ^= 1 << bit % 8
    with open(path, "r+b") as file:
        file.write(data); file.flush(); os.fsync(file.fileno())
done["after"] = hashlib.sha256(open(path, "rb").read()).hexdigest()
open(report, "w").write(json.dumps(done))
"""

_INSPECT: Final = """
import hashlib, json, os, sys
done = json.load(open(sys.argv[1]))
done["now"] = hashlib.sha256(open(done["file"], "rb").read()).hexdigest()
done["size_now"] = os.path.getsize(done["file"])
print(json.dumps(done))
"""


class DiskFull:
    """Every block of the data filesystem is taken; healed by giving them back and starting what died of it."""

    name = "disk-full"
    summary = "the data filesystem of random nodes is filled to the last block"
    family: Family = "machine"
    stops = True
    beyond_quorum = False

    def precheck(self, ctx: Context) -> str | None:
        if why := ctx.facts.refusal("dd", "fallocate", "stat"):
            return why
        found = mounts(ctx)
        if shared := [node for node in ctx.nodes.names if node not in found]:
            return f"no filesystem of its own: {places(ctx, shared)}; filling another would harm more than the system"
        if memory := [node for node, (kind, _) in found.items() if kind in ("tmpfs", "ramfs")]:
            return f"in memory: {places(ctx, memory)}"
        return None

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        nodes = wanted_nodes(ctx, lambda: random_subset(ctx, rng))
        return Targets(nodes, detail={"pids": running_pids(ctx, nodes)})

    def inject(self, ctx: Context, targets: Targets) -> None:
        ctx.run_checked(ctx.at_data(targets.nodes, _FILL, FILLER, timeout=60.0))

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        answers = ctx.nodes.run(ctx.at_data(targets.nodes, _TRY))
        said = {node: answer.stdout.strip() for node, answer in answers.items()}
        if any("No space left" not in text for text in said.values()):
            raise FaultError(f"a write of 64 KiB was answered: {said}")
        return {"writes_answered": said}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        ctx.run_checked(ctx.at_data(targets.nodes, _FREE, FILLER))
        answers = ctx.nodes.run(ctx.at_data(targets.nodes, _TRY))
        said = {node: answer.stdout.strip() for node, answer in answers.items()}
        if any("written" not in text for text in said.values()):
            raise FaultError(f"a write of 64 KiB is still answered: {said}")
        return {**restart(ctx, targets.nodes), "writes_answered_now": said}


class Damage:
    """A file of the store is damaged while the process is down."""

    family: Family = "machine"
    stops = True
    beyond_quorum = False

    def __init__(self, name: str, summary: str, kind: Literal["truncate", "bitflip"], option: str) -> None:
        self.name = name
        self.summary = summary
        self.kind = kind
        self.option = option

    def precheck(self, ctx: Context) -> str | None:
        return ctx.facts.refusal("python3")

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        nodes = wanted_nodes(ctx, lambda: random_one(ctx, rng))
        most = int(ctx.settings.option(self.option))
        amount, seed = rng.randint(1, most), rng.randrange(2**31)
        drawn: dict[str, Any] = {"amount": as_recorded(ctx, "amount", amount), "seed": as_recorded(ctx, "seed", seed)}
        return Targets(nodes, detail={"pids": running_pids(ctx, nodes), **drawn})

    def inject(self, ctx: Context, targets: Targets) -> None:
        kill(ctx, pids_of(targets))
        see_gone(ctx, pids_of(targets))
        arguments = (self.kind, str(targets.detail["amount"]), str(targets.detail["seed"]), REPORT)
        damage = {
            node: Command(("python3", "-c", _DAMAGE, ctx.settings.store_dir(node), *arguments), timeout=60.0)
            for node in targets.nodes
        }
        ctx.run_checked(damage)

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        answers = ctx.run_checked(dict.fromkeys(targets.nodes, Command(("python3", "-c", _INSPECT, REPORT))))
        seen: dict[str, dict[str, Any]] = {node: json.loads(answer.stdout) for node, answer in answers.items()}
        if whole := [node for node, one in seen.items() if one["now"] == one["before"]]:
            raise FaultError(f"the file is as it was on {', '.join(whole)}")
        return {"damaged": seen}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        """Starts the process; the damage stays."""
        ctx.run_checked(dict.fromkeys(targets.nodes, Command(("rm", "-f", REPORT))))
        return restart(ctx, targets.nodes)


DISKS: Iterable[Fault] = (
    DiskFull(),
    Damage("file-truncate", "the last bytes of a file of one node's store are gone", "truncate", "truncate_bytes"),
    Damage("file-bitflip", "bits of a file of one node's store are flipped", "bitflip", "bitflips"),
)
