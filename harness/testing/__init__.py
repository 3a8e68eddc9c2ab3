"""The testing kit: fakes of what a test of a fault, a workload or a client needs, without machines and without waiting.

``clock``   a clock that passes when it is waited on
``nodes``   nodes that keep rules and processes in dictionaries, and a system with a process on each
``faults``  the context of a fault made of these, and a record of its events
``memory``  registers in memory, right and broken, and histories of them
"""

from harness.testing.clock import FakeClock
from harness.testing.faults import Recorder, facts, world
from harness.testing.memory import BUGS, QUIRKS, Quirk, Registers, history_of
from harness.testing.nodes import FakeNodes, FakeSystem, UnreachableError

__all__ = [
    "BUGS", "QUIRKS", "FakeClock", "FakeNodes", "FakeSystem", "Quirk", "Recorder", "Registers", "UnreachableError",
    "facts", "history_of", "world",
]  # fmt: skip
