"""Checks with their findings, and ``results.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from history.records.finding import Finding, KnownDefect
from history.records.verdicts import Counterexample, KeyVerdict, Verdict

RESULTS_VERSION: Final = 2
#: Record at most this many counterexamples of one check.
MAX_SHOWN: Final = 20
#: Headlines of a run with a planted bug start with the first if a check that looks for the bug found the violation,
#: and with the second if another check did.
BY_PLANTED_BUG: Final = "Intended: "
BESIDE_PLANTED_BUG: Final = "Also found: "


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the results: what was required, what was seen, and the verdict that follows.

    A ``check`` judges the system and can be invalid.  A ``gate`` judges the run and can only make it unknown.
    ``findings`` are the findings as data, and ``counterexamples`` show the violations, worst first.  ``words`` explains
    terms that readers may not know.
    """

    name: str
    kind: Literal["check", "gate"]
    verdict: Verdict
    asked: str
    seen: str
    findings: tuple[Finding, ...] = ()
    counterexamples: tuple[Counterexample, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind == "gate" and self.verdict == "invalid":
            raise ValueError(f"the gate {self.name} cannot make a run invalid")

    def to_json(self) -> dict[str, Any]:
        record = {name: getattr(self, name) for name in self.__slots__}
        record["findings"] = [msgspec.to_builtins(finding, str_keys=True) for finding in self.findings]
        record["counterexamples"] = [example.to_json() for example in self.counterexamples[:MAX_SHOWN]]
        return record


@dataclass(frozen=True, slots=True)
class Results:
    """``results.json``: all conclusions from one run.

    ``windows`` are the faults with their cost, each by kind of operation (``kinds``) and by node (``caught_up``,
    ``behind``, ``silent``).  ``fault_figures`` are the distributions over all windows of one fault (see
    ``docs/nemeses.md``).  ``headlines`` says what broke, worst first, as at the top of the run's page; lists of runs
    and the summary show it.  ``next_step`` suggests what to look at next, as on that page.  ``known_defects`` are the
    system's known defects whose fingerprints appear in the run, and ``not_known`` the kinds of violations that no known
    defect explains; both are empty if the system has no known defects.
    """

    verdict: Verdict
    sentence: str
    checks: tuple[Check, ...]
    keys: tuple[KeyVerdict, ...]
    counts: dict[str, Any]
    receipts: tuple[dict[str, Any], ...]
    windows: tuple[dict[str, Any], ...]
    fault_figures: dict[str, Any] = field(default_factory=dict)
    harness_failure: str | None = None
    environment: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    timings: dict[str, float] = field(default_factory=dict)
    headlines: tuple[str, ...] = ()
    next_step: str = ""
    known_defects: tuple[KnownDefect, ...] = ()
    not_known: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        record = {name: getattr(self, name) for name in self.__slots__}
        record["known_defects"] = [msgspec.to_builtins(defect) for defect in self.known_defects]
        record["checks"] = [check.to_json() for check in self.checks]
        record["keys"] = [key.to_json() for key in self.keys]
        return {"format": "harness-results", "version": RESULTS_VERSION, **record}
