"""Isolation levels: against their definitions, by names on known histories, and by stores whose level is known."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from checker import ModelError, Transaction, check_operations, check_transactions
from checker.foreign import take
from checker.models.levels import LEVELS, REFUTES, as_strong, strongest
from checker.transactions.transaction import operations_of_transactions
from history import FormatError, Operation
from history.readers import Foreign
from tests.support.checker.oracle_transactions import levels_that_hold
from tests.support.checker.transaction_histories import STORES, Shape, history_of
from tests.support.draws import draws

#: What is decided exactly for lists: every version is known but for unread ones, whose order no read shows.
EXACT = ("serializable", "strong-session-serializable", "strict-serializable")


def ok(process: int, *steps: Any, invoked: float | None = None, returned: float | None = None) -> Transaction:
    return Transaction(process, [list(step) for step in steps], "ok", invoked, returned)


def failed(process: int, *steps: Any) -> Transaction:
    return Transaction(process, [list(step) for step in steps], "fail")


def in_doubt(process: int, *steps: Any) -> Transaction:
    return Transaction(process, [list(step) for step in steps], "info")


def small(seed: int, holds: str) -> tuple[str, list[Operation]]:
    random = Random(seed)
    kind = random.choice(STORES)
    shape = Shape(random.randint(2, 5), random.randint(1, 3), ties=random.choice([0, 0.3]))
    return kind, history_of(random, kind, holds, shape)


# -- against the definitions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("holds", ["list-append", "rw-register"])
def test_no_level_is_refuted_that_some_execution_explains(holds: str) -> None:
    """Every order times every choice of what is in doubt; at the serializable levels of lists nothing is missed."""
    refuted: Counter[str] = Counter()
    start = draws(0, Random().randrange(1 << 40))
    for seed in range(start, start + draws(500, 100_000)):
        kind, history = small(seed, holds)
        report = check_transactions(history, holds)
        for level, holds_truly in levels_that_hold(history, holds).items():
            found = level in report.holds
            assert found or not holds_truly, (seed, kind, level, report.counts)
            if holds == "list-append" and level in EXACT:
                assert found == holds_truly, (seed, kind, level, report.counts)
            refuted[level] += not found
    assert min(refuted[level] for level in EXACT) > 20


def loaded(seed: int, holds: str) -> tuple[dict[Any, Any], list[Operation]]:
    """A history of tables that were loaded before; some reads miss the load or a part of it."""
    random = Random(seed)
    _, history = small(seed, holds)
    lists = holds == "list-append"
    start: dict[Any, Any] = {
        key: [101, 102][: random.randint(1, 2)] if lists else 101 for key in range(3) if random.random() < 0.7
    }
    misses = random.choice([0, 0, 0.3])

    def answer(key: Any, value: Any) -> Any:
        if key not in start or random.random() < misses:
            return value[:-1] if lists and value and random.random() < 0.2 else value
        if lists:
            return [*(start[key][:1] if random.random() < misses else start[key]), *(value or [])]
        return start[key] if value is None else value

    for place, one in enumerate(history):
        if one.result is not None:
            steps = [[f, key, answer(key, value) if f == "r" else value] for f, key, value in one.result]
            history[place] = replace(one, result=steps)
    return start, history


def started(start: dict[Any, Any], history: list[Operation], holds: str) -> list[Operation]:
    taken = take(Foreign("edn", history), holds, {str(key): value for key, value in start.items()})
    assert taken.history.operations is not None
    return list(taken.history.operations)


@pytest.mark.parametrize("holds", ["list-append", "rw-register"])
def test_what_was_there_at_the_start_precedes_all_transactions_at_every_level(holds: str) -> None:
    refuted: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    begin = draws(0, Random().randrange(1 << 40))
    for seed in range(begin, begin + draws(250, 100_000)):
        start, history = loaded(seed, holds)
        report = check_transactions(started(start, history, holds), holds)
        for level, holds_truly in levels_that_hold(
            history, holds, {key: tuple(value) if holds == "list-append" else value for key, value in start.items()}
        ).items():
            found = level in report.holds
            assert found or not holds_truly, (seed, level, report.counts)
            if holds == "list-append" and level in EXACT:
                assert found == holds_truly, (seed, level, report.counts)
            refuted[level] += not found
            kept[level] += found
    assert min(refuted[level] for level in EXACT) > 20
    assert min(kept[level] for level in EXACT) > 20


#: Stores with the level that they keep, and the anomalies that it allows beside what sessions and real time show.
ALLOWED: dict[str, tuple[str, tuple[str, ...]]] = {
    "serial": ("strict-serializable", ()),
    "stale": ("serializable", ()),
    "snapshot": ("strong-snapshot-isolation", ("G2-item",)),
    "committed": ("strong-read-committed", ("internal", "lost-update", "G-single", "G-nonadjacent", "G2-item")),
}


@pytest.mark.parametrize("holds", ["list-append", "rw-register"])
@pytest.mark.parametrize("kind", ALLOWED)
def test_a_store_of_a_level_keeps_it(kind: str, holds: str) -> None:
    level, names = ALLOWED[kind]
    seen: Counter[str] = Counter()
    for seed in range(draws(6, 300)):
        random = Random(seed)
        shape = Shape(random.randint(20, 120), random.randint(2, 6), random.randint(3, 8), 4)
        report = check_transactions(history_of(random, kind, holds, shape), holds, level)
        assert report.verdict == "valid", (seed, report.counts)
        seen.update(report.counts)
    assert {name for name in seen if name in REFUTES} <= set(names)
    assert bool(seen) == (kind != "serial")


# -- names and levels -------------------------------------------------------------------------------------------------

WRITE_SKEW = [
    ok(0, ("r", "x", []), ("append", "y", 1)),
    ok(1, ("r", "y", []), ("append", "x", 2)),
    ok(2, ("r", "x", [2]), ("r", "y", [1])),
]
LONG_FORK = [
    ok(0, ("append", "x", 1)),
    ok(1, ("append", "y", 2)),
    ok(2, ("r", "x", [1]), ("r", "y", [])),
    ok(3, ("r", "x", []), ("r", "y", [2])),
]

NAMED: dict[str, tuple[list[Transaction], list[Transaction]]] = {
    "G0": (
        [ok(0, ("append", "x", 1), ("append", "y", 1)), ok(1, ("append", "x", 2), ("append", "y", 2)),
         ok(2, ("r", "x", [1, 2]), ("r", "y", [2, 1]))],
        [ok(0, ("append", "x", 1), ("append", "y", 1)), ok(1, ("append", "x", 2), ("append", "y", 2)),
         ok(2, ("r", "x", [1, 2]), ("r", "y", [1, 2]))],
    ),
    "G1a": (
        [failed(0, ("append", "x", 1)), ok(1, ("r", "x", [1]))],
        [in_doubt(0, ("append", "x", 1)), ok(1, ("r", "x", [1]))],
    ),
    "G1b": (
        [ok(0, ("append", "x", 1), ("append", "x", 2)), ok(1, ("r", "x", [1]))],
        [ok(0, ("append", "x", 1), ("append", "x", 2)), ok(1, ("r", "x", [1, 2]))],
    ),
    "G1c": (
        [ok(0, ("append", "x", 1), ("r", "y", [1])), ok(1, ("append", "y", 1), ("r", "x", [1]))],
        [ok(0, ("append", "x", 1), ("r", "y", [])), ok(1, ("append", "y", 1), ("r", "x", [1]))],
    ),
    "G-single": (
        [ok(0, ("append", "x", 1), ("append", "y", 1)), ok(1, ("r", "x", [1]), ("r", "y", []))],
        [ok(0, ("append", "x", 1), ("append", "y", 1)), ok(1, ("r", "x", [1]), ("r", "y", [1]))],
    ),
    "G-nonadjacent": (LONG_FORK, [*LONG_FORK[:3], ok(3, ("r", "x", [1]), ("r", "y", [2]))]),
    "G2-item": (WRITE_SKEW, [WRITE_SKEW[0], ok(1, ("r", "y", [1]), ("append", "x", 2)), WRITE_SKEW[2]]),
    "lost-update": (
        [ok(0, ("r", "x", []), ("append", "x", 1)), ok(1, ("r", "x", []), ("append", "x", 2))],
        [ok(0, ("r", "x", []), ("append", "x", 1)), ok(1, ("r", "x", [1]), ("append", "x", 2))],
    ),
    "dirty-update": (
        [failed(0, ("append", "x", 1)), ok(1, ("append", "x", 2)), ok(2, ("r", "x", [1, 2]))],
        [in_doubt(0, ("append", "x", 1)), ok(1, ("append", "x", 2)), ok(2, ("r", "x", [1, 2]))],
    ),
    "internal": (
        [ok(0, ("append", "x", 1), ("r", "x", []))],
        [ok(0, ("append", "x", 1), ("r", "x", [1]))],
    ),
    "future-read": (
        [ok(0, ("r", "x", [1]), ("append", "x", 1))],
        [ok(0, ("r", "x", []), ("append", "x", 1))],
    ),
    "duplicate-element": (
        [ok(0, ("append", "x", 1)), ok(1, ("r", "x", [1, 1]))],
        [ok(0, ("append", "x", 1)), ok(1, ("r", "x", [1]))],
    ),
    "unknown-element": (
        [ok(0, ("append", "x", 1)), ok(1, ("r", "x", [1, 7]))],
        [ok(0, ("append", "x", 1)), in_doubt(1, ("append", "x", 7)), ok(1, ("r", "x", [1, 7]))],
    ),
    "incompatible-order": (
        [ok(0, ("append", "x", 1)), ok(1, ("append", "x", 2)), ok(2, ("r", "x", [1])), ok(3, ("r", "x", [2]))],
        [ok(0, ("append", "x", 1)), ok(1, ("append", "x", 2)), ok(2, ("r", "x", [1])), ok(3, ("r", "x", [1, 2]))],
    ),
    "own-order": (
        [ok(0, ("append", "x", 1), ("append", "x", 2)), ok(1, ("append", "x", 3)), ok(2, ("r", "x", [1, 3, 2]))],
        [ok(0, ("append", "x", 1), ("append", "x", 2)), ok(1, ("append", "x", 3)), ok(2, ("r", "x", [1, 2, 3]))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUTES)
def test_every_anomaly_has_its_name_and_takes_its_levels_down(name: str) -> None:
    bad, good = NAMED[name]
    report = check_transactions(bad, level="serializable")
    assert name in report.counts
    assert report.verdict == "invalid"
    for weakest in REFUTES[name]:
        assert as_strong(weakest).isdisjoint(report.holds)
    shown = next(anomaly for anomaly in report.anomalies if anomaly.name == name)
    assert all(f"T{number}" in shown.sentence for number in range(1, len(shown.transactions) + 1))
    assert name not in check_transactions(good).counts


def test_a_level_falls_with_all_stronger_ones_and_no_other() -> None:
    assert strongest(check_transactions(WRITE_SKEW).holds) == ("strong-snapshot-isolation",)
    assert strongest(check_transactions(LONG_FORK).holds) == ("strong-consistent-view", "strong-cursor-stability")
    assert check_transactions(LONG_FORK, level="consistent-view").verdict == "valid"
    assert check_transactions(LONG_FORK[:3]).holds == LEVELS


def test_the_cycle_is_the_shortest_with_an_edge_and_a_sentence_each() -> None:
    cycle = check_transactions(WRITE_SKEW).anomalies[0]
    assert [transaction.process for transaction in cycle.transactions] == [0, 1]
    assert [(edge.source, edge.target, edge.kind, edge.key) for edge in cycle.dependencies] == [
        (0, 1, "rw", "x"), (1, 0, "rw", "y"),
    ]  # fmt: skip
    assert cycle.dependencies[0].sentence == "T1 did not see T2's append of 2 to x: it read []"


@pytest.mark.parametrize("holds", ["list-append", "rw-register"])
def test_an_edge_names_the_two_steps_that_prove_it(holds: str) -> None:
    kinds = {"ww": ("w", "w"), "wr": ("w", "r"), "rw": ("r", "w")}
    seen: Counter[str] = Counter()
    for seed in range(25):
        random = Random(seed)
        shape = Shape(random.randint(6, 25), random.randint(1, 4), random.randint(2, 6), 3)
        history = history_of(random, random.choice(STORES), holds, shape)
        for anomaly in check_transactions(history, holds).anomalies:
            for edge in anomaly.dependencies:
                ends = anomaly.transactions[edge.source], anomaly.transactions[edge.target]
                steps = [one.value[place] for one, place in zip(ends, edge.steps, strict=bool(edge.steps))]
                assert [step[1] for step in steps] == [edge.key] * len(steps)
                assert tuple("r" if step[0] == "r" else "w" for step in steps) == kinds.get(edge.kind, ())
                seen[edge.kind] += 1
    assert all(seen[kind] for kind in ("wr", "rw", "process", "realtime")), seen


def test_an_append_that_no_read_shows_comes_after_what_was_read() -> None:
    """T1 and T2 read nothing of each other's keys, and no read shows what they appended."""
    history = [ok(0, ("r", "x", []), ("append", "y", 1)), ok(1, ("r", "y", []), ("append", "x", 2))]
    report = check_transactions(history)
    assert report.counts == {"G2-item": 1}
    assert "lost" in report.anomalies[0].sentence


