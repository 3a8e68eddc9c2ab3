"""The testing kit: fakes for testing a fault, a workload or a client without machines and without waiting.

``clock``      a clock on which waiting takes no real time
``nodes``      nodes that keep rules and processes in dictionaries, and a system with a process on each
``faults``     a context for faults made of these, and a record of its events
``memory``     in-memory objects of any model, correct or broken, and histories of them
``isolation``  checks whether a database satisfies an isolation level, for tests of your own
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
