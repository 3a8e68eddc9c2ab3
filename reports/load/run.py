"""A run as the reports see it: as much of its recording as can be read, and a warning for each part that cannot.

Only the run's directory is needed.  A run that was killed, or that failed before anything was judged, has fewer files;
its page is shorter and says why.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from history import SECOND, Probe, Receipt, RunFiles
from history.columns.operations import Operations, from_operations
from history.metrics.awake_clock import AwakeClock
from history.recording import Recording
from history.records.indexes import epoch_bits_in
from history.records.verdicts import HARNESS_FAILURE as HARNESS_FAILURE
from history.records.verdicts import verdict_of as verdict_of
from reports.errors import Notes
from reports.load.unjudged import unjudged
from reports.style.format import index, printable
from reports.style.wording import Wording, by_values


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """Contents of a run's files.  Dictionaries are as in the files, and every field in them is optional."""

    recording: Recording
    plan: dict[str, Any]
    header: dict[str, Any]
    state: dict[str, Any]
    results: dict[str, Any]
    operations: Operations
    receipts: list[Receipt]
    probes: list[Probe]
    fault_rows: dict[int, dict[str, Any]]
    notes: Notes
    wording: Wording = by_values

    @property
    def files(self) -> RunFiles:
        return self.recording.files

    @property
    def name(self) -> str:
        return self.files.root.resolve().name

    @property
    def test(self) -> str:
        return str(self.plan.get("test") or self.header.get("test") or self.files.root.resolve().parent.name)

    @property
    def seed(self) -> str:
        seed = self.plan.get("seed", self.header.get("seed"))
        return "" if seed is None else str(seed)

    @property
    def started(self) -> str:
        """The run's start as ISO text; empty if not recorded."""
        return str(self.header.get("started") or self.plan.get("started") or self.state.get("started") or "")

    @property
    def failure(self) -> str | None:
        """Why the harness failed; None if it did not."""
        return failure_of(self.files, self.state, self.results)

    @property
    def verdict(self) -> str:
        """Verdict of the run: valid, invalid, unknown or "harness failure"; unknown if there is none."""
        return verdict_of(self.results, self.failure)

    @property
    def sentence(self) -> str:
        if self.failure:
            return self.failure
        if self.results:
            return str(self.results.get("sentence") or "")
        missing = unjudged(self.files, self.state, self.results)
        return missing.sentence if missing else "There is no run here."

    @property
    def recorded(self) -> bool:
        """Whether there is anything to draw: an operation, a fault or a probe."""
        return bool(len(self.operations) or self.receipts or self.probes)

    @property
    def end(self) -> int:
        """Last recorded moment in ns since the run's start, at least one second."""
        probes = self.probes[-1].time if self.probes else 0
        faults = max((receipt.healed or receipt.started for receipt in self.receipts), default=0)
        return max(self.operations.end, probes, faults, SECOND)

    @property
    def clock(self) -> AwakeClock:
        """Clock that skips the times when the harness was stalled."""
        return AwakeClock.recorded(self.state)

    @property
    def epoch_bits(self) -> int:
        """Number of lower bits of an index that count within an epoch; 0 if indexes have no epochs."""
        return epoch_bits_in(self.results)

    @property
    def environment(self) -> dict[str, Any]:
        """Facts about machines and system; empty for a run that was not judged."""
        return self.results.get("environment") or {}

    def index(self, value: int) -> str:
        """Format one of the nodes' indexes."""
        return index(value, self.epoch_bits)

    @property
    def members(self) -> tuple[str, ...]:
        """Nodes that count for majorities; all nodes if the run does not say."""
        listed = self.header.get("members")
        members = {str(name) for name in listed} if isinstance(listed, list) else set[str]()
        return tuple(node for node in self.nodes if node in members) or self.nodes

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes that any file names, in natural order.

        An operation may name a gateway or the primary instead, so it counts only if the header has no nodes.
        """
        listed = self.header.get("nodes")
        names = {probe.node for probe in self.probes}
        names |= {str(name) for name in listed} if isinstance(listed, list) else set(self.operations.node.names)
        names |= {node for receipt in self.receipts for node in receipt.nodes}
        if self.files.nodes.is_dir():
            names |= {path.name for path in self.files.nodes.iterdir() if path.is_dir()}
        return tuple(sorted(names, key=lambda name: (len(name), name)))


def beside_violation(failure: str) -> str:
    """Say that the harness also failed in a run with a proven violation, and that the violation still counts."""
    return (
        f"The harness failed as well ({failure.rstrip('.')}). What was recorded was judged, and a check failed: that "
        "is a finding about the system under test all the same."
    )


def failure_of(files: RunFiles, state: Mapping[str, Any], results: Mapping[str, Any]) -> str | None:
    """Return the recorded reason why the harness failed, or that it broke off; None if it did not fail."""
    failures = state.get("failures")
    reason = results.get("harness_failure") or "; ".join(map(str, failures if isinstance(failures, list) else ()))
    if not reason and (missing := unjudged(files, state, results)) is not None and missing.why == "broke off":
        reason = missing.sentence
    return str(reason) if reason else None


def read_run(run: RunFiles | Recording, wording: Wording = by_values) -> LoadedRun:
    """Read a run; ``wording`` puts its operations into words.  Never raises for the contents of its files."""
    recording, notes = Recording.of(run), Notes()
    nothing: dict[str, Any] = {}
    results = tidy(notes.attempt("results.json", lambda: recording.results, nothing), notes)
    return LoadedRun(
        recording=recording,
        plan=notes.attempt("plan.json", lambda: recording.plan, {}),
        header=notes.attempt("history.jsonl: header", lambda: _header(recording), {}),
        state=notes.attempt("run.json", lambda: recording.state, {}),
        results=results,
        operations=_operations(recording, notes),
        receipts=_receipts(recording, results, notes),
        probes=notes.attempt("probes.jsonl", lambda: recording.probes, []),
        fault_rows=notes.attempt("tables/faults.parquet", lambda: recording.fault_rows, {}),
        notes=notes,
        wording=wording,
    )


_RECORDS: Final = ("checks", "keys", "receipts", "windows")
_OBJECTS: Final = ("counts", "environment", "timings")


def tidy(results: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    """Repair ``results.json``: lists hold only objects, objects are objects.  Adds a warning for anything else."""
    tidied = dict(results)
    for name in _RECORDS:
        value = tidied.get(name) or []
        records = [item for item in value if isinstance(item, dict)] if isinstance(value, list | tuple) else []
        if not isinstance(value, list | tuple) or len(records) != len(value):
            notes.add(f"results.json: {name} is not a list of objects")
        tidied[name] = records
    for name in _OBJECTS:
        if not isinstance(tidied.get(name) or {}, dict):
            notes.add(f"results.json: {name} is not an object")
            tidied[name] = {}
    warnings = tidied.get("warnings") or []
    tidied["warnings"] = [str(item) for item in warnings] if isinstance(warnings, list | tuple) else [str(warnings)]
    return tidied if results else {}


def _operations(recording: Recording, notes: Notes) -> Operations:
    nothing = from_operations([])
    if not recording.files.history.exists() and not recording.files.table("operations").exists():
        notes.add("history.jsonl: there is none, so the page shows no operation")
        return nothing
    return notes.attempt("operations", lambda: recording.operations, nothing)


def _header(recording: Recording) -> dict[str, Any]:
    return recording.header.to_json() if recording.files.history.exists() else {}


def _receipts(recording: Recording, results: Mapping[str, Any], notes: Notes) -> list[Receipt]:
    """Return the receipts in the history, or else those in the results."""

    def recorded() -> list[Receipt]:
        return recording.receipts if recording.files.history.exists() else []

    def concluded() -> list[Receipt]:
        return [Receipt.from_json(record) for record in results.get("receipts", ())]

    return notes.attempt_list("history.jsonl: faults", recorded) or notes.attempt_list("fault receipts", concluded)


def about_of(run: LoadedRun) -> str:
    """Describe in one line the tested system, the workload and the duration."""
    workload = run.plan.get("workload")
    parts = (
        system_of(run),
        f"workload {workload}" if workload else "",
        f"{run.end / 1e9:.0f} s" if run.recorded else "",
    )
    return ", ".join(part for part in parts if part)


def system_of(run: LoadedRun) -> str:
    """Return the name and version of the system under test, without a planted bug; "the system" if not recorded."""
    return str(run.environment.get("system") or run.plan.get("system") or "the system")


def commands_of(plan: Mapping[str, Any], *, faults: bool = True) -> list[tuple[str, str]]:
    """Return (purpose, command line) for the commands in a plan; with ``faults`` also the replay command."""
    again, replay = (quoted_command(plan.get(name)) for name in ("command", "replay_command"))
    return ([("run again", again)] if again else []) + ([("replay the faults", replay)] if replay and faults else [])


def quoted_command(text: object) -> str:
    """Quote every word of a recorded harness command again; empty for any other text.

    Users paste the command into a shell, perhaps as root, and the plan may come from a stranger.  With every word
    quoted, each is an argument of ``harness run`` or ``harness replay`` and can never be a command of its own.
    """
    try:
        words = shlex.split(printable(text)) if isinstance(text, str) else []
    except ValueError:  # unbalanced quotation marks
        return ""
    return shlex.join(words) if words[:2] in (["harness", "run"], ["harness", "replay"]) else ""


def phase_bounds(operations: Operations, phase: str) -> tuple[int, int] | None:
    """Return the first invocation and the last completion of a phase, in ns; None if it has no operations."""
    rows = operations.phase.equals(phase)
    if not bool(np.any(rows)):
        return None
    last = max(int(operations.invoked[rows].max()), int(operations.returned[rows].max()))
    return int(operations.invoked[rows].min()), last
