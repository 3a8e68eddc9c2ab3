"""Judge the recorded runs in ``tests`` again and compare verdicts, counts and exit codes with an earlier record.

    python -m bench.recorded --write before.json          # on one commit
    python -m bench.recorded --against before.json        # on the other; exit code 1 where they differ
    python -m bench.recorded --run store/register/… --write before.json     # runs of your own as well

Each run is copied and judged by ``harness check --no-spark`` in its own process.  Besides the verdict, the exit code,
checks, counts, keys, counterexamples and figures, the record holds how often each file of the run was opened and the
processor seconds; those are printed but never compared.  ``--exact`` also compares every byte of results, summary,
JUnit file and page, except for times spent.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from history import RunFiles
from tests.support.reports.recorded_runs import RUNS, recorded_run

#: Judges a run, and writes what came of it, and what was opened in the run meanwhile; then lists and shows it.
_CHILD: Final = """
import io, json, os, resource, sys
from collections import Counter
from contextlib import redirect_stdout
run, store, target = sys.argv[1:]
opened = Counter()
def note(event, args):
    if event == "open" and args[0] is not None:
        # A file that is opened by its name alone is opened again by its descriptor.
        path = f"/proc/self/fd/{args[0]}" if isinstance(args[0], int) else os.fsdecode(args[0])
        path = os.path.realpath(path)
        if path.startswith(run + os.sep):
            opened[os.path.relpath(path, run)] += 1
def spent():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
def printed(*arguments):
    with redirect_stdout(io.StringIO()) as text:
        run_command([*arguments])
    return text.getvalue()
from harness.cli.main import run_command
sys.addaudithook(note)
before = spent()
code = run_command(["check", run, "--no-spark", "--store", store])
record = {"code": code, "seconds": round(spent() - before, 2), "opened": dict(sorted(opened.items()))}
record["listed"], record["shown"] = printed("ls", "--json", store), printed("show", "--json", run)
with open(target, "w") as file:
    json.dump(record, file)
