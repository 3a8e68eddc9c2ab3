"""Compare the checker with porcupine v1.3.1 on the same histories in one run: CPU seconds and ratios.

    python bench/checker/run.py [--quick] [--only WORD] [--out DIRECTORY] [--before CHECKOUT]

One run gives every row of the table in ``docs/checker-speed.md``: it writes ``results.json``, which also names the
machine, the date, the commit and how busy the machine was.  ``table.py`` prints that file, and ``plot.py`` draws it.  A
run takes about ten minutes on two idle cores.  ``--quick`` halves that: it gives porcupine less time, and leaves out
the longest history.

With ``--before``, the checker of another checkout of this project takes porcupine's place, and no results are kept.
The two run in turn, three times each, and the fastest run of each counts.  While ours seems slower, they run up to ten
times, because other work on the machine can cause that too.  The ratio is the older checker's CPU time divided by ours:
below 1, ours has become slower.

Builds our small Go program in ``porcupine/`` with the Go on the PATH.  Every history is checked in a process of its
own.  Our checker has its compiled code loaded beforehand (``warm``); porcupine's address space is capped, because its
memory grows with n².  Both repeat a short check for a twentieth of a second, at least five times, and the median
counts. Both get the whole history in memory, in their own form: columns or operations for ours, a slice of operations
for porcupine.  Only the time to the verdict is compared, without proofs.  The additional cost of a counterexample, or
of the verified linearization of a short valid log, is measured as well, but is not part of the ratio.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import itertools
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
ROOT = HERE.resolve().parents[1]
sys.path.insert(0, str(ROOT))

from histories import (  # noqa: E402
    ACQUIRE,
    ADD,
    APPEND,
    ASKING,
    DEQUEUE,
    ELEMENTS,
    ENQUEUE,
    GET,
    GOT,
    INSERT,
    LIST,
    PUT,
    RELEASE,
    SUM,
    TEXT,
    TXN,
    Synthetic,
    steps_of,
    synthetic,
    synthetic_log,
    synthetic_object,
)  # fmt: skip
from own_objects import (  # noqa: E402
    BALANCES,
    FUNDS,
    GIVE,
    OFFER,
    OVERDRAFT,
    POLL,
    TAKE,
    TRANSFER,
    balances_after,
    parts_of,
)

from history.codes import CAS, NEVER  # noqa: E402

QUICK = 0.1
REPEATED = 0.05
CAP = 6 << 30
LISTS = 100
CLIENTS = (5, 10, 30)
# A set's reads answer all elements, which are most of a longer history.
LARGEST = {
    "kv": 10**5, "counter": 10**5, "queue": 10**5, "set": 10**4, "mutex": 10**4, "multi-register": 10**4,
    "own semaphore": 10**4, "own priority queue": 10**4, "own bank": 10**4,
}  # fmt: skip
FUNCTIONS = {
    PUT: "put", TEXT: "append", GOT: "get", ADD: "add", SUM: "read", ENQUEUE: "enqueue", DEQUEUE: "dequeue",
    INSERT: "add", ELEMENTS: "read", ACQUIRE: "acquire", RELEASE: "release", TXN: "txn",
    TAKE: "take", GIVE: "give", OFFER: "offer", POLL: "poll", TRANSFER: "transfer", BALANCES: "read",
}  # fmt: skip


def _case(n: int, clients: int, values: int | None = None, *, stale: bool = False, **more: Any) -> dict[str, Any]:
    return {"n": n, "clients": clients, "values": values, "stale_at": 0.5 if stale else None, "pending": 0.0, **more}


def cases(*, quick: bool) -> list[dict[str, Any]]:
    """List the cases.  In plain registers, one write in a thousand is pending.

    Cases with five values and a lie have no pending writes: a few of each value would explain the lie.
    """
    listed: list[dict[str, Any]] = []
    for n in (10**3, 10**4, 10**5):
        for clients, values, stale in itertools.product(CLIENTS, (None, 5), (False, True)):
            listed.append(_case(n, clients, values, stale=stale, pending=0.0 if stale and values else 0.001))
        listed += [_case(n, 5, values, cas=0.2) for values in (None, 5)]
        listed += [_case(n, 3, values, keys=n // 100) for values in (None, 5)]
        for clients, stale, lists in itertools.product((5, 30), (False, True), (0.0, min(0.02, LISTS / n))):
            more: dict[str, Any] = {"lists": lists} if lists else {}
            listed.append(_case(n, clients, stale=stale, log=True, **more))
        for what, clients, stale in itertools.product(LARGEST, (5, 30), (False, True)):
            if n <= LARGEST[what]:
                listed.append(_case(n, clients, stale=stale, what=what))
    listed += [
        _case(10**6, clients, values, pending=0.001) for clients, values in itertools.product(CLIENTS, (None, 5))
    ]
    listed += [_case(10**6, 5, values, cas=0.2) for values in (None, 5)]
    listed += [_case(10**6, 3, values, keys=10**4) for values in (None, 5)]
    return listed if quick else [*listed, _case(10**7, 10)]


def history(case: dict[str, Any]) -> tuple[Synthetic, array[int]]:
    """Return the calls and their keys.  With many keys, the history's clients each walk through their own keys."""
    rest = {name: case[name] for name in ("values", "stale_at", "pending", "cas", "seed") if name in case}
    changed = {name: case[name] for name in ("pending", "seed") if name in case}
    distinct = case.get("values") is None
    keys = case.get("keys", 1)
    if case.get("log"):
        whole = synthetic_log(
            case["n"], case["clients"], stale_at=case["stale_at"], lists=case.get("lists", 0.0), **changed
        )
        return whole, array("q", bytes(8 * len(whole.kind)))
    if "what" in case:
        same = {"what": case["what"], "stale_at": case["stale_at"], "values": case.get("values")}
        whole = synthetic_object(case["n"], case["clients"], **same, **changed)
        # The key of an operation on a string is the number in its text.
        return whole, array("q", whole.invoke if distinct else (at % case["values"] for at in whole.invoke))
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


