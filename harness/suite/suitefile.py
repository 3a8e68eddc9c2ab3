"""The suite file: matrices in TOML, read strictly.

::

    description = "what it is for"
    budget = "2h50m"              # no cell is begun that would end after this; none: no limit
    retries = 1                   # of harness failures, for each cell; nothing else is ever tried again
    on_failure = "continue"       # or "stop" at the first cell that is not as expected
    defects = "defects/dledger.toml"      # what ``known`` names (see ``harness.suite.known_defects``), a file beside
    this one

    [defaults]                    # options of every cell, named as in plan.json
    time_limit = 20

    [[matrix]]
    name = "control"              # goes before the cells' names; may be left out
    nemesis = ["bridge", "kill-leader+packet-loss", "hammer-time,bridge"]     # a list is an axis of the matrix
    version = ["0.3.2", "0.4.0"]
    snapshot = [false, true]
    seed = [1, 2]                 # none: one drawn from the suite's seed for each cell
    repeat = 2                    # so many cells of each
    expect = "valid"              # "invalid", or a list of verdicts for what shows now and then
    kinds = ["stale-read"]        # which violations, of a planted bug
    known = ["never-catches-up"]  # which known defects, by their marks; one of the two where invalid is expected
    why = "docs/findings.md"
    exclude = [{version = "0.3.2", snapshot = true}]
    schedule = "scenarios/x.toml" # in place of nemesis: a script of faults, looked for beside this file

    [[matrix.override]]           # for the cells that it fits; later ones win
    where = {version = "0.4.0", nemesis = ["bridge"]}
    expect = "invalid"
    known = ["never-catches-up"]
    interval = 8
    skip = "why these are not run"

Whatever is wrong is a UsageError that names file, matrix, key and mend, before anything is started.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, cast

from harness.errors import UsageError
from harness.execution.faults import Faults, scripted
from harness.options import checked, option_types, require_known
from harness.plan import Plan, validate
from harness.suite.cells import Cell, seed_of
from harness.suite.expectation import Expectation
from harness.suite.known_defects import Defect, read_defects
from history.toml_file import read_toml

#: The others are the suite's to decide: all its cells share a cluster, and a seed has an axis of its own.
_OPTIONS: Final = option_types().keys() - {"seed", "cluster", "spark_master"}
_TOP: Final = ("description", "budget", "retries", "on_failure", "defects", "defaults", "matrix")
_EXPECTING: Final = ("expect", "kinds", "known", "why", "skip")
_OF_MATRIX: Final = ("name", "seed", "repeat", "schedule", "exclude", "override", *_EXPECTING)
_VERDICTS: Final = ("valid", "invalid", "unknown")
_MOST_RETRIES: Final = 5
_LENGTH: Final = re.compile(r"(?=\d)(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")

OnFailure = Literal["continue", "stop"]
Wanted = Callable[[Plan], bool]


@dataclass(frozen=True, slots=True)
class Suite:
    """A file that was read and can be run.  ``budget_s`` is in seconds."""

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
        """The wanted cells in the order of the file, with ``changes`` over whatever the file says of them.

        Raises UsageError for a plan among them that cannot be run.
        """
        found: list[Cell] = []
        for number, table in enumerate(self.tables, 1):
            where = f"{self.path}: {_title(table, number)}"
            found += _Matrix(table, self.defaults, where, self.path.parent, self.defects).cells(
                seed, cluster, changes or {}, wanted or _everything
            )
        names: set[str] = set()
        for cell in found:
            if cell.name in names:
                raise UsageError(f"{self.path}: the cell {cell.name} comes twice; give one of its matrices a name")
            names.add(cell.name)
        if len({cell.plan.nodes for cell in found}) > 1:
            raise UsageError(f"{self.path}: all cells share one cluster, so nodes must be the same in all of them")
        return found


def read_suite(path: Path) -> Suite:
    """Raises UsageError."""
    try:
        record = read_toml(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give a suite file, such as suites/smoke.toml") from None
    except ValueError as error:
        raise UsageError(f"{path}: not a suite file: {error}") from None
    require_known(record, _TOP, str(path))
    on_failure = record.get("on_failure", "continue")
    if on_failure not in ("continue", "stop"):
        raise UsageError(f"{path}: on_failure must be 'continue' or 'stop', not {on_failure!r}")
    suite = Suite(
        name=path.stem,
        path=path,
        description=_text(record, "description", str(path)),
        budget_s=length_s(record["budget"], f"{path}: budget") if "budget" in record else None,
        retries=_number(record, "retries", 1, (0, _MOST_RETRIES), str(path)),
        on_failure=cast("OnFailure", on_failure),
        tables=_matrices(record, path),
        defaults=_options(_table(record.get("defaults", {}), f"{path}: defaults"), f"{path}: defaults"),
        defects=read_defects(path.parent / name) if (name := _text(record, "defects", str(path))) else {},
    )
    suite.cells(0, "netns")
    return suite


def length_s(value: Any, where: str) -> float:
    """Seconds of a length such as ``2h50m`` or ``90s``.  Raises UsageError."""
    found = _LENGTH.fullmatch(value) if isinstance(value, str) else None
    hours, minutes, seconds = (int(part or 0) for part in found.groups()) if found else (0, 0, 0)
    total = 3600 * hours + 60 * minutes + seconds
    if total <= 0:
        raise UsageError(f"{where} must be a length of time such as '2h50m', '90m' or '100s', not {value!r}")
    return float(total)


def _everything(_: Plan) -> bool:
    return True


# -- a matrix ---------------------------------------------------------------------------------------------------------


class _Matrix:
    """One ``[[matrix]]``."""

    def __init__(
        self, table: dict[str, Any], defaults: dict[str, Any], where: str, folder: Path, defects: Mapping[str, Defect]
    ) -> None:
        self._where = where
        self._defects = defects
        require_known(table, {*_OPTIONS, *_OF_MATRIX}, where)
        self._axes = self._read_axes(table, defaults)
        self._repeat = _number(table, "repeat", 1, (1, 1000), where)
        self._seeds = _seeds(table, where)
        self._expected = _expecting(table, where)
        self._prefix = f"{name}: " if (name := _text(table, "name", where)) else ""
        self._script = str((folder / name).resolve()) if (name := _text(table, "schedule", where)) else ""
        if self._script and "nemesis" in self._axes:
            raise UsageError(f"{where}: nemesis and schedule exclude each other: the script names the faults")
        self._excluded = [_Condition(one, f"{where}: exclude") for one in _tables(table, "exclude", where)]
        self._overrides = [
            _Override(one, f"{where}: override {number}")
            for number, one in enumerate(_tables(table, "override", where), 1)
        ]

    def _read_axes(self, table: dict[str, Any], defaults: dict[str, Any]) -> dict[str, list[Any]]:
        axes = {name: [value] for name, value in defaults.items()}
        for name in table.keys() & _OPTIONS:
            values = table[name] if isinstance(table[name], list) else [table[name]]
            if not values:
                raise UsageError(f"{self._where}: {name} is an empty list: that is a matrix without a cell")
            axes[name] = [checked(name, value, self._where) for value in values]
        # In the order of the file: the last axis changes fastest.
        written = [name for name in table if name in axes]
        return {name: axes[name] for name in [*(name for name in axes if name not in written), *written]}

    def cells(self, suite_seed: int, cluster: str, changes: Mapping[str, Any], wanted: Wanted) -> list[Cell]:
        found: list[Cell] = []
        left = 0
        for values in itertools.product(*self._axes.values()):
            options = dict(zip(self._axes, values, strict=True))
            if not any(condition.fits(options) for condition in self._excluded):
                left += 1
                found += self._of(options, suite_seed, cluster, changes, wanted)
        if not left:
            raise UsageError(f"{self._where}: everything is excluded: that is a matrix without a cell")
        for rule in (*self._excluded, *self._overrides):
            rule.require_used()
        return found

    def _of(
        self, options: dict[str, Any], suite_seed: int, cluster: str, changes: Mapping[str, Any], wanted: Wanted
    ) -> Iterator[Cell]:
        expecting, own = self._expected, dict(options)
        for override in self._overrides:
            if override.fits(options):
                expecting = {**expecting, **override.expecting}
                own |= override.options
        own |= changes
        expected = _expectation(expecting, self._defects, self._where)
        skip = expecting.get("skip", "")
        base, skip = self._scripted(Plan(seed=0, cluster=cluster, **own), skip, changes)
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
        """The plan with the faults of its script, and why it is not run: runs were asked for that are too short."""
        if not self._script:
            return plan, skip
        try:
            return scripted(plan, Path(self._script)), skip
        except UsageError as error:
            if "time_limit" not in changes:
                raise UsageError(f"{self._where}: {error}") from None
            return plan, skip or f"does not fit: {error}"

    def _name(self, plan: Plan, options: dict[str, Any]) -> str:
        """The test's name, and whatever else tells the cells of this matrix apart."""
        told = {"workload", "nemesis", "version", "snapshot", "canary", "unsafe_test_mode"}
        more = [f"{key} {options[key]}" for key, values in self._axes.items() if len(values) > 1 and key not in told]
        return self._prefix + " ".join([plan.test, *more])


