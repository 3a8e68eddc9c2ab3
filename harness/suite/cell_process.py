"""Run one cell in its own process, with the command that its plan prints.

It is a process rather than a function call for three reasons.  A run that is killed, runs out of memory or hangs must
not take the suite with it.  No run inherits what an earlier one left in the process (a JVM, compiled kernels, signal
handlers, open connections).  And anyone can repeat a cell with its command. It costs the start of Python, about two
seconds a cell.

The child leads its own session, so Ctrl-C reaches it once and through us.  If we die, the kernel sends it SIGTERM.
"""

from __future__ import annotations

import ctypes
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Final

from harness.errors import UsageError
from harness.exits import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_OF_VERDICT, EXIT_USAGE
from harness.judge.known_defects import Defect, unexplained
from harness.plan import Plan
from harness.store import has_history, read_object_if_any
from harness.suite.cells import Cell
from harness.suite.expectation import Outcome, compare
from history import FormatError, RunFiles
from history.records.check_records import check_records
from history.records.finding import Contradiction, findings_in
from history.records.violations import LINEARIZABLE, Violation, planted_bug_outcome, violations_of

#: Seconds beyond the plan's own deadlines, for start, collecting, tables and drawing on a busy machine.
GRACE_S: Final = 180.0
#: Seconds between SIGTERM, after which a run heals and collects, and SIGKILL.
ORDERLY_END_S: Final = 60.0
_LOOK_EVERY_S: Final = 0.1
_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None)
#: ``-P`` keeps modules in the working directory from shadowing Python's modules or ours.
OURSELVES: Final = (sys.executable, "-P", "-m", "harness", "--no-defaults")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a cell.

    ``verdict`` is empty if there is none; ``run`` is the run's path below the store, or empty.  ``environment`` holds
    those facts in the results about the system and the machines that are text.  ``proven`` means that the run found an
    expected violation but also suffered a harness failure, so the cell is run again.
    """

    cell: str
    outcome: Outcome
    code: int
    verdict: str = ""
    kinds: tuple[str, ...] = ()
    sentence: str = ""
    run: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    retryable: bool = False
    proven: bool = False

    @property
    def found(self) -> str:
        """The verdict, followed by the kinds of its violations."""
        return self.verdict + (f" ({', '.join(self.kinds)})" if self.kinds else "")

    @property
    def settled_by_proof(self) -> bool:
        """Whether a violation, expected or not, settles the outcome of the cell without another attempt."""
        return self.verdict == "invalid" and self.outcome in ("violation", "passed")

    @property
    def interrupted(self) -> bool:
        return self.code == EXIT_INTERRUPTED


def words_of(cell: Cell, store: Path) -> list[str]:
    """Return the command line of a cell."""
    verb = [*shlex.split(cell.command)[1:], "--store", str(store), "--keep-cluster"]
    return [*OURSELVES, *verb]


def longest_s(plan: Plan) -> float:
    """Return a time in seconds that no healthy run exceeds: the sum of all deadlines in the plan."""
    starting = plan.ready_timeout * (2 if plan.restart_at_end else 1)
    return starting + plan.warm_up + plan.time_limit + 2 * plan.recovery_time + _checking_s(plan) + GRACE_S


def _checking_s(plan: Plan) -> float:
    return plan.check_deadline * (1 if plan.spark else plan.keys)


def run_cell(cell: Cell, store: Path, log: Path, look: Callable[[], bool], command: list[str] | None = None) -> Attempt:
    """Run a cell to its end.

    ``look`` is called ten times a second and returns whether to end the run in an orderly way.  The run's output goes
    to ``log``.  Raises OSError if the run cannot be started.
    """
    before = _runs(store, cell.plan)
    began = time.monotonic()
    with log.open("wb") as output:
        code, hung = _process(command or words_of(cell, store), output, began + longest_s(cell.plan), look)
        run, last_words = next(_own_runs(store, cell.plan, before), None), _last_words(log)
        if run is not None and (hung or code != EXIT_INTERRUPTED):
            _judge(run, cell, store, output, look)
    seconds = round(time.monotonic() - began, 1)
    return _attempt(cell, store, run, code, last_words, hung=hung, seconds=seconds)


def proof_of_cut_run(
    cell: Cell, store: Path, since: str, attempts: Iterable[Attempt], log: Path, look: Callable[[], bool]
) -> Attempt | None:
    """Return the run of a cell that was under way when its suite was killed, if it found a violation.

    The violation may be expected or not.  The run belongs to none of the ``attempts`` and began at or after ``since``,
    which has the form of a run's name.
    """
    begun = {path for path in _runs(store, cell.plan) if path.name[: len(since)] < since}
    for run in _own_runs(store, cell.plan, begun | {store / attempt.run for attempt in attempts}):
        with log.open("wb") as output:
            _judge(run, cell, store, output, look)
        proof = _attempt(cell, store, run, EXIT_INTERRUPTED, "", hung=False, seconds=0.0)
        if proof.settled_by_proof:
            return proof
    return None


def _judge(run: Path, cell: Cell, store: Path, output: BinaryIO, look: Callable[[], bool]) -> None:
    """Judge a run that has no verdict: it may hold a violation, which a second attempt would hide."""
    if has_history(RunFiles(run)) and not RunFiles(run).results.exists():
        words = [*OURSELVES, "check", str(run), "--no-spark", "--store", str(store)]
        _process(words, output, time.monotonic() + _checking_s(cell.plan) + GRACE_S, look)


def _process(words: Sequence[str], output: BinaryIO, deadline: float, look: Callable[[], bool]) -> tuple[int, bool]:
    """Run a process to its end; return its exit code and whether it had to be ended because it took too long."""
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        start_new_session=True, preexec_fn=end_with_parent,  # noqa: PLW1509 (it takes no lock)
    )  # fmt: skip
    hung = _wait(process, deadline, look)
    return process.returncode, hung


def end_with_parent() -> None:
    """Make the kernel send SIGTERM to this process when its parent dies; for ``preexec_fn``."""
    _LIBC.prctl(ctypes.c_int(_PR_SET_PDEATHSIG), ctypes.c_ulong(signal.SIGTERM))


def _wait(process: subprocess.Popen[bytes], deadline: float, look: Callable[[], bool]) -> bool:
    """Wait for a process to end; return whether it had to be ended because it took too long."""
    ending = hung = False
    while True:
        try:
            process.wait(_LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            pass
        else:
            return hung
        now = time.monotonic()
        if not ending and (look() or now > deadline):
            hung, ending = now > deadline, True
            process.send_signal(signal.SIGTERM)
            deadline = now + ORDERLY_END_S
        elif ending and now > deadline:
            process.kill()


def _runs(store: Path, plan: Plan) -> set[Path]:
    return set((store / plan.test).glob(f"*-{plan.seed}"))


def _own_runs(store: Path, plan: Plan, before: set[Path]) -> Iterator[Path]:
    """Yield the new runs of this plan.  Another suite in the same store has another cluster, hence another plan."""
    for path in sorted(_runs(store, plan) - before):
        with suppress(OSError, UsageError):
            if Plan.read(RunFiles(path).plan) == plan:
                yield path


def _last_words(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def _attempt(
    cell: Cell, store: Path, run: Path | None, code: int, last_words: str, *, hung: bool, seconds: float
) -> Attempt:
    where = str(run.relative_to(store)) if run is not None else ""
    cut = code == EXIT_INTERRUPTED and not hung
    results = {} if run is None else read_object_if_any(RunFiles(run).results)
    verdict, violations = str(results.get("verdict", "")), violations_of(results)
    if code == EXIT_USAGE and verdict != "invalid":
        return Attempt(cell.name, "unknown", code, "", (), f"refused here: {last_words}", where, {}, seconds)
    broken = str(results.get("harness_failure") or "")
    too_late = f"did not end within {longest_s(cell.plan):.0f} s; {last_words}" if hung else ""
    ended = too_late or "interrupted" * cut
    failure = "; ".join(part for part in (broken, ended) if part) or _failure(code, verdict, last_words)
    attempt = Attempt(
        cell.name, "not-run" if cut else "harness-failure", code if cut else EXIT_FAILURE, verdict,
        tuple(dict.fromkeys(violation.kind for violation in violations)), failure, where,
        {name: fact for name, fact in results.get("environment", {}).items() if isinstance(fact, str)}, seconds,
        retryable=not cut,
    )  # fmt: skip
    if failure and verdict != "invalid":
        return attempt

    unreadable: list[str] = []

    def strange(some: Sequence[Violation], known: Sequence[Defect]) -> list[Violation]:
        assert run is not None
        try:
            return unexplained(some, known, RunFiles(run), results.get("receipts", ()), attempt.kinds)
        except (OSError, FormatError) as error:  # marks that cannot be read explain nothing
            unreadable.append(f"known defects cannot be read: {error}")
            return list(some)

    undecided = _undecided(results, stopped=cell.plan.stop_on_violation)
    if cell.expected.known:
        undecided += _not_looked_for(results)
    outcome, words = compare(cell.expected, results["verdict"], violations, strange, undecided)
    sure = verdict == "invalid" and "valid" not in cell.expected.verdicts
    if outcome == "passed" and sure and _missed(cell, results):
        outcome, words = "missing-violation", "no check that looks for the planted bug failed"
    proven = outcome == "passed"
    if failure and outcome != "violation" and not (cut and proven):
        return replace(attempt, proven=proven, sentence=f"{failure}; {words}" if proven else failure)
    # A proven violation stands whatever else went wrong, because a second attempt could only hide it.
    text = "; ".join(part for part in (words, *unreadable, str(results.get("sentence", "")), failure) if part)
    return replace(attempt, outcome=outcome, code=EXIT_OF_VERDICT[verdict], sentence=text, retryable=False)


def _missed(cell: Cell, results: Mapping[str, Any]) -> bool:
    """Return whether no check that looks for the planted bug failed."""
    return planted_bug_outcome(cell.plan.to_json(), results) == "missed"


def _undecided(results: Mapping[str, Any], *, stopped: bool) -> list[str]:
    """Name the checks and gates with the verdict unknown.

    If the run should stop at the first violation, name only the check of the clients' operations.
    """
    unknown = [str(check.get("name")) for check in check_records(results) if check.get("verdict") == "unknown"]
    return [name for name in unknown if not stopped or name in LINEARIZABLE]


def _not_looked_for(results: Mapping[str, Any]) -> list[str]:
    """Name the checks that stopped looking for violations, so that a new one may be behind the known ones."""
    invalid = [check for check in check_records(results) if check.get("verdict") == "invalid"]
    return [
        f"other violations of {check.get('name')}"
        for check in invalid
        if any(isinstance(finding, Contradiction) and finding.more for finding in findings_in(check))
    ]


def _failure(code: int, verdict: str, last_words: str) -> str:
    """Return how the harness failed, or an empty string if it did not.

    Exit code and verdict must agree; the verdict is empty if there are no results.
    """
    if code < 0:
        return f"killed by {signal.Signals(-code).name}; {last_words}"
    if code == EXIT_FAILURE or code not in EXIT_OF_VERDICT.values():
        return last_words
    if not verdict:
        return f"exited with {code} and left no results; {last_words}"
    if EXIT_OF_VERDICT.get(verdict) != code:
        return f"exited with {code} although its results say {verdict}"
    return ""
