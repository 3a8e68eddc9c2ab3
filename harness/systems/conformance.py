"""Judge a system's code by its runs: ``harness system check`` examines each part and reports what is missing.

It examines three short runs: one with a network cut, a kill and a pause; a calm one on the same nodes, which must find
no leftovers; and one with a planted bug.  A part that is wrong is invalid.  A part that the system lacks, or that the
runs did not show, is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from harness.systems.api import COUNTS, FIGURES, System
from history import Operation, Probe, Verdict
from history.metrics.awake_clock import AwakeClock
from history.records.finding import UnderFault
from history.records.violations import found_in

#: A network cut, a kill and a pause, each of which leaves a quorum.
FAULTS: Final = ("partition-random-node", "kill-random-processes", "hammer-time")
#: Models of objects that lose their old value when written: only a read before that shows a leftover value.
OVERWRITTEN: Final = frozenset({"register", "cas-register"})
#: Seconds by which a client may exceed its timeout, because the machine may be busy.
SLACK_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Rating:
    """One part of a system, and what the runs showed about it."""

    part: str
    verdict: Verdict
    seen: str


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of one run: ``results.json``, moments (ns since its start), and the directory of the nodes' files.

    ``clock`` excludes the times in which the harness itself was stalled, because no client could return then.
    ``model`` is the workload's model, and ``reads`` are the ``f`` of its reads.
    """

    results: Mapping[str, Any]
    moments: Mapping[str, int]
    operations: Sequence[Operation]
    probes: Sequence[Probe]
    nodes: tuple[str, ...]
    files: Path
    clock: AwakeClock = field(default_factory=AwakeClock)
    model: str | None = None
    reads: frozenset[str] = frozenset()

    def check(self, name: str) -> Mapping[str, Any]:
        """Return the check or gate with this name, or an unknown one if there is none."""
        missing = {"name": name, "verdict": "unknown", "seen": "not judged"}
        return next((record for record in self.results.get("checks", ()) if record["name"] == name), missing)

    @property
    def of_clients(self) -> Mapping[str, Any]:
        """The check of what clients saw, which comes first in the results."""
        checks = self.results.get("checks") or [self.check("")]
        first: Mapping[str, Any] = checks[0]
        return first


def findings(system: System, faulty: Trial, calm: Trial, planted: Trial | None, client_timeout: float) -> list[Rating]:
    """Judge the parts of a system by its runs; ``planted`` is None if it has no planted bug."""
    return [
        _starts(faulty),
        _outcomes(faulty, client_timeout),
        *(_under(faulty, fault) for fault in FAULTS),
        _as("heal", faulty.check("recovery")),
        _as("promises", faulty.of_clients),
        _probes(system, faulty),
        _collect(faulty),
        _wipe(faulty, calm),
        _planted_bug(system, planted),
    ]


def _as(part: str, check: Mapping[str, Any]) -> Rating:
    return Rating(part, check["verdict"], f"{check['name']}: {check['seen']}")


def _starts(trial: Trial) -> Rating:
    if "main" not in trial.moments:
        return Rating("start, ready", "invalid", "the load never began")
    return Rating("start, ready", "valid", f"{len(trial.nodes)} nodes served")


def _outcomes(trial: Trial, client_timeout: float) -> Rating:
    """Check that clients return in time and give a reason whenever an operation does not succeed."""
    counts = Counter(op.outcome for op in trial.operations)
    at = trial.clock.at
    took = [(at(op.returned) - at(op.invoked)) / 1e9 for op in trial.operations if op.returned is not None]
    summary = ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("ok", "fail", "info"))
    if max(took, default=0.0) > client_timeout + SLACK_S:
        late = f"an operation took up to {max(took):.1f} s, with a client timeout of {client_timeout:g} s"
        return Rating("outcomes", "invalid", f"{summary}; {late}")
    if silent := [op for op in trial.operations if op.outcome != "ok" and op.returned is not None and not op.error]:
        return Rating("outcomes", "invalid", f"{summary}; {len(silent)} without a reason")
    return Rating("outcomes", "valid" if counts["ok"] else "unknown", summary)


