"""Run series of real runs whose results make a table of the docs.  A later call continues.

The counts of a series are kept in ``bench/counts``, so that the tables can be made again without the runs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.generated import with_table
from history.records.violations import counterexamples_of

ROOT: Final = Path(__file__).resolve().parents[1]
#: Exit codes of a run that was judged; any other is a harness failure.
JUDGED: Final = (0, 1, 2)
#: The bench gives up on a series after this many harness failures.
MAX_FAILURES: Final = 5

#: The facts about one run that the table needs.
Row = dict[str, Any]


@dataclass
class Series:
    """Counts over the runs of a series: of each exit code, and of each name of a finding or check.

    ``hits`` counts the runs that went as intended.  Codes of the earliest runs may be missing.
    """

    runs: int = 0
    hits: int = 0
    exits: Counter[str] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, runs: int, hits: int, exits: Mapping[str, int], named: Mapping[str, int]) -> Series:
        return cls(runs, hits, Counter(exits), Counter(named))

    def add(self, row: Row, names: Iterable[str], *, hit: bool) -> None:
        self.runs += 1
        self.hits += hit
        self.exits[str(row["exit"])] += 1
        self.named.update(sorted(names))

    def named_text(self) -> str:
        return ", ".join(f"`{name}` {count}" for name, count in self.named.most_common())


def read_series(path: Path) -> dict[str, Series]:
    """Return the series in a file; none if there is no such file."""
    return {name: Series.of(**one) for name, one in known(path).items()}


def write_series(path: Path, series: Mapping[str, Series]) -> None:
    """Write series, one a line."""
    lines = (f"{json.dumps(name)}: {json.dumps(vars(one))}" for name, one in sorted(series.items()))
    _replace(path, "{\n" + ",\n".join(lines) + "\n}\n")


def extend(
    series: dict[str, Series],
    name: str,
    words: Callable[[int], Sequence[str]],
    asked: argparse.Namespace,
    *,
    intended: Callable[[Row], bool],
    names: Callable[[Row], Iterable[str]],
) -> None:
    """Make runs of a series until there are as many as ``asked``, or too many fail; save the series after each run.

    ``words`` returns the command line of a run by its number.  A run in which the harness failed does not count.
    """
    mine, failures = series.setdefault(name, Series()), 0
    while mine.runs < asked.runs and failures < MAX_FAILURES:
        seed = asked.seed + mine.runs + failures
        row = run_once(words(mine.runs), seed, asked.store / f"{name.replace(':', '-')}-{seed}", intended)
        if counts(row):
            mine.add(row, names(row), hit=intended(row))
            write_series(asked.counts, series)
        else:
            failures += 1
        said = "harness failure" if not counts(row) else "as intended" if intended(row) else "NOT AS INTENDED"
        print(f"{name} seed {seed}: exit {row['exit']}, {said}, {row.get('kinds')}, {row['seconds']} s", flush=True)


def run_once(words: Sequence[str], seed: int, store: Path, as_expected: Callable[[Row], bool]) -> Row:
    """Run the harness once with a separate store, which is removed if the run went as expected."""
    shutil.rmtree(store, ignore_errors=True)
    began = time.monotonic()
    command = [sys.executable, "-m", "harness", *words, "--seed", str(seed), "--store", str(store)]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    row: Row = {"seed": seed, "exit": done.returncode, "seconds": round(time.monotonic() - began, 1)}
    found = next((path for path in store.glob("*/*/results.json") if not path.parent.is_symlink()), None)
    if found is None:
        return {**row, "said": (done.stdout + done.stderr)[-500:]}
    results = json.loads(found.read_text())
    row["invalid"] = invalid_checks(results)
    findings = [finding for check in results["checks"] for finding in check["findings"]]
    row["kinds"] = sorted({finding["kind"] for finding in findings if finding["verdict"] == "invalid"})
    row["sentence"] = str(results.get("sentence", ""))[:500]
    row["answered_s"] = first_wrong_answer_s(results)
    if as_expected(row):
        shutil.rmtree(store, ignore_errors=True)
    return row


def add_run(
    rows: list[Row],
    name: str,
    words: Sequence[str],
    as_expected: Callable[[Row], bool],
    asked: argparse.Namespace,
    results: Mapping[str, Any],
) -> Row:
    """Make the next run of the series ``name``, add it to its ``rows``, and save all results."""
    seed = asked.seed + len(rows)
    row = run_once(words, seed, asked.store / f"{name}-{seed}", as_expected)
    rows.append(row)
    save(asked.results, results)
    return row


def first_wrong_answer_s(results: Mapping[str, Any]) -> float | None:
    """Return when the first answer came that rules out every order, in seconds since the run's start, or None."""
    moments = [one.example.completed_at for one in counterexamples_of(results)]
    return round(min(moments) / 1e9, 1) if moments else None


def invalid_checks(results: Mapping[str, Any]) -> list[str]:
    """Return the names of a run's checks that are invalid."""
    return [check["name"] for check in results.get("checks", ()) if check.get("verdict") == "invalid"]


def counts(row: Row) -> bool:
    """Return whether the run reached a verdict about the system, whatever it is."""
    return row["exit"] in JUDGED and "invalid" in row


def save(path: Path, results: Mapping[str, Any] | Sequence[Row]) -> None:
    """Write the results atomically."""
    _replace(path, json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)


def write_table(page: Path, command: str, table: str, *, complete: bool = True) -> None:
    """Write the table into the page, between the markers of its command, or print it if it is incomplete."""
    if not complete:
        print(table)
        return
    page.write_text(with_table(page.read_text(), f"<!-- made by {command} -->", "<!-- end -->", table))


def options(doc: str | None, kind: str, names: Sequence[str], *, runs: int, of: Path, page: Path) -> argparse.Namespace:
    """Parse the command line of such a bench; ``chosen`` is the list of series given by ``--kind``.

    ``of`` is the bench's module, which names the store for runs and results.
    """
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--runs", type=int, default=runs, help="Number of runs of each; 0: only write the page.")
    parser.add_argument(
        f"--{kind}", dest="chosen", default=",".join(names), help=f"Which {kind} to run, separated by commas."
    )
    parser.add_argument("--cluster", default="netns")
    parser.add_argument("--store", type=Path, default=ROOT / "store" / of.stem)
    parser.add_argument("--page", type=Path, default=page)
    parser.add_argument("--seed", type=int, default=1, help="Seed of the first run of each; every further run adds 1.")
    asked = parser.parse_args()
    asked.chosen = asked.chosen.split(",")
    asked.results = asked.store / "results.json"
    asked.counts = ROOT / "bench" / "counts" / f"{of.stem}.json"
    if unknown := sorted(set(asked.chosen) - set(names)):
        parser.error(f"--{kind}: {', '.join(unknown)} is not among {', '.join(names)}")
    return asked


def known(path: Path) -> Any:
    """Return the results so far; empty if there is no file."""
    return json.loads(path.read_text()) if path.exists() else {}
