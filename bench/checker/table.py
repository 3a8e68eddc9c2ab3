"""Print results.json as the table of docs/checker-speed.md, under a line that says where and when it was measured.

python bench/checker/table.py RESULTS.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HEAD = ("operations", "clients", "history", "verdict", "ours", "with proofs", "memory", "porcupine", "ratio")


def _history(case: dict[str, Any]) -> str:
    if "what" in case:
        return str(case["what"])
    if "log" in case:
        return "log, lists" if "lists" in case else "log"
    name = "unique" if case["values"] is None else "five values"
    return f"cas, {name}" if "cas" in case else f"{name}, {case['keys']:,} keys" if "keys" in case else name


def _time(seconds: float) -> str:
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1000:.{2 if seconds < 0.01 else 0}f} ms"
    return f"{seconds:.2f} s"


def _proven(case: dict[str, Any], verdict: str) -> bool:
    """Return whether the row includes proofs as well as verdicts."""
    return verdict == "invalid" or (("log" in case or "what" in case) and case["n"] <= 2000)


def _row(result: dict[str, Any]) -> tuple[str, ...]:
    case, ours, other, ratio = (result[name] for name in ("case", "ours", "porcupine", "ratio"))
    answered = other["result"] in ("valid", "invalid")
    theirs = _time(other["cpu"]) if answered else {"out of memory": "out of 6 GB"}.get(other["result"], other["result"])
    # Without an answer, the CPU time spent until then is a lower bound for the time needed.
    faster = (
        "" if ratio is None else f"{ratio:.1f}" if answered and ratio < 10 else f"{'' if answered else '> '}{ratio:.0f}"
    )
    clients = 3 if "keys" in case else case["clients"]
    proofs = _time(ours["proofs"]) if "proofs" in ours and _proven(case, ours["result"]) else ""
    memory = f"{max(0, ours['rss']) / case['n']:.0f} B" if case["n"] >= 10**4 else ""
    return (
        f"{case['n']:,}",
        str(clients),
        _history(case),
        ours["result"],
        "" if ours["result"].startswith("none") else _time(ours["cpu"]),
        proofs,
        memory,
        theirs,
        faster,
    )


def table(results: list[dict[str, Any]]) -> str:
    """Return the rows as Markdown: short histories first, registers before logs and other objects."""
    order = sorted(results, key=lambda one: (one["case"]["n"], "log" in one["case"], "what" in one["case"]))
    rows = [HEAD, ("---",) * len(HEAD), *map(_row, order)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    whole = json.loads(Path(sys.argv[1]).read_text())
    run = whole["run"]
    print(f"{run['machine']}; Python {run['python']}; {run['date']}; commit {run['commit']}; load {run['load']}\n")
    print(table(whole["results"]), end="")


if __name__ == "__main__":
    main()
