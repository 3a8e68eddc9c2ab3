"""The suite file: matrices in TOML, checked strictly.

::

    description = "what it is for"
    budget = "2h50m"              # start no cell that would end after this; default: no limit
    retries = 1                   # for each cell, after harness failures only
    on_failure = "continue"       # or "stop" at the first cell that is not as expected
    defects = "defects/raft.toml"         # one or more files beside this one, with the defects that ``known`` names
                                          # (see ``harness.judge.known_defects``)

    [defaults]                    # options of every cell, named as in plan.json
    time_limit = 20

    [[matrix]]
    name = "control"              # optional prefix of the cells' names
    nemesis = ["bridge", "kill-leader+packet-loss", "hammer-time,bridge"]     # a list is an axis of the matrix
    version = ["0.3.2", "0.4.0"]
    snapshot = [false, true]
    seed = [1, 2]                 # default: for each cell, one drawn from the suite's seed
    repeat = 2                    # how many cells of each combination
    expect = "valid"              # or "invalid", or a list of verdicts if a violation shows only sometimes
    kinds = ["stale-read"]        # the violations of a planted bug
    known = ["never-catches-up"]  # known defects, by their marks; "invalid" needs kinds or known
    why = "docs/findings.md"
    exclude = [{version = "0.3.2", snapshot = true}]
    spark = true                  # judge through Spark; false: without it; default: by the size of the history
    schedule = "scenarios/x.toml" # instead of nemesis: a fault script, looked up beside this file

    [[matrix.override]]           # for the cells that match ``where``; later overrides win
    where = {version = "0.4.0", nemesis = ["bridge"]}
    expect = "invalid"
    known = ["never-catches-up"]
    interval = 8
    skip = "why these cells are not run"

Any mistake raises UsageError before anything is started; it names the file, the matrix, the key and how to fix it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import to_builtins

from harness.errors import UsageError
from harness.execution.faults import Faults
from harness.execution.schedules import scripted
from harness.judge.known_defects import Defect, read_defects
from harness.options import turns
from harness.plan import FIELDS, Plan, validate
from harness.spark_choice import choose
from harness.suite.cells import Cell, likely_bytes, seed_of
from harness.suite.expectation import Expectation
from harness.suite.file_types import LENGTH, LENGTH_WORDS, OPTIONS, SUITE
from history.schema import convert, hint
from history.toml_file import read_toml

_LENGTH: Final = re.compile(LENGTH)

OnFailure = Literal["continue", "stop"]
Wanted = Callable[[Plan], bool]


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite file that was read and can be run.  ``budget_s`` is in seconds."""

    name: str
    path: Path
    description: str
    budget_s: float | None
    retries: int
    on_failure: OnFailure
    tables: tuple[dict[str, Any], ...]
    defaults: dict[str, Any]
    defects: Mapping[str, Defect]

    def cells(
        self, seed: int, cluster: str, changes: Mapping[str, Any] | None = None, wanted: Wanted | None = None
    ) -> list[Cell]:
        """Return the selected cells in the order of the file; ``changes`` override what the file says.

        Raises UsageError if the plan of any of them cannot be run.
        """
        selected: list[Cell] = []
        for number, table in enumerate(self.tables):
            where = f"{self.path}: matrix[{number}]"
            selected += _Matrix(table, self.defaults, where, self.path.parent, self.defects).cells(
                seed, cluster, changes or {}, wanted or (lambda _: True)
            )
        names: set[str] = set()
        for cell in selected:
            if cell.name in names:
                raise UsageError(f"{self.path}: the cell {cell.name} appears twice; give one of its matrices a name")
            names.add(cell.name)
        if len({cell.plan.nodes for cell in selected}) > 1:
            raise UsageError(f"{self.path}: all cells share one cluster, so nodes must be the same in all of them")
        return selected


