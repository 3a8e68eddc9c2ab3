"""One thing that broke, in the words of the page's first sentences, and where its evidence is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from history.records.finding import Severity
from reports.analysis.failed_starts import FailedStart


class Clue(NamedTuple):
    """The thing to look at: its section, and a sentence about it without its full stop.

    ``node`` and ``at`` (s) tell where in the logs to look for more, if the node logged anything then.
    """

    place: str
    text: str
    node: str = ""
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Break:
    """One thing that broke: the failed ``checks``, the section about it, and since when (seconds, None: unknown).

    ``text`` is one sentence: what broke, when it began, and under which fault.  ``detail`` is the evidence, to read
    after.
    """

    severity: Severity
    text: str
    onset: float | None
    place: str
    checks: tuple[str, ...]
    nodes: tuple[str, ...] = ()
    #: Those of its nodes that do not start again; the first is the one to look at next.
    starts: tuple[FailedStart, ...] = ()
    #: Nodes that lack something acknowledged which others have; empty if unknown or no node has it.
    lost_on: tuple[str, ...] = ()
    #: The check whose section ``place`` is, if several failed for one reason; empty: all of them.
    section: str = ""
    detail: str = ""
    #: Indexes of the invocations of its counterexample's operations.
    answers: frozenset[int] = frozenset()
    #: Whether no simpler kind of violation is known than that no order explains the answers.
    generic: bool = False
    #: Whether it follows from the last break before it that is not itself below another.
    below: bool = False
    #: Where the lasting damage shows, if not in ``place``; see :class:`Clue`.
    evidence: Clue | None = None

    @property
    def title(self) -> str:
        """The severity in words, or ``missing on`` and the nodes that lack what others have."""
        return f"missing on {', '.join(self.lost_on)}" if self.lost_on else self.severity

    @property
    def is_drawn(self) -> bool:
        """Whether the break's place is a counterexample."""
        return self.place.startswith(("counterexample", "violation-"))
