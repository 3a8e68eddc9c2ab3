"""Regressions: figures or verdicts that became worse from some run on, and whether they still are.

Runs are compared within a *series*: the same system version, faults, workload, settings and machine.  A change in any
of these starts a new series.  In each series, every figure is checked for a lasting change for the worse
(``history.metrics.change_points``, which states the rate of false alarms).  A regression is *open* from the run that
showed it until five runs in a row are back on the good side of the midpoint between the medians before and since.  It
also ends when somebody acknowledges the new level with a *baseline*, which names the first run to compare later runs
with.

An invalid verdict is a regression if at least five runs precede it and none of the last ten was invalid.  Five valid
runs in a row close it.  Runs with an unknown verdict prove neither and are ignored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from history.metrics.change_points import RECOVERED, rises

VERDICT: Final = "verdict"
#: For each figure, the sign of a change for the worse and the smallest change that matters.
FIGURES: Final[Mapping[str, tuple[int, float]]] = {
    "rate": (-1, 1.0),
    "unavailable_s": (1, 0.5),
    "recovery_ms": (1, 100.0),
    "p99_ms": (1, 1.0),
}
#: Name at most this many runs on each side of a change.
MAX_NAMED: Final = 10
_CLEAN, _LEAST_CLEAN = 10, 5


@dataclass(frozen=True, slots=True)
class Measured:
    """A run with its figures.  A figure is None if the run lacks it, and infinity if it stands for *never*."""

    run: str
    series: str
    verdict: str
    figures: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A level that somebody accepted from a run on, for one figure (or ``verdict``) or for all."""

    run: str
    figure: str | None = None


@dataclass(frozen=True, slots=True)
class Regression:
    """A lasting change for the worse of one figure or of the verdict.

    ``onset`` is the first worse run, ``found`` the run that showed it, and ``closed`` the run that closed it (None
    while open). ``before`` and ``since`` are the last runs before ``onset`` and the last ones from there on, each with
    its figure or verdict; each names at most :data:`MAX_NAMED` runs.  A figure of infinity (never) is None here.
    """

    figure: str
    series: str
    onset: str
    found: str
    closed: str | None
    median_before: float | None
    median_since: float | None
    before: tuple[tuple[str, float | str | None], ...]
    since: tuple[tuple[str, float | str | None], ...]

    def __str__(self) -> str:
        """Return one line of text with the figure, its medians, and the runs."""
        medians = f"{_text(self.median_before)} -> {_text(self.median_since)}"
        state = "open" if self.closed is None else f"closed by {self.closed}"
        return f"{self.figure} {'invalid' if self.figure == VERDICT else medians} since {self.onset}, {state}"

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def read_regressions(text: str) -> list[Regression]:
    """Parse the regressions, open and closed, in a row of the table ``trends``.  Raises ValueError."""
    return msgspec.convert(json.loads(text), list[Regression])


def open_regressions(text: str) -> list[Regression]:
    """Parse the regressions as :func:`read_regressions` does, and return only the open ones."""
    return [regression for regression in read_regressions(text) if regression.closed is None]


def find_regressions(runs: Iterable[Measured], baselines: Sequence[Baseline] = ()) -> list[Regression]:
    """Find all regressions, open and closed, in runs that are sorted by time.  Returns them series by series."""
    series: dict[str, list[Measured]] = {}
    for run in runs:
        series.setdefault(run.series, []).append(run)
    return [regression for members in series.values() for regression in _of_series(members, baselines)]


def _of_series(runs: Sequence[Measured], baselines: Sequence[Baseline]) -> Iterator[Regression]:
    for name, (worse, floor) in FIGURES.items():
        measured = [
            (run, value) for run in _since(runs, baselines, name) if (value := run.figures.get(name)) is not None
        ]
        values = [value for _, value in measured]
        shown = [(run.run, value if math.isfinite(value) else None) for run, value in measured]
        for change in rises([worse * value for value in values], floor):
            medians = (_finite(worse * change.before), _finite(worse * change.since))
            yield _regression(name, runs[0].series, shown, (change.onset, change.found, change.closed), medians)
    judged = [run for run in _since(runs, baselines, VERDICT) if run.verdict in ("valid", "invalid")]
    verdicts = [(run.run, run.verdict) for run in judged]
    for places in _turned_invalid([run.verdict for run in judged]):
        yield _regression(VERDICT, runs[0].series, verdicts, places, (None, None))


def _since(runs: Sequence[Measured], baselines: Sequence[Baseline], figure: str) -> Sequence[Measured]:
    """Return the runs from the last baseline of this figure on."""
    starts = {baseline.run for baseline in baselines if baseline.figure in (None, figure)}
    return runs[max((place for place, run in enumerate(runs) if run.run in starts), default=0) :]


def _turned_invalid(verdicts: Sequence[str]) -> Iterator[tuple[int, int, int | None]]:
    onset, back = None, 0
    for place, verdict in enumerate(verdicts):
        if onset is None:
            before = verdicts[max(place - _CLEAN, 0) : place]
            if verdict == "invalid" and len(before) >= _LEAST_CLEAN and "invalid" not in before:
                onset, back = place, 0
            continue
        back = 0 if verdict == "invalid" else back + 1
        if back == RECOVERED:
            yield onset, onset, place
            onset = None
    if onset is not None:
        yield onset, onset, None


def _regression(
    figure: str,
    series: str,
    values: Sequence[tuple[str, float | str | None]],
    places: tuple[int, int, int | None],
    medians: tuple[float | None, float | None],
) -> Regression:
    onset, detected, closed = places
    end = len(values) if closed is None else closed + 1
    return Regression(
        figure, series, values[onset][0], values[detected][0], None if closed is None else values[closed][0], *medians,
        before=tuple(values[max(onset - MAX_NAMED, 0) : onset]), since=tuple(values[max(onset, end - MAX_NAMED) : end]),
    )  # fmt: skip


def _text(value: float | None) -> str:
    return "never" if value is None else f"{value:.4g}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