def read_suite(path: Path) -> Suite:
    """Read a suite file.  Raises UsageError that names the file."""
    try:
        record = read_toml(path)
        content = to_builtins(convert(record, SUITE))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give a suite file, or a name from `harness list suites`") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    suite = Suite(
        name=path.stem,
        path=path,
        description=content.get("description", ""),
        budget_s=length_s(content["budget"], f"{path}: budget") if "budget" in content else None,
        retries=content.get("retries", 1),
        on_failure=content.get("on_failure", "continue"),
        # In the order of the file: the last axis changes fastest.
        tables=tuple(
            {key: new[key] for key in old} for new, old in zip(content["matrix"], record["matrix"], strict=True)
        ),
        defaults=_options(content.get("defaults", {})),
        defects={
            name: defect
            for file in _listed(content.get("defects", []))
            for name, defect in read_defects(path.parent / file).items()
        },
    )
    suite.cells(0, "netns")
    return suite


def length_s(value: str, where: str) -> float:
    """Convert a length such as ``2h50m`` or ``90s`` to seconds.  Raises UsageError."""
    match = _LENGTH.fullmatch(value)
    hours, minutes, seconds = (int(part or 0) for part in match.groups()) if match else (0, 0, 0)
    total = 3600 * hours + 60 * minutes + seconds
    if total <= 0:
        raise UsageError(f"{where} must be {LENGTH_WORDS}, not {value!r}")
    return float(total)


# -- a matrix ---------------------------------------------------------------------------------------------------------


class _Matrix:
    """One ``[[matrix]]`` table."""

    def __init__(
        self, table: dict[str, Any], defaults: dict[str, Any], where: str, folder: Path, defects: Mapping[str, Defect]
    ) -> None:
        self._where = where
        self._defects = defects
        # The axes of the defaults come first, then those of the matrix.
        self._axes = {name: [value] for name, value in defaults.items() if name not in table}
        self._axes |= {name: _values(name, value) for name, value in table.items() if name in OPTIONS}
        self._repeat: int = table.get("repeat", 1)
        self._seeds: list[int] = _listed(table.get("seed", []))
        self._expected = table
        self._prefix = f"{table['name']}: " if table.get("name") else ""
        self._script = str((folder / table["schedule"]).resolve()) if table.get("schedule") else ""
        if self._script and "nemesis" in self._axes:
            raise UsageError(f"{where}: nemesis and schedule cannot be combined: the schedule already names the faults")
        self._excluded = [
            _Condition(rule, f"{where}.exclude[{number}]") for number, rule in enumerate(table.get("exclude", ()))
        ]
        self._overrides = [
            (_Condition(override["where"], f"{where}.override[{number}].where"), override)
            for number, override in enumerate(table.get("override", ()))
        ]
        if any(_listed(part.get("expect")) == ["unknown"] for part in (table, *(own for _, own in self._overrides))):
            raise UsageError(f"{where}: a cell that expects only 'unknown' proves nothing: remove it, or skip it")

    def cells(self, suite_seed: int, cluster: str, changes: Mapping[str, Any], wanted: Wanted) -> list[Cell]:
        selected: list[Cell] = []
        left = 0
        for values in itertools.product(*self._axes.values()):
            options = dict(zip(self._axes, values, strict=True))
            if not any(condition.fits(options) for condition in self._excluded):
                left += 1
                selected += self._of(options, suite_seed, cluster, changes, wanted)
        if not left:
            raise UsageError(f"{self._where}: the matrix has no cell, because all are excluded")
        for rule in (*self._excluded, *(where for where, _ in self._overrides)):
            rule.require_used()
        return selected

    def _of(
        self, options: dict[str, Any], suite_seed: int, cluster: str, changes: Mapping[str, Any], wanted: Wanted
    ) -> Iterator[Cell]:
        expecting, own = self._expected, dict(options)
        for where, override in self._overrides:
            if where.fits(options):
                expecting = {**expecting, **override}
                own |= _options(override)
        own |= changes
        expected = _expectation(expecting, self._defects, self._where)
        skip = expecting.get("skip", "")
        base, skip = self._scripted(_plan(own, cluster), skip, changes)
        name = self._name(base, options)
        seeds: list[int | None] = [*self._seeds] or [None]
        for number, seed in itertools.product(range(1, self._repeat + 1), seeds):
            full = name + (f" seed {seed}" if len(self._seeds) > 1 else "") + (f" #{number}" if number > 1 else "")
            drawn = seed_of(suite_seed, full) if seed is None else seed + (number - 1) * 1_000_003
            plan = replace(base, seed=drawn)
            if not wanted(plan):
                continue
            try:
                if not skip:
                    validate(plan)
                    Faults(plan)
            except UsageError as error:
                raise UsageError(f"{self._where}: cell {full}: {error}") from None
            yield Cell(full, plan, expected, skip, self._script)

    def _scripted(self, plan: Plan, skip: str, changes: Mapping[str, Any]) -> tuple[Plan, str]:
        """Return the plan with the faults of its script, and the reason if the cell must be skipped.

        A cell is skipped if its script does not fit a run length that was forced on the command line.
        """
        if not self._script:
            return plan, skip
        try:
            return scripted(plan, Path(self._script)), skip
        except UsageError as error:
            if "time_limit" not in changes:
                raise UsageError(f"{self._where}: {error}") from None
            return plan, skip or f"does not fit: {error}"

    def _name(self, plan: Plan, options: dict[str, Any]) -> str:
        """Return the name of the test, followed by the settings in which the cells of this matrix differ."""
        marks = (option.name for option in plan.under_test.options if option.marks_runs)
        shown = {"workload", "nemesis", "system", "version", "planted_bug", "unsafe_test_mode", *marks}
        more = [f"{key} {options[key]}" for key, values in self._axes.items() if len(values) > 1 and key not in shown]
        return self._prefix + " ".join([plan.test, *more])