def table_of(path: Path) -> list[Any]:
    """Return kind, value, old, invoke, ret (-1: none) and key as columns, in the order of the invocations."""
    from history.codes import ABSENT

    table = np.fromfile(path, np.int64).reshape(-1, 7)
    kind, value, old, invoke, ret, key, known = (np.ascontiguousarray(column) for column in table.T)
    value, old = (np.where(column == -1, ABSENT, column) for column in (value, old))
    order = np.argsort(invoke)
    return [column[order] for column in (kind, value, old, invoke, np.where(known == 1, ret, -1), key)]


def register_of(columns: list[Any]) -> Any:
    """Return the arguments for ``check_columns``."""
    from history import Operation
    from history.codes import ABSENT, INFO, OK
    from history.readers.columns import OperationColumns

    kind, value, old, invoke, ret, key = columns

    def operation(row: int) -> Any:
        f = ("read", "write", "cas")[kind[row]]
        item, was = (None if number == ABSENT else int(number) for number in (value[row], old[row]))
        asked = None if f == "read" else item if f == "write" else [was, item]
        at, done = int(invoke[row]), int(ret[row])
        outcome: Any = "ok" if done >= 0 else "info"
        return Operation(0, f, int(key[row]), asked, item if f == "read" else None, outcome, at * 1000,
                         done * 1000 if done >= 0 else None, at, done if done >= 0 else None)  # fmt: skip

    outcome = np.where(ret >= 0, OK, INFO).astype(np.int8)
    keys = tuple(range(int(key.max(initial=0)) + 1))
    return OperationColumns(kind.astype(np.int8), outcome, value, old, key, invoke, ret, keys, operation)


def log_of(columns: list[Any]) -> list[Any]:
    """Return the operations for ``check_operations``."""
    from history.codes import ABSENT

    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    entries = [
        value for _, value in sorted((old, value) for kind, value, old, *_ in rows if kind == APPEND and old >= 0)
    ]
    operations = []
    for kind, value, old, invoke, ret, _ in rows:
        asked, result = None, None if value == ABSENT else value
        if kind == APPEND:
            asked, result = value, old
        elif kind == GET:
            asked = old
        else:
            result = entries[:old]
        f = {APPEND: "append", GET: "get"}.get(kind, "list")
        operations.append(_operation(f, asked, result, invoke, ret))
    return operations


def _operation(f: str, asked: Any, result: Any, invoke: int, ret: int) -> Any:
    from history import Operation

    if ret < 0:
        return Operation(0, f, None, asked, None, "info", invoke * 1000, None, invoke, None)
    return Operation(0, f, None, asked, result, "ok", invoke * 1000, ret * 1000, invoke, ret)


def _texts(rows: list[tuple[int, ...]]) -> Callable[[int, int], str]:
    """Return the text made of this many pieces, starting with that put."""
    pieces: dict[int, dict[int, str]] = {}
    for kind, value, old, invoke, _, name in rows:
        if kind == PUT or (kind == TEXT and value >= 0):
            root, place = (invoke, 0) if kind == PUT else (old, value)
            pieces.setdefault(root, {})[place] = f"x {name} y"
    whole = {root: [named[place] for place in range(len(named))] for root, named in pieces.items()}
    return lambda root, size: "".join(whole.get(root, [])[:size])


