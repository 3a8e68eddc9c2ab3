"""Wrong clocks with libfaketime: the system's process reads an offset file each time it reads the wall clock.

The process must be started with :func:`environment`, after :func:`prepare`.  Monotonic time stays correct.  Without
``FAKETIME_FORCE_MONOTONIC_FIX=0``, Java's timed waits return at once (found by experiment with 0.9.10).  The witness is
the time that the process itself reports in its probes, compared with the nodes that are not targets.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from history import Probe
from nemesis.core.errors import FaultError, NotYetError
from nemesis.core.facts import Facts
from nemesis.core.fault import Context, Family, Targets, Witness, as_recorded, wanted_nodes
from nemesis.core.ports import Command
from nemesis.faults.processes import random_subset

LIBRARY: Final = "faketime:"

#: The file is renamed into place, because a reader of a half-written file would get a completely different time.
_SET: Final = """echo "$1" >"$0.new" && mv "$0.new" "$0" """

_PLAY: Final = """rm -f "$0.play"; : >"$0.play"; pause=$1; shift
setsid sh -c 'file=$0; pause=$1; shift
while [ -e "$file.play" ]; do
  for offset in "$@"; do
    [ -e "$file.play" ] || break
    echo "$offset" >"$file.new" && mv "$file.new" "$file"
    sleep "$pause"
  done
done
rm -f "$file.playing"' "$0" "$pause" "$@" >/dev/null 2>&1 </dev/null &
echo $! >"$0.playing" """

_STOP: Final = """rm -f "$0.play"
i=0
while [ -e "$0.playing" ] && [ -e "/proc/$(cat "$0.playing")" ]; do
  i=$((i + 1)); [ $i -lt 250 ] || { echo "error: the clock is still being set" >&2; exit 1; }
  sleep 0.02
done
rm -f "$0.playing"
[ ! -e "$0" ] || { echo +0 >"$0.new" && mv "$0.new" "$0"; }"""

SWEEP: Final = f"""clock=/run/harness-clock
if [ -e "$clock" ] && {{ [ -e "$clock.playing" ] || [ "$(cat "$clock")" != +0 ]; }}; then
  if sh -c '{_STOP}' "$clock"; then echo "set the clock right"; else wrong "the clock stays wrong"; fi
fi"""


#: Prints the path of a program into which no library can be loaded, because its segments request no loader
#: (PT_INTERP).  For a script, it looks at the program named in the first line.
_STATIC: Final = """
import os, shutil, struct, sys
home, program = sys.argv[1:]
for _ in range(4):
    path = os.path.join(home, program) if "/" in program else shutil.which(program)
    with open(path, "rb") as file:
        head = file.read(4096)
    if head[:2] != b"#!":
        break
    words = head.splitlines()[0][2:].decode().split()
    program = words[1] if os.path.basename(words[0]) == "env" and len(words) > 1 else words[0]
if head[:5] == b"\\x7fELF\\x02":
    begin, (size, number) = struct.unpack_from("Q", head, 32)[0], struct.unpack_from("HH", head, 54)
    if all(struct.unpack_from("I", head, begin + at * size)[0] != 3 for at in range(number)):
        print(path)
"""


def environment(facts: Facts, node: str, clock_file: str) -> dict[str, str]:
    """Return the environment variables for the system's process on a node; empty without libfaketime."""
    library = next((able for able in sorted(facts.can.get(node, ())) if able.startswith(LIBRARY)), None)
    if library is None:
        return {}
    return {
        "LD_PRELOAD": library.removeprefix(LIBRARY),
        "FAKETIME_TIMESTAMP_FILE": clock_file,
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
    }


def prepare(clock_file: str) -> Command:
    """Return a command that sets the clock right.  Run it on every node before the system's process is started."""
    return Command(("sh", "-c", _SET, clock_file, "+0"))


def offsets_ms(probes: Mapping[str, Probe]) -> dict[str, float]:
    """Return the offset of each node's wall clock from the run's clock in its probe, in ms, up to a constant."""
    return {node: p.clock_ms - p.time / 1e6 for node, p in probes.items() if p.answered and p.clock_ms > 0}


@dataclass(frozen=True, slots=True)
class Tune:
    """The offsets that one node's clock cycles through, in seconds, each for ``pause_s``."""

    offsets_s: tuple[float, ...]
    pause_s: float = 0.0

    def play(self, clock_file: str) -> Command:
        texts = [f"{offset:+.3f}" for offset in self.offsets_s]
        if len(texts) == 1:
            return Command(("sh", "-c", _SET, clock_file, texts[0]))
        return Command(("sh", "-c", _PLAY, clock_file, f"{self.pause_s:g}", *texts))


