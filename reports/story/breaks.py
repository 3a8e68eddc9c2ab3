"""One thing that broke, in the words of the page's first sentences, and where its evidence is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from history.records.finding import Severity
from reports.analysis.failed_starts import FailedStart
from reports.style.format import HEADLINE, capitalized, lead, one_line

#: At most this many nodes are named in a title; more are counted.
_NAMED = 3
#: Limit of a text, in characters.
_LONGEST = 420


class Clue(NamedTuple):
    """The thing to look at: its section, and a sentence about it without its full stop.

    ``node`` and ``at`` (s) tell where in the logs to look for more, if the node logged anything then.
    """

    place: str
    text: str
    node: str = ""
    at: float | None = None


class Clause(NamedTuple):
    """A part of a headline that is left out if there is no room: forms of it, the longest first.

    ``alone`` is the sentence that says the same below the headline; empty if something there says it anyway.  ``dates``
    says that it relates the moment in the headline to a fault, so it must stand next to that moment.
    """

    forms: tuple[str, ...]
    alone: str = ""
    dates: bool = False


@dataclass(frozen=True, slots=True)
class Break:
    """One thing that broke: the failed ``checks``, the section about it, and since when (seconds, None: unknown).

    ``text`` says what broke and since when, without a full stop.  ``clauses`` say more, the most important first; see
    :attr:`headline`.  ``detail`` is the evidence, to read after.
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
    clauses: tuple[Clause, ...] = ()
    #: Whether a check that looks for the planted bug found it; the page then begins with two words that name the bug.
    intended: bool = False
    #: The known defect that explains it; empty if none does.
    defect: str = ""

    @property
    def title(self) -> str:
        """The severity in words, or ``missing on`` and the nodes that lack what others have.

        These nodes are left out if the break begins with others, because the headline would seem to contradict itself.
        """
        if not self.lost_on or not set(self.nodes) <= set(self.lost_on):
            return self.severity
        return f"missing on {', '.join(self.lost_on) if len(self.lost_on) <= _NAMED else f'{len(self.lost_on)} nodes'}"

    @property
    def is_drawn(self) -> bool:
        """Whether the break's place is a counterexample."""
        return self.place.startswith(("counterexample", "violation-"))

    @property
    def label(self) -> str:
        """The title, with the known defect that explains the break."""
        return f"{self.title} ({self.defect})" if self.defect else self.title

    @property
    def headline(self) -> str:
        """The first sentence, which has at most :data:`HEADLINE` words together with the label before it."""
        return self._fitted[0]

    @property
    def rest(self) -> str:
        """What the headline had no room for."""
        return self._fitted[1]

    @property
    def whole(self) -> str:
        """The headline with every clause, however long that is."""
        return f"{self.text}{_joined([(clause, clause.forms[0]) for clause in self.clauses])}."

    @property
    def _fitted(self) -> tuple[str, str]:
        room = HEADLINE - len(self.label.split()) - 2 * self.intended
        return fitted(one_line(self.text, _LONGEST), self.clauses, room)


def fitted(text: str, clauses: Sequence[Clause], words: int) -> tuple[str, str]:
    """Return a sentence of at most ``words`` words with as many clauses as fit, and what had no room in it.

    A clause gets a longer form only if no clause that has room has to go for it.
    """
    sentence, below = lead(text, words)
    sentence, left = sentence.removesuffix("."), [below] if below else []
    room = 0 if below else words - len(sentence.split())
    chosen: list[tuple[Clause, str]] = []
    for clause in clauses:
        form = clause.forms[-1] if _length(clause.forms[-1]) <= room else ""
        room -= _length(form)
        chosen.append((clause, form))
        if not form and clause.alone:
            left.append(clause.alone)
    for place, (clause, form) in enumerate(chosen):
        longest = next((longer for longer in clause.forms if form and _length(longer) <= room + _length(form)), form)
        room -= _length(longest) - _length(form)
        chosen[place] = clause, longest
    sentence += _joined(chosen)
    return sentence if sentence.endswith("…") else f"{sentence}.", " ".join(
        f"{capitalized(detail).removesuffix('.')}." for detail in left
    )


def _length(form: str) -> int:
    return len(form.strip(",; ").split())


def _joined(chosen: Sequence[tuple[Clause, str]]) -> str:
    """Join forms of clauses so that each follows what it is about; a semicolon ends what is said of the text."""
    return "".join(form for _, form in sorted(chosen, key=lambda pair: (not pair[0].dates, pair[1].startswith(";"))))
