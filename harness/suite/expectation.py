"""What a cell may end with, and what it came to.

A *known bug* is expected by its kinds: the violation has to be there, and none of another kind.  One that shows only
now and then is written with both verdicts, ``expect = ["valid", "invalid"]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from history import Verdict

Outcome: TypeAlias = Literal[
    "passed", "violation", "missing-violation", "unknown", "harness-failure", "not-run", "skipped"
]

#: The exit code of a suite in which this is the worst.  What was not run proved nothing.
CODE_OF: Final[Mapping[Outcome, int]] = {
    "passed": 0,
    "skipped": 0,
    "violation": 1,
    "missing-violation": 1,
    "unknown": 2,
    "not-run": 2,
    "harness-failure": 255,
}

#: A violation that the checker proved without a counterexample to show.
_WITHOUT_KIND: Final = "not-linearizable"


@dataclass(frozen=True, slots=True)
class Expectation:
    """The verdicts that a cell may end with; ``kinds`` are the violations that an invalid one may consist of.

    ``why`` is for people: where the finding is written down.
    """

    verdicts: tuple[Verdict, ...] = ("valid",)
    kinds: tuple[str, ...] = ()
    why: str = ""

    def words(self) -> str:
        """Such as ``valid`` or ``invalid (no-recovery), now and then``."""
        if "invalid" not in self.verdicts:
            return " or ".join(self.verdicts)
        others = [verdict for verdict in self.verdicts if verdict != "invalid"]
        return f"invalid ({', '.join(self.kinds)})" + (f" now and then, else {' or '.join(others)}" if others else "")

    def to_json(self) -> dict[str, Any]:
        return {"verdicts": list(self.verdicts), "kinds": list(self.kinds), "why": self.why}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Expectation:
        return cls(tuple(record["verdicts"]), tuple(record["kinds"]), record["why"])


def compare(expected: Expectation, verdict: Verdict, kinds: tuple[str, ...]) -> tuple[Outcome, str]:
    """The outcome of a run that was judged, and a few words where it is not the plain one."""
    if verdict == "invalid" and "invalid" in expected.verdicts:
        strange = [kind for kind in kinds if kind not in expected.kinds]
        if strange:
            return "violation", f"{', '.join(strange)} beside what is expected, {expected.words()}"
        return "passed", "as expected"
    if verdict == "invalid":
        return "violation", ""
    if verdict in expected.verdicts:
        return "passed", "the known bug did not show this time" if "invalid" in expected.verdicts else ""
    if verdict == "unknown":
        return "unknown", ""
    return "missing-violation", f"the expected violation did not appear: {expected.words()}"


def kinds_of(results: Mapping[str, Any]) -> tuple[str, ...]:
    """The kinds of all violations in a run's ``results.json``, sorted."""
    found: set[str] = set()
    for check in results.get("checks", ()):
        if check["verdict"] != "invalid":
            continue
        if check["name"] == "linearizable":
            shown = [example["kind"] for key in results["keys"] for example in key.get("counterexamples") or ()]
            found.update(shown or [_WITHOUT_KIND])
        else:
            found.add(str(check.get("details", {}).get("kind") or check["name"]))
    return tuple(sorted(found))
