"""A warehouse with any number of runs, made as columns: one run of every cell each night from 1 January 2026 on.

The questions of ``docs/questions.md`` have different answers in different places: one version recovers more slowly, one
cell is flaky, a violation first appears on some night, and sometimes a gate fails.  Operations, windows and probes are
left out: no question over all runs needs them, and for 42,000 runs they would have 10^9 rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from history import Operation
from history.tables.metadata import add_metadata
from history.tables.operations import operations_table
from history.tables.schemas import ALL_TABLES, RUNS, RUNS_VERSION, TABLES_VERSION

VERSIONS = ("0.3.2", "0.4.0", "0.4.0 snapshot")
FAULTS = (
    "kill-leader", "kill-followers", "kill-all", "pause-leader", "pause-followers", "bridge", "partition-halves",
    "partition-leader", "partition-majorities-ring", "delay-leader", "lossy-links", "clock-jump", "clock-drift",
    "slow-disk", "full-disk", "power-cut", "rolling-restart", "transfer-leader", "starve-cpu", "corrupt-log",
)  # fmt: skip
WORKLOADS = ("register", "cas-register")
CELLS = tuple(product(VERSIONS, FAULTS, WORKLOADS))
NODES = ("n1", "n2", "n3", "n4", "n5")
CHECKS = ("linearizable", "recovery", "replicas-agree", "election-safety", "terms-kept", "leader-complete", "log-order",
          "committed-kept", "node-logs")  # fmt: skip
GATES = ("operations", "under-fault", "read-back", "faults", "final-reads", "kept-pace", "whole")
ENVIRONMENT = ("system", "jar_sha256", "java", "machine", "kernel", "python", "timers", *(f"nodes.{n}" for n in NODES))
FAULTS_A_RUN, KEYS = 6, 5
FIRST_NIGHT = datetime.fromisoformat("2026-01-01T02:00:00")

Tables: TypeAlias = dict[str, pa.Table]
Rng: TypeAlias = np.random.Generator


def made_tables(runs: int, seed: int = 1) -> Tables:
    """Return the tables of some runs by name, each with ``run`` as its first column."""
    rng = np.random.default_rng(seed)
    rows = _runs(runs, rng)
    names = pa.array([row["run"] for row in rows], pa.string())
    found = {
        "faults": _faults(rows, rng),
        "checks": _checks(rows),
        "coverage": _coverage(rows, rng),
        "environment": _environment(rows),
        "verdicts": _verdicts(rows, rng),
        "counterexamples": _counterexamples(rows, rng),
    }
    tables = {name: _table(name, names, *columns) for name, columns in found.items()}
    return {"runs": pa.Table.from_pylist(rows, RUNS), **tables}


def write_by_month(root: Path, tables: Mapping[str, pa.Table]) -> None:
    """Write tables as ``root/<table>/month=2026-01/part.parquet``, like a warehouse."""
    runs = tables["runs"]
    months = dict(zip(runs["run"].to_pylist(), pc.strftime(runs["started_at"], "%Y-%m").to_pylist(), strict=True))
    for name, table in tables.items():
        version = RUNS_VERSION if name == "runs" else TABLES_VERSION
        schema = add_metadata(table.schema, name, version)
        place = pa.array([months[run] for run in table["run"].to_pylist()])
        for month in sorted(set(months.values())):
            directory = root / name / f"month={month}"
            directory.mkdir(parents=True)
            pq.write_table(table.filter(pc.equal(place, month)).cast(schema), directory / "part.parquet")


def _runs(count: int, rng: Rng) -> list[dict[str, Any]]:
    chance = rng.random((count, 4))
    noise = rng.normal(1, 0.03, (count, 2))
    rows = []
    for number in range(count):
        night, place = divmod(number, len(CELLS))
        version, fault, workload = CELLS[place]
        at = FIRST_NIGHT + timedelta(days=night, seconds=90 * place)
        started = f"{at:%Y%m%dT%H%M%S}.000Z-{number}"
        verdict, kinds, gates = _verdict(night, CELLS[place], chance[number])
        recoveries = sorted(float(value) for value in rng.gamma(4, 120 if version == "0.3.2" else 180, 3).round(1))
        rows.append({
            "run": f"{workload}-{fault}-{version.replace(' ', '-')}/{started}", "started": started, "started_at": at,
            "test": f"{workload}-{fault}-{version.replace(' ', '-')}", "system_version": version, "nemesis": fault,
            "workload": workload, "settings": "nodes=5 rate=200.0", "machine": ("small", "large")[night % 2],
            "verdict": verdict, "sentence": f"linearizable: {verdict}", "expected": ["valid"],
            "as_expected": verdict == "valid", "kinds": kinds, "failed_gates": gates, "warnings": [],
            "harness_failure": "SSH to n3 was lost" if verdict == "harness failure" else None,
            "operations": 12_000, "ok": 11_000, "violations": len(kinds),
            "rate": 200 * noise[number, 0] * (0.9 if "snapshot" in version else 1), "unavailable_s": 4.0,
            "longest_gap_ms": 900.0, "p99_ms": (30 if version == "0.3.2" else 24) * noise[number, 1],
            "faults": FAULTS_A_RUN, "never_recovered": 0, "recovery_ms": float(np.median(recoveries)),
            "recovery_times_ms": recoveries, "censored_times_ms": [], "written": 0, "fingerprint": f"{number:064x}",
        })  # fmt: skip
    return rows


def _verdict(night: int, cell: tuple[str, str, str], chance: Any) -> tuple[str, list[str], list[str]]:
    """Return verdict, kinds and failed gates, with findings of one version from some night on and a flaky cell."""
    version, fault, workload = cell
    if chance[0] < 0.01:
        return "harness failure", [], ["whole"]
    if chance[1] < 0.03:
        return "unknown", [], [GATES[int(chance[2] * 3)]]
    if fault == "partition-majorities-ring" and workload == "register":
        return ("invalid", ["stale-read"], []) if chance[3] < 0.4 else ("valid", [], [])
    if version == "0.4.0 snapshot" and fault == "power-cut" and night >= 3 and chance[3] < 0.8:
        return "invalid", ["lost-write", "no-recovery"], []
    return "valid", [], []


def _table(name: str, runs: pa.Array, of_run: np.ndarray, columns: Mapping[str, Any]) -> pa.Table:
    """Return the rows of a table; ``of_run`` is the index of each row's run, and columns not given are null."""
    schema = pa.schema([RUNS.field("run"), *ALL_TABLES[name]])
    arrays = [runs.take(pa.array(of_run))]
    for field in ALL_TABLES[name]:
        cells = columns.get(field.name)
        if cells is None:
            cells = pa.nulls(len(of_run), field.type)
        arrays.append(cells if isinstance(cells, pa.Array) else pa.array(cells, field.type))
    return pa.Table.from_arrays(
        [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema
    )


def _repeated(values: Sequence[Any], kind: pa.DataType, times: int) -> pa.Array:
    """Return all values one after the other, repeated this many times."""
    return pa.array(values, kind).take(pa.array(np.tile(np.arange(len(values)), times)))


def _faults(rows: Sequence[Mapping[str, Any]], rng: Rng) -> tuple[np.ndarray, dict[str, Any]]:
    count = len(rows) * FAULTS_A_RUN
    of_run = np.repeat(np.arange(len(rows)), FAULTS_A_RUN)
    number = np.tile(np.arange(FAULTS_A_RUN), len(rows))
    slow = np.array([1.0 if row["system_version"] == "0.3.2" else 1.5 for row in rows])[of_run]
    states = rng.choice(["installed", "skipped", "indeterminate"], count, p=[0.94, 0.04, 0.02])
    installed = states == "installed"
    never = rng.random(count) < 0.02 * slow
    leaders = rng.integers(len(NODES), size=count)
    started = (5 + 10 * number) * 10**9
    healed = started + 5 * 10**9
    times = (rng.gamma(4, 120 * slow) * 10).round() / 10
    return of_run, {
        "id": number,
        "fault": pa.array([row["nemesis"] for row in rows]).take(pa.array(of_run)),
        "state": states,
        "target_nodes": pa.array([[node] for node in NODES]).take(pa.array(leaders)),
        "leader": pa.array(NODES).take(pa.array(rng.integers(len(NODES), size=count))),
        "reason": pa.array(["no leader was known", None]).take(pa.array(np.where(states == "skipped", 0, 1))),
        "started": started, "stood": started + 10**8, "heal_started": healed, "healed": healed + 10**8,
        "rate_before": pa.array(np.full(count, 200.0), mask=~installed),
        "rate_during": pa.array(rng.random(count) * 150, mask=~installed),
        "rate_after": pa.array(np.full(count, 195.0), mask=~installed),
        "longest_gap_ms": pa.array(times / 2, mask=~installed),
        "first_ok_ms": pa.array(times / 3, mask=~installed),
        "recovered_ms": pa.array(times, mask=~installed | never),
    }  # fmt: skip


def _checks(rows: Sequence[Mapping[str, Any]]) -> tuple[np.ndarray, dict[str, Any]]:
    names = (*CHECKS, *GATES)
    columns: dict[str, Any] = {"name": _repeated(names, pa.string(), len(rows))}
    columns["kind"] = _repeated(["check"] * len(CHECKS) + ["gate"] * len(GATES), pa.string(), len(rows))
    verdicts, seen, kinds, nodes = [], [], [], []
    for row in rows:
        for name in names:
            found = {"linearizable": row["kinds"][:1], "recovery": row["kinds"][1:]}.get(name, [])
            failed = name in row["failed_gates"]
            verdicts.append("invalid" if found else "unknown" if failed else "valid")
            seen.append(f"too few in {row['run'][-6:]}" if failed else ", ".join(found) or "as asked")
            kinds.append(found)
            nodes.append(["n2"] if found and name == "recovery" else [])
    columns |= {"verdict": verdicts, "seen": seen, "kinds": kinds, "nodes": nodes}
    columns["asked"] = _repeated([f"{name} holds" for name in names], pa.string(), len(rows))
    columns["findings"] = _repeated(["[]"] * len(names), pa.string(), len(rows))
    return np.repeat(np.arange(len(rows)), len(names)), columns


def _coverage(rows: Sequence[Mapping[str, Any]], rng: Rng) -> tuple[np.ndarray, dict[str, Any]]:
    phases = ("warm-up", "main", "final")
    count = len(rows) * len(phases)
    main = np.tile([False, True, False], len(rows))
    installed = np.where(main, rng.integers(0, 4, count), 0)
    of_run = np.repeat(np.arange(len(rows)), len(phases))
    return of_run, {
        "fault": pa.array([row["nemesis"] for row in rows]).take(pa.array(of_run)),
        "phase": _repeated(phases, pa.string(), len(rows)),
        "installed": installed, "skipped": rng.integers(0, 2, count), "indeterminate": np.zeros(count, np.int64),
        "stood_s": installed * 5.0, "on_leader": installed // 2, "ok": pa.array(installed * 300, mask=~main),
        "nodes": pa.array([[], ["n1"], ["n1", "n4"], list(NODES)]).take(pa.array(installed)),
    }  # fmt: skip


def _environment(rows: Sequence[Mapping[str, Any]]) -> tuple[np.ndarray, dict[str, Any]]:
    values = []
    for number, row in enumerate(rows):
        java = 17 if row["started_at"] < FIRST_NIGHT + timedelta(days=4) else 21
        given = {"system": f"DLedger {row['system_version']}", "java": f"openjdk {java}", "machine": row["machine"]}
        values += [given.get(key, f"{key} {number % 3}") for key in ENVIRONMENT]
    return np.repeat(np.arange(len(rows)), len(ENVIRONMENT)), {
        "key": _repeated(ENVIRONMENT, pa.string(), len(rows)),
        "value": values,
    }


def _verdicts(rows: Sequence[Mapping[str, Any]], rng: Rng) -> tuple[np.ndarray, dict[str, Any]]:
    count = len(rows) * KEYS
    of_run = np.repeat(np.arange(len(rows)), KEYS)
    bad = np.array([row["verdict"] == "invalid" for row in rows])[of_run] & (np.tile(np.arange(KEYS), len(rows)) == 0)
    cas = np.array([row["workload"] == "cas-register" for row in rows])[of_run]
    return of_run, {
        "key": _repeated([json.dumps(f"r{n}") for n in range(KEYS)], pa.string(), len(rows)),
        "verdict": np.where(bad, "invalid", "valid"),
        "engine": np.where(cas, "cas-chains", "zones"),
        "operations": rng.integers(2000, 2800, count),
        "violations": bad.astype(np.int64),
        "seconds": rng.gamma(2, np.where(cas, 0.02, 0.004)).round(6),
        "details": pa.repeat("{}", count),
    }


def _counterexamples(rows: Sequence[Mapping[str, Any]], rng: Rng) -> tuple[np.ndarray, dict[str, Any]]:
    bad = [number for number, row in enumerate(rows) if row["verdict"] == "invalid"]
    cores = []
    for _ in bad:
        size = int(rng.integers(2, 7))
        core = [Operation(n, "read" if n else "write", "r0", None if n else 1, 1, "ok", n, n + 1, 2 * n, 2 * n + 1)
                for n in range(size)]  # fmt: skip
        cores.append(operations_table(core).to_pylist())
    return np.array(bad, np.int64), {
        "key": ['"r0"'] * len(bad),
        "place": [0] * len(bad),
        "kind": [rows[number]["kinds"][0] for number in bad],
        "sentence": [
            f"read 1 of {len(core)} by {rows[number]['started']}" for number, core in zip(bad, cores, strict=True)
        ],
        "shown_at": [len(core) - 1 for core in cores],
        "core": cores,
        "suspects": [[0]] * len(bad),
    }
