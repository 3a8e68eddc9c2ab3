"""Write when violations were seen, from what the check ``linearizable`` records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def violation_times_text(found: Mapping[str, Any], calm: str) -> str:
    """Say in which phases the answers were that show violations, and which faults had stood from each change at issue.

    These are two questions: an answer in the final phase may miss what was written under a fault.  Such as "answered in
    warm-up (30), main (72); between the change at issue and the answer stood #0 bridge (41), no fault (61)", with
    ``calm`` for the last of them.  ``found`` is the record that ``harness.judge.violation_times`` makes.
    """
    phases = [f"{phase} ({count})" for phase, count in found["phases"].items()]
    faults = [f"#{fault['id']} {fault['fault']} ({fault['count']})" for fault in found["faults"]]
    faults += [f"{calm} ({found['calm']})"] if found["calm"] else []
    some, among = found["counted"], found["counted"] != found["of"]
    dated = f"{some} of these {'is' if some == 1 else 'are'} dated: " if among else ""
    stood = f"between the change at issue and the answer stood {', '.join(faults)}"
    return f"{dated}answered in {', '.join(phases)}; {stood}"