def object_of(columns: list[Any]) -> tuple[list[Any], Any]:
    """Return the operations for ``check_operations``, and the model or its name."""
    import own_models

    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    text = _texts(rows)
    elements = [
        value for _, value in sorted((old, value) for kind, value, old, *_ in rows if kind == INSERT and old >= 0)
    ]
    overdraft = any(row[0] == TRANSFER and row[1] & OVERDRAFT for row in rows)
    transfers = [value for _, value in sorted((row[2], row[1]) for row in rows if row[0] == TRANSFER and row[2] >= 0)]
    balances = balances_after(transfers, 0 if overdraft else FUNDS)
    operations = []
    for kind, value, old, invoke, ret, name in rows:
        named, asked, result = FUNCTIONS[kind], None if kind in ASKING else value, None
        if kind in (PUT, TEXT):
            asked = f"x {name} y"
        elif kind in (ACQUIRE, RELEASE, TAKE, GIVE):
            asked = None
        elif kind == TRANSFER:
            *asked, paid = parts_of(value)
            result = None if overdraft else paid
        elif kind == TXN:
            result = [["write" if writes else "read", "xyz"[key], None if item < 0 else item]
                      for writes, key, item in steps_of(value)]  # fmt: skip
            asked = [[f, key, item if f == "write" else None] for f, key, item in result]
        elif kind in ASKING:
            item = None if value < 0 else value
            answers = {GOT: text(old, value), ELEMENTS: elements[: max(old, 0)], DEQUEUE: item, POLL: item}
            result = answers.get(kind, value)
            if kind == BALANCES:
                result = [list(pair) for pair in enumerate(balances[old])] if overdraft else balances[old][:]
        operations.append(_operation(named, asked, result, invoke, ret))
    kinds = {row[0] for row in rows}
    models = {
        PUT: "kv", TEXT: "kv", ADD: "counter", ENQUEUE: "queue", INSERT: "set", ACQUIRE: "mutex", TXN: "multi-register",
        TAKE: own_models.Semaphore(), OFFER: own_models.PriorityQueue(),
        TRANSFER: "bank" if overdraft else own_models.Bank(),
    }  # fmt: skip
    return operations, next(model for kind, model in models.items() if kind in kinds)


def _peak() -> tuple[int, int]:
    """Return the peak memory since the last call, and the present memory, in bytes."""
    status = Path("/proc/self/status").read_text()
    peak, now = (int(re.search(rf"{name}:\s+(\d+)", status)[1]) << 10 for name in ("VmHWM", "VmRSS"))  # type: ignore[index]
    Path("/proc/self/clear_refs").write_text("5")
    return peak, now