def _plan(options: Mapping[str, Any], cluster: str) -> Plan:
    """Return the plan with these options.  If they do not decide on Spark, the likely size of the history does."""
    plan = Plan.of({"seed": 0, "cluster": cluster, **options})
    return plan if "spark" in options else replace(plan, spark=choose([likely_bytes(plan)]).spark)


class _Condition:
    """Required values for some options, as in ``where`` and ``exclude``."""

    def __init__(self, table: dict[str, Any], where: str) -> None:
        self._where, self._used = where, False
        if not table:
            raise UsageError(f"{where}: names no option: give at least one, such as {{version = '0.4.0'}}")
        self._wanted = {name: _values(name, value) for name, value in table.items()}

    def fits(self, options: Mapping[str, Any]) -> bool:
        plan = Plan.of({"seed": 0, **options})
        known = {**{name: getattr(plan, name) for name in FIELDS}, **plan.options}
        fits = all(known.get(name) in values for name, values in self._wanted.items())
        self._used = self._used or fits
        return fits

    def require_used(self) -> None:
        """Check that some cell met the condition; otherwise it is probably a typo.  Raises UsageError."""
        if not self._used:
            raise UsageError(f"{self._where}: matches no cell of its matrix; check its values, or remove it")


def _expectation(expecting: Mapping[str, Any], defects: Mapping[str, Defect], where: str) -> Expectation:
    verdicts, kinds, known = (_listed(expecting.get(key, [])) for key in ("expect", "kinds", "known"))
    for name in known:
        if name not in defects:
            raise UsageError(f"{where}.known: there is no defect {name!r}; {hint(name, defects)}")
    if "invalid" not in verdicts:
        return Expectation(tuple(verdicts) or ("valid",), (), expecting.get("why", ""))
    if not kinds and not known:
        raise UsageError(
            f"{where}.expect has 'invalid': name the known defects in known, or a planted bug's violations in kinds, "
            f"otherwise any violation would pass"
        )
    known_defects = tuple(defects[name] for name in known)
    why = expecting.get("why") or "; ".join(dict.fromkeys(defect.why for defect in known_defects if defect.why))
    return Expectation(tuple(verdicts), tuple(kinds), why, known_defects)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _values(name: str, value: Any) -> list[Any]:
    """Return the values of one axis, or of one option in a condition."""
    return [turns(choice) if name == "nemesis" else choice for choice in _listed(value)]


def _options(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan options that a table sets."""
    return {name: _values(name, value)[0] for name, value in table.items() if name in OPTIONS}
