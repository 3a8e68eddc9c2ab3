"""The files of a made run: history, probes, plan, logs, results and tables."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from typing import Any

from history import Check, Counterexample, Event, Header, KeyVerdict, Operation, Probe, Results, RunFiles, Verdict
from history.records.events import Type
from history.records.finding import Comeback, contradictions_of_keys
from history.records.probes import Role, probes_header
from history.records.verdicts import count_kinds
from reports.analysis.faults import fault_windows
from reports.analysis.node_timeline import timelines_of
from reports.load.run import read_run
from tests.support.reports.shapes import FAMILIES, HOSTILE, NODES, Fault, S, Shape, outage_at


def write_history(files: RunFiles, shape: Shape, operations: list[Operation], faults: list[Fault]) -> None:
    header = Header(test="register", seed=shape.seed, started="2026-03-01T02:00:00.000Z")
    events: list[Event] = []
    for o in operations:
        events.append(Event(o.invoke_index, o.invoked, "invoke", o.process, o.f, o.value, o.key, o.node, None, o.phase))
        events.append(
            Event(
                o.return_index or 0,
                o.returned or 0,
                o.outcome,
                o.process,
                o.f,
                o.result if o.f == "read" else o.value,
                o.key,
                o.node,
                o.error,
                o.phase,
            )
        )
    events.sort(key=lambda event: event.index)
    holes = sorted(set(range(len(events) + 4 * len(faults))) - {event.index for event in events})
    nemesis: list[tuple[float, Type, str, dict[str, Any]]] = []
    for fault in faults:
        targets = {
            "id": fault.id,
            "nodes": list(fault.nodes),
            "leader": fault.leader,
            "targets": {"grudge": fault.grudge} if fault.grudge else {"nodes": list(fault.nodes)},
        }
        witness = {n: {"packets_dropped": 40 + 7 * i} for i, n in enumerate(fault.nodes)}
        own = {"family": FAMILIES.get(fault.name, "partition"), "summary": f"what a {fault.name} does"}
        nemesis.append((fault.start, "invoke", fault.name, {"action": "inject", **own, **targets}))
        nemesis.append(
            (
                fault.stood,
                "fail" if fault.skipped else "ok",
                fault.name,
                {
                    "action": "inject",
                    **targets,
                    **({"reason": "no libfaketime on the nodes"} if fault.skipped else {"witness": witness}),
                },
            )
        )
        nemesis.append((fault.heal, "invoke", fault.name, {"action": "heal", "id": fault.id}))
        nemesis.append(
            (fault.healed, "ok", fault.name, {"action": "heal", "id": fault.id, "witness": {"reachable": True}})
        )
    for index, (time, kind, name, value) in zip(holes, sorted(nemesis, key=lambda n: n[0]), strict=True):
        events.append(Event(index, int(time * S), kind, "nemesis", name, value, phase="main"))
    events.sort(key=lambda event: event.index)
    if shape.kind == "harness-failure":
        events = events[: len(events) * 2 // 3]
    with files.history.open("w") as out:
        out.write(json.dumps(header.to_json()) + "\n")
        for event in events:
            record = event.to_json()
            if shape.hostile and event.index % 3 == 0 and event.type in ("fail", "info"):
                record["error"] = HOSTILE
            out.write(json.dumps(record, separators=(",", ":")) + "\n")
        if shape.kind == "harness-failure":
            out.write('{"index":')


def write_probes(files: RunFiles, shape: Shape, faults: list[Fault], rng: random.Random) -> None:
    probes, leader, term, committed = [], "n1", 2, 0
    applied = dict.fromkeys(NODES, 0)
    stuck = {"n1", "n3"} if shape.kind == "no-recovery" else set()
    for tick in range(int(shape.seconds * 4)):
        now = tick * 0.25
        active = next((f for f in faults if f.start <= now < f.healed and not f.skipped), None)
        outage = outage_at(now, faults)
        if active and active.next_leader != leader and now >= active.start + 2.2:
            leader, term = active.next_leader, term + 1
        committed += 0 if outage else int(shape.rate / 4 * rng.uniform(0.9, 1.1))
        for place, node in enumerate(NODES):
            behind = node in stuck and bool(faults) and now > faults[0].start
            lagging = active is not None and node in active.nodes[:2] and node != leader
            if not behind and not lagging:
                applied[node] = max(applied[node], committed - rng.randrange(3))
            time = int(now * S) + place * 1_000_000
            if active and active.name.startswith("kill") and node in active.nodes:
                probes.append(Probe(time, node, error="ECONNREFUSED"))
                continue
            role: Role = (
                "leader" if node == leader and not outage else "candidate" if outage and place == 2 else "follower"
            )
            probes.append(
                Probe(
                    time,
                    node,
                    role,
                    term,
                    leader,
                    0,
                    committed,
                    min(committed, applied[node] + 1),
                    applied[node],
                    clock_ms=1772330400000 + int(now * 1000),
                )
            )
    lines = [probes_header(), *(json.dumps(probe.to_json(), separators=(",", ":")) for probe in probes)]
    files.probes.write_text("\n".join(lines) + "\n")


def write_plan(files: RunFiles, shape: Shape) -> None:
    plan = {
        "test": HOSTILE if shape.hostile else "register",
        "nemesis": [shape.fault],
        "seed": shape.seed,
        "version": "0.4.0",
        "snapshot": False,
        "timers": "fast",
        "command": f"harness run --nemesis {shape.fault} --seed {shape.seed}",
        "replay_command": f"harness replay store/register/{files.root.name}",
        "time_limit": shape.seconds,
        "interval": shape.interval_s,
        "rate": shape.rate,
        "concurrency": shape.clients,
    }
    files.plan.write_text(json.dumps(plan))


def write_logs(
    files: RunFiles, shape: Shape, faults: list[Fault], example: Counterexample | None, rng: random.Random
) -> None:
    for node in NODES:
        (files.nodes / node).mkdir(parents=True)
        lines = []
        for second in range(min(int(shape.seconds), 600)):
            clock = f"2026-03-01 02:{second // 60:02d}:{second % 60:02d},{rng.randrange(1000):03d}"
            lines.append(
                f"{clock} INFO  [QuorumAckChecker-{node}] Pusher - [{node}][FOLLOWER] term=2 end={second * 200}"
            )
            for fault in faults:
                if int(fault.start) == second:
                    lines.append(f"{clock} WARN  Elector - [{node}] [HeartBeatTimeOut] lastLeader={fault.leader}")
                    if shape.hostile:
                        lines.append(f"{clock} ERROR [x] {HOSTILE}")
                if int(fault.start + 2) == second and node == fault.next_leader != fault.leader:
                    lines.append(f"{clock} INFO  Elector - [{node}] [ChangeRoleToLeader] from term: 2")
        (files.nodes / node / "register.log").write_text("\n".join(lines) + "\n")


def results_of(
    shape: Shape, operations: list[Operation], faults: list[Fault], example: Counterexample | None
) -> Results:
    ends: dict[str, Verdict] = {"valid": "valid", "invalid": "invalid", "unknown": "unknown", "no-recovery": "invalid"}
    linear: Verdict = "invalid" if example else "valid"
    keys = []
    for key in sorted({str(o.key) for o in operations}):
        mine = example is not None and example.operations[0].key == key
        keys.append(
            KeyVerdict(
                key,
                "invalid" if mine else "valid",
                "zones",
                sum(o.key == key for o in operations),
                0.01,
                1 if mine else 0,
                (example,) if mine and example else (),
                kinds=count_kinds([(example.kind, example.completed_at)], 1) if mine and example else (),
            )
        )
    stuck = shape.kind == "no-recovery"
    checks = (
        Check(
            "linearizability",
            "check",
            linear,
            "every key linearizable",
            f"{len(operations)} operations, 5 keys" + (", 1 violation" if example else ""),
            findings=contradictions_of_keys("linearizability", ((one.key, one.kinds, one.more) for one in keys)),
        ),
        Check(
            "recovery",
            "check",
            "invalid" if stuck else "valid",
            "every node past the leader's commit index within 60 s",
            "n1 and n3 stuck at 2465 of 11924" if stuck else "all nodes after 1.4 s",
            (Comeback(healed_ns=0, nodes=("n1", "n3")),) if stuck else (),
        ),
        Check("log patterns", "check", "valid", "no line that reports lost data", "0 of 1200 lines"),
        Check("operations ok", "gate", "valid", "ok reads and writes in the main phase", "5010 reads, 4987 writes"),
        Check(
            "faults installed",
            "gate",
            "unknown" if shape.kind == "unknown" else "valid",
            "every fault named, with a witness",
            "kill-random-processes was never installed"
            if shape.kind == "unknown"
            else f"{len(faults)} of {len(faults)}",
        ),
        Check("final reads", "gate", "valid", "every key read once", "5 of 5"),
    )
    sentence = {
        "valid": "Linearizable, and every node caught up 1.4 s after the last heal.",
        "invalid": example.sentence if example else "",
        "unknown": "The fault kill-random-processes was never installed, so the run proves nothing about it.",
        "no-recovery": "linearizable: yes; recovery: no, n1 and n3 stuck at 2465 of 11924",
    }[shape.kind]
    return Results(
        ends[shape.kind],
        sentence,
        checks,
        tuple(keys),
        {"phases": _phases(operations), "all": len(operations)},
        (),
        (),
        environment={"python": "3.11.7", "java": "17.0.13", "kernel": "6.18", "cpus": 2},
        timings={"verdict_s": 0.8, "pipeline_s": 2.1},
    )


def _phases(operations: list[Operation]) -> dict[str, dict[str, dict[str, int]]]:
    found: dict[str, dict[str, dict[str, int]]] = {}
    for o in operations:
        outcomes = found.setdefault(str(o.phase), {}).setdefault(o.f, dict.fromkeys(("ok", "info", "fail"), 0))
        outcomes[o.outcome] += 1
    return found


def windows_of(files: RunFiles) -> tuple[dict[str, Any], ...]:
    """Return the fault windows as the pipeline writes them, with the figures that the reports derive."""
    run = read_run(files)
    found = fault_windows(run, timelines_of(run.probes, run.nodes))
    names = ("rate_before", "rate_during", "rate_after", "longest_gap_ms", "first_ok_ms", "recovered_ms")
    return tuple(
        {
            **{name: getattr(window, name) for name in ("id", "fault", "state", "leader", *names)},
            "started": int(window.started * S),
            "healed": None if window.healed is None else int(window.healed * S),
        }
        for window in found
    )


def write_tables(files: RunFiles, operations: list[Operation]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from history.tables.schemas import OPERATIONS

    files.table("operations").mkdir(parents=True)
    rows = [asdict(operation) for operation in operations]
    for row, operation in zip(rows, operations, strict=True):
        row["key"] = json.dumps(row["key"])
        row["value"] = json.dumps(row["value"])
        row["result"] = json.dumps(row["result"]) if operation.outcome == "ok" else None
    plain = pa.schema([pa.field(field.name, field.type) for field in OPERATIONS])
    pq.write_table(pa.Table.from_pylist(rows, schema=plain), files.table("operations") / "part-00000.parquet")
