"""When violations were seen, as the check ``linearizable`` records it, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def occasions_text(found: Mapping[str, Any], calm: str) -> str:
    """Such as "30 in warm-up, 72 in main; 41 during #0 bridge, 61 without a fault"; ``calm`` are the words at its end.

    ``found`` is the record that ``harness.judge.violation_times`` makes.
    """
    phases = [f"{count} in {phase}" for phase, count in found["phases"].items()]
    faults = [f"{fault['count']} during #{fault['id']} {fault['fault']}" for fault in found["faults"]]
    faults += [f"{found['calm']} {calm}"] if found["calm"] else []
    among = "" if found["counted"] == found["of"] else f"{found['counted']} of these are dated: "
    return f"{among}{', '.join(phases)}; {', '.join(faults)}"
