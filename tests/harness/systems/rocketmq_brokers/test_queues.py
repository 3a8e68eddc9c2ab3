"""Queues: a good and a bad twin for each promise, and the comparisons against brute force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.systems import Setup
from harness.systems.api import Evidence
from harness.systems.rocketmq_brokers.queues import BOOTED, queues_check
from harness.systems.rocketmq_brokers.words import QUEUE_KINDS
from history import Operation, Probe

NODES = ("n1", "n2")
#: The last heal is before the operation number 7, and the reads at the end begin with it.
MOMENTS = {"healed": 14 * 10**8, "final-reads": 14 * 10**8}


def operation(
    at: int, f: str, value: Any, result: Any = None, outcome: str = "ok", *, node: str = "n1", until: int = 0
) -> Operation:
    """The operation number ``at``, which ends before the next one begins, or before the operation ``until``."""
    end = 2 * max(at, until) + 1
    return Operation(
        at, f, "queue-0", value, result, outcome, 2 * at * 10**8, end * 10**8, 2 * at, end, node  # type: ignore[arg-type]
    )  # fmt: skip


def send(at: int, payload: int, offset: int | None, outcome: str = "ok", until: int = 0) -> Operation:
    return operation(at, "send", payload, offset, outcome, until=until)


def pull(at: int, first: int, payloads: Sequence[Any], end: int, node: str = "n1", **more: Any) -> Operation:
    value = {"first": first, "payloads": list(payloads), "end": end, **more}
    return operation(at, "pull", first, value, node=node)


def whole(at: int, payloads: Sequence[Any], node: str, end: int | None = None, **more: Any) -> Operation:
    value = {"first": 0, "payloads": list(payloads), "end": len(payloads) if end is None else end, **more}
    return operation(at, "read", None, value, node=node)


def evidence(
    operations: Sequence[Operation],
    recovered: Sequence[str] = NODES,
    probes: Sequence[Probe] = (),
    moments: Mapping[str, int] = MOMENTS,
) -> Evidence:
    return Evidence(
        setup=Setup(version="1"), nodes=NODES, operations=operations, probes=probes, receipts=(), moments=moments,
        recovered=tuple(recovered),
    )  # fmt: skip


def kinds(operations: Sequence[Operation], **more: Any) -> set[str]:
    check = queues_check(evidence(operations, **more))
    assert (check.verdict == "invalid") == bool(check.counterexamples)
    assert {one.kind for one in check.findings} == {one.kind for one in check.counterexamples}
    return {one.kind for one in check.counterexamples}


TWO = [send(0, 10, 0), send(1, 11, 1)]
LAST = [whole(8, [10, 11], "n1"), whole(9, [10, 11], "n2")]


@pytest.mark.parametrize(
    "operations",
    [
        [*TWO, pull(2, 0, [10, 11], 2), *LAST],
        [*TWO, pull(2, 0, [], 0, "n2"), pull(3, 0, [10], 1, "n2"), *LAST],
        [*TWO, send(2, 12, None, "info"), *LAST],
        [*TWO, send(2, 12, None, "info"), whole(8, [10, 11, 12], "n1"), whole(9, [10, 11, 12], "n2")],
        [send(0, 12, None, "info"), send(1, 10, 1), whole(8, [12, 10], "n1"), whole(9, [12, 10], "n2")],
        [*TWO, send(2, 12, None, "fail"), *LAST],
        [send(0, 10, 1, until=1), send(1, 11, 0), whole(8, [11, 10], "n1"), whole(9, [11, 10], "n2")],
        [*TWO, whole(8, [10, 11], "n1"), whole(9, [10, 11], "n2"), send(10, 12, 2)],
        [*TWO, whole(7, [10], "n2"), *LAST],
    ],
    ids=["both are read", "a replica may be behind", "a doubted send was not kept", "a doubted send was kept",
         "a doubted send fills a gap", "a failed send", "two at once", "a send after the reads", "read twice"],
)  # fmt: skip
def test_what_is_permitted(operations: list[Operation]) -> None:
    assert queues_check(evidence(operations)).verdict == "valid"


@pytest.mark.parametrize(
    ("kind", "operations"),
    [
        ("lost-message", [*TWO, whole(8, [10], "n1"), whole(9, [10], "n2")]),
        ("lost-message", [send(0, 10, 0), send(1, 12, None, "info"), pull(2, 1, [12], 2), whole(8, [10], "n1"),
                          whole(9, [10], "n2")]),
        ("missing-on-replica", [*TWO, whole(8, [10, 11], "n1"), whole(9, [10], "n2")]),
        ("hole", [*TWO, whole(8, [10], "n1", 2), whole(9, [10, 11], "n2")]),
        ("misplaced", [*TWO, whole(8, [10, 11], "n1", own=[[1, 4]]), LAST[1]]),
        ("log-overwrite", [*TWO, send(2, 12, 1), *LAST]),
        ("log-overwrite", [send(0, 10, None, "info"), send(1, 11, None, "info"), pull(2, 0, [10], 1),
                           pull(3, 0, [11], 1, "n2"), *LAST]),
        ("duplicate", [*TWO, pull(2, 0, [10, 11, 10], 3), *LAST]),
        ("log-order", [send(0, 10, 1), send(1, 11, 0), whole(8, [11, 10], "n1"), whole(9, [11, 10], "n2")]),
        ("log-hole", [send(0, 10, 0), send(1, 11, 2), *LAST]),
        ("failed-write-read", [*TWO, send(2, 12, None, "fail"), pull(3, 2, [12], 3), *LAST]),
        ("never-written", [*TWO, pull(3, 2, [13], 3), *LAST]),
        ("never-written", [*TWO, pull(3, 2, ["3 other bytes: 010203"], 3), *LAST]),
    ],
)  # fmt: skip
def test_what_is_not(kind: str, operations: list[Operation]) -> None:
    assert kind in kinds(operations)


def test_the_end_of_a_process_never_goes_back_and_that_of_another_may() -> None:
    operations = [*TWO, pull(2, 0, [10, 11], 2, "n2"), pull(4, 1, [], 1, "n2"), *LAST]

    def probes(*booted: int) -> list[Probe]:
        times = (350_000_000, 950_000_000)
        return [Probe(time, "n2", own={BOOTED: begun}) for time, begun in zip(times, booted, strict=True)]

    assert kinds(operations, probes=probes(5, 5)) == {"end-went-back"}
    assert kinds(operations, probes=probes(5, 6)) == set()
    assert kinds(operations) == set(), "nothing shows that it is one process"
    onward = [*TWO, pull(2, 1, [], 1, "n2"), pull(4, 0, [10, 11], 2, "n2"), *LAST]
    assert kinds(onward, probes=probes(5, 5)) == set()


def test_a_replica_that_has_not_caught_up_lacks_nothing() -> None:
    short = [*TWO, whole(8, [10, 11], "n1"), whole(9, [10], "n2")]
    assert kinds(short, recovered=["n1"]) == set()
    assert kinds([*TWO, whole(8, [10], "n1"), whole(9, [10], "n2")], recovered=["n1"]) == set()


def test_what_was_acknowledged_after_the_heal_is_kept_too() -> None:
    rest = {"healed": 6 * 10**8, "quiet": 13 * 10**8, "final-reads": 14 * 10**8}
    late = [*TWO, send(4, 12, 2), pull(5, 2, [12], 3)]
    assert kinds([*late, *LAST], moments=rest) == {"lost-message"}
    assert kinds([*late, whole(8, [10, 11, 12], "n1"), whole(9, [10, 11, 12], "n2")], moments=rest) == set()


def test_what_stands_behind_a_hole_is_not_lost() -> None:
    assert kinds([*TWO, send(2, 12, 2), whole(8, [], "n1", 3), whole(9, [], "n2", 3)]) == {"hole"}


def test_a_hole_counts_only_on_a_replica_that_has_caught_up() -> None:
    assert kinds([*TWO, whole(4, [10], "n2", 2), LAST[0]], recovered=["n1"]) == set()


@pytest.mark.parametrize(
    "operations", [[send(0, 10, None, "info"), *[whole(8, [], "n1"), whole(9, [], "n2")]], TWO, []]
)
def test_what_proves_nothing_is_unknown(operations: list[Operation]) -> None:
    assert queues_check(evidence(operations)).verdict == "unknown"


def test_a_counterexample_names_the_operations_that_were_recorded() -> None:
    operations = [*TWO, send(2, 12, 1), *LAST]
    examples = queues_check(evidence(operations)).counterexamples
    (example,) = [one for one in examples if one.kind == "log-overwrite"]
    assert all(one in operations for one in example.operations)
    assert {one.value for one in example.operations} <= {11, 12, None}
    assert example.suspects


# -- brute force: every pair of a message that was shown and a last read -----------------------------------------------

SHORT = st.lists(st.integers(0, 5), max_size=4, unique=True)


@given(SHORT, SHORT, SHORT, st.sets(st.sampled_from(NODES)))
def test_comparisons_find_what_all_pairs_show(
    pulled: list[int], first: list[int], second: list[int], recovered: set[str]
) -> None:
    sends = [send(at, at, None, "info", until=20) for at in range(6)]
    last = {"n1": first, "n2": second}
    operations = [
        *sends, pull(6, 0, pulled, len(pulled)), *(whole(7 + at, last[node], node) for at, node in enumerate(NODES))
    ]  # fmt: skip
    mine = kinds(operations, recovered=sorted(recovered)) & set(QUEUE_KINDS)
    expected = set()
    if recovered == set(NODES) and any(one not in first and one not in second for one in pulled):
        expected.add("lost-message")
    for node in recovered:
        longest = max(len(first), len(second))
        if any(len(last[node]) <= place < longest for place in range(len(pulled))):
            expected.add("missing-on-replica")
    assert mine == expected


@given(st.lists(st.tuples(st.sampled_from(NODES), st.integers(0, 3), st.integers(0, 1)), max_size=8))
def test_ends_that_go_back_are_found_as_by_all_pairs(reads: list[tuple[str, int, int]]) -> None:
    """Reads one after the other; the process of a node is another one once its number has changed."""
    life = dict.fromkeys(NODES, 0)
    operations, probes = [*(send(at, at, at) for at in range(3))], list[Probe]()
    lives = []
    for at, (node, end, restart) in enumerate(reads, 3):
        life[node] += restart
        lives.append((node, end, life[node]))
        operations.append(pull(at, end, [], end, node))
        moment = 2 * at * 10**8
        probes += [Probe(time, node, own={BOOTED: life[node]}) for time in (moment - 1, moment + 10**8 + 1)]
    expected = any(
        one[0] == other[0] and one[2] == other[2] and other[1] < one[1]
        for place, one in enumerate(lives)
        for other in lives[place + 1 :]
    )
    assert ("end-went-back" in kinds(operations, probes=probes)) == expected
