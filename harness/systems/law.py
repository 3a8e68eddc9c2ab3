"""The law of outcomes: a table of what each kind of answer proves about an operation.

Only an answer that proves that the operation had no effect makes it ``fail``; anything doubtful is ``info``.  A client
sorts each answer into a *case* and takes the outcome from the table, so the table is what is run, printed and tested::

    LAW = Law(
        Rule("acknowledged", "acknowledged", "ok"),
        Rule("refused", "refused before anything was written", "fail"),
        Rule("failed", "an error after that", "info", read="fail"),
    )
    LAW.outcome("failed", invocation, node, "disk full")

Every law has two more cases, which it may not redefine: ``NOT_SENT`` (the request never left this machine) and ``LOST``
(it was sent, and no answer came).  Operations in ``reads`` have no effect, so they are ``fail`` if there is no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from harness.clients.wire import LostError, NotSentError
from harness.workloads import Invocation
from history.records.events import Type

NOT_SENT: Final = NotSentError.case
LOST: Final = LostError.case
_SAME: Final = object()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of an operation: ``ok``, ``fail`` or ``info``, its value, the node that answered, and the error."""

    type: Type
    value: Any = None
    node: str | None = None
    error: str | None = None


class Rule:
    """One row of a law: a case, the answer in words, and the outcome, with exceptions by ``f``."""

    def __init__(self, case: str, answer: str, outcome: Type, **by_f: Type) -> None:
        self.case = case
        self.answer = answer
        self.outcome: Type = outcome
        self.by_f: Mapping[str, Type] = MappingProxyType(by_f)

    def type_of(self, f: str) -> Type:
        return self.by_f.get(f, self.outcome)

    def words(self) -> str:
        """Return the outcomes as text, such as ``info; read fail``."""
        return "; ".join([self.outcome, *(f"{f} {outcome}" for f, outcome in self.by_f.items())])


class Law:
    """All rules of a system, by case.  Raises ValueError if a case has more than one rule."""

    def __init__(self, *rules: Rule, reads: Iterable[str] = ("read",)) -> None:
        self.reads: Final = frozenset(reads)
        # A read without an answer had no effect, whether it arrived or not.
        harmless: dict[str, Type] = dict.fromkeys(sorted(self.reads), "fail")
        standing = (
            Rule(NOT_SENT, "never sent", "fail"),
            Rule(LOST, "sent, no answer", "info", **harmless),
        )
        self.rules: Final[Mapping[str, Rule]] = MappingProxyType({rule.case: rule for rule in (*standing, *rules)})
        # With two rules for one case, the order of their declaration would decide what an answer proves.
        if len(self.rules) != len(rules) + len(standing):
            cases = [rule.case for rule in (*standing, *rules)]
            raise ValueError(f"more than one rule for {', '.join(sorted({c for c in cases if cases.count(c) > 1}))}")

    def type_of(self, case: str, f: str) -> Type:
        """Return the outcome of an operation by the rule of the case.  Raises KeyError for a case without a rule."""
        return self.rules[case].type_of(f)

    def outcome(
        self, case: str, invocation: Invocation, node: str | None, error: str | None = None, *, value: Any = _SAME
    ) -> Outcome:
        """Return the outcome of an operation by the rule of this case.

        ``value`` is the value in the answer, by default the requested one; a read has none by default.
        """
        type_ = self.type_of(case, invocation.f)
        if value is _SAME:
            value = None if invocation.f in self.reads else invocation.value
        return Outcome(type_, value, node, error)
