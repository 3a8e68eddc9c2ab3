"""The recorded data of a run: the input of the judge."""

from __future__ import annotations

import errno
import logging
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from harness.clusters import netns_names
from harness.errors import CheckError
from harness.judge.clock_faults import sets_clock
from harness.judge.damage import Damages, damages_of
from harness.plan import Plan
from harness.runstate import RunState
from harness.store import require_history
from harness.systems.api import Alarm, Evidence, Machine
from harness.systems.registry import FILE
from history import Probe, Receipt, RunFiles
from history.columns.operations import Operations
from history.json_object import load_object
from history.metrics.awake_clock import AwakeClock
from history.node_logs import seconds_of
from history.recording import Recording
from history.safe_open import read_below

log = logging.getLogger("harness.judge.recorded")


@dataclass(frozen=True, slots=True)
class Recorded:
    """The recorded data of a run.

    ``log_hits`` maps each node to the counts of its alarms' patterns; a node without collected logs is missing.
    ``early_hits`` has the counts of lines that a node logged before one of our faults damaged its files.  ``members``
    are the nodes where the system keeps its data: faults chose among them, and majorities are counted over them.
    ``files`` is the directory of the collected files.
    """

    plan: Plan
    operations: Operations
    receipts: Sequence[Receipt]
    probes: Sequence[Probe]
    state: RunState
    nodes: tuple[str, ...]
    members: tuple[str, ...]
    log_hits: dict[str, dict[str, int]]
    files: Path | None = None
    early_hits: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def of_members(self) -> list[Probe]:
        """The probes of members.

        Any other node, such as a metadata server, may have a log, a leader and terms of its own.
        """
        return [probe for probe in self.probes if probe.node in self.members]

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """The alarms of the system under test."""
        return self.plan.under_test.alarms

    @property
    def clock(self) -> AwakeClock:
        """The run's clock, without the times when the harness itself was stalled."""
        return AwakeClock(self.state.standstills)

    @property
    def roles(self) -> dict[str, list[str]] | None:
        """The names of the roles that ran on each node; None if the run did not record them."""
        try:
            return msgspec.convert(self.state.environment.get("roles"), dict[str, list[str]] | None)
        except msgspec.ValidationError:
            return None

    @property
    def serving(self) -> tuple[str, ...]:
        """The nodes on which any role ran; all nodes if the run did not record roles."""
        roles = self.roles
        return tuple(node for node in self.nodes if roles is None or roles.get(node, True))

    @property
    def homes(self) -> tuple[str, ...]:
        """The names to which clients send requests that are not a node's, such as "primary", wherever that is."""
        codes = np.unique(self.operations.node.codes)
        names = {self.operations.node.names[code] for code in codes if code >= 0}
        return tuple(sorted(names - {"", *self.nodes}))

    @property
    def keepers(self) -> tuple[str, ...]:
        """The members on which any role ran, which recovery checks look at.

        A proxy or a metadata server is not one of them.
        """
        return tuple(node for node in self.serving if node in self.members)

    def evidence(self, recovered: Iterable[str]) -> Evidence:
        """Return the evidence for a system's own checks; ``recovered`` nodes caught up after the last heal."""
        addresses = self.state.environment.get("nodes")
        known = addresses if isinstance(addresses, dict) else {}
        return Evidence(
            setup=self.plan.setup(Machine(node, str(known.get(node, ""))) for node in self.nodes),
            nodes=self.nodes,
            operations=self.operations,
            probes=self.probes,
            receipts=self.receipts,
            moments=self.state.moments,
            recovered=tuple(recovered),
            files=self.files,
        )


def read_recorded(run: RunFiles | Recording) -> Recorded:
    """Read all recorded data that the judge needs.

    Raises FormatError, FileNotFoundError, CheckError for an invalid plan or state, or UsageError if there are no
    records.
    """
    recording = Recording.of(run)
    files = recording.files
    try:
        history = recording.history
    except (OSError, ValueError):
        require_history(files)
        raise
    plan, state = plan_of(recording), _state_of(recording)
    if history.torn is not None:
        state.warnings.append(f"{files.history.name}: {history.torn}")
    names = tuple(history.header.extra.get("nodes") or netns_names(plan.nodes))
    receipts, alarms = history.receipts, plan.under_test.alarms
    return Recorded(
        plan=plan,
        operations=recording.operations,
        receipts=receipts,
        probes=recording.probes,
        state=state,
        nodes=names,
        members=tuple(history.header.extra.get("members") or names),
        log_hits=log_hits(recording, names, alarms),
        files=files.nodes,
        early_hits=early_hits(recording, damages_of(receipts, plan), alarms, history.header.started, receipts),
    )


