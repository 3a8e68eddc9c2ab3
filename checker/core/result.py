"""Results of engines: a verdict with its certificate, or how far an engine got."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from checker.core.calls import Call
from history import Counterexample, KeyVerdict, Verdict
from history.records.text import counted

LATE: Final = "the deadline passed"
_PACE: Final = 4096


@dataclass(frozen=True, slots=True)
class EngineResult:
    """The result of one engine for one object.

    - ``order``: the certificate of a valid verdict: a linearization of the calls (None if the engine keeps none).
    - ``cores``: small contradictory sub-histories, earliest first, at most a handful; ``violations`` counts all of
      them.
    - ``last``: the rank up to which the history is consistent; ``states`` describes the possible states at that moment.
    - ``reason``: why a verdict is unknown, and how far the engine got; also why an engine before this one did not
      decide.
    - ``kind``: an anomaly that the engine itself recognised.
    - ``further``: the ranks of violations after ``last``, found by continuing from an unknown state.
    - ``beyond``: violations without a core, each with its kind and the source of the call that completed it.
    - ``more``: further violations may exist that are not counted.
    """

    verdict: Verdict
    engine: str
    order: list[Call] | None = None
    cores: tuple[tuple[Call, ...], ...] = ()
    violations: int = 0
    last: int | None = None
    states: tuple[str, ...] = ()
    reason: str | None = None
    kind: str | None = None
    further: tuple[int, ...] = ()
    beyond: tuple[tuple[str, int], ...] = ()
    more: bool = False

    def after(self, other: EngineResult | None) -> EngineResult:
        """Put the reason why an earlier engine did not decide before this result's own."""
        if other is None or other.reason is None:
            return self
        before = f"the engine {other.engine} did not decide: {other.reason}"
        return replace(self, reason=f"{before}; {self.reason}" if self.reason else before)


def not_begun(engine: str, operations: int) -> EngineResult:
    """Return the result for a deadline that passed before the engine examined the first operation."""
    return EngineResult("unknown", engine, reason=f"{LATE}: 0 of {counted(operations, 'operation')} examined")


class OutOfTimeError(Exception):
    """Raised when the deadline passes in a loop over a history; ``decide`` turns it into an unknown result."""

    def __init__(self, engine: str, reason: str) -> None:
        super().__init__(reason)
        self.result = EngineResult("unknown", engine, reason=reason)


def _standing_still() -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of an engine: a deadline on ``clock`` (s; None: no deadline) and a memory limit.

    ``memory`` is in bytes; engines convert it to a number of entries by the size of one.  ``by_steps``: no engine looks
    at the clock, so the verdict does not depend on time.
    """

    clock: Callable[[], float]
    deadline: float | None = None
    memory: int = 2 << 30
    started: float = field(default=0.0)
    by_steps: bool = False

    def of_verdict(self) -> Limits:
        """Return the limits of an engine, as opposed to those of a counterexample."""
        return Limits(_standing_still, memory=self.memory) if self.by_steps else self

    def over(self) -> bool:
        return self.deadline is not None and self.clock() >= self.deadline

    def extended(self, at_least_s: float = 1.0) -> Limits:
        """Return limits that allow as much time as was used so far, at least ``at_least_s``, within the deadline."""
        now = self.clock()
        end = now + max(at_least_s, now - self.started)
        return replace(self, deadline=end if self.deadline is None else min(end, self.deadline))

    def paced(self, calls: Sequence[Call], engine: str) -> Iterator[Call]:
        """Yield the calls and check the clock every few thousand.  Raises OutOfTimeError."""
        if self.deadline is None:
            yield from calls
            return
        for place, call in enumerate(calls):
            if place % _PACE == 0 and self.over():
                raise OutOfTimeError(engine, f"{LATE}: {place} of {counted(len(calls), 'operation')} examined")
            yield call


@dataclass(frozen=True, slots=True)
class Report:
    """The verdict on a whole history: the worst of its keys, which are listed in the order of their first use."""

    verdict: Verdict
    keys: Sequence[KeyVerdict]

    @property
    def counterexamples(self) -> tuple[Counterexample, ...]:
        return tuple(example for key in self.keys for example in key.counterexamples)


class CertificateError(AssertionError):
    """Raised when the independent verifier rejects a certificate: a defect of the checker."""
