"""Workload ``queue-log``: messages with unique numbers go into a few queues, and all replicas are read.

Each worker sends messages in sequence, and reads from the broker of its node: mostly it follows the ends of the queues,
and sometimes it rereads what it knows.  The next place to read is counted from the messages received: the place that
the broker suggests would hide that a queue has become shorter.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from harness.generators import PENDING, Generator, GeneratorContext, Invocation, Op, Stream, seeded
from harness.systems.api import Workload
from harness.systems.rocketmq_brokers.messages import queue_names
from harness.systems.rocketmq_brokers.queues import queues_check
from harness.workloads import last_reads
from history import Event

#: Fractions of all operations; the rest are reads of places before the end that a worker knows.
SENDS: Final = 0.6
TAILS: Final = 0.3
_NONE: Final[Mapping[tuple[int, str], int]] = MappingProxyType({})


class SendsAndPulls(Struct, frozen=True):
    """The generator: ``payload`` is the next to send, and ``places`` maps (worker, queue) to the first unread place."""

    queues: tuple[str, ...]
    stream: Stream
    payload: int = 1
    places: Mapping[tuple[int, str], int] = _NONE

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        if not ctx.free:
            return PENDING, self
        worker, payload = ctx.free[0], self.payload
        queue, stream = self.stream.choose(self.queues)
        draw, stream = stream.draw()
        place = self.places.get((worker, queue), 0)
        if draw < SENDS:
            operation, payload = Invocation("send", queue, payload), payload + 1
        else:
            if draw >= SENDS + TAILS and place:
                place, stream = stream.choose(range(place))
            operation = Invocation("pull", queue, place)
        return operation.by(worker, ctx.time), SendsAndPulls(self.queues, stream, payload, self.places)

    def update(self, ctx: GeneratorContext, event: Event) -> Generator:
        if event.type != "ok" or event.f != "pull":
            return self
        key = (ctx.worker_of(event), str(event.key))
        place = event.value["first"] + len(event.value["payloads"])
        if place <= self.places.get(key, 0):
            return self
        return SendsAndPulls(self.queues, self.stream, self.payload, {**self.places, key: place})


QUEUE_LOG: Final = Workload(
    name="queue-log",
    summary="messages are sent to a few queues; every replica is read by offset, and in full at the end",
    generator=lambda scale: seeded(
        "operations", lambda rng: SendsAndPulls(queue_names(scale.setup), Stream(rng))
    ),
    final=lambda scale: last_reads(queue_names(scale.setup)),
    model=queues_check,
    kinds=("send", "pull"),
    reads=frozenset({"pull", "read"}),
)  # fmt: skip
