"""The checker beside porcupine v1.3.1: same histories, same run, times in CPU seconds, ratios.

    python bench/checker/run.py [--sizes N …] [--out DIRECTORY]

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
from histories import NEVER, Synthetic, synthetic

HERE = Path(__file__).parent
TIMEOUT = 30.0
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
    if max(sizes) >= 10**6:
        listed.append({"n": 10**7, "clients": 10, "values": None, "stale_at": None, "pending": 0.0})
    return listed


def history(case: dict[str, Any]) -> tuple[Synthetic, array[int]]:
    """The calls and their keys; many keys: the history's clients each walk through keys of their own."""
    rest = {name: case[name] for name in ("values", "stale_at", "pending", "cas") if name in case}
    keys = case.get("keys", 1)
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


def ours(path: Path) -> dict[str, Any]:
    """Run in a process of its own: load, warm the compiled code, check, say what it cost."""
    from checker import warm
    from checker.by_columns import check_columns
    from history.foreign.columns import ABSENT, OperationColumns

    table = np.fromfile(path, np.int64).reshape(-1, 7)
    kind, value, old, invoke, ret, key, known = (np.ascontiguousarray(column) for column in table.T)
    del table
    order = np.argsort(invoke)
    value, old = (np.where(column == -1, ABSENT, column) for column in (value, old))
    ret = np.where(known == 1, ret, -1)
    outcome = np.where(known == 1, 0, 2).astype(np.int8)
    kind = kind.astype(np.int8)

    def operation(row: int) -> Any:
        from history import Operation

        f = ("read", "write", "cas")[kind[row]]
        item, was = (None if number == ABSENT else int(number) for number in (value[row], old[row]))
        asked = None if f == "read" else item if f == "write" else [was, item]
        at, done = int(invoke[row]), int(ret[row])
        outcome_name: Any = "ok" if done >= 0 else "info"
        return Operation(0, f, int(key[row]), asked, item if f == "read" else None, outcome_name, at * 1000,
                         done * 1000 if done >= 0 else None, at, done if done >= 0 else None)  # fmt: skip

    kind, outcome, value, old, key, invoke, ret = (a[order] for a in (kind, outcome, value, old, key, invoke, ret))
    columns = OperationColumns(kind, outcome, value, old, key, invoke, ret, tuple(range(int(key.max()) + 1)), operation)
    model = "cas-register" if (kind == 2).any() else "register"
    small = OperationColumns(*(a[:0] for a in (kind, outcome, value, old, key, invoke, ret)), (0,), operation)
    check_columns(small, model)
    warm()
    baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    before, began = time.process_time(), time.perf_counter()
    report = check_columns(columns, model, deadline_s=TIMEOUT * 4)
    spent, wall = time.process_time() - before, time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    engines = sorted({verdict.engine for verdict in report.keys})
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
    parser.add_argument("--out", type=Path, default=HERE, help="where results.json goes")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(ours(chosen.one)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        program, path = Path(scratch) / "bench-porcupine", Path(scratch) / "history"
        subprocess.run(["go", "build", "-o", program, "."], cwd=HERE / "porcupine", check=True)
        results = []
        for case in cases(chosen.sizes):
            save(*history(case), path)
            environment = {**os.environ, "PYTHONPATH": str(HERE.parent.parent)}
            done = subprocess.run(
                [sys.executable, __file__, "--one", path], capture_output=True, text=True, check=True, env=environment
            )
            mine = json.loads(done.stdout)
            other = (
                porcupine(program, path) if case["n"] <= 10**5 else {"result": "not tried", "cpu": None, "rss": None}
            )
            ratio = other["cpu"] / mine["cpu"] if other["cpu"] else None
            results.append({"case": case, "ours": mine, "porcupine": other, "ratio": ratio})
            print(json.dumps(results[-1]), flush=True)
            (chosen.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
