"""Compare two runs: plan, environment, verdict, checks, figures."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any, Final, TypeAlias

from history import RunFiles
from history.recording import Recording
from history.records.check_records import check_records
from reports.errors import Notes
from reports.load.run import tidy
from reports.load.run_row import RunRow, row_of
from reports.style.format import leaves, number, one_line, printable
from reports.text.parts import table

Pair: TypeAlias = tuple[Any, Any]

#: Fields of a plan that follow from others or only say how it was written.
_DERIVED: Final = frozenset({"format", "version_of_format", "test", "label", "command", "replay_command"})
#: Fields of a system in the results that only serve readers of its logs, indexes and checks.
_FOR_READERS: Final = frozenset({"log_words", "epoch_bits", "words", "promises"})
#: Limit of a value, in characters; long ones are wrapped.
_LIMIT: Final = 400


@dataclass(frozen=True, slots=True)
class Difference:
    """The values of two runs, by name; None if a run does not have one.

    ``figures`` holds all of them, equal or not; the other fields hold only differences.  ``checks`` are pairs of
    (verdict, seen). ``least``: whether there may be more violations than were counted.
    """

    plan: dict[str, Pair]
    environment: dict[str, Pair]
    outcome: dict[str, Pair]
    checks: dict[str, Pair]
    figures: dict[str, Pair]
    least: Pair = (False, False)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def difference(first: RunFiles, second: RunFiles) -> Difference:
    """Compare two runs by their plan, state and results; a file that cannot be read counts as empty."""
    side, other = _Side.read(Recording(first.root)), _Side.read(Recording(second.root))
    outcome = _changed(side.outcome, other.outcome)
    if side.outcome["verdict"] == other.outcome["verdict"] == "valid":
        outcome.pop("sentence", None)  # it counts operations, which differ from run to run
    return Difference(
        plan=_changed(side.plan, other.plan),
        environment=_changed(side.environment, other.environment),
        outcome=outcome,
        checks={
            name: pair
            for name, pair in _pairs(side.checks, other.checks).items()
            if _verdict(pair[0]) != _verdict(pair[1])
        },
        least=(side.least, other.least),
        figures={name: pair for name, pair in _pairs(side.figures, other.figures).items() if pair != (None, None)},
    )


def render_difference(diff: Difference, names: tuple[str, str], columns: int | None = None) -> str:
    """Format the difference as text, with a table for each part."""
    parts = [f"A  {printable(names[0])}\nB  {printable(names[1])}"]  # whole, so that they can be copied
    if not diff.outcome:
        parts.append("Outcome\nthe same")
    for title, pairs in (("Outcome", diff.outcome), ("Plan", diff.plan), ("Environment", diff.environment)):
        if pairs:
            parts.append(f"{title}\n{_beside(_rows(pairs), columns)}")
    if diff.checks:
        checks = {name: (_check(left), _check(other)) for name, (left, other) in diff.checks.items()}
        parts.append(f"Checks\n{_beside(_rows(checks), columns)}")
    figures = [("", "A", "B", "change"), *(_figure(name, pair, diff.least) for name, pair in diff.figures.items())]
    if len(figures) > 1:
        parts.append(f"Figures\n{table(figures, right=(1, 2, 3), columns=columns)}")
    return "\n\n".join(parts)


@dataclass(frozen=True, slots=True)
class _Side:
    """The values of one run in a comparison."""

    plan: dict[str, Any]
    environment: dict[str, Any]
    outcome: dict[str, Any]
    checks: dict[str, Any]
    figures: dict[str, Any]
    least: bool

    @classmethod
    def read(cls, run: Recording) -> _Side:
        notes, nothing = Notes(), dict[str, Any]()
        plan, state, results = (
            notes.attempt(name, partial(getattr, run, name), nothing) for name in ("plan", "state", "results")
        )
        results, row = tidy(results, notes), row_of(run)
        checks = {str(check.get("name")): (check.get("verdict"), check.get("seen")) for check in check_records(results)}
        kept = {name: value for name, value in plan.items() if name not in _DERIVED}
        recorded = results.get("environment") or {}
        environment = {name: value for name, value in recorded.items() if name not in _FOR_READERS}
        if isinstance(nodes := environment.get("nodes"), Mapping):
            environment["nodes"] = sorted(nodes)  # addresses differ between clusters
        return cls(
            plan=dict(leaves(kept)),
            environment=dict(leaves(environment)),
            outcome={"verdict": row.shown, "finding": row.finding, "sentence": row.sentence},
            checks=checks,
            figures=_figures(row, state.get("pace")),
            least=row.least,
        )


def _figures(row: RunRow, pace: Any) -> dict[str, Any]:
    """Return the figures of a run; latencies are those measured during the run."""
    measured = pace if isinstance(pace, Mapping) else {}
    latencies = ("service_p50_ms", "service_p99_ms", "response_p50_ms", "response_p99_ms")
    return {
        "operations": row.operations,
        "ok operations a second": row.rate,
        **{name.replace("_", " ").replace(" ms", " latency, ms"): measured.get(name) for name in latencies},
        "longest time without an ok, s": row.gap_s,
        "longest recovery, s": row.recovery_s,
        "faults without recovery": row.never,
        "violations": row.violations,
    }


def _pairs(fields: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Pair]:
    return {name: (fields.get(name), other.get(name)) for name in {**fields, **other}}


def _changed(fields: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Pair]:
    """Return the pairs that differ for a reader; a field missing in one run equals an empty one in the other."""
    pairs = _pairs(fields, other).items()
    return {name: pair for name, pair in pairs if pair[0] != pair[1] and _word(pair[0], None) != _word(pair[1], None)}


def _verdict(side: Any) -> Any:
    return side[0] if side is not None else None


def _check(side: Any) -> str:
    return "–" if side is None else f"{side[0]}: {side[1]}"


def _rows(pairs: Mapping[str, Pair]) -> list[tuple[str, str, str]]:
    return [("", "A", "B"), *((one_line(name, 40), _word(left), _word(other)) for name, (left, other) in pairs.items())]


def _beside(rows: Sequence[tuple[str, str, str]], columns: int | None) -> str:
    """Lay out names and two values in columns, wrapped if they do not fit into ``columns``."""
    name, *wanted = (max(map(len, column)) for column in zip(*rows, strict=True))
    if columns is None or name + sum(wanted) + 6 <= columns:
        return table(rows)
    name = min(name, columns // 3)
    room = max(columns - name - 6, 2)
    first = room - wanted[1] if wanted[1] < room // 2 else min(wanted[0], room // 2)
    widths = (name, first, room - first)
    lines: list[tuple[str, ...]] = []
    for row in rows:
        cells = (textwrap.wrap(cell, width, break_on_hyphens=False) for cell, width in zip(row, widths, strict=True))
        lines += zip_longest(*cells, fillvalue="")
    return table(lines)


def _word(value: Any, limit: int | None = _LIMIT) -> str:
    """Show a value in at most ``limit`` characters; if it is None, show all of it, to compare values."""
    if limit is not None and isinstance(value, list) and any(isinstance(step, Mapping) for step in value):
        return f"{len(value)} steps"
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else "" if value is None else str(value)
    return one_line(text or "none", len(text) + 4 if limit is None else limit)


def _figure(name: str, pair: Pair, least: Pair) -> tuple[str, str, str, str]:
    left, other = pair
    some = ["at least " if name == "violations" and more else "" for more in least]
    change = ""
    if all(isinstance(value, int | float) for value in pair) and left and left != other:
        change = f"{100 * (other - left) / left:+.0f} %"
    return name, some[0] + number(left), some[1] + number(other), change
