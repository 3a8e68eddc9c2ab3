"""The runs of a store as rows: what the site lists, filters and compares.

A row is made from ``plan.json``, ``run.json`` and ``results.json`` alone.  Rows are remembered by the times and sizes
of those files, in memory and in ``.index.json`` in the store, so that a second look costs a few ``stat`` calls a run.
Symbolic links in a store (``latest``) are never followed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from history import RunFiles
from history.json_object import read_object
from history.metrics.recovery import never_recovered
from history.records.layout import WAREHOUSE
from history.records.plans import nemesis_name, system_version
from history.records.settings import machine_of, settings_of
from history.records.violations import canary_outcome, finding_name, violations_of
from reports.errors import Notes
from reports.load.run import HARNESS_FAILURE, tidy
from reports.load.staleness import STALE, is_stale
from reports.style.format import one_line

INDEX_VERSION: Final = 10
INDEX_NAME: Final = ".index.json"
NOT_TESTS: Final = frozenset({WAREHOUSE, "latest"})


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run.  Seconds, operations a second; None where it is not recorded.

    ``verdict`` is valid, invalid, unknown or "harness failure".  ``severity`` and ``kind`` are those of the worst
    violation; where there is none ``kind`` names the unknown check.  ``canary``: whether a planted bug was found.
    ``recovery_s`` is the longest time until the rate was back after a fault, ``never`` after how many it was not,
    ``gap_s`` the longest stretch without an ok around any fault.  ``checks`` holds (name, verdict).  ``settings`` is a
    digest of those that move the figures; ``machine`` is None in runs of earlier releases, and ``system`` empty.
    """

    test: str
    run: str
    started: str
    verdict: str
    kind: str
    sentence: str
    nemesis: str
    version: str
    seed: str
    timers: str
    operations: int | None
    rate: float | None
    gap_s: float | None
    recovery_s: float | None
    never: int
    violations: int
    length_s: float | None
    checks: tuple[tuple[str, str], ...]
    files: tuple[str, ...]
    settings: str = ""
    machine: str | None = None
    system: str = ""
    workload: str = ""
    severity: str = ""
    canary: str = ""

    @property
    def place(self) -> str:
        return f"{self.test}/{self.run}"

    @property
    def finding(self) -> str:
        """What was found in a few words: the worst violation, or what kept the run from proving anything."""
        return finding_name(self.severity, self.kind, self.canary)


FINE: Final = "linearizable: yes"


class StoreIndex:
    """The rows of one store, newest first, kept fresh by :meth:`rows`."""

    def __init__(self, store: Path, *, remember: bool = True) -> None:
        self.store = store
        self._known: dict[str, tuple[list[int], RunRow]] = _load(store / INDEX_NAME) if remember else {}
        self._remember = remember

    def rows(self) -> list[RunRow]:
        """Read new and changed runs and drop those that are gone.  Raises OSError if there is no store."""
        fresh: dict[str, tuple[list[int], RunRow]] = {}
        changed = False
        for files in runs_of(self.store):
            place = f"{files.root.parent.name}/{files.root.name}"
            stamp = _stamp(files)
            known = self._known.get(place)
            if known is None or known[0] != stamp:
                known, changed = (stamp, row_of(files)), True
            fresh[place] = known
        changed = changed or len(fresh) != len(self._known)
        self._known = fresh
        if changed and self._remember:
            _save(self.store / INDEX_NAME, fresh)
        return sorted((row for _, row in fresh.values()), key=lambda row: (row.started, row.place), reverse=True)


_MARKS: Final = (RunFiles(Path()).plan.name, RunFiles(Path()).history.name)


def runs_of(store: Path) -> Iterator[RunFiles]:
    """Yield each directory ``<test>/<run>`` with a plan or a history.  Raises OSError if the store cannot be read."""
    with os.scandir(store) as tests:
        for test in tests:
            if test.name in NOT_TESTS or test.name.startswith(".") or not test.is_dir(follow_symlinks=False):
                continue
            with os.scandir(test.path) as runs:
                for run in runs:
                    named = not run.name.startswith(".") and run.is_dir(follow_symlinks=False)
                    if named and _holds_run(run.path):
                        yield RunFiles(Path(run.path))


