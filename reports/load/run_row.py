"""A run as a row, which the site lists, filters and compares, and ``harness ls`` prints.

Rows are made only from ``plan.json``, ``run.json`` and ``results.json``.
"""

from __future__ import annotations

import hashlib
import math
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

from history import RunFiles
from history.metrics.awake_clock import AwakeClock
from history.metrics.recovery import never_recovered
from history.recording import Recording
from history.records.caveats import is_least
from history.records.check_records import check_records
from history.records.finding import known_defects_in
from history.records.layout import start_of
from history.records.plans import faults_of, nemesis_name, system_version
from history.records.settings import machine_of, options_of, settings_of
from history.records.violations import (
    LINEARIZABLE,
    Violation,
    beside_planted_bug,
    checks_looking,
    counts_of,
    finding_name,
    headlines_of,
    listed_verdict,
    planted_bug_outcome,
    violations_of,
)
from history.safe_open import UnsafeFileError, require_plain
from reports.errors import Notes
from reports.load.cut_record import counts_cut
from reports.load.run import HARNESS_FAILURE, failure_of, tidy, verdict_of
from reports.load.staleness import STALE, is_stale
from reports.load.unjudged import unjudged
from reports.style.format import one_line


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run as a row of a list.  Times are in seconds, rates in operations per second; None if not recorded.

    ``verdict`` is valid, invalid, unknown or "harness failure". ``severity`` and ``kind`` describe the worst
    violation; without violations, ``kind`` names the unknown check or says why there is no verdict.
    ``planted_bug`` says whether a planted bug was found, and ``beside`` is the worst finding that the bug does not
    explain.

    ``recovery_s`` is the longest time until the rate was back after a fault, ``never`` counts the faults after
    which it never was, and ``gap_s`` is the longest time without an ok around any fault.  ``checks`` holds (name,
    verdict). ``settings`` is a digest of the settings that affect the figures.  ``machine`` is None if it is not
    recorded.  ``options`` are those of the run's system, as ``name=value``.

    ``least``: there may be more than the ``violations`` counted.  ``failure`` says what failed in the harness
    itself; a proven violation still makes the verdict invalid.  ``lost``: some check found that data was lost, also if
    a planted bug explains it.  ``defects`` are the known defects that left their fingerprints.
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
    options: str
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
    planted_bug: str = ""
    beside: str = ""
    least: bool = False
    failure: str = ""
    lost: bool = False
    defects: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.test}/{self.run}"

    @property
    def shown(self) -> str:
        """Verdict as lists show it, including whether a planted bug was found."""
        return listed_verdict(self.verdict, self.planted_bug, self.beside)

    @property
    def finding(self) -> str:
        """The finding in a few words: the worst violation, or why the run proves nothing."""
        return finding_name(self.severity, self.kind, self.planted_bug, self.beside)

    @property
    def system_name(self) -> str:
        """Name of the system under test; if a file describes it, the file's name without its folder."""
        return Path(self.system).stem

    @property
    def system_version(self) -> str:
        """Name and version of the system; the recorded version names all but the default system."""
        words = self.version.split()
        named = self.system_name in words[:1] or not self.system_name
        return self.version if named else f"{self.system_name} {self.version}".strip()

    @property
    def group(self) -> str:
        """Kind of finding by which runs are filtered; a planted bug does not count as a finding about the system."""
        if self.planted_bug:
            return f"planted bug {'not ' * (self.planted_bug == 'missed')}found{', and more' * bool(self.beside)}"
        return self.severity or self.kind

    @property
    def faults(self) -> list[str]:
        """Names of the run's faults, without their targets."""
        return list(_faults(self.nemesis))


@lru_cache(4096)
def _faults(nemesis: str) -> tuple[str, ...]:
    """Split the name of a nemesis into faults; cached, because thousands of runs share a few names."""
    return tuple(sorted(faults_of(nemesis)))


#: Put before the sentence of a run with a cut history, for which rate, gap and recovery are not given.
_CUT: Final = "(its history was cut: no rates) "


def row_of(run: RunFiles | Recording) -> RunRow:
    """Return the row of one run; a file that cannot be read counts as absent."""
    recording, notes = Recording.of(run), Notes()
    files, nothing = recording.files, dict[str, Any]()
    try:
        require_plain(files.root)
    except UnsafeFileError as error:
        return _bare(files, f"refused: {error}")
    plan, state, results = (
        notes.attempt(name, partial(getattr, recording, name), nothing) for name in ("plan", "state", "results")
    )
    return notes.attempt("row", lambda: _row(files, plan, state, tidy(results, notes)), None) or _bare(files)


