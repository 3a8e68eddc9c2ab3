"""Make run directories as the harness leaves them: an unreplicated register, cycles of faults, probes, results.

Everything is drawn from one seed.  The kinds are ``valid``, ``invalid`` (one stale read, with its counterexample),
``unknown`` (a gate failed), ``harness-failure`` (cut off, no results) and ``no-recovery`` (two replicas stay behind).
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from checker import Register
from history import Counterexample, Operation, RunFiles
from tests.support.checker.counterexamples import placed
from tests.support.reports.run_files import (
    results_of,
    windows_of,
    write_history,
    write_logs,
    write_plan,
    write_probes,
    write_tables,
)
from tests.support.reports.shapes import FAULTS, NODES, Fault, S, Shape


def make(root: Path, shape: Shape, *, tables: bool = False) -> RunFiles:
    """Write one run and return its files."""
    root.mkdir(parents=True)
    files = RunFiles(root)
    rng = random.Random(shape.seed)
    faults = _faults(shape, rng)
    operations = _operations(shape, faults, rng)
    example = _break(operations, rng) if shape.kind == "invalid" else None
    write_history(files, shape, operations, faults)
    write_probes(files, shape, faults, rng)
    write_plan(files, shape)
    write_logs(files, shape, faults, example, rng)
    if shape.kind == "harness-failure":
        files.state.write_text(json.dumps({"failures": ["SSH to n3 was lost: connection reset by peer"]}))
    else:
        ends = {"main": 5 * S, "main-end": int((shape.seconds - 2) * S), "end": int(shape.seconds * S)}
        files.state.write_text(json.dumps({"moments": ends}))
        results = results_of(shape, operations, faults, example)
        files.results.write_text(json.dumps(results.to_json()))
        files.results.write_text(json.dumps(replace(results, windows=windows_of(files)).to_json()))
    if tables:
        write_tables(files, operations)
    return files


def _faults(shape: Shape, rng: random.Random) -> list[Fault]:
    found: list[Fault] = []
    at, leader = 5.0 + shape.interval_s, "n1"
    names = FAULTS if shape.fault == "all" else (shape.fault,)
    while at + shape.interval_s < shape.seconds - 2:
        name = names[len(found) % len(names)]
        stop = at + shape.interval_s
        grudge: dict[str, list[str]] = {}
        nodes: tuple[str, ...] = tuple(sorted(rng.sample(NODES, 2)))
        if "ring" in name:
            ring = list(NODES)
            rng.shuffle(ring)
            grudge = {n: [ring[(i + 2) % 5], ring[(i + 3) % 5]] for i, n in enumerate(ring)}
            nodes = NODES
        elif "one-way" in name:
            grudge = {n: [leader] for n in NODES if n != leader}
            nodes = NODES
        following = rng.choice([n for n in NODES if n != leader]) if leader in nodes else leader
        found.append(
            Fault(
                len(found),
                name,
                at,
                at + 0.03 + rng.random() * 0.03,
                stop,
                stop + 0.05,
                leader,
                following,
                nodes,
                grudge,
                skipped=name == "clock-skew",
            )
        )
        leader = following
        at = stop + shape.interval_s + rng.uniform(-0.8, 0.8)
    return found


def _operations(shape: Shape, faults: list[Fault], rng: random.Random) -> list[Operation]:
    """Run a closed loop for each client; every operation takes effect at one drawn moment within its interval."""
    drafts: list[list[Any]] = []
    end, pause = shape.seconds * S, shape.clients / shape.rate
    outages = [(int(f.start * S), int((f.start + 2.2) * S)) for f in faults if f.leader != f.next_leader]
    for client in range(shape.clients):
        process, time, node = client, int(rng.random() * pause * S), NODES[client % 5]
        while time < end:
            write = rng.random() < 0.5
            down = any(a <= time < b for a, b in outages)
            outcome, error = "ok", None
            took = int(rng.lognormvariate(1.6, 0.45) * 1e6)
            if down and rng.random() < 0.8:
                if rng.random() < 0.4:
                    outcome, error, took = "fail", "404 NOT_LEADER: before append", int(rng.uniform(1, 6) * 1e6)
                else:
                    outcome, error, took = ("info" if write else "fail"), "timeout: no answer in 2 s", 2 * S
            phase = "warm-up" if time < 5 * S else "final" if time > end - 2 * S else "main"
            drafts.append(
                [
                    process,
                    "write" if write else "read",
                    f"k{rng.randrange(shape.keys)}",
                    outcome,
                    time,
                    time + took,
                    time + int(took * rng.uniform(0.2, 0.8)),
                    node,
                    error,
                    phase,
                    rng.random() < 0.5,
                ]
            )
            if outcome == "info":
                process += shape.clients
            time += took + int(rng.expovariate(1 / max(pause * S - 6e6, 1e6)) if outcome == "ok" else 0.05 * S)
    drafts.sort(key=lambda d: d[6])
    state: dict[str, int] = {}
    found: list[Operation] = []
    for value, (process, f, key, outcome, start, stop, _, node, error, phase, happened) in enumerate(drafts, start=1):
        written = value if f == "write" else None
        if written is not None and (outcome == "ok" or (outcome == "info" and happened)):
            state[key] = written
        result = (written if f == "write" else state.get(key)) if outcome == "ok" else None
        found.append(Operation(process, f, key, written, result, outcome, start, stop, 0, 0, node, error, phase))
    return _numbered(found, faults)


def _numbered(operations: list[Operation], faults: list[Fault]) -> list[Operation]:
    """Give every operation the indexes of its two events in the file."""
    moments: list[tuple[int, int, int]] = []
    for place, operation in enumerate(operations):
        moments.append((operation.invoked, 1, place))
        moments.append((operation.returned or 0, 0, place))
    for fault in faults:
        moments.extend((int(t * S), 2, fault.id) for t in (fault.start, fault.stood, fault.heal, fault.healed))
    moments.sort()
    invoked, returned = dict[int, int](), dict[int, int]()
    for index, (_, what, place) in enumerate(moments):
        (invoked if what == 1 else returned if what == 0 else {})[place] = index
    done = [replace(o, invoke_index=invoked[p], return_index=returned[p]) for p, o in enumerate(operations)]
    return sorted(done, key=lambda operation: operation.invoke_index)


def _break(operations: list[Operation], rng: random.Random) -> Counterexample:
    """Turn one read in the middle into a stale one, and return the sentence about it."""
    middle = len(operations) * 6 // 10
    for place in range(middle, len(operations)):
        late = operations[place]
        if late.f != "read" or late.outcome != "ok":
            continue
        before = [
            o
            for o in operations[max(0, place - 800) : place]
            if o.key == late.key and o.outcome == "ok" and (o.returned or 0) < late.invoked
        ]
        writes = [o for o in before if o.f == "write"]
        for new, old in zip(reversed(writes), list(reversed(writes))[1:], strict=False):
            seen = [o for o in before if o.f == "read" and o.result == new.value]
            if seen and (old.returned or 0) < new.invoked:
                operations[place] = replace(late, result=old.value)
                sentence = (
                    f"process {late.process} read {old.value} from {late.key} at {late.invoked / S:.3f} s, although "
                    f"{new.value} had replaced it and process {seen[0].process} had already read {new.value} "
                    f"{(late.invoked - (seen[0].returned or 0)) / S:.3f} s earlier"
                )
                found = Counterexample("stale read", sentence, (old, new, seen[0], operations[place]))
                return placed(found, Register())
    raise AssertionError("no place for a stale read")