class _Condition:
    """A table of options and the values that they must have."""

    def __init__(self, table: dict[str, Any], where: str) -> None:
        self._where, self._used = where, False
        require_known(table, _OPTIONS, where)
        if not table:
            raise UsageError(f"{where}: names no option: give at least one, such as {{version = '0.4.0'}}")
        self._wanted = {
            name: [checked(name, one, where) for one in (value if isinstance(value, list) else [value])]
            for name, value in table.items()
        }

    def fits(self, options: Mapping[str, Any]) -> bool:
        defaults = Plan(seed=0)
        fits = all(options.get(name, getattr(defaults, name)) in values for name, values in self._wanted.items())
        self._used = self._used or fits
        return fits

    def require_used(self) -> None:
        """Raises UsageError for a condition that no cell met: it is a slip of the pen."""
        if not self._used:
            raise UsageError(f"{self._where}: fits no cell of its matrix; look at the values, or take it out")


class _Override(_Condition):
    """``where`` and what is different there."""

    def __init__(self, table: dict[str, Any], where: str) -> None:
        require_known(table, {*_OPTIONS, "where", *_EXPECTING}, where)
        super().__init__(_table(table.get("where", {}), f"{where}: where"), f"{where}: where")
        self.options = _options({k: v for k, v in table.items() if k in _OPTIONS}, where)
        self.expecting = _expecting(table, where)


