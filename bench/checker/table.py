"""Print results.json as the table of docs/checker-speed.md, under a line that says where and when it was measured.

python bench/checker/table.py RESULTS.json

A row is one kind of history, with a column for each length: our time, and porcupine's as a multiple of it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

#: The length at which the time of proofs and the memory are shown.
DETAILED = 10_000


def _history(case: dict[str, Any]) -> str:
    if "what" in case:
        return str(case["what"])
    if "log" in case:
        return "log, lists" if "lists" in case else "log"
    name = "unique" if case["values"] is None else "five values"
    return f"cas, {name}" if "cas" in case else f"{name}, n/100 keys" if "keys" in case else name


def _time(seconds: float) -> str:
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1000:.{2 if seconds < 0.01 else 0}f} ms"
    return f"{seconds:.2f} s"


def _cell(result: dict[str, Any]) -> str:
    """Return text such as "19 µs, 802×", or "> 802×" if porcupine gave up after that many times our time."""
    ours, other, ratio = (result[name] for name in ("ours", "porcupine", "ratio"))
    if ours["result"].startswith("none"):
        return "none"
    answered = other["result"] in ("valid", "invalid")
    if ratio is None:
        return _time(ours["cpu"]) + (", 6 GB" if other["result"] == "out of memory" else "")
    return f"{_time(ours['cpu'])}, {'' if answered else '> '}{ratio:.{1 if ratio < 10 else 0}f}×"


def table(results: list[dict[str, Any]]) -> str:
    """Return the rows as Markdown: registers before logs and other objects."""
    rows: dict[tuple[str, int, bool], dict[int, dict[str, Any]]] = {}
    for result in sorted(results, key=lambda one: (one["case"]["n"], "log" in one["case"], "what" in one["case"])):
        case = result["case"]
        kind = (_history(case), 3 if "keys" in case else case["clients"], case["stale_at"] is not None)
        rows.setdefault(kind, {})[case["n"]] = result
    sizes = sorted({result["case"]["n"] for result in results})
    head = ("clients", "history", "verdict", *(f"{size:,}" for size in sizes), "with proofs", "memory")
    lines = [head, ("---",) * len(head)]
    for (history, clients, _), cells in rows.items():
        verdicts = {result["ours"]["result"] for result in cells.values()}
        verdict = " or ".join(sorted(verdicts, key=lambda word: (word.startswith("none"), word)))
        times = [_cell(cells[size]) if size in cells else "" for size in sizes]
        lines.append((str(clients), history, verdict, *times, *_details(cells.get(DETAILED))))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _details(result: dict[str, Any] | None) -> tuple[str, str]:
    if result is None:
        return "", ""
    ours = result["ours"]
    proofs = _time(ours["proofs"]) if "proofs" in ours and ours["result"] == "invalid" else ""
    return proofs, f"{max(0, ours['rss']) / DETAILED:.0f} B"


def main() -> None:
    whole = json.loads(Path(sys.argv[1]).read_text())
    run = whole["run"]
    print(f"{run['machine']}; Python {run['python']}; {run['date']}; commit {run['commit']}; load {run['load']}\n")
    print(table(whole["results"]), end="")


if __name__ == "__main__":
    main()
