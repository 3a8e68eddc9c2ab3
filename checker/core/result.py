"""Results of engines: a verdict with its certificate, or how far the engine came."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from checker.core.calls import Call
from history import Counterexample, KeyVerdict, Verdict
from history.records.text import counted

LATE: Final = "the deadline passed"
LOADING: Final = f"{LATE} while code was compiled or loaded, which happens once (checker.warm() does it beforehand)"
_PACE: Final = 4096


@dataclass(frozen=True, slots=True)
class EngineResult:
    """The result of one engine for one object.

    ``order`` is the certificate of a valid verdict: a linearization of the calls (None if the engine keeps none).
    ``cores`` are small sub-histories that contradict themselves, earliest first, at most a handful; ``violations``
    counts all of them.  ``last`` is the rank up to which the history was found to be consistent, ``states`` what the
    object could be at that moment, in words.  ``reason`` says why a verdict is unknown and how far the engine came;
    ``kind`` names an anomaly that the engine itself has recognised; ``further`` are the ranks of violations after
    ``last``, found by going on from an unknown state.  ``beyond`` are violations without a core, each by its kind and
    the source of the call that completed it.  With ``more`` there may be others that are not counted.
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


def not_begun(engine: str, operations: int) -> EngineResult:
    """The result when the deadline has passed before the first operation was looked at."""
    return EngineResult("unknown", engine, reason=f"{LATE}: 0 of {counted(operations, 'operation')} looked at")


class OutOfTimeError(Exception):
    """Raised when the deadline passes in a loop over a history; ``decide`` makes an unknown result of it."""

    def __init__(self, engine: str, reason: str) -> None:
        super().__init__(reason)
        self.result = EngineResult("unknown", engine, reason=reason)


def is_loaded(kernel: Callable[..., object]) -> bool:
    """Is the compiled function ready, so that the first call will not take long?"""
    return bool(getattr(kernel, "signatures", True))


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of an engine: an absolute deadline on ``clock`` (s, None: no end) and configurations in memory.

    ``memory`` is in bytes; engines convert it to entries by what one entry costs them.
    """

    clock: Callable[[], float]
    deadline: float | None = None
    memory: int = 2 << 30
    started: float = field(default=0.0)

    def over(self) -> bool:
        return self.deadline is not None and self.clock() >= self.deadline

    def extended(self, at_least_s: float = 1.0) -> Limits:
        """Limits from now on: as long again as it took so far, ``at_least_s`` at least, within the deadline."""
        now = self.clock()
        end = now + max(at_least_s, now - self.started)
        return replace(self, deadline=end if self.deadline is None else min(end, self.deadline))

    def paced(self, calls: Sequence[Call], engine: str) -> Iterator[Call]:
        """Yield the calls, looking at the clock every few thousand.  Raises OutOfTimeError."""
        if self.deadline is None:
            yield from calls
            return
        for place, call in enumerate(calls):
            if place % _PACE == 0 and self.over():
                raise OutOfTimeError(engine, f"{LATE}: {place} of {counted(len(calls), 'operation')} looked at")
            yield call


@dataclass(frozen=True, slots=True)
class Report:
    """The verdict on a whole history: the worst of its keys', which are listed in the order of their first use."""

    verdict: Verdict
    keys: Sequence[KeyVerdict]

    @property
    def counterexamples(self) -> tuple[Counterexample, ...]:
        return tuple(example for key in self.keys for example in key.counterexamples)


class CertificateError(AssertionError):
    """A certificate was rejected by the independent verifier: a defect of the checker."""