@pytest.mark.parametrize("readers", [3, 200])
def test_many_unread_appends_and_many_readers_of_the_last_version(readers: int) -> None:
    """A reader that also appended does not come before itself: by edges to all others, and by chains."""
    updates = [ok(at, ("r", "x", []), ("append", "x", at)) for at in range(2)]
    history = [*(ok(at, ("r", "x", [])) for at in range(2, readers)), *updates]
    assert check_transactions(history).counts == {"lost-update": 1, "G2-item": 1}
    assert check_transactions(history[:-1]).counts == {}


def test_a_read_through_own_appends_proves_no_version() -> None:
    """A store that buffers writes shows each its own, and then installs both."""
    history = [ok(0, ("append", "x", 1), ("r", "x", [1])), ok(1, ("append", "x", 2), ("r", "x", [2])),
               ok(2, ("r", "x", [1, 2]))]  # fmt: skip
    assert check_transactions(history, level="read-committed").verdict == "valid"


def test_where_reads_contradict_each_other_the_order_is_not_known() -> None:
    """Lost appends must not look like cycles of writes."""
    history = [
        ok(0, ("append", "x", 1), ("append", "y", 1)), ok(1, ("append", "x", 2), ("append", "y", 2)),
        ok(2, ("r", "x", [1, 2])), ok(3, ("r", "x", [2])), ok(4, ("r", "y", [2, 1])),
    ]  # fmt: skip
    report = check_transactions(history)
    assert report.counts == {"incompatible-order": 1}
    assert "read-uncommitted" in report.holds


