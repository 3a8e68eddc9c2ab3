"""Run the cells of a suite in sequence: retries after harness failures, budget, early end.

It does not depend on clusters or processes: ``launch`` runs a cell once, and ``reset`` restores the cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Final, Protocol

from harness.errors import HarnessError
from harness.suite.cell_process import Attempt
from harness.suite.cells import Cell, likely_seconds
from harness.suite.expectation import CODE_OF
from harness.suite.journal import Journal
from harness.suite.suitefile import OnFailure

#: Seconds that a run is assumed to take besides its load, until the suite has measured it.
OVERHEAD_S: Final = 30.0

Launch = Callable[[Cell, Path], Attempt]
Reset = Callable[[], tuple[str, ...]]


class SuiteDisplay(Protocol):
    """The display of a suite's progress."""

    def begins(self, cell: Cell, attempt: int, log: Path) -> None: ...

    def ended(self, cell: Cell, attempt: Attempt, *, again: bool) -> None: ...

    def skipped(self, cell: Cell, why: str, outcome: str = "skipped") -> None: ...


@dataclass(slots=True)
class SuiteRunner:
    """The runner of all cells of a suite that are due.

    ``stopping`` returns whether the suite was asked to end.  ``why_ended`` is set if cells were left out.
    """

    journal: Journal
    launch: Launch
    reset: Reset
    screen: SuiteDisplay
    stopping: Callable[[], bool]
    on_failure: OnFailure = "continue"
    budget_s: float | None = None
    clock: Callable[[], float] = time.monotonic
    why_ended: str = ""

    def run(self) -> None:
        """Run every cell that is due.  Raises HarnessError if there is no usable cluster or nothing can be written."""
        began = self.clock()
        overheads: list[float] = []
        for cell in self.journal.begun.cells:
            if cell.skip:
                self.screen.skipped(cell, cell.skip)
                continue
            while not self.journal.is_settled(cell) and not self.why_ended:
                self._refuse_what_ends_too_late(cell, began, overheads)
                if not self.why_ended:
                    self._attempt(cell, overheads)
            if self.why_ended and not self.journal.of(cell):
                self.screen.skipped(cell, f"not run: {self.why_ended}", "not-run")

    def _refuse_what_ends_too_late(self, cell: Cell, began: float, overheads: list[float]) -> None:
        likely = likely_seconds(cell.plan, median(overheads) if overheads else OVERHEAD_S)
        if self.budget_s is not None and self.clock() - began + likely > self.budget_s:
            self.why_ended = f"the budget of {self.budget_s:.0f} s is spent"

    def _attempt(self, cell: Cell, overheads: list[float]) -> None:
        if self.stopping():
            self.why_ended = "interrupted"
            return
        log = self.journal.log_of(cell)
        self.screen.begins(cell, len(self.journal.of(cell)) + 1, log)
        attempt = self.launch(cell, log)
        if attempt.interrupted or self.stopping():
            # A proven violation stands.  Otherwise the interrupted cell is run again.
            if attempt.settled_by_proof:
                self.journal.add(attempt)
            self.why_ended = "interrupted"
            return
        attempt = self._with_reset(_with_earlier_proof(attempt, self.journal.of(cell)))
        self.journal.add(attempt)
        overheads.append(max(attempt.seconds - likely_seconds(cell.plan, 0.0), 0.0))
        again = not self.journal.is_settled(cell)
        self.screen.ended(cell, attempt, again=again)
        if not again and CODE_OF[attempt.outcome] and self.on_failure == "stop":
            self.why_ended = f"stopped after {cell.name}"

    def _with_reset(self, attempt: Attempt) -> Attempt:
        """Reset the cluster; record the attempt even if that fails."""
        try:
            return replace(attempt, notes=self.reset())
        except HarnessError:
            self.journal.add(attempt)
            raise


def _with_earlier_proof(attempt: Attempt, earlier: Sequence[Attempt]) -> Attempt:
    """Return the attempt, marked as passed if an earlier attempt proved the expected violation.

    The earlier one had to be repeated only because the harness failed.
    """
    proof = next((previous for previous in earlier if previous.proven), None)
    if proof is None or attempt.outcome not in ("missing-violation", "unknown"):
        return attempt
    text = f"found in {proof.run} ({proof.sentence}), but not again: {attempt.sentence}"
    return replace(attempt, outcome="passed", sentence=text)