def cost_of(check: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return the answer with its CPU and wall time.  A call that takes less than a tenth of a second is repeated."""
    costs: list[tuple[float, float]] = []
    while not costs or (costs[0][0] < QUICK and (len(costs) < 5 or sum(cpu for cpu, _ in costs) < REPEATED)):
        before, began = time.process_time(), time.perf_counter()
        report = check()
        costs.append((time.process_time() - before, time.perf_counter() - began))
    return report, *sorted(costs)[len(costs) // 2]


def history_of(columns: list[Any]) -> tuple[Any, Any]:
    """Return the history in the form in which it is checked, and the model or its name."""
    if columns[0].max() > LIST:
        return object_of(columns)
    if columns[0][0] >= APPEND:
        return log_of(columns), "log"
    return register_of(columns), "cas-register" if (columns[0] == CAS).any() else "register"


def ours(path: Path, limit: float) -> dict[str, Any]:
    """Load and check a history, and return the cost: ``cpu`` for the verdict, ``proofs`` if it must be proven too."""
    from checker import check as check_history
    from checker import check_operations, warm

    columns = table_of(path)
    history, model = history_of(columns)
    small, _ = history_of([column[:1] for column in columns])
    verb: Any = check_operations if isinstance(history, list) else check_history
    del columns
    verb(small, model)
    warm()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    _, baseline = _peak()

    def check(*, proofs: bool) -> Any:
        return verb(history, model, deadline_s=limit, proofs=proofs)

    report = check(proofs=False)
    peak, _ = _peak()
    if report.verdict == "unknown":
        return {"result": f"none in {limit:.0f} s", "cpu": limit, "wall": limit, "rss": max(0, peak - baseline)}
    report, spent, wall = cost_of(lambda: check(proofs=False))
    proven, proofs, _ = cost_of(lambda: check(proofs=True))
    # A verdict that takes nearly all of the time may leave none for its proof.
    if proven.verdict not in (report.verdict, "unknown"):
        raise AssertionError(f"{proven.verdict} with proofs, {report.verdict} without")
    engines = sorted({verdict.engine for verdict in getattr(report, "keys", [report])})
    answer = {
        "result": report.verdict,
        "cpu": spent,
        "wall": wall,
        "proofs": None if proven.verdict == "unknown" else proofs,
        "rss": max(0, peak - baseline),
    }
    return {**answer, "engine": ", ".join(engines)}


def apart(*arguments: str, root: Path = ROOT) -> str:
    """Run this file, or that of another checkout with its checker, with these arguments, and return what it prints."""
    program, environment = root / "bench" / "checker" / "run.py", {**os.environ, "PYTHONPATH": str(root)}
    words = [sys.executable, str(program), *arguments]
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout


def porcupine(program: Path, path: Path, limit: float) -> dict[str, Any]:
    def capped() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (CAP, CAP))

    done = subprocess.run(
        [program, path, str(limit)], capture_output=True, text=True, check=False, preexec_fn=capped, timeout=limit * 20
    )
    if done.returncode:
        return {"result": "out of memory", "cpu": None, "wall": None, "rss": CAP}
    found: dict[str, Any] = json.loads(done.stdout)
    names = {"Ok": "valid", "Illegal": "invalid", "Unknown": f"none in {limit:.0f} s"}
    return {**found, "result": names.get(found["result"], found["result"])}


def agree(case: dict[str, Any], mine: dict[str, Any], other: dict[str, Any]) -> None:
    """Raise AssertionError if one calls the history valid and the other invalid."""
    if {mine["result"], other["result"]} == {"valid", "invalid"}:
        raise AssertionError(f"the two disagree about {case}")


def measured(case: dict[str, Any], program: Path, path: Path, limit: float) -> dict[str, Any]:
    """Return one row with both checkers on the same history.

    Porcupine is not tried on a million operations of one object, for which the memory would not suffice.
    """
    apart("--make", json.dumps(case), "--file", str(path))
    mine = json.loads(apart("--measure", str(limit), "--file", str(path)))
    tried = case["n"] <= 10**5 or "keys" in case
    other = porcupine(program, path, limit) if tried else {"result": "not tried", "cpu": None, "rss": None}
    agree(case, mine, other)
    ratio = other["cpu"] / mine["cpu"] if other["cpu"] and not mine["result"].startswith("none") else None
    return {"case": case, "ours": mine, "porcupine": other, "ratio": ratio}


def since(case: dict[str, Any], before: Path, path: Path, limit: float) -> dict[str, Any]:
    """Return one row with our checker and that of the other checkout, using the fastest run of each."""
    apart("--make", json.dumps(case), "--file", str(path))
    best: list[dict[str, Any]] = []
    for turn in range(10):
        if turn > 2 and best[1]["cpu"] > 0.97 * best[0]["cpu"]:
            break
        pair = [json.loads(apart("--measure", str(limit), "--file", str(path), root=one)) for one in (ROOT, before)]
        best = [min(two, key=lambda one: one["cpu"]) for two in zip(best or pair, pair, strict=True)]
        if pair[0]["result"].startswith("none"):
            break
    mine, other = best
    agree(case, mine, other)
    return {"case": case, "ours": mine, "before": other, "ratio": other["cpu"] / mine["cpu"]}


def surroundings() -> dict[str, Any]:
    """Return the machine, the date, the commit, and how busy the machine is."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "machine": f"{os.cpu_count()} cores, {cpu[1] if cpu else platform.machine()}",
        "python": platform.python_version(),
        "date": datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
        "commit": commit,
        "load": [round(load, 1) for load in os.getloadavg()],
    }


def compare(chosen: argparse.Namespace) -> None:
    """Measure all rows, print each when it is ready, and write all of them at the end."""
    limit, rows = 3.0 if chosen.quick else 10.0, []
    run = surroundings()
    with tempfile.TemporaryDirectory() as scratch:
        program, path = Path(scratch) / "bench-porcupine", Path(scratch) / "history"
        if not chosen.before:
            subprocess.run(["go", "build", "-o", program, "."], cwd=HERE / "porcupine", check=True)
        for case in cases(quick=chosen.quick):
            if chosen.only and chosen.only not in json.dumps(case):
                continue
            before = chosen.before and chosen.before.resolve()
            rows.append(since(case, before, path, limit) if before else measured(case, program, path, limit))
            print(json.dumps(rows[-1]), flush=True)
            now = {**run, "load": [run["load"], [round(load, 1) for load in os.getloadavg()]]}
            if not chosen.only and not before:
                (chosen.out / "results.json").write_text(json.dumps({"run": now, "results": rows}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3 s for porcupine instead of 10, and no 10^7")
    parser.add_argument("--only", help="only cases in which this text occurs, such as '\"log\"'; printed, not kept")
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "build", help="where results.json goes")
    parser.add_argument("--before", type=Path, help="another checkout, to measure its checker in porcupine's place")
    parser.add_argument("--make", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--measure", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.make:
        save(*history(chosen.make), chosen.file)
    elif chosen.measure:
        print(json.dumps(ours(chosen.file, chosen.measure)))
    else:
        compare(chosen)


if __name__ == "__main__":
    main()