def _holds_run(root: str) -> bool:
    return any(os.path.isfile(f"{root}/{name}") for name in _MARKS)  # noqa: PTH113 (as in _stamp)


def row_of(files: RunFiles) -> RunRow:
    """Make the row of one run; a file that cannot be read counts as absent."""
    notes = Notes()
    nothing: dict[str, Any] = {}
    plan = notes.attempt("plan.json", lambda: _own_object(files.plan), nothing)
    state = notes.attempt("run.json", lambda: _own_object(files.state), nothing)
    results = tidy(notes.attempt("results.json", lambda: _own_object(files.results), nothing), notes)
    return notes.attempt("row", lambda: _row(files, plan, state, results), _bare(files))


def _own_object(path: Path) -> dict[str, Any]:
    """Read a JSON object of the run; nothing from a symbolic link, which may lead out of the store."""
    return {} if path.is_symlink() else read_object(path, lenient=True)


def _row(files: RunFiles, plan: dict[str, Any], state: dict[str, Any], results: dict[str, Any]) -> RunRow:
    failures = state.get("failures") if isinstance(state.get("failures"), list) else []
    failure = results.get("harness_failure") or "; ".join(map(str, failures or ()))
    verdict = HARNESS_FAILURE if failure else results.get("verdict")
    faults = [window for window in results.get("windows", ()) if "fault" in window]
    operations = _whole(_at(results, "counts", "all"))
    main, length = _main_seconds(state), _length(state)
    offered = _present(files)
    stale = f"({STALE}) " if files.report.name in offered and is_stale(files, results) else ""
    worst = next(iter(violations_of(results)), None)
    return RunRow(
        test=files.root.parent.name,
        run=files.root.name,
        started=_started(files, plan),
        verdict=verdict if verdict in ("valid", "invalid", HARNESS_FAILURE) else "unknown",
        kind=one_line(worst.kind if worst else "" if failure else _unknown_check(results), 60),
        sentence=stale + one_line(failure or _describe(results) or "not judged yet", 400),
        nemesis=one_line(nemesis_name(plan), 120),
        version=one_line(system_version(plan), 60),
        seed=one_line(plan.get("seed", ""), 24),
        timers=one_line(plan.get("timers") or "", 16),
        operations=operations,
        rate=_rate(results, main),
        gap_s=_largest(faults, "longest_gap_ms"),
        recovery_s=_largest(faults, "recovered_ms"),
        never=sum(map(never_recovered, faults)),
        violations=sum(_whole(key.get("violations")) or 0 for key in results.get("keys", ())),
        length_s=length,
        checks=tuple((one_line(c.get("name", ""), 40), str(c.get("verdict", ""))) for c in results.get("checks", ())),
        files=offered,
        settings=hashlib.sha256(settings_of(plan).encode(errors="replace")).hexdigest()[:12],
        machine=machine_of(results),
        system=one_line(plan.get("system") or "", 200),
        workload=one_line(plan.get("workload") or "", 60),
        severity=worst.severity if worst else "",
        canary="" if failure else canary_outcome(plan, results),
    )


def _bare(files: RunFiles) -> RunRow:
    """Make the row of a run whose files cannot be read."""
    empty: dict[str, Any] = dict.fromkeys((field.name for field in fields(RunRow)), None)
    named = {
        "test": files.root.parent.name,
        "run": files.root.name,
        "started": _started(files, {}),
        "verdict": "unknown",
    }
    names = ("kind", "nemesis", "version", "seed", "timers", "settings", "system", "workload", "severity", "canary")
    texts = dict.fromkeys(names, "")
    known = {"sentence": "not readable", "never": 0, "violations": 0, "checks": (), "files": _present(files)}
    return RunRow(**{**empty, **named, **texts, **known})


def _at(record: Mapping[str, Any], *names: str) -> Any:
    found: Any = record
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _started(files: RunFiles, plan: Mapping[str, Any]) -> str:
    """Return the start in the directory's name, as ISO text; else the plan's."""
    name = files.root.name.partition("Z")[0]
    if len(name) >= 15 and name[:8].isdigit() and name[8] == "T":
        return f"{name[:4]}-{name[4:6]}-{name[6:8]}T{name[9:11]}:{name[11:13]}:{name[13:15]}Z"
    return one_line(plan.get("started", ""), 40)