"""
_TIMES: Final = re.compile(r'"(?:seconds|timings|read|tables|session)": ?[0-9.e-]+')


def cases(own: list[Path]) -> Iterator[tuple[str, Callable[[Path], Path]]]:
    """Yield the name of each run and the function that puts it below a directory."""
    for name in (*RUNS, "entries-lost"):
        yield name, partial(recorded_run, name)
    for name, harm in _HARMS.items():
        yield name, partial(_harmed, harm)
    for path in own:
        yield path.name, partial(_copied, path)


def _copied(run: Path, below: Path) -> Path:
    return Path(shutil.copytree(run, below / run.name))


def _harmed(harm: Callable[[RunFiles], object], below: Path) -> Path:
    files = RunFiles(recorded_run("stale-reads", below))
    harm(files)
    return files.root


def _cut(files: RunFiles) -> None:
    files.history.write_bytes(files.history.read_bytes()[:100_001])
    files.probes.write_bytes(files.probes.read_bytes()[:50_001])
    files.results.unlink()


def _bad_line(files: RunFiles) -> None:
    lines = files.history.read_bytes().splitlines(keepends=True)
    files.history.write_bytes(b"".join([*lines[:100], b'{"index": 99, "time": "now"}\n', *lines[101:]]))


_HARMS: Final[dict[str, Callable[[RunFiles], object]]] = {
    "cut": _cut,
    "bad-line": _bad_line,
    "no-probes": lambda files: files.probes.unlink(),
    "no-state": lambda files: files.state.unlink(),
    "no-plan": lambda files: files.plan.unlink(),
    "no-history": lambda files: files.history.unlink(),
    "bad-results": lambda files: files.results.write_text("[]"),
    "bad-state": lambda files: files.state.write_text('{"moments":'),
}


def judged(name: str, put: Callable[[Path], Path]) -> dict[str, Any]:
    """Judge and draw one run, and describe the result."""
    with tempfile.TemporaryDirectory() as directory:
        store = Path(directory).resolve() / "store"
        (store / "test").mkdir(parents=True)
        files = RunFiles(put(store / "test"))
        measured = Path(directory) / "measured.json"
        command = [sys.executable, "-c", _CHILD, str(files.root), str(store), str(measured)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not measured.exists():
            raise RuntimeError(f"{name}: {done.stderr}")
        found = json.loads(measured.read_text())
        listed = json.loads(found["listed"] or "{}")
        shown = json.loads(found["shown"] or "{}")
        record = {
            **found,
            "listed": [_without(one, ("run",)) for one in listed.get("runs", ())],
            "shown": shown.get("exit_code"),
            "error": done.stderr.replace(directory, "") if found["code"] > 100 else "",
            "results": _described(files.results),
            "rows": {path.stem: pq.read_table(path).num_rows for path in sorted(files.tables.glob("*.parquet"))},
            "exact": {path.name: _digest(path, directory) for path in _written(files)},
        }
    often = ", ".join(f"{path} {count}" for path, count in found["opened"].items() if count > 1)
    print(f"{name}: exit {found['code']}, {found['seconds']} s; opened {often or 'once each'}", flush=True)
    return record


def _described(path: Path) -> dict[str, Any] | None:
    """Return what must stay the same whatever the wording, or None if a run was not judged."""
    results = json.loads(path.read_text()) if path.exists() else None
    if not isinstance(results, dict) or "windows" not in results:
        return None
    windows = ({name: value for name, value in one.items() if name != "summary"} for one in results["windows"])
    return {
        "verdict": results["verdict"],
        "harness failure": bool(results["harness_failure"]),
        "checks": [[one["name"], one["kind"], one["verdict"]] for one in results["checks"]],
        "keys": [_key(one) for one in results["keys"]],
        "counts": results["counts"],
        "receipts": [[one["id"], one["fault"], one["state"]] for one in results["receipts"]],
        "windows": list(windows),
        "fault figures": results["fault_figures"],
        "headlines": len(results.get("headlines", ())),
    }


def _key(record: dict[str, Any]) -> dict[str, Any]:
    examples = [
        [one["kind"], [operation["invoke_index"] for operation in one["operations"]]]
        for one in record["counterexamples"]
    ]
    kept = ("key", "verdict", "engine", "operations", "violations", "certificate")
    return {**{name: record[name] for name in kept}, "counterexamples": examples}


def _without(record: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


def _written(files: RunFiles) -> list[Path]:
    return [path for path in (files.results, files.summary, files.report, files.junit) if path.exists()]


def _digest(path: Path, directory: str) -> str:
    text = _TIMES.sub("", path.read_text(errors="replace").replace(directory, ""))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """Name every place in which two records differ, with the value of each."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            yield from differences(one.get(name), other.get(name), f"{place}/{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (mine, its) in enumerate(zip(one, other, strict=True)):
            yield from differences(mine, its, f"{place}/{number}")
    elif one != other:
        yield f"{place}: {json.dumps(one)[:200]} before, {json.dumps(other)[:200]} now"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", type=Path, help="write the record there")
    parser.add_argument("--against", type=Path, help="compare with the record there")
    parser.add_argument("--exact", action="store_true", help="compare every byte that is written as well")
    parser.add_argument("--run", type=Path, action="append", default=[], help="judge this run as well")
    parser.add_argument("--only", help="only runs whose names contain this")
    arguments = parser.parse_args()
    chosen = [(name, put) for name, put in cases(arguments.run) if (arguments.only or "") in name]
    with ThreadPoolExecutor(2) as pool:
        record = dict(zip([name for name, _ in chosen], pool.map(lambda one: judged(*one), chosen), strict=True))
    if arguments.write:
        arguments.write.write_text(json.dumps(record, indent=1) + "\n")
    if not arguments.against:
        return 0
    before = json.loads(arguments.against.read_text())
    left_out = ("opened", "seconds") if arguments.exact else ("opened", "seconds", "exact", "error")
    found = [
        line
        for name, now in record.items()
        for line in differences(_without(before.get(name, {}), left_out), _without(now, left_out), name)
    ]
    print("\n".join(found) or f"the same in {len(record)} runs")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
