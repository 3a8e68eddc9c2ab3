"""Options of a check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypedDict

from checker.core.result import Limits
from history.loading_clock import WORKING_TIME


class CheckKeywords(TypedDict, total=False):
    """The fields of ``CheckOptions`` as keyword arguments."""

    deadline_s: float | None
    memory_cap: int
    engine: str | None
    proofs: bool
    clock: Callable[[], float]


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """Engine, proofs and resource limits of a check.

    ``deadline_s`` is in seconds of ``clock`` (None: no deadline), ``memory_cap`` in bytes; if either does not
    suffice, the verdict is unknown, with a reason.  ``engine`` forces one of ``checker.dispatch.NAMES``.  Without
    ``proofs`` there is only a verdict: no linearization is verified, no counterexample is made, and not all
    violations are counted.  The default clock stands still while compiled code is loaded.  With ``by_steps`` the
    deadline bounds counterexamples alone; the verdict is bounded by memory, which searches use up step by step.
    """

    deadline_s: float | None = None
    memory_cap: int = 2 << 30
    engine: str | None = None
    proofs: bool = True
    clock: Callable[[], float] = WORKING_TIME
    by_steps: bool = False

    def limits(self) -> Limits:
        """Return the limits of a check that starts now."""
        started = self.clock()
        deadline = None if self.deadline_s is None else started + self.deadline_s
        return Limits(self.clock, deadline, self.memory_cap, started, self.by_steps)


DEFAULTS: Final = CheckOptions()