def plan_of(run: Recording) -> Plan:
    """Return the plan by which a run is judged; if its system is a file, the plan uses the copy that the run kept.

    Raises CheckError for an invalid plan, FormatError for an invalid copy of the file, or FileNotFoundError without a
    plan.
    """
    path, kept = run.files.plan, run.files.system
    try:
        if not run.plan and not path.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        with suppress(FileNotFoundError):
            if read_below(run.files.root, kept):
                return Plan.from_json({**run.plan, "system": str(kept)})
        plan = Plan.from_json(run.plan)
    except ValueError as error:
        raise CheckError(f"{path}: not a plan: {error}") from None
    if plan.system.endswith(FILE):  # do not read a file from the working directory that a foreign run names
        raise CheckError(f"{path}: the run has no copy of its system's file: put {plan.system} there as {kept.name}")
    return plan


def _state_of(run: Recording) -> RunState:
    try:
        return RunState.from_json(run.state, run.files.state)
    except ValueError as error:
        raise CheckError(str(error)) from None


def log_hits(run: Recording, nodes: tuple[str, ...], alarms: Iterable[Alarm]) -> dict[str, dict[str, int]]:
    """Count the alarms in the collected logs of every node.

    Logs are limited in size and lose their oldest lines, so the server also counts alarms (``alarms-<pid>.json``).  But
    a process that was killed may not have written its last counts.  The higher of the two counts is used.
    """
    hits, known = dict[str, dict[str, int]](), tuple(alarms)
    for node in nodes:
        read, counted = _lines_of(run, node, known), _counted(run, node)
        if read is not None or counted is not None:
            hits[node] = dict((read or Counter()) | (counted or Counter()))
    return hits


def early_hits(
    run: Recording, damages: Damages, alarms: Iterable[Alarm], started: str, receipts: Iterable[Receipt] = ()
) -> dict[str, dict[str, int]]:
    """Count the alarms that nodes logged before we damaged their files, according to the dates of the lines.

    If a fault set a node's clock later, its dates show nothing.
    """
    hits, known = dict[str, dict[str, int]](), tuple(alarms)
    clocks = [receipt for receipt in receipts if receipt.state != "skipped" and sets_clock(receipt.fault)]
    for node in damages.nodes:
        damaged = min(damage.begin for damage in damages.of(node))
        dated = not any(
            node in receipt.nodes and (receipt.healed is None or receipt.healed > damaged) for receipt in clocks
        )

        def early(line: str, until: float = damaged / 1e9 if dated else -math.inf) -> bool:
            logged = seconds_of(line, started)
            return logged is not None and logged < until

        hits[node] = dict(_lines_of(run, node, known, early) or {})
    return hits


def _lines_of(
    run: Recording, node: str, alarms: Sequence[Alarm], counts: Callable[[str], bool] = lambda _: True
) -> Counter[str] | None:
    """Count the lines of each alarm in a node's logs; None if it has no logs."""
    hits: Counter[str] = Counter()
    for line in run.log_lines(node):
        for alarm in alarms:
            if alarm.pattern in line and not (alarm.unless and alarm.unless in line) and counts(line):
                hits[alarm.pattern] += 1
    return hits if any((run.files.nodes / node).glob("*.log*")) else None


def _counted(run: Recording, node: str) -> Counter[str] | None:
    """Return the sum of the alarms that the node's processes counted; None if it has no such file."""
    counted: Counter[str] | None = None
    for path in sorted((run.files.nodes / node).glob("alarms-*.json")):
        try:
            alarms = load_object(read_below(run.files.root, path))["alarms"]
            counts = Counter({str(pattern): int(count) for pattern, count in alarms.items()})
        except (ValueError, TypeError, KeyError, AttributeError) as error:  # cut off by a kill or a power cut
            log.warning("%s: not counts of alarms: %s", path, error)
            continue
        counted = counts if counted is None else counted + counts
    return counted
