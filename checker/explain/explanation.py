"""The verdict on one key, made from an engine's result and its counterexamples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from checker.core.result import EngineResult, Limits
from checker.core.scene import Scene
from history import Counterexample, KeyVerdict
from history.records.verdicts import MAX_COUNTEREXAMPLES, KindCount, count_kinds


class Violations(Protocol):
    """The number of violations found, those without a core (kind, source), and what is unknown about them."""

    @property
    def count(self) -> int: ...
    @property
    def beyond(self) -> Sequence[tuple[str, int]]: ...
    @property
    def note(self) -> str | None: ...
    @property
    def more(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Explanation:
    """Counterexamples to show, and the number of violations in total and by kind.

    ``reason`` says what is unknown; ``more``: there may be other violations.
    """

    examples: tuple[Counterexample, ...]
    violations: int
    reason: str | None
    kinds: tuple[KindCount, ...] = ()
    more: bool = False

    @classmethod
    def of(
        cls, examples: Iterable[Counterexample], violations: Violations, result: EngineResult, scene: Scene
    ) -> Explanation:
        """Keep the earliest examples, and count all violations by kind, with or without an example."""
        explained = tuple(examples)
        dated = [(example.kind, example.completed_at) for example in explained]
        dated += [(kind, scene.operations[source].ended) for kind, source in violations.beyond]
        count = max(violations.count, len(dated))
        shown, more = explained[:MAX_COUNTEREXAMPLES], violations.more or result.more
        return cls(shown, count, result.reason or violations.note, count_kinds(dated, count), more)


def unexplained(result: EngineResult) -> Explanation:
    """Return an explanation without counterexamples, with at least one violation if the result is invalid."""
    count = max(result.violations, result.verdict == "invalid")
    return Explanation((), count, result.reason, count_kinds((), count), result.more or count > 0)


def key_verdict(
    key: str | int | None, result: EngineResult, operations: int, explained: Explanation, limits: Limits
) -> KeyVerdict:
    """Return the verdict on one key, with the size of its certificate."""
    order = None if result.order is None else len(result.order)
    return KeyVerdict(
        key=key,
        verdict=result.verdict,
        engine=result.engine,
        operations=operations,
        seconds=limits.clock() - limits.started,
        violations=explained.violations,
        counterexamples=explained.examples,
        reason=explained.reason,
        certificate=len(explained.examples[0].operations) if explained.examples else order,
        kinds=explained.kinds,
        more=explained.more,
    )
