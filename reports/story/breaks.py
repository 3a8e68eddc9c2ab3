"""One thing that broke, in the words of the page's first sentences, and where what shows it is to be seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from history.records.finding import Severity
from reports.analysis.failed_starts import FailedStart


class Evidence(NamedTuple):
    """What to look at: its section, and a sentence about it without its full stop.

    ``node`` and ``at`` (s) are those whose log lines tell more, where the node logged something then.
    """

    place: str
    text: str
    node: str = ""
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Break:
    """One thing that broke: the ``checks`` that failed, the section about it, since when (seconds, None: unknown).

    ``text`` is one sentence: what broke, since when and under which fault; ``detail`` is the evidence, to read after.
    """

    severity: Severity
    text: str
    onset: float | None
    place: str
    checks: tuple[str, ...]
    nodes: tuple[str, ...] = ()
    #: Those of its nodes that do not start again, of which the first is looked at next.
    starts: tuple[FailedStart, ...] = ()
    #: The nodes that alone lack something acknowledged; none where that is not known, or no node has it.
    lost_on: tuple[str, ...] = ()
    #: The check whose section its place is, where several failed for one reason; empty: all of them.
    section: str = ""
    detail: str = ""
    #: The invocations of its counterexample's operations.
    answers: frozenset[int] = frozenset()
    #: Whether it follows from the last break before it that is not below another.
    below: bool = False
    #: Where what lasts is seen, if that is another section than its place: see :class:`Evidence`.
    evidence: Evidence | None = None

    @property
    def title(self) -> str:
        """The severity in words, and the place."""
        return f"missing on {', '.join(self.lost_on)}" if self.lost_on else self.severity

    @property
    def is_drawn(self) -> bool:
        """Whether its place is a counterexample."""
        return self.place.startswith(("counterexample", "violation-"))