def _row(files: RunFiles, plan: dict[str, Any], state: dict[str, Any], results: dict[str, Any]) -> RunRow:
    failure, missing = failure_of(files, state, results), unjudged(files, state, results)
    verdict = verdict_of(results, failure)
    broke = verdict == HARNESS_FAILURE
    described = failure if broke else missing.sentence if missing else ""
    faults = [window for window in results.get("windows", ()) if "fault" in window]
    operations = _whole(_at(results, "counts", "all"))
    main, length, cut = _main_seconds(state), _length(state), counts_cut(results, state)
    faults = [] if cut else faults  # their figures, like the rate, would describe the cut
    offered = _present(files)
    stale = f"({STALE}) " if files.report.name in offered and is_stale(files, results) else ""
    violations = violations_of(results, checks_looking(plan))
    worst = violations[0] if violations else None
    return RunRow(
        test=files.root.parent.name,
        run=files.root.name,
        started=_started(files, plan),
        verdict=verdict,
        kind=one_line(worst.kind if worst else missing.why if missing else "" if broke else _unknown(results), 60),
        sentence=stale + _CUT * cut + one_line(described or _describe(results, plan, violations), 400),
        nemesis=one_line(nemesis_name(plan), 120),
        version=one_line(system_version(plan), 60),
        seed=one_line(plan.get("seed", ""), 24),
        options=one_line(options_of(plan), 200),
        operations=operations,
        rate=None if cut else _rate(results, main),
        gap_s=_largest(faults, "longest_gap_ms"),
        recovery_s=_largest(faults, "recovered_ms"),
        never=sum(map(never_recovered, faults)),
        violations=sum(counts_of(results).values()),
        length_s=length,
        checks=tuple((one_line(c.get("name", ""), 40), str(c.get("verdict", ""))) for c in check_records(results)),
        files=offered,
        settings=hashlib.sha256(settings_of(plan).encode(errors="replace")).hexdigest()[:12],
        machine=machine_of(results),
        system=one_line(plan.get("system") or "", 200),
        workload=one_line(plan.get("workload") or "", 60),
        severity=worst.severity if worst else "",
        planted_bug="" if broke else planted_bug_outcome(plan, results),
        beside="" if broke else beside_planted_bug(plan, results),
        least=is_least(results),
        failure=one_line(failure or "", 400),
        lost=any(violation.severity == "data lost" for violation in violations),
        defects=tuple(sorted({one_line(defect.name, 60) for defect in known_defects_in(results)})),
    )


def _bare(files: RunFiles, sentence: str = "not readable") -> RunRow:
    """Return the row of a run whose files cannot be read."""
    empty: dict[str, Any] = dict.fromkeys((field.name for field in fields(RunRow)), None)
    named = {
        "test": files.root.parent.name,
        "run": files.root.name,
        "started": _started(files, {}),
        "verdict": "unknown",
    }
    names = ("kind", "nemesis", "version", "seed", "options", "settings", "system", "workload")
    texts = dict.fromkeys((*names, "severity", "planted_bug", "beside"), "")
    known: dict[str, Any] = {"sentence": one_line(sentence, 400), "checks": (), "files": _present(files)}
    nothing: dict[str, Any] = {"never": 0, "violations": 0, "lost": False, "defects": ()}
    return RunRow(**{**empty, **named, **texts, **known, **nothing})


def _at(record: Mapping[str, Any], *names: str) -> Any:
    field: Any = record
    for name in names:
        field = field.get(name) if isinstance(field, Mapping) else None
    return field


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def iso_start(start: datetime) -> str:
    """Return the start of a run as its row has it."""
    return f"{start:%Y-%m-%dT%H:%M:%SZ}"


def _started(files: RunFiles, plan: Mapping[str, Any]) -> str:
    """Return the start in the directory's name as ISO text, or else the plan's."""
    start = start_of(files.root.name)
    return iso_start(start) if start else one_line(plan.get("started", ""), 40)


def _unknown(results: Mapping[str, Any]) -> str:
    return next((str(c.get("name", "")) for c in check_records(results) if c.get("verdict") == "unknown"), "")


def _describe(results: Mapping[str, Any], plan: Mapping[str, Any], violations: Sequence[Violation]) -> str:
    """Return the recorded headlines, or else the sentence of the verdict.

    If other checks failed, they come before the checks that passed, because a list shows only the beginning.
    """
    if headlines := headlines_of(results, plan):
        failure = results.get("harness_failure")
        return " ".join([*headlines, *([f"The harness failed ({failure})."] if failure else [])])
    sentence = str(results.get("sentence") or "")
    worst = [violation.check for violation in violations]
    recorded = check_records(results)
    failed = [check for check in recorded if check.get("verdict") == "invalid"]
    checks = sorted(failed, key=lambda check: worst.index(str(check.get("name", ""))))
    checks += [check for check in recorded if check.get("verdict") == "unknown"]
    of_clients = next((check for check in recorded if check.get("name") in LINEARIZABLE), {})
    if not checks or plan.get("planted_bug") or of_clients.get("verdict") != "valid":
        return sentence
    wrong = [f"{check.get('name')}: {_no(check)}{check.get('seen')}" for check in checks]
    return "; ".join([*wrong, f"{of_clients['name']}: yes"])


def _no(check: Mapping[str, Any]) -> str:
    return "no, " if (check.get("name"), check.get("verdict")) == ("recovery", "invalid") else ""


def _main_seconds(state: Mapping[str, Any]) -> float | None:
    """Return the length of the main phase without the times when the harness was stalled."""
    start, end = _whole(_at(state, "moments", "main")), _whole(_at(state, "moments", "main-end"))
    if start is None or end is None or end <= start:
        return None
    return round((end - start - AwakeClock.recorded(state).slept(start, end)) / 1e9, 3) or None


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
    return tuple(name for name in _OFFERED if _is_own_file(f"{files.root}/{name}"))


def _is_own_file(path: str) -> bool:
    """Return whether the path is a regular file and not a symbolic link."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
