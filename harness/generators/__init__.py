"""Generators decide which operation is issued, and when.

They are immutable values, so they also run in virtual time.

===================  =========================================================================================
``base``             the protocol, the context, the answers a generator may give
``plain``            operations in order, pauses, lines for the log
``pacing``           rates (open and closed loop), time limits
``order``            sequences, phases, limits, cycles, until something is ok
``choice``           mixes by weight, several at the same time
``workers``          some of the workers, each worker, groups that each work on one key
``simulate``         a run in virtual time
``streams``          lazy sequences and random numbers as values
===================  =========================================================================================
"""

from harness.generators.base import (
    EXHAUSTED,
    PENDING,
    Exhausted,
    Generator,
    GeneratorContext,
    Invocation,
    Message,
    Op,
    Pending,
)
from harness.generators.choice import mix, soonest
from harness.generators.order import chain, cycle, limit, phases, then
from harness.generators.pacing import fixed_rate, stagger, time_limit
from harness.generators.plain import NOTHING, log, once, operations, repeat, seeded, sleep
from harness.generators.simulate import Completion, Simulated, simulate
from harness.generators.streams import Lazy, Stream
from harness.generators.workers import concurrent_keys, each_worker, on

__all__ = [
    "EXHAUSTED",
    "NOTHING",
    "PENDING",
    "Completion",
    "Exhausted",
    "Generator",
    "GeneratorContext",
    "Invocation",
    "Lazy",
    "Message",
    "Op",
    "Pending",
    "Simulated",
    "Stream",
    "chain",
    "concurrent_keys",
    "cycle",
    "each_worker",
    "fixed_rate",
    "limit",
    "log",
    "mix",
    "on",
    "once",
    "operations",
    "phases",
    "repeat",
    "seeded",
    "simulate",
    "sleep",
    "soonest",
    "stagger",
    "then",
    "time_limit",
]  # fmt: skip