# -- values -----------------------------------------------------------------------------------------------------------


def _expecting(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "expect" in table:
        found["expect"] = _texts(table, "expect", where)
        require_known(found["expect"], _VERDICTS, f"{where}: expect")
        if found["expect"] == ["unknown"]:
            raise UsageError(
                f"{where}: expect = 'unknown' alone is a cell that proves nothing: take it out, or skip it"
            )
    for name in ("kinds", "known"):
        if name in table:
            found[name] = _texts(table, name, where)
    for name in ("why", "skip"):
        if name in table:
            found[name] = _text(table, name, where)
    return found


def _expectation(expecting: Mapping[str, Any], defects: Mapping[str, Defect], where: str) -> Expectation:
    verdicts, kinds, known = expecting.get("expect", ["valid"]), expecting.get("kinds", []), expecting.get("known", [])
    require_known(known, defects, f"{where}: known")
    if "invalid" not in verdicts:
        return Expectation(tuple(verdicts), (), expecting.get("why", ""))
    if not kinds and not known:
        raise UsageError(
            f"{where}: expect has 'invalid': name the known defects in known, or a planted bug's violations in kinds, "
            "or any other would pass as well"
        )
    found = tuple(defects[name] for name in known)
    why = expecting.get("why") or "; ".join(dict.fromkeys(defect.why for defect in found if defect.why))
    return Expectation(tuple(verdicts), tuple(kinds), why, found)


def _options(table: dict[str, Any], where: str) -> dict[str, Any]:
    require_known(table, _OPTIONS, where)
    return {name: checked(name, value, where) for name, value in table.items()}


def _seeds(table: Mapping[str, Any], where: str) -> list[int]:
    if "seed" not in table:
        return []
    seeds = table["seed"] if isinstance(table["seed"], list) else [table["seed"]]
    if not seeds or not all(type(seed) is int and seed >= 0 for seed in seeds):
        raise UsageError(f"{where}: seed must be a whole number from 0 on, or a list of them, not {table['seed']!r}")
    return seeds


def _matrices(record: Mapping[str, Any], path: Path) -> tuple[dict[str, Any], ...]:
    tables = _tables(record, "matrix", str(path))
    if not tables:
        raise UsageError(f"{path}: there is no [[matrix]], so there is nothing to run")
    return tuple(tables)


def _tables(record: Mapping[str, Any], name: str, where: str) -> list[dict[str, Any]]:
    value = record.get(name, [])
    if not isinstance(value, list):
        raise UsageError(f"{where}: {name} must be a list of tables, not {value!r}")
    return [_table(one, f"{where}: {name}") for one in value]


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: must be a table, not {value!r}")
    return value


def _text(record: Mapping[str, Any], name: str, where: str) -> str:
    value = record.get(name, "")
    if not isinstance(value, str):
        raise UsageError(f"{where}: {name} must be a text, not {value!r}")
    return value


def _texts(record: Mapping[str, Any], name: str, where: str) -> list[str]:
    value = record[name] if isinstance(record[name], list) else [record[name]]
    if not value or not all(isinstance(one, str) and one for one in value):
        raise UsageError(f"{where}: {name} must be a text or a list of texts, not {record[name]!r}")
    return value


def _number(record: Mapping[str, Any], name: str, default: int, limits: tuple[int, int], where: str) -> int:
    value = record.get(name, default)
    if type(value) is not int or not limits[0] <= value <= limits[1]:
        raise UsageError(f"{where}: {name} must be a whole number from {limits[0]} to {limits[1]}, not {value!r}")
    return value


def _title(table: Mapping[str, Any], number: int) -> str:
    name = table.get("name")
    return f"matrix {number} ({name})" if isinstance(name, str) and name else f"matrix {number}"
