"""What an engine answers: a verdict with its certificate, or how far it came."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from checker.calls import Call
from history import Verdict


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one engine for one object.

    ``order`` is the certificate of a valid verdict: a linearization of the calls (None if the engine keeps none).
    ``cores`` are small sub-histories that contradict themselves, earliest first, at most a handful; ``violations``
    counts all of them.  ``last`` is the rank up to which the history was found to be consistent, ``states`` what the
    object could be at that moment, for people.  ``reason`` says why a verdict is unknown and how far the engine came;
    ``kind`` names an anomaly that the engine itself has recognised; ``further`` are the ranks of violations after
    ``last``, found by going on from an unknown state.
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


@dataclass(frozen=True, slots=True)
class Limits:
    """What an engine may spend: an absolute deadline on ``clock`` (s, None: no end) and configurations in memory.

    ``memory`` is in bytes; engines convert it to entries by what one entry costs them.
    """

    clock: Callable[[], float]
    deadline: float | None = None
    memory: int = 2 << 30
    started: float = field(default=0.0)

    def over(self) -> bool:
        return self.deadline is not None and self.clock() >= self.deadline
