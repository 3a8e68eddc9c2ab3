"""Kill the harness with SIGKILL at random moments of short runs, and check what is left.  Needs root.

    python -m bench.killed.run [--moments 200] [--cold 5] [--seed 1] [--cluster netns:killed] [--store DIR]

Each moment is one run on a warm cluster with one or two faults of the catalogue.  It is killed somewhere between its
first instruction and its last, every other one in its main phase.  Then the history must be readable, ``harness check``
must judge it (exit code 0, 1 or 2), ``harness heal`` must end with 0, and the nodes must be as they were at the
beginning.  The runs of ``--cold`` moments bring up their own cluster, and nothing of it may be left after the next run.
Prints one JSON object; the exit code is 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from harness.clusters import links, mounts, processes
from harness.clusters.netns import STATE_ROOT
from harness.doctor import examine_faults
from harness.plan import Plan
from harness.runstate import RunState
from harness.suite.warm import WarmCluster
from history import RunFiles, read_history

ROOT: Final = Path(__file__).resolve().parents[2]
HARNESS: Final = (sys.executable, "-m", "harness")
#: Faults that wait for something that need not happen within seconds, or that need five nodes.
UNFIT: Final = {"isolate-until-snapshot", "kill-leader-then-successor", "rolling-kill"}
WHOLE_S: Final = 300.0
#: The main phase of a run, in seconds: the first fault comes after two.
MAIN_S: Final = 6.0


@dataclass(slots=True)
class Moment:
    """One killed run, and what was wrong after it."""

    seed: int
    nemesis: str
    killed_after_s: float
    reached: str = "nothing"
    events: int = 0
    judged: int | None = None
    healed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Bench:
    """The cluster and store of the bench; ``faults`` are those that can work there."""

    cluster: str
    store: Path
    faults: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.cluster.partition(":")[2]

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*HARNESS, *words], capture_output=True, text=True, timeout=WHOLE_S, check=False)

    def run_words(self, seed: int, nemesis: str) -> tuple[str, ...]:
        words = ("run", "--cluster", self.cluster, "--store", str(self.store), "--seed", str(seed), "--nodes", "3")
        length = (
            "--time-limit",
            f"{MAIN_S:g}",
            "--interval",
            "2",
            "--warm-up",
            "0.5",
            "--recovery-time",
            "20",
            "--no-spark",
        )
        return (*words, *length, "--nemesis", nemesis, "--dledger-version", "0.3.2")

    def whole(self, seed: int, nemesis: str) -> float:
        """Measure how long an undisturbed run takes.  Raises RuntimeError if it ends in an unexpected way."""
        began = time.monotonic()
        done = self.call(*self.run_words(seed, nemesis))
        if done.returncode not in (0, 1, 2):
            raise RuntimeError(f"a run that was left alone ended with {done.returncode}: {done.stdout}{done.stderr}")
        return time.monotonic() - began

    def kill(self, seed: int, nemesis: str, after_s: float, *, in_main: bool = False) -> Moment:
        """Start a run, kill it some seconds after its start or that of its main phase, and check its files."""
        before = set(self.runs())
        child = subprocess.Popen(
            [*HARNESS, *self.run_words(seed, nemesis)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while in_main and child.poll() is None and not any(map(reached_main, set(self.runs()) - before)):
            time.sleep(0.02)
        try:
            child.wait(after_s)
        except subprocess.TimeoutExpired:
            child.kill()
        moment = Moment(seed, nemesis, round(after_s, 3))
        if child.wait() not in (-9, 0, 1, 2):
            moment.wrong.append(f"the run ended with {child.returncode} before it was killed")
        for run in set(self.runs()) - before:
            self.judge(moment, RunFiles(run))
        return moment

    def runs(self) -> list[Path]:
        return [path.parent for path in self.store.glob("*/*/plan.json") if not path.parent.is_symlink()]

    def judge(self, moment: Moment, files: RunFiles) -> None:
        """Check that the evidence of a killed run can be read and judged like any other."""
        try:
            moments = RunState.read(files.state).moments
            moment.reached = max(moments, key=moments.__getitem__, default="a directory")
            if files.history.exists():
                moment.events = len(read_history(files.history).events)
        except (ValueError, OSError) as error:
            moment.wrong.append(f"not readable: {error}")
        if not moment.events:
            return
        done = self.call("check", "--no-spark", str(files.root))
        moment.judged = done.returncode
        if done.returncode not in (0, 1, 2):
            moment.wrong.append(f"check ended with {done.returncode}: {_last(done)}")

    def heal(self, moment: Moment, warm: WarmCluster) -> None:
        """Run ``harness heal``, and check that the nodes are as they were before."""
        done = self.call("heal", "--cluster", self.cluster)
        moment.healed = done.stdout.splitlines()
        if done.returncode:
            moment.wrong.append(f"heal exited with code {done.returncode}: {_last(done)}")
        moment.wrong += warm.reset()
        moment.wrong += [f"a process of the run lives on: {line}" for line in self.survivors()]

    def survivors(self) -> list[str]:
        """Return the processes of runs on this machine, recognized by their command lines."""
        lines = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_text(errors="replace").replace("\0", " ")
            except OSError:
                continue
            if f"--store {self.store} --seed" in line:
                lines.append(line)
        return lines

    def left(self) -> list[str]:
        """Return what still exists of a cluster that was taken down."""
        state = STATE_ROOT / self.name
        return [
            *(f"link {name}" for name in links.existing(self.name)),
            *(f"mount {point}" for point in mounts.mounted_below(state)),
            *(f"loop {device}" for device in mounts.loops_below(state)),
            *(f"process {process.pid} of {node}" for node, process in processes.find(self.name)),
            *([f"directory {state}"] if state.exists() else []),
        ]


def reached_main(run: Path) -> bool:
    """Return whether the run has reached its main phase, in which faults may come."""
    try:
        return "main" in RunState.read(RunFiles(run).state).moments
    except (ValueError, OSError):  # it is being written
        return False


def _last(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-3:])


def draw(faults: tuple[str, ...], rng: random.Random) -> str:
    """Draw one fault, or two at once."""
    return "+".join(rng.sample(faults, rng.choice((1, 1, 2))))


def on_a_warm_cluster(bench: Bench, count: int, rng: random.Random) -> list[Moment]:
    moments = list[Moment]()
    plan = Plan(seed=0, cluster=bench.cluster, nodes=3)
    with WarmCluster(plan, lambda _line: None) as warm:
        length_s = bench.whole(rng.randrange(2**31), "kill-leader")
        warm.reset()
        for number in range(count):
            # Every other moment is in the main phase, where faults are installed that a later run has to undo.
            in_main = bool(number % 2)
            after_s = rng.uniform(0.0, MAIN_S if in_main else length_s)
            moment = bench.kill(rng.randrange(2**31), draw(bench.faults, rng), after_s, in_main=in_main)
            bench.heal(moment, warm)
            moments.append(moment)
            _tell(number, moment)
    return moments


def on_a_cold_one(bench: Bench, count: int, rng: random.Random) -> list[Moment]:
    """Kill a run that brought the cluster up, and check that the next run takes the cluster down."""
    moments = list[Moment]()
    length_s = bench.whole(rng.randrange(2**31), "kill-leader")
    for number in range(count):
        moment = bench.kill(rng.randrange(2**31), draw(bench.faults, rng), rng.uniform(0.0, length_s))
        bench.whole(rng.randrange(2**31), "kill-leader")
        moment.wrong += [f"left after the next run: {thing}" for thing in bench.left()]
        moments.append(moment)
        _tell(number, moment)
    return moments


def _tell(number: int, moment: Moment) -> None:
    print(json.dumps({"number": number, **asdict(moment)}), file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--cold", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cluster", default="netns:killed")
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        store = options.store or Path(directory)
        table = examine_faults(options.cluster)
        usable = tuple(fault.name for fault in table.faults if fault.available and fault.name not in UNFIT)
        bench, rng = Bench(options.cluster, store, usable), random.Random(options.seed)
        moments = on_a_warm_cluster(bench, options.moments, rng) + on_a_cold_one(bench, options.cold, rng)
        left = bench.left()
    figures = {
        "moments": len(moments),
        "reached": Counter(moment.reached for moment in moments),
        "judged": Counter(str(moment.judged) for moment in moments),
        "healed": Counter(line.partition(": ")[2].split(" pid ")[0] for moment in moments for line in moment.healed),
        "wrong": [asdict(moment) for moment in moments if moment.wrong],
        "left": left,
    }
    print(json.dumps(figures, indent=2))
    sys.exit(1 if figures["wrong"] or left else 0)


if __name__ == "__main__":
    main()
