"""Say when violations were seen, from the records of the ``linearizable`` check."""

from __future__ import annotations

from history.records.finding import ViolationTimes


def violation_times_text(found: ViolationTimes, calm: str) -> str:
    """Say in which phases the violating answers came, and under which faults they became possible.

    These are two different questions, because an answer in the final phase may miss a value that was written under
    a fault.  The text is like "answered in warm-up: 30, in main: 72; from the change that the answer contradicts to
    the answer, 41 fell under #0 bridge, 61 under no fault". ``calm`` is the name for "no fault".
    """
    phases = [f"in {phase}: {count}" for phase, count in found.phases.items()]
    faults = [(f"#{fault.id} {fault.fault}", fault.count) for fault in found.faults]
    faults += [(calm, found.calm)] if found.calm else []
    fell = ", ".join(f"{count}{'' if place else ' fell'} under {name}" for place, (name, count) in enumerate(faults))
    several = ", some under several" if sum(count for _, count in faults) > found.counted else ""
    some, among = found.counted, found.counted != found.of
    dated = f"{some} of these {'is' if some == 1 else 'are'} dated: " if among else ""
    stood = f"from the change that the answer contradicts to the answer, {fell}{several}"
    return f"{dated}answered {', '.join(phases)}; {stood}"