def _under(trial: Trial, fault: str) -> Rating:
    """Check that the fault took effect, and that clients were still answered meanwhile."""
    states = Counter(receipt["state"] for receipt in trial.results.get("receipts", ()) if receipt["fault"] == fault)
    bitten = ", ".join(f"{number} {state}" for state, number in sorted(states.items())) or "never tried"
    under = found_in(trial.results, UnderFault)
    windows = [window for window in (under.faults if under else ()) if window.fault == fault]
    ok = sum(window.ok for window in windows)
    fine = states["installed"] and ok and all(window.exempt or window.ok >= window.least for window in windows)
    return Rating(fault, "valid" if fine else "unknown", f"{bitten}; {ok} operations ok while it was in effect")


def _probes(system: System, trial: Trial) -> Rating:
    if system.prober is None:
        return Rating("probes", "unknown", "there are none, so nothing that only nodes can report is judged")
    answers = Counter(probe.node for probe in trial.probes if probe.answered)
    if never := [node for node in trial.nodes if not answers[node]]:
        why = next((probe.error for probe in trial.probes if probe.node == never[0] and probe.error), "never asked")
        return Rating("probes", "invalid", f"{', '.join(never)} never answered: {why}")
    nothing = Probe(0, "")
    fields = {figure: figure for figure in FIGURES}
    fields |= {count: count.partition(".")[2] for count in COUNTS}
    changed = {
        name for name in fields.values() if any(getattr(p, name) != getattr(nothing, name) for p in trial.probes)
    }
    figures = [figure for figure, field in fields.items() if field in changed]
    own = sorted({name for probe in trial.probes for name in probe.own})
    summary = f"{', '.join(figures) or 'no standard figure'}; of its own: {', '.join(own) or 'none'}"
    return Rating("probes", "valid" if figures or own else "unknown", summary)


def _collect(trial: Trial) -> Rating:
    logs = {node: list((trial.files / node).glob("*.log*")) for node in trial.nodes}
    if missing := [node for node, paths in logs.items() if not paths]:
        return Rating("collect", "invalid", f"no log of {', '.join(missing)}")
    if silent := [node for node, paths in logs.items() if not any(path.stat().st_size for path in paths)]:
        return Rating("collect", "unknown", f"empty logs of {', '.join(silent)}")
    return Rating("collect", "valid", f"{sum(map(len, logs.values()))} logs of {len(logs)} nodes")


def _wipe(earlier: Trial, trial: Trial) -> Rating:
    """Check that a run on the nodes of an earlier one found none of its values, which no history would explain."""
    of_clients = trial.of_clients
    summary = f"a second run on the same nodes: {of_clients['name']}: {of_clients['seen']}"
    verdict: Verdict = of_clients["verdict"] if "main" in trial.moments else "invalid"
    if verdict == "valid" and not _looked_for_leftovers(earlier, trial):
        return Rating(
            "wipe", "unknown", f"{summary}; but every key was written before it was read: try a different --seed"
        )
    return Rating("wipe", verdict, summary)


def _looked_for_leftovers(earlier: Trial, trial: Trial) -> bool:
    """Return whether a value that an earlier run left would have been seen."""
    if trial.model not in OVERWRITTEN:
        return True
    before = {op.key for op in earlier.operations if op.f not in earlier.reads}
    written: dict[Any, int] = {}
    for op in trial.operations:
        if op.f not in trial.reads and op.outcome != "fail":
            written[op.key] = min(op.invoked, written.get(op.key, op.invoked))
    return any(
        op.f in trial.reads and op.outcome == "ok" and op.key in before and op.ended <= written.get(op.key, op.ended)
        for op in trial.operations
    )


def _planted_bug(system: System, trial: Trial | None) -> Rating:
    if trial is None:
        return Rating(
            "planted bug", "unknown", "there is none, so it is unknown whether a broken system would be noticed"
        )
    planted_bug = system.planted_bugs[0]
    caught = [name for name in planted_bug.found_by if trial.check(name)["verdict"] == "invalid"]
    if caught:
        return Rating("planted bug", "valid", f"{planted_bug.name} was found by {', '.join(caught)}")
    return Rating("planted bug", "invalid", f"{planted_bug.name} was not found by {' or '.join(planted_bug.found_by)}")
