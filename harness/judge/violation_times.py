"""When violations happened: the phase of the run, and the faults in effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from checker.counterexamples.violation_times import Sighting, sightings
from history import KeyVerdict, Receipt
from history.columns.operations import Operations
from history.records.events import PHASES
from history.records.finding import FaultCount, ViolationTimes


def violation_times(
    operations: Operations,
    keys: Sequence[KeyVerdict],
    receipts: Sequence[Receipt],
    check: str = "linearizable",
) -> ViolationTimes | None:
    """Count the violations by phase and fault; None if there is none."""
    bad = [verdict for verdict in keys if verdict.verdict == "invalid"]
    if not bad:
        return None
    sighted = [sighting for verdict in bad for sighting in sightings(operations.of_key(verdict.key), verdict)]
    standing = [[receipt for receipt in receipts if _stood(receipt, sighting)] for sighting in sighted]
    phases = Counter(sighting.by.phase or "main" for sighting in sighted)
    by_id = Counter(receipt.id for faults in standing for receipt in faults)
    return ViolationTimes(
        check=check,
        of=sum(verdict.violations for verdict in bad),
        counted=len(sighted),
        phases={phase: phases[phase] for phase in PHASES if phases[phase]},
        faults=tuple(FaultCount(r.id, r.fault, by_id[r.id]) for r in receipts if by_id[r.id]),
        calm=sum(not faults for faults in standing),
    )


def _stood(receipt: Receipt, sighting: Sighting) -> bool:
    over = float("inf") if receipt.healed is None else receipt.healed
    return receipt.state != "skipped" and receipt.started <= sighting.end and over >= sighting.begin
