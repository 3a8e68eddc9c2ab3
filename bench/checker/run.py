"""The checker beside porcupine v1.3.1: same histories, same run, times in CPU seconds, ratios.

    python bench/checker/run.py [--sizes N …] [--only WORD] [--out DIRECTORY]

Figures of cases that are measured again replace the old ones in ``results.json``; ``table.py`` prints them.
Builds our small Go program in ``porcupine/`` with the Go on the PATH.  Every check runs in a process of its own, with
its compiled code loaded beforehand (``warm``), under an address-space cap for porcupine, whose memory grows with n².
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from array import array
from pathlib import Path
from typing import Any

import numpy as np
from histories import APPEND, NEVER, Synthetic, synthetic, synthetic_log

HERE = Path(__file__).parent
TIMEOUT = 10.0
QUICK = 0.1
CAP = 6 << 30


def cases(sizes: list[int]) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = []
    for n in sizes:
        listed += [
            # With five values, a few pending writes of each explain any lie; so there are none where one is told.
            {
                "n": n,
                "clients": clients,
                "values": values,
                "stale_at": stale,
                "pending": 0 if stale and values else 0.001,
            }
            for clients, values, stale in itertools.product((5, 10, 30), (None, 5), (None, 0.5))
        ]
        listed.append({"n": n, "clients": 5, "values": None, "stale_at": None, "pending": 0.0, "cas": 0.2})
        listed.append({"n": n, "clients": 5, "values": 5, "stale_at": None, "pending": 0.0, "cas": 0.2})
        listed.append({"n": n, "clients": 10, "values": None, "stale_at": None, "pending": 0.0, "keys": n // 100})
        listed += [
            {"n": n, "clients": clients, "values": None, "stale_at": stale, "pending": 0.0, "log": True}
            for clients, stale in itertools.product((5, 30), (None, 0.5))
        ]
    if max(sizes) >= 10**6:
        listed.append({"n": 10**7, "clients": 10, "values": None, "stale_at": None, "pending": 0.0})
    return listed


def history(case: dict[str, Any]) -> tuple[Synthetic, array[int]]:
    """The calls and their keys; many keys: the history's clients each walk through keys of their own."""
    rest = {name: case[name] for name in ("values", "stale_at", "pending", "cas") if name in case}
    keys = case.get("keys", 1)
    if case.get("log"):
        whole = synthetic_log(case["n"], case["clients"], stale_at=case["stale_at"], pending=case["pending"])
        return whole, array("q", bytes(8 * len(whole.kind)))
    if keys == 1:
        whole = synthetic(case["n"], case["clients"], **rest)
        return whole, array("q", bytes(8 * len(whole.kind)))
    parts = [synthetic(case["n"] // keys, 3, seed=number, **rest) for number in range(keys)]
    joined = Synthetic(*(array("q") for _ in range(6)))
    key: array[int] = array("q")
    # Keys are interleaved: rank r of key k becomes r * keys + k.
    for number, part in enumerate(parts):
        for name in ("kind", "value", "old", "process"):
            getattr(joined, name).extend(getattr(part, name))
        joined.invoke.extend(rank * keys + number for rank in part.invoke)
        joined.ret.extend(rank if rank == NEVER else rank * keys + number for rank in part.ret)
        key.extend([number] * len(part.kind))
    return joined, key


def save(calls: Synthetic, key: array[int], path: Path) -> None:
    names = ("kind", "value", "old", "invoke", "ret")
    columns = [np.frombuffer(getattr(calls, name), np.int64) for name in names] + [np.frombuffer(key, np.int64)]
    known = columns[4] != NEVER
    columns[4] = np.where(known, columns[4], np.int64(1 << 61))
    np.stack([*columns, known.astype(np.int64)], axis=1).tofile(path)


def _table(path: Path) -> list[Any]:
    """kind, value, old, invoke, ret (-1: none), key by columns, in the order of the invocations."""
    from history.foreign.columns import ABSENT

    table = np.fromfile(path, np.int64).reshape(-1, 7)
    kind, value, old, invoke, ret, key, known = (np.ascontiguousarray(column) for column in table.T)
    value, old = (np.where(column == -1, ABSENT, column) for column in (value, old))
    order = np.argsort(invoke)
    return [column[order] for column in (kind, value, old, invoke, np.where(known == 1, ret, -1), key)]


def _register(columns: list[Any]) -> Any:
    """What ``check_columns`` is given, and its model."""
    from history import Operation
    from history.foreign.columns import ABSENT, OperationColumns

    kind, value, old, invoke, ret, key = columns

    def operation(row: int) -> Any:
        f = ("read", "write", "cas")[kind[row]]
        item, was = (None if number == ABSENT else int(number) for number in (value[row], old[row]))
        asked = None if f == "read" else item if f == "write" else [was, item]
        at, done = int(invoke[row]), int(ret[row])
        outcome: Any = "ok" if done >= 0 else "info"
        return Operation(0, f, int(key[row]), asked, item if f == "read" else None, outcome, at * 1000,
                         done * 1000 if done >= 0 else None, at, done if done >= 0 else None)  # fmt: skip

    outcome = np.where(ret >= 0, 0, 2).astype(np.int8)
    keys = tuple(range(int(key.max(initial=0)) + 1))
    return OperationColumns(kind.astype(np.int8), outcome, value, old, key, invoke, ret, keys, operation)


def _log(columns: list[Any]) -> list[Any]:
    """The operations that ``check_operations`` is given."""
    from history import Operation
    from history.foreign.columns import ABSENT

    operations = []
    for kind, value, old, invoke, ret, _ in zip(*(column.tolist() for column in columns), strict=True):
        result = old if kind == APPEND else None if value == ABSENT else value
        done, outcome = (ret, "ok") if ret >= 0 else (None, "info")
        operations.append(
            Operation(0, "append" if kind == APPEND else "get", None, value if kind == APPEND else old,
                      result if done else None, outcome, invoke * 1000, done and done * 1000, invoke, done)  # type: ignore[arg-type]
        )  # fmt: skip
    return operations


def ours(path: Path) -> dict[str, Any]:
    """Run in a process of its own: load, warm the compiled code, check, say what it cost.

    A check of less than a tenth of a second is done five times, and the median counts; so it is for porcupine.
    """
    from checker import check_operations, warm
    from checker.by_columns import check_columns

    columns = _table(path)
    if columns[0][0] >= APPEND:
        history: Any = _log(columns)
        small, model, verb = history[:0], "log", check_operations
    else:
        history = _register(columns)
        small, verb = _register([column[:0] for column in columns]), check_columns
        model = "cas-register" if (columns[0] == 2).any() else "register"
    verb(small, model)
    warm()
    baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    costs: list[tuple[float, float]] = []
    while not costs or (costs[0][0] < QUICK and len(costs) < 5):
        before, began = time.process_time(), time.perf_counter()
        report = verb(history, model, deadline_s=TIMEOUT * 4)
        costs.append((time.process_time() - before, time.perf_counter() - began))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    spent, wall = sorted(costs)[len(costs) // 2]
    engines = sorted({verdict.engine for verdict in getattr(report, "keys", [report])})
    return {"result": report.verdict, "cpu": spent, "wall": wall, "rss": peak - baseline, "engine": ", ".join(engines)}


def porcupine(program: Path, path: Path) -> dict[str, Any]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (CAP, CAP))

    done = subprocess.run(
        [program, path, str(TIMEOUT)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
        timeout=TIMEOUT * 20,
    )
    if done.returncode:
        return {"result": "out of memory", "cpu": None, "wall": None, "rss": CAP}
    found: dict[str, Any] = json.loads(done.stdout)
    names = {"Ok": "valid", "Illegal": "invalid", "Unknown": f"none in {TIMEOUT:.0f} s"}
    return {**found, "result": names.get(found["result"], found["result"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**3, 10**4, 10**5, 10**6], help="operations")
    parser.add_argument("--only", default="", help="only cases in which this text occurs, such as '\"log\"'")
    parser.add_argument("--out", type=Path, default=HERE, help="where results.json goes")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(ours(chosen.one)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        program, path = Path(scratch) / "bench-porcupine", Path(scratch) / "history"
        subprocess.run(["go", "build", "-o", program, "."], cwd=HERE / "porcupine", check=True)
        kept = chosen.out / "results.json"
        results = {json.dumps(entry["case"]): entry for entry in json.loads(kept.read_text())} if kept.exists() else {}
        for case in cases(chosen.sizes):
            name = json.dumps(case)
            if chosen.only not in name:
                continue
            save(*history(case), path)
            environment = {**os.environ, "PYTHONPATH": str(HERE.parent.parent)}
            done = subprocess.run(
                [sys.executable, __file__, "--one", path], capture_output=True, text=True, check=True, env=environment
            )
            mine = json.loads(done.stdout)
            tried = case["n"] <= 10**5 or "keys" in case
            other = porcupine(program, path) if tried else {"result": "not tried", "cpu": None, "rss": None}
            ratio = other["cpu"] / mine["cpu"] if other["cpu"] else None
            results[name] = {"case": case, "ours": mine, "porcupine": other, "ratio": ratio}
            print(json.dumps(results[name]), flush=True)
            kept.write_text(json.dumps(list(results.values()), indent=1) + "\n")


if __name__ == "__main__":
    main()