def _unknown_check(results: Mapping[str, Any]) -> str:
    return next((str(c.get("name", "")) for c in results.get("checks", ()) if c.get("verdict") == "unknown"), "")


def _describe(results: Mapping[str, Any]) -> str:
    """Return the sentence, failed checks in front of "linearizable: yes", since a list shows only its beginning."""
    sentence = str(results.get("sentence") or "")
    worst = [violation.check for violation in violations_of(results)]
    failed = [check for check in results.get("checks", ()) if check.get("verdict") == "invalid"]
    checks = sorted(failed, key=lambda check: worst.index(str(check.get("name", ""))))
    checks += [check for check in results.get("checks", ()) if check.get("verdict") == "unknown"]
    if not checks or not sentence.startswith(FINE):
        return sentence
    wrong = [f"{check.get('name')}: {_no(check)}{check.get('seen')}" for check in checks]
    return "; ".join([*wrong, FINE])


def _no(check: Mapping[str, Any]) -> str:
    return "no, " if (check.get("name"), check.get("verdict")) == ("recovery", "invalid") else ""


def _main_seconds(state: Mapping[str, Any]) -> float | None:
    start, end = _whole(_at(state, "moments", "main")), _whole(_at(state, "moments", "main-end"))
    return round((end - start) / 1e9, 3) if start is not None and end is not None and end > start else None


def _length(state: Mapping[str, Any]) -> float | None:
    moments = [value for value in (state.get("moments") or {}).values() if _whole(value) is not None]
    return round(max(moments) / 1e9, 3) if moments else None


def _rate(results: Mapping[str, Any], main_s: float | None) -> float | None:
    kinds = _at(results, "counts", "phases", "main")
    if main_s is None or not isinstance(kinds, Mapping):
        return None
    return round(sum(_whole(_at(outcomes, "ok")) or 0 for outcomes in kinds.values()) / main_s, 2)


def _largest(faults: list[dict[str, Any]], name: str) -> float | None:
    values = [float(window[name]) for window in faults if _finite(window.get(name))]
    return round(max(values) / 1000, 4) if values else None


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


_OFFERED: Final = ("report.html", "summary.txt", "results.json", "junit.xml", "harness.log")


def _present(files: RunFiles) -> tuple[str, ...]:
    return tuple(name for name in _OFFERED if (files.root / name).is_file() and not (files.root / name).is_symlink())


_NAMES: Final = RunFiles(Path())
_STAMPED: Final = tuple(path.name for path in (_NAMES.plan, _NAMES.state, _NAMES.results, _NAMES.report))


def _stamp(files: RunFiles) -> list[int]:
    """List times and sizes of the files that a row is made of; zeros for missing ones."""
    stamp: list[int] = []
    root = os.fspath(files.root)
    for name in _STAMPED:
        try:
            found = os.stat(f"{root}/{name}")  # noqa: PTH116 (a Path for each costs more than the question)
            stamp += [found.st_mtime_ns, found.st_size]
        except OSError:
            stamp += [0, 0]
    return stamp


def _load(path: Path) -> dict[str, tuple[list[int], RunRow]]:
    """Load the index of an earlier call; empty if it cannot be read or is of another version."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["version"] != INDEX_VERSION:
            return {}
        return {place: (stamp, _from_json(row)) for place, (stamp, row) in record["runs"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _from_json(row: dict[str, Any]) -> RunRow:
    return RunRow(**{**row, "checks": tuple((n, v) for n, v in row["checks"]), "files": tuple(row["files"])})


def _save(path: Path, known: Mapping[str, tuple[list[int], RunRow]]) -> None:
    """Write the index whole or not at all; a store that cannot be written is no reason to fail."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    record = {"version": INDEX_VERSION, "runs": {place: [stamp, asdict(row)] for place, (stamp, row) in known.items()}}
    try:
        draft.write_text(json.dumps(record, separators=(",", ":")), encoding="utf-8")
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
