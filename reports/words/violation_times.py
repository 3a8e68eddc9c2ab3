"""Say when violations were seen, from the records of the ``linearizable`` check."""

from __future__ import annotations

from history.records.finding import ViolationTimes


def violation_times_text(found: ViolationTimes) -> str:
    """Say in which phases the violating answers came, and during which faults they became possible.

    These are different questions, because an answer in the final phase may miss a value that was written under a fault.
    The text is like "30 in the warm-up phase, 72 in the main phase; between the contradicted change and the answer, #0
    bridge was active for 41, no fault for 61".
    """
    phases = ", ".join(f"{count} in the {phase} phase" for phase, count in found.phases.items())
    faults = [(f"#{fault.id} {fault.fault}", fault.count) for fault in found.faults]
    faults += [("no fault", found.calm)] if found.calm else []
    between = "between the contradicted change and the answer"
    stood = f"for none of them was a fault active {between}"
    if found.faults:
        active = ", ".join(f"{name}{'' if at else ' was active'} for {many}" for at, (name, many) in enumerate(faults))
        several = ", several for some" if sum(many for _, many in faults) > found.counted else ""
        stood = f"{between}, {active}{several}"
    some, among = found.counted, found.counted != found.of
    dated = f"{some} of these {'is' if some == 1 else 'are'} dated: " if among else ""
    return f"{dated}{phases}; {stood}"