def test_the_order_of_sessions_and_real_time_count_only_where_they_are_promised() -> None:
    stale = [
        ok(0, ("append", "x", 1), invoked=0, returned=1), ok(0, ("r", "x", []), invoked=2, returned=3),
    ]  # fmt: skip
    assert check_transactions(stale).counts == {"G-single-process": 1}
    other = [stale[0], ok(1, ("r", "x", []), invoked=2, returned=3)]
    report = check_transactions(other, level="strict-serializable")
    assert report.counts == {"G-single-realtime": 1}
    assert strongest(report.holds)[-1] == "strong-session-serializable" or "serializable" in report.holds
    assert check_transactions([stale[0], ok(1, ("r", "x", []), invoked=1, returned=3)]).counts == {}, "equal stamps"


@pytest.mark.parametrize("timed", [False, True])
def test_an_order_that_leads_over_others_is_one_edge(timed: bool) -> None:
    """Of a process, and in real time: what came between the append and the read that misses it does not matter."""
    times = iter(range(40))

    def one(process: int, *steps: Any) -> Transaction:
        return ok(
            process if timed else 0, *steps, **({"invoked": next(times), "returned": next(times)} if timed else {})
        )

    between = [one(number, ("append", "y", number)) for number in range(1, 9)]
    history = [*between[:4], one(0, ("append", "x", 1)), *between[4:], one(9, ("r", "x", []))]
    cycle = check_transactions(history).anomalies[0]
    assert [edge.kind for edge in cycle.dependencies] == ["realtime" if timed else "process", "rw"]
    assert [one.value[0][0] for one in cycle.transactions] == ["append", "r"]


