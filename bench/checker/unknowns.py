"""Search small histories for those that the checker leaves unknown, and ask porcupine v1.3.1 about them.

    python bench/checker/unknowns.py [--only WORD] [--sizes 500,2000] [--clients 5,15,40,100] [--doubt 0,1,5]
                                     [--seeds 1] [--seconds 5] [--porcupine 30]

Each cell is an object, a number of operations, of clients that are always busy and of values, a share of the operations
that change the object and stay in doubt, and one wrong answer or none.  Prints the cells that stay unknown after
``--seconds`` with porcupine's verdict, and at the end counts by object.  Where ours decides, porcupine gets 0.3 s, and
a different verdict ends the search.  Builds porcupine as ``run.py`` does.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import run as bench

from checker import check

#: By object: what ``run.history`` takes, and the numbers of values (None: as many as operations).
OBJECTS: dict[str, tuple[dict[str, Any], tuple[int | None, ...]]] = {
    "register": ({}, (3, 20, None)),
    "cas-register": ({"cas": 0.2}, (3, 20, None)),
    "kv": ({"what": "kv"}, (3, None)),
    "counter": ({"what": "counter"}, (3, 1000)),
    "queue": ({"what": "queue"}, (3, None)),
    "set": ({"what": "set"}, (20, None)),
    "mutex": ({"what": "mutex"}, (None,)),
    "multi-register": ({"what": "multi-register"}, (3, 200)),
    "log": ({"log": True, "lists": 0.02}, (None,)),
    "bank": ({"what": "bank"}, (None,)),
    "own semaphore": ({"what": "own semaphore"}, (None,)),
    "own priority queue": ({"what": "own priority queue"}, (20, None)),
    "own bank": ({"what": "own bank"}, (None,)),
}


def verdict(path: Path, seconds: float) -> str:
    """Return our verdict on the history in the file, without proofs."""
    history, model = bench.history_of(bench.table_of(path))
    return check(history, model, deadline_s=seconds, proofs=False).verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only objects whose name contains this text")
    for name, given, text in (
        ("sizes", "500,2000", "numbers of operations"),
        ("clients", "5,15,40,100", "numbers of clients"),
        ("doubt", "0,1,5", "percentages of operations in doubt"),
        ("seeds", "1", "numbers that histories are drawn from"),
    ):
        parser.add_argument(f"--{name}", default=given, help=text)
    parser.add_argument("--seconds", type=float, default=5.0, help="what ours may take")
    parser.add_argument("--porcupine", type=float, default=30.0, help="time limit for porcupine when ours is unknown")
    chosen = parser.parse_args()
    numbers = [
        [int(one) for one in getattr(chosen, name).split(",")] for name in ("sizes", "clients", "doubt", "seeds")
    ]
    print(json.dumps(bench.surroundings()))
    print("| object | operations | clients | values | doubt, % | wrong | porcupine |", "| --- " * 7 + "|", sep="\n")
    counts: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        program, path = Path(scratch) / "porcupine", Path(scratch) / "history"
        subprocess.run(["go", "build", "-o", program, "."], cwd=bench.HERE / "porcupine", check=True)
        for name, (how, values) in OBJECTS.items():
            if chosen.only not in name:
                continue
            counts[name] = Counter()
            sizes, clients_of, doubts, seeds = numbers
            for size, clients, value, doubt, seed, stale in itertools.product(
                sizes, clients_of, values, doubts, seeds, (None, 0.5)
            ):
                case = {"n": size, "clients": clients, "values": value, "stale_at": stale, "pending": doubt / 100,
                        "seed": seed, **how}  # fmt: skip
                bench.save(*bench.history(case), path)
                mine = verdict(path, chosen.seconds)
                other = bench.porcupine(program, path, chosen.porcupine if mine == "unknown" else 0.3)
                bench.agree(case, {"result": mine}, other)
                counts[name][mine] += 1
                if mine == "unknown":
                    theirs = f"{other['result']} in {other['cpu']:.2f} s" if other["cpu"] else other["result"]
                    wrong = "one" if stale else ""
                    print(
                        f"| {name} | {size} | {clients} | {value or 'distinct'} | {doubt} | {wrong} | {theirs} |",
                        flush=True,
                    )
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
