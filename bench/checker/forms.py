"""Compare the checker with porcupine v1.3.1 by the form of the history: CPU seconds and ratios.

    python bench/checker/forms.py [--only WORD] [--sizes 100,1000,10000,100000] [--seconds 10]

Each row is one history, valid or with one wrong answer, given to ``checker.check`` as a list of ``Operation``, to
``harness check`` as a ``history.jsonl`` (with the start of its process) and, if it is one of registers, as columns.
Porcupine gets a slice of operations in memory; the start of its process is never counted, although that of ``harness
check`` is. The ratio is porcupine's time divided by ours: above 1, ours is faster.  Lists and columns are decided
without proofs, because porcupine gives none; files are decided with proofs.  Builds porcupine with the Go on the PATH,
as ``run.py`` does.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import run as bench  # noqa: E402

#: The model of each row by name, its largest size, and what ``run.history`` takes.
ROWS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "register, unique": ("register", 10**5, {"values": None, "pending": 0.001}),
    "register, 5 values": ("register", 10**5, {"values": 5, "pending": 0.0}),
    "100 registers, unique": ("register", 10**5, {"values": None, "pending": 0.0, "keys": 100}),
    "100 registers, 5 values": ("register", 10**5, {"values": 5, "pending": 0.0, "keys": 100}),
    "cas, unique": ("cas-register", 10**5, {"values": None, "cas": 0.2, "pending": 0.0}),
    "cas, 5 values": ("cas-register", 10**5, {"values": 5, "cas": 0.2, "pending": 0.0}),
    "kv": ("kv", 10**5, {"what": "kv"}),
    "counter": ("counter", 10**5, {"what": "counter"}),
    "queue": ("queue", 10**5, {"what": "queue"}),
    "bank": ("bank", 10**4, {"what": "bank"}),
    "mutex": ("mutex", 10**4, {"what": "mutex"}),
    "multi-register": ("multi-register", 10**4, {"what": "multi-register"}),
    "set": ("set", 10**4, {"what": "set"}),
    "log": ("log", 10**5, {"log": True}),
}


def operations_and_columns(path: Path) -> tuple[list[Any], Any]:
    """Return the history in the file as a list of operations, and as columns (None unless it is one of registers)."""
    table = bench.table_of(path)
    if table[0].max() > bench.LIST:
        return bench.object_of(table)[0], None
    if table[0][0] >= bench.APPEND:
        return bench.log_of(table), None
    columns = bench.register_of(table)
    return [columns.operation(row) for row in range(columns.kind.size)], columns


def measure(path: Path, model: str, limit: float) -> dict[str, Any]:
    """Measure the CPU seconds for checking the list and the columns, in this process."""
    from checker import check, warm

    operations, columns = operations_and_columns(path)
    check(operations[:0], model)
    warm()
    gc.collect()
    answer: dict[str, Any] = {}
    for form, history in (("list", operations), ("columns", columns)):
        if history is not None:
            report, spent, _ = bench.cost_of(lambda: check(history, model, deadline_s=limit, proofs=False))  # noqa: B023
            answer[form] = {"result": report.verdict, "cpu": spent}
    return answer


def write_jsonl(path: Path, model: str, target: Path) -> None:
    """Write the history in ``path`` as a ``history.jsonl``, giving each operation to a process that has none open."""
    from harness.files import write_events
    from history import Event, Header

    operations, _ = operations_and_columns(path)
    ends = sorted(
        [(one.invoke_index, True, number) for number, one in enumerate(operations)]
        + [(one.return_index, False, number) for number, one in enumerate(operations) if one.return_index is not None]
    )
    free: list[int] = []
    process: dict[int, int] = {}
    events: list[Event] = []
    for moment, begins, number in ends:
        one = operations[number]
        if begins:
            process[number] = free.pop() if free else len(process)
            events.append(Event(len(events), moment * 1000, "invoke", process[number], one.f, one.value, one.key))
        else:
            free.append(process[number])
            answer = one.value if one.f in ("write", "cas", "add", "put", "enqueue") else one.result
            events.append(Event(len(events), moment * 1000, "ok", process[number], one.f, answer, one.key))
    write_events(events, Header(test="bench", model=model), target)


def command(path: Path, limit: float) -> dict[str, Any]:
    """Return the answer of ``harness check`` and the CPU seconds of its process, the least of three if it is short."""
    words = [sys.executable, "-m", "harness", "check", str(path), "--deadline", str(limit), "--json"]
    best: dict[str, Any] = {}
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=bench.ROOT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        if not best or spent < best["cpu"]:
            best = {"result": json.loads(done.stdout)["verdict"], "cpu": spent}
        if spent > 2:
            break
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only rows whose name contains this text")
    parser.add_argument("--sizes", default="100,1000,10000,100000", help="numbers of operations")
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit for each of them")
    parser.add_argument("--no-files", action="store_true", help="lists and columns alone")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        print(json.dumps(measure(Path(chosen.measure[0]), chosen.measure[1], chosen.seconds)))
        return
    print(json.dumps(bench.surroundings()))
    print("| history | operations | answer | porcupine, ms | list | columns | file |", "| --- " * 7 + "|", sep="\n")
    with tempfile.TemporaryDirectory() as scratch:
        program, path, file = (Path(scratch) / name for name in ("porcupine", "history", "history.jsonl"))
        subprocess.run(["go", "build", "-o", program, "."], cwd=HERE / "porcupine", check=True)
        for name, (model, largest, how) in ROWS.items():
            for size in map(int, chosen.sizes.split(",")):
                if chosen.only not in name or size > largest or size < 10 * how.get("keys", 1):
                    continue
                for stale in (None, 0.5):
                    case = {"n": size, "clients": 3 if "keys" in how else 5, "stale_at": stale, **how}
                    bench.save(*bench.history(case), path)
                    row = one_row(program, path, None if chosen.no_files else file, model, chosen.seconds)
                    print(f"| {name} | {size} {row}", flush=True)


def one_row(program: Path, path: Path, file: Path | None, model: str, limit: float) -> str:
    """Return the rest of a row of the table.  Raises AssertionError if two verdicts differ."""
    other = bench.porcupine(program, path, limit)
    words = [sys.executable, __file__, "--measure", str(path), model, "--seconds", str(limit)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, cwd=bench.ROOT)
    mine: dict[str, Any] = json.loads(done.stdout)
    if file is not None:
        write_jsonl(path, model, file)
        mine["file"] = command(file, limit)
        file.unlink()
    answers = {part["result"] for part in (other, *mine.values())} & {"valid", "invalid"}
    assert len(answers) <= 1, f"they disagree: {other} {mine}"
    cells = []
    for form in ("list", "columns", "file"):
        part = mine.get(form)
        if part is None:
            cells.append("")
        elif part["result"] == "unknown":
            cells.append("unknown")
        else:
            ratio = f" ({other['cpu'] / part['cpu']:.2f})" if other["cpu"] else ""
            cells.append(f"{1000 * part['cpu']:.1f}{ratio}")
    theirs = other["result"] if other["cpu"] is None else f"{1000 * other['cpu']:.1f}"
    return f"| {next(iter(answers), 'unknown')} | {theirs} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