def test_no_order_leads_out_of_a_transaction_in_doubt() -> None:
    """It may take effect at any time, also after the next one of its process."""
    history = [Transaction(0, [["append", "x", 1]], "info", 0), ok(0, ("r", "x", []), invoked=2, returned=3),
               ok(1, ("r", "x", [1]), invoked=4, returned=5)]  # fmt: skip
    assert check_transactions(history).holds == LEVELS


def test_a_write_cycle_through_a_transaction_in_doubt_refutes_read_committed_only() -> None:
    history = [in_doubt(0, ("append", "x", 1), ("append", "y", 1)), ok(1, ("append", "x", 2), ("append", "y", 2)),
               ok(2, ("r", "x", [1, 2]), ("r", "y", [2, 1]))]  # fmt: skip
    report = check_transactions(history)
    assert "G0" in report.counts
    assert "read-uncommitted" in report.holds
    assert "read-committed" not in report.holds


# -- published histories, by their shape ------------------------------------------------------------------------------

#: Inputs of the shape of public issues of Elle, and what we name them.
SHAPES: dict[str, tuple[str, list[Transaction], str, str]] = {
    "#8: a read of a value that was never written": (
        "rw-register", [ok(0, ("w", "x", 1)), ok(1, ("r", "x", 2))], "unknown-element", "serializable",
    ),
    "#17: strong session snapshot isolation": (
        "rw-register",
        [ok(0, ("w", "x", 1)), ok(0, ("r", "y", None)), ok(1, ("w", "y", 1)), ok(1, ("r", "x", None))],
        "G-nonadjacent-process", "strong-session-snapshot-isolation",
    ),
    "#20: the example of the paper": (
        "list-append",
        [ok(0, ("append", "x", 1), ("r", "y", [])), ok(1, ("append", "y", 2), ("r", "x", [])),
         ok(2, ("r", "x", [1]), ("r", "y", [2]))],
        "G2-item", "serializable",
    ),
    "#21: wr, process, wr": (
        "rw-register",
        [ok(0, ("w", "x", 1), ("r", "y", 2)), ok(1, ("r", "x", 1)), ok(1, ("w", "y", 2))],
        "G1c-process", "strong-session-read-committed",
    ),
    "#21: a read of what it writes later": (
        "rw-register", [ok(0, ("r", "x", 1), ("w", "x", 1))], "future-read", "read-committed",
    ),
    "#27: serializable, but not strictly": (
        "rw-register", [ok(0, ("w", "x", 1)), ok(0, ("r", "x", None))], "G-single-process", "strict-serializable",
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_histories_of_public_issues(shape: str) -> None:
    holds, history, name, level = SHAPES[shape]
    report = check_transactions(history, holds, level)
    assert set(report.counts) == {name}
    assert report.verdict == "invalid"
    if "-process" in name:
        assert "serializable" in report.holds


# -- registers --------------------------------------------------------------------------------------------------------


def test_a_pair_of_versions_counts_only_from_the_level_that_grants_it() -> None:
    """That y=2 followed y=1 is known by the order of a session alone."""
    history = [
        ok(0, ("w", "y", 1), ("w", "x", 1)), ok(1, ("w", "y", 2), ("w", "x", 2)),
        ok(2, ("r", "y", 1)), ok(2, ("r", "y", 2)), ok(3, ("r", "x", 2)), ok(3, ("r", "x", 1)),
    ]  # fmt: skip
    report = check_transactions(history, "rw-register")
    assert "serializable" in report.holds
    assert "strong-session-serializable" not in report.holds
    assert "strong-session-read-committed" in report.holds


def test_what_breaks_strict_serializability_is_no_multi_register_either() -> None:
    """The search for an order finds all violations: the dependencies must not find more."""
    found: Counter[tuple[str, str]] = Counter()
    for seed in range(draws(200, 20_000)):
        random = Random(seed)
        shape = Shape(random.randint(2, 5), random.randint(1, 3))
        history = history_of(random, random.choice(STORES), "rw-register", shape)
        mine = check_transactions(history, "rw-register", "strict-serializable").verdict
        found[mine, check_operations(history, "multi-register").verdict] += 1
    assert not found["invalid", "valid"]
    assert found["invalid", "invalid"] > 20, found


def test_what_was_read_comes_before_what_was_then_written() -> None:
    lost = [ok(0, ("r", "x", None), ("w", "x", 1)), ok(1, ("r", "x", None), ("w", "x", 2))]
    report = check_transactions(lost, "rw-register")
    assert report.counts == {"lost-update": 1, "G2-item": 1}
    assert "did not see" in report.anomalies[0].sentence


def test_a_stale_read_between_two_of_the_same_value() -> None:
    times = iter(range(20))

    def one(process: int, step: Any) -> Transaction:
        return ok(process, step, invoked=next(times), returned=next(times))

    history = [one(0, ("w", "x", 1)), one(1, ("w", "x", 2)), one(2, ("r", "x", 2)), one(3, ("r", "x", 1)),
               one(4, ("r", "x", 2))]  # fmt: skip
    report = check_transactions(history, "rw-register", "strict-serializable")
    assert report.verdict == "invalid"
    assert "strong-session-serializable" in report.holds


# -- input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("holds", ["list-append", "rw-register"])
def test_a_value_written_twice_is_refused_with_both_places(holds: str) -> None:
    write = "append" if holds == "list-append" else "w"
    history = [ok(0, (write, "x", 1)), ok(1, (write, "y", 1)), failed(2, (write, "x", 1))]
    with pytest.raises(FormatError, match="index 0 and at index 2"):
        check_transactions(history, holds)
    assert check_transactions(history[:2], holds).verdict == "valid"


@pytest.mark.parametrize("holds", ["list-append", "rw-register"])
def test_a_value_of_the_start_is_written_again(holds: str) -> None:
    write = "append" if holds == "list-append" else "w"
    history = operations_of_transactions([ok(0, (write, "y", 1)), ok(1, (write, "x", 1))])
    start = {"x": [1] if holds == "list-append" else 1}
    with pytest.raises(FormatError, match="the start and at index 1"):
        check_operations(started(start, history, holds), holds)
    assert check_operations(started(start, history[:1], holds), holds).verdict == "valid"


@pytest.mark.parametrize("holds", ["list-append", "rw-register"])
def test_a_cycle_with_the_start_names_it(holds: str) -> None:
    """A read that lacks it is what a read of nothing after a committed write is: fine at read committed."""
    lists = holds == "list-append"
    history = operations_of_transactions([ok(0, ("r", "x", [] if lists else None))])
    operations = started({"x": [1] if lists else 1}, history, holds)
    example = check_operations(operations, holds).counterexamples[0]
    assert [role.says.partition(":")[2].startswith(" at the start:") for role in example.roles] == [True, False]
    assert [edge.kind for edge in example.dependencies] == ["realtime", "rw"]
    assert "the initial state" in example.dependencies[0].sentence
    assert example.refutes == ("consistent-view",)
    assert check_operations(operations, f"{holds}:read-committed").verdict == "valid"


@pytest.mark.parametrize(
    "steps", [[["append", "x"]], [["add", "x", 1]], [["r", "x", 5]], ["r"], None, [["append", "x", None]]]
)
def test_steps_of_another_shape_are_refused(steps: Any) -> None:
    operation = Operation(0, "txn", None, steps, steps, "ok", 0, 1, 0, 1)
    with pytest.raises(FormatError, match="index 0"):
        check_transactions([operation])


def test_values_and_keys_may_be_anything() -> None:
    big = 1 << 80
    history = [
        ok(0, ("append", "x", "a"), ("append", 7, big)), ok(1, ("append", "x", big)), ok(2, ("append", "7", [1])),
        ok(3, ("r", "x", ["a", big]), ("r", 7, [big]), ("r", "7", [[1]])),
    ]  # fmt: skip
    assert check_transactions(history).verdict == "valid"
    swapped = [*history[:3], ok(3, ("r", "x", [big, "a"]), ("r", 7, []), ("r", "7", [[1]]))]
    assert check_transactions(swapped).anomalies[0].transactions


def test_levels_and_models_that_are_none_are_refused() -> None:
    with pytest.raises(ModelError, match="serializable"):
        check_transactions(WRITE_SKEW, level="serialisable")
    with pytest.raises(ModelError, match="list-append, rw-register"):
        check_transactions(WRITE_SKEW, "register")


def test_a_history_that_proves_nothing_is_unknown() -> None:
    assert check_transactions([in_doubt(0, ("append", "x", 1))]).verdict == "unknown"
    assert check_transactions([]).verdict == "unknown"


def test_the_verdict_has_the_form_of_all_models() -> None:
    history = operations_of_transactions(WRITE_SKEW)
    assert check_operations(history, "list-append:snapshot-isolation").verdict == "valid"
    verdict = check_operations(history, "list-append")
    assert (verdict.verdict, verdict.violations, verdict.counterexamples[0].kind) == ("invalid", 1, "G2-item")
    assert type(verdict).from_json(verdict.to_json()) == verdict
    with pytest.raises(ModelError, match="engine"):
        check_operations(history, "list-append", engine="wgl")
