"""The table of a suite's page: how many runs of each cell were invalid, by version, from the stores of its runs.

    harness suite rocketmq --store STORE [--shard 1/2] …
    python -m bench.suite_table rocketmq --store STORE [--store STORE]…

The table of the suite's page in docs/ is rewritten from all judged runs in these stores.  A run in which the harness
failed does not count.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.series import ROOT, Row, write_table
from harness.plan import Plan

JUDGED: Final = ("valid", "invalid", "unknown")
#: Pages in docs/ that have another name than their suite.
PAGES: Final = {"zookeeper": "museum"}


def rows_of(store: Path) -> Iterator[Row]:
    """Yield one row for each judged run of every suite in the store."""
    for attempts in sorted(store.glob("suites/*/*/attempts.jsonl")):
        if attempts.parent.is_symlink():
            continue
        for line in attempts.read_text().splitlines():
            attempt = json.loads(line)
            failed = attempt.get("outcome") == "harness-failure"
            if attempt.get("verdict") in JUDGED and attempt.get("run") and not failed:
                yield row_of(store, attempt)


def row_of(store: Path, attempt: Mapping[str, Any]) -> Row:
    """Return the facts about one run that the table needs."""
    plan = Plan.read(store / attempt["run"] / "plan.json")
    defaults = {option.name: option.default for option in plan.under_test.options if option.marks_runs}
    chosen = {name: plan.options[name] for name, default in defaults.items() if plan.options[name] != default}
    title, named, _ = attempt["cell"].partition(": ")
    return {
        "run": attempt["run"].rpartition("/")[2],
        "cell": title if named else "",
        "faults": ", ".join(f"`{turn}`" for turn in plan.nemesis) or "none",
        "options": " ".join(f"{name}={value}" for name, value in {**chosen, **_planted_bug(plan)}.items()),
        "version": plan.version,
        "verdict": attempt["verdict"],
        "kinds": list(attempt["kinds"]),
        "environment": attempt["environment"].get("machine", ""),
    }


def _planted_bug(plan: Plan) -> dict[str, str]:
    return {"planted_bug": plan.planted_bug} if plan.planted_bug else {}


def table(rows: Sequence[Row]) -> str:
    """Return a table with a row for each cell, options and results, and a column for each version.

    Faults that were run apart and had the same results share a row, separated by semicolons. The last rows sum up all
    cells with the same options, except controls, if there is more than one.
    """
    versions = sorted({row["version"] for row in rows})
    lines = [f"| cell | options | faults | {' | '.join(versions)} |", "| --- " * (3 + len(versions)) + "|"]
    groups: defaultdict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["cell"], row["options"], row["faults"]].append(row)
    alike: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for (cell, options, faults), group in sorted(groups.items()):
        alike[cell, options, _columns(group, versions)].append(faults)
    lines += [
        f"| {cell} | {options} | {'; '.join(faults)} | {columns} |"
        for (cell, options, columns), faults in alike.items()
    ]
    for options in sorted({row["options"] for row in rows if not row["cell"].startswith("control")}):
        if sum(key[1] == options for key in groups) > 1:
            mine = [row for row in rows if row["options"] == options]
            lines.append(f"| all | {options} |  | {_columns(mine, versions)} |")
    return "\n".join(lines)


def _columns(rows: Sequence[Row], versions: Sequence[str]) -> str:
    return " | ".join(_found([row for row in rows if row["version"] == version]) for version in versions)


def _found(rows: Sequence[Row]) -> str:
    """Return text such as "2 of 5: not-linearizable 2; unknown 1"."""
    if not rows:
        return ""
    invalid = [row for row in rows if row["verdict"] == "invalid"]
    kinds = Counter(kind for row in invalid for kind in row["kinds"])
    unknown = sum(row["verdict"] == "unknown" for row in rows)
    said = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    return (
        f"{len(invalid)} of {len(rows)}" + (f": {said}" if said else "") + (f"; unknown {unknown}" if unknown else "")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite")
    parser.add_argument("--store", type=Path, action="append", required=True)
    asked = parser.parse_args()
    rows = list({row["run"]: row for store in asked.store for row in rows_of(store)}.values())
    write_table(page_of(asked.suite), f"python -m bench.suite_table {asked.suite}", table(rows))


def page_of(suite: str) -> Path:
    return ROOT / "docs" / f"{PAGES.get(suite, suite)}.md"


if __name__ == "__main__":
    main()