class ClockFault:
    """Wrong clocks on a random minority of the nodes.  Subclasses define how they go wrong."""

    family: Family = "clock"
    stops = False
    beyond_quorum = False
    SEEN_WITHIN_S = 5.0

    def __init__(self, name: str, summary: str) -> None:
        self.name = name
        self.summary = summary

    def tune(self, rng: random.Random) -> Tune:
        raise NotImplementedError

    def precheck(self, ctx: Context) -> str | None:
        without = [n for n in ctx.nodes.names if not environment(ctx.facts, n, ctx.settings.clock_file)]
        if without:
            return f"libfaketime is missing on {', '.join(without)}: apt-get install libfaketime, or scripts/bootstrap"
        if not ctx.settings.faketime:
            return "the system does not run under libfaketime in this run"
        looks = {
            node: Command(("python3", "-c", _STATIC, ctx.settings.role(node)[0], program))
            for node, program in ctx.settings.programs.items()
        }
        paths = {node: answer.stdout.strip() for node, answer in ctx.nodes.run(looks).items()} if looks else {}
        static = [f"{path} on {node}" for node, path in paths.items() if path]
        return f"libfaketime cannot reach a static program: {', '.join(static)}" if static else None

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        nodes = wanted_nodes(ctx, lambda: random_subset(ctx, rng))
        before = self._against_the_others(ctx, nodes)
        if any(node not in before for node in nodes):
            raise NotYetError("a node does not report its time")
        tunes = {node: self.tune(rng) for node in nodes}
        offsets: dict[str, Any] = {node: list(tune.offsets_s) for node, tune in tunes.items()}
        pauses: dict[str, Any] = {node: tune.pause_s for node, tune in tunes.items()}
        detail: dict[str, Any] = {
            "offsets_s": as_recorded(ctx, "offsets_s", offsets),
            "pause_s": as_recorded(ctx, "pause_s", pauses),
            "before_ms": before,
        }
        return Targets(nodes, detail=detail)

    def inject(self, ctx: Context, targets: Targets) -> None:
        ctx.run_checked({node: self._tune_of(targets, node).play(ctx.settings.clock_file) for node in targets.nodes})

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        shifts: dict[str, float] = {}

        def look() -> bool | None:
            now = self._against_the_others(ctx, _hit(targets))
            for node in targets.nodes:
                shift = now.get(node, 0.0) - targets.detail["before_ms"][node]
                if _matches(shift, self._tune_of(targets, node).offsets_s):
                    shifts.setdefault(node, round(shift))
            return True if len(shifts) == len(targets.nodes) else None

        if not ctx.until(look, self.SEEN_WITHIN_S, every_s=0.05):
            silent = [node for node in targets.nodes if node not in shifts]
            raise FaultError(f"the process did not report a wrong time on {', '.join(silent)}")
        return {"clock_off_ms": shifts}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        ctx.run_checked(dict.fromkeys(targets.nodes, Command(("sh", "-c", _STOP, ctx.settings.clock_file))))
        last: dict[str, float] = {}

        def look() -> bool | None:
            last.update(self._against_the_others(ctx, _hit(targets)))
            before = targets.detail["before_ms"]
            # Agreeing with the other nodes counts as right as well: ``before`` is a single look, and a probe may be
            # late on a busy machine.
            wrong = (min(abs(last[n] - before[n]), abs(last[n])) > 250 for n in targets.nodes if n in last)
            return None if any(wrong) else True

        if not ctx.until(look, self.SEEN_WITHIN_S, every_s=0.05):
            raise FaultError("the process still reports a wrong time")
        offsets = {n: round(last[n] - targets.detail["before_ms"][n]) for n in targets.nodes if n in last}
        return {"clock_off_ms_now": offsets}

    def _tune_of(self, targets: Targets, node: str) -> Tune:
        return Tune(tuple(targets.detail["offsets_s"][node]), targets.detail["pause_s"][node])

    def _against_the_others(self, ctx: Context, nodes: Sequence[str]) -> dict[str, float]:
        """Return each target's offset from the median of the nodes that are not targets, in ms."""
        offsets = offsets_ms(ctx.system.probes())
        others = [offset for node, offset in offsets.items() if node not in nodes]
        if not others:
            return {}
        middle = statistics.median(others)
        return {node: offsets[node] - middle for node in nodes if node in offsets}


def _hit(targets: Targets) -> tuple[str, ...]:
    """Return all nodes whose clocks the fault set, even if only one of them is being healed now."""
    return tuple(targets.detail["offsets_s"])


def _matches(shift_ms: float, offsets_s: Iterable[float]) -> bool:
    """Return whether an offset matches one of those set.  The tolerance covers a probe's round trip."""
    return any(offset and abs(shift_ms - 1000 * offset) < max(250.0, 100 * abs(offset)) for offset in offsets_s)


class Skew(ClockFault):
    def tune(self, rng: random.Random) -> Tune:
        return Tune((round(rng.choice((-1, 1)) * rng.uniform(0.5, 5.0), 3),))


class Jump(ClockFault):
    def tune(self, rng: random.Random) -> Tune:
        return Tune(tuple(round(rng.choice((-1, 1)) * rng.uniform(5.0, 600.0), 3) for _ in range(8)), 1.0)


class Strobe(ClockFault):
    def tune(self, rng: random.Random) -> Tune:
        return Tune((0.0, round(rng.choice((-1, 1)) * rng.uniform(1.0, 20.0), 3)), 0.1)


CLOCKS: tuple[ClockFault, ...] = (
    Skew("clock-skew", "clocks of a random minority are wrong by up to 5 s"),
    Jump("clock-jump", "clocks of a random minority jump every second, by up to 10 minutes, both ways"),
    Strobe("clock-strobe", "clocks of a random minority alternate between wrong and right ten times a second"),
)
