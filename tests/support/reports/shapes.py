"""The shape of a made run: its size, its kind, and its faults."""

from __future__ import annotations

from dataclasses import dataclass

NODES = ("n1", "n2", "n3", "n4", "n5")
KINDS = ("valid", "invalid", "unknown", "harness-failure", "no-recovery")
S = 10**9
FAULTS = (
    "partition-majorities-ring",
    "kill-random-processes",
    "hammer-time",
    "partition-one-way",
    "packet-delay",
    "clock-skew",
)
FAMILIES = dict(zip(FAULTS, ("partition", "kill", "pause", "partition", "packet", "clock"), strict=True))
HOSTILE = "</script><script>window.__hacked=1</script><img src=x onerror=window.__hacked=1>\u2028\x1b[31m&\"'"


@dataclass
class Shape:
    """What to make: ``operations`` at ``rate`` per second by ``clients``; ``fault`` holds names, or ``all``."""

    kind: str = "valid"
    operations: int = 12_000
    rate: float = 200.0
    clients: int = 10
    keys: int = 5
    seed: int = 7
    interval_s: float = 10.0
    fault: str = "partition-majorities-ring"
    hostile: bool = False

    @property
    def seconds(self) -> float:
        return self.operations / self.rate


@dataclass
class Fault:
    id: int
    name: str
    start: float
    stood: float
    heal: float
    healed: float
    leader: str
    next_leader: str
    nodes: tuple[str, ...]
    grudge: dict[str, list[str]]
    skipped: bool = False


def outage_at(time: float, faults: list[Fault]) -> Fault | None:
    """Return the fault that caused the election at a moment (the leader is gone for 2.2 s)."""
    for fault in faults:
        if fault.next_leader != fault.leader and fault.start <= time < fault.start + 2.2:
            return fault
    return None
