"""The testing kit: fakes of what a test of a fault, a workload or a client needs, without machines and without waiting.

``clock``      a clock that passes when it is waited on
``nodes``      nodes that keep rules and processes in dictionaries, and a system with a process on each
``faults``     the context of a fault made of these, and a record of its events
``memory``     objects of any model in memory, right and broken, and histories of them
``isolation``  whether a database keeps an isolation level, for a test of your own
"""

from harness.testing.clock import FakeClock
from harness.testing.faults import Recorder, facts, world
from harness.testing.isolation import assert_isolation
from harness.testing.memory import BUGS, QUIRKS, Objects, Quirk, history_of, history_of_workload
from harness.testing.nodes import FakeNodes, FakeSystem, UnreachableError

__all__ = [
    "BUGS", "QUIRKS", "FakeClock", "FakeNodes", "FakeSystem", "Objects", "Quirk", "Recorder", "UnreachableError",
    "assert_isolation", "facts", "history_of", "history_of_workload", "world",
]  # fmt: skip
