"""The workload in virtual time, against queues in memory, right and wrong."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from harness.generators import Completion, Invocation, Simulated, Stream, simulate
from harness.systems import Machine, Setup
from harness.systems.api import Evidence, Scale
from harness.systems.rocketmq_brokers import DLEDGER
from harness.systems.rocketmq_brokers.messages import PAGE
from harness.systems.rocketmq_brokers.queues import queues_check
from history import Operation
from history.records.operations import pair

NODES = ("n1", "n2", "n3")
(WORKLOAD,) = DLEDGER.workloads
SETUP = Setup(version="5.5.0", options={"queues": 3}, nodes=tuple(Machine(node, "10.0.0.1") for node in NODES))
SCALE = Scale(keys=1, workers=5, setup=SETUP)


class Queues:
    """Queues in memory on three replicas, of which all but the first are behind; right but for what ``bug`` says."""

    def __init__(self, bug: str = "") -> None:
        self._bug = bug
        self._queues: defaultdict[Any, list[int]] = defaultdict(list)

    def __call__(self, one: Invocation, stream: Stream) -> tuple[Completion, Stream]:
        draw, stream = stream.draw()
        after = 0.002 + 0.02 * draw
        queue = self._queues[one.key]
        if one.f == "send":
            if self._bug == "forgets" and one.value == 200:
                return Completion(after, value=len(queue)), stream
            queue.append(one.value)
            return Completion(after, "info" if draw < 0.02 else "ok", value=len(queue) - 1), stream
        node = one.worker % len(NODES)
        held = queue if one.f == "read" else queue[: len(queue) - 3 * node]
        if self._bug == "short" and one.f == "read" and node == 2:
            held = held[:-1]
        first = one.value or 0
        payloads = held[first:] if one.f == "read" else held[first : first + PAGE]
        return Completion(after, value={"first": first, "payloads": list(payloads), "end": len(held)}), stream


def run(bug: str = "", most: int = 1200) -> tuple[Simulated, Evidence]:
    queues = Queues(bug)
    main = simulate(WORKLOAD.generator(SCALE), workers=5, answers=queues, seed=5, most=most)
    operations = [replace(one, node=NODES[one.process % 5 % len(NODES)]) for one in pair(main.events)]
    at, index = max(event.time for event in main.events) + 1, len(main.events)
    for worker in range(len(NODES)):
        for one in WORKLOAD.final(SCALE):
            answer, _ = queues(one.by(worker, at), Stream(Random(1)))
            place, index = index, index + 2
            made = Operation(
                900 + worker, one.f, one.key, None, answer.value, "ok", at, at, place, place + 1, NODES[worker]
            )
            operations.append(made)
    evidence = Evidence(
        setup=SETUP,
        nodes=NODES,
        operations=operations,
        probes=(),
        receipts=(),
        recovered=NODES,
        moments={"healed": at, "final-reads": at},
    )
    return main, evidence


def test_right_queues_are_valid() -> None:
    main, evidence = run()
    check = queues_check(evidence)
    assert check.verdict == "valid", check.seen
    assert {one.f for one in main.issued} == set(WORKLOAD.kinds)
    assert {one.key for one in main.issued} == {"queue-0", "queue-1", "queue-2"}


@pytest.mark.parametrize(
    ("bug", "kinds"), [("forgets", {"lost-message", "log-overwrite"}), ("short", {"missing-on-replica"})]
)
def test_wrong_ones_are_found_out(bug: str, kinds: set[str]) -> None:
    check = queues_check(run(bug)[1])
    assert check.verdict == "invalid"
    assert {one.kind for one in check.counterexamples} == kinds


def test_no_payload_is_sent_twice_and_the_same_seed_makes_the_same_operations() -> None:
    main = run()[0]
    payloads = [one.value for one in main.issued if one.f == "send"]
    assert len(payloads) == len(set(payloads)) > 600
    assert main == run()[0]


def test_readers_follow_the_end_and_sometimes_go_back() -> None:
    """A worker asks for no place that it has not been shown the way to; and it does not leave one out."""
    main, evidence = run()
    shown: defaultdict[tuple[int, Any], int] = defaultdict(int)
    again = 0
    for one in evidence.operations:
        if one.f == "pull":
            place = shown[one.process % 5, one.key]
            assert one.value <= place
            again += one.value < place
            shown[one.process % 5, one.key] = max(place, one.value + len(one.result["payloads"]))
    assert 50 < again < len(main.issued) / 5
    assert min(shown.values()) > 50
