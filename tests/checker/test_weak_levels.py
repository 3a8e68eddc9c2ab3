"""Levels of registers below linearizability, against their definitions by brute force."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from checker import ModelError, check
from harness.cli.main import run_command
from history import Operation
from tests.support.draws import draws

SECOND = 1_000_000_000


def histories(seed: int, count: int, *, keys: int = 1, repeat: bool = False) -> Iterator[list[Operation]]:
    """Small random histories of three sessions, with answers that need not fit."""
    random = Random(seed)
    for _ in range(count):
        operations: list[Operation] = []
        value = 0
        for place in range(random.randint(2, 7)):
            key = random.randrange(keys) if keys > 1 else None
            process, begin = random.randrange(3), 2 * place
            times = (begin * SECOND + 1, (begin + 1) * SECOND)
            if random.random() < 0.45:
                value += 1
                written = random.randint(1, 2) if repeat else value
                outcome: Any = random.choice(["ok", "ok", "ok", "info"])
                end = None if outcome == "info" else begin + 1
                operations.append(
                    Operation(process, "write", key, written, None, outcome, times[0], end and times[1], begin, end)
                )
            else:
                seen = random.choice([None, *range(1, value + 1)])
                operations.append(Operation(process, "read", key, None, seen, "ok", *times, begin, begin + 1))
        yield operations


def sessions(operations: Sequence[Operation]) -> list[list[Operation]]:
    return [[one for one in operations if one.process == process] for process in range(3)]


def orders(operations: Sequence[Operation]) -> Iterator[list[Any]]:
    """All orders of the values of one key, the initial one first."""
    values = [one.value for one in operations if one.f == "write"]
    return ([None, *order] for order in permutations(values))


def keeps(level: str, operations: Sequence[Operation]) -> bool:
    """By definition: is there an order of the values that no session contradicts?"""
    for order in orders(operations):
        place = {value: number for number, value in enumerate(order)}
        if any(one.f == "read" and one.result not in place for one in operations):
            return False
        if all(_session_keeps(level, mine, place) for mine in sessions(operations)):
            return True
    return False


def _session_keeps(level: str, mine: Sequence[Operation], place: dict[Any, int]) -> bool:
    if level == "monotonic-reads":
        return all(place[a.result] <= place[b.result] for a, b in pairwise([one for one in mine if one.f == "read"]))
    last = 0
    for one in mine:
        if one.f == "write" and one.outcome == "ok":
            last = place[one.value]
        elif one.f == "read" and place[one.result] < last:
            return False
    return True


def is_sequential(operations: Sequence[Operation]) -> bool:
    """By definition: try every order of all operations, with any of the writes in doubt."""
    doubtful = [one for one in operations if one.outcome == "info"]
    known = [one for one in operations if one.outcome == "ok"]
    some = (chosen for size in range(len(doubtful) + 1) for chosen in combinations(doubtful, size))
    return any(_in_order([], [*known, *chosen], {}) for chosen in some)


def _in_order(done: list[Operation], left: list[Operation], held: dict[Any, Any]) -> bool:
    if not left:
        return True
    for one in left:
        if any(o.process == one.process and o.invoke_index < one.invoke_index and o.outcome == "ok" for o in left):
            continue
        if one.f == "read" and held.get(one.key) != one.result:
            continue
        after = {**held, one.key: one.value} if one.f == "write" else held
        if _in_order([*done, one], [other for other in left if other is not one], after):
            return True
    return False


def is_stale(operations: Sequence[Operation], bound: int) -> bool:
    """By definition: an order of all, each at a moment of its own interval, of a read as much earlier as allowed."""
    doubtful = [one for one in operations if one.outcome == "info"]
    known = [one for one in operations if one.outcome == "ok"]
    some = (chosen for size in range(len(doubtful) + 1) for chosen in combinations(doubtful, size))
    return any(_at_moments(-SECOND * 99, [*known, *chosen], None, bound) for chosen in some)


def _at_moments(moment: int, left: list[Operation], held: Any, bound: int) -> bool:
    if not left:
        return True
    for one in left:
        begin = one.invoked - (bound if one.f == "read" else 0)
        at = max(moment, begin)
        if one.returned is not None and at > one.returned:
            return False
        if one.f == "read" and held != one.result:
            continue
        rest = [other for other in left if other is not one]
        if _at_moments(at, rest, one.value if one.f == "write" else held, bound):
            return True
    return False


@pytest.mark.parametrize("level", ["monotonic-reads", "read-your-writes"])
def test_session_guarantees_are_their_definition(level: str) -> None:
    seen = {"valid": 0, "invalid": 0}
    for operations in histories(1, draws(800, 20_000)):
        report = check(operations, f"register:{level}")
        assert (report.verdict == "valid") == keeps(level, operations), operations
        seen[report.verdict] += 1
        for example in report.counterexamples:
            core = [one for one in operations if one.f == "write" or one in example.operations]
            assert example.kind == "never-written" or not keeps(level, core)
    assert min(seen.values()) > 50


@pytest.mark.parametrize(("keys", "repeat"), [(1, False), (1, True), (2, False), (3, True)])
def test_sequential_consistency_is_its_definition(keys: int, repeat: bool) -> None:
    seen = {"valid": 0, "invalid": 0}
    for operations in histories(2, draws(500, 10_000), keys=keys, repeat=repeat):
        report = check(operations, "register:sequential")
        assert (report.verdict == "valid") == is_sequential(operations), operations
        seen[report.verdict] += 1
        for example in report.counterexamples:
            # Without the writes that the core leaves out it may only be worse: they belong to it here.
            core = [one for one in operations if one.f == "write" or one in example.operations]
            assert not is_sequential(core)
    assert min(seen.values()) > 50


@pytest.mark.parametrize("bound", [0.5, 2, 4])
def test_bounded_staleness_is_its_definition(bound: float) -> None:
    seen = {"valid": 0, "invalid": 0}
    for operations in histories(3, draws(500, 10_000)):
        report = check(operations, f"register:bounded-staleness={bound}s")
        assert (report.verdict == "valid") == is_stale(operations, round(bound * SECOND)), operations
        seen[report.verdict] += 1
        assert all(one in operations for example in report.counterexamples for one in example.operations)
    assert min(seen.values()) > 50


def op(process: int, f: str, value: Any, place: int, key: Any = None) -> Operation:
    asked, answered = (value, None) if f == "write" else (None, value)
    return Operation(
        process, f, key, asked, answered, "ok", place * SECOND, place * SECOND + 9, 2 * place, 2 * place + 1
    )


def test_a_cycle_among_many_values_is_short() -> None:
    """Behind it are thousands of values that are on no cycle."""
    operations = [op(0, "write", n, n) for n in range(1, 3001)]
    operations += [op(1, "read", 5, 4000), op(1, "read", 4, 4001), op(1, "read", 3000, 4002)]
    operations += [op(2, "read", n, 5000 + n) for n in range(2000, 3000)]
    report = check(operations, "register:sequential")
    assert report.verdict == "invalid"
    assert len(report.counterexamples[0].operations) <= 4


def test_store_buffers_are_no_fault_of_one_key() -> None:
    """Each key is sequentially consistent; both together are not."""
    operations = [
        op(0, "write", 1, 0, "x"),
        op(0, "read", None, 2, "y"),
        op(1, "write", 1, 1, "y"),
        op(1, "read", None, 3, "x"),
    ]
    assert check(operations, "register:sequential").verdict == "invalid"
    assert all(
        check([one for one in operations if one.key == key], "register:sequential").verdict == "valid" for key in "xy"
    )


def test_many_keys_that_are_read_in_real_time_need_no_long_search() -> None:
    random, held = Random(1), dict[str, int | None].fromkeys("xyz")
    operations = []
    for place in range(2000):
        key = random.choice("xyz")
        if random.random() < 0.5:
            held[key] = place + 1
        operations.append(op(place % 5, "write" if held[key] == place + 1 else "read", held[key], place, key))
    assert check(operations, "register:sequential").verdict == "valid"


def test_a_repeated_value_leaves_session_guarantees_undecided() -> None:
    operations = [op(0, "write", 1, 0), op(0, "write", 1, 1), op(1, "read", 1, 2)]
    report = check(operations, "register:monotonic-reads")
    assert report.verdict == "unknown"
    assert "written twice" in str(report.keys[0].reason)


@pytest.mark.parametrize(
    ("level", "code"),
    [("sequential", 0), ("monotonic-reads", 0), ("read-your-writes", 0), ("bounded-staleness=5s", 0),
     ("bounded-staleness=1500ms", 1)],
)  # fmt: skip
def test_the_level_of_a_file(level: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A read that is two seconds behind."""
    rows = [
        ("invoke", 0, "write", 3, 0),
        ("ok", 0, "write", 3, 1),
        ("invoke", 1, "read", None, 3),
        ("ok", 1, "read", None, 4),
    ]
    events = [
        {"type": type_, "process": process, "f": f, "value": value, "time": time * SECOND}
        for type_, process, f, value, time in rows
    ]
    path = tmp_path / "history.json"
    path.write_text(json.dumps(events))
    assert run_command(["check", str(path)]) == 1
    capsys.readouterr()
    assert run_command(["check", "--level", level, str(path)]) == code
    assert "in the time that was left" not in capsys.readouterr().out
    assert run_command(["report", "--model", f"register:{level}", str(path)]) == 0
    assert f"register:{level}: " in Path(f"{path}.report.html").read_text()


@pytest.mark.parametrize("level", ["serial", "bounded-staleness", "bounded-staleness=5", "sequential=3s"])
def test_a_level_that_is_none(level: str) -> None:
    with pytest.raises(ModelError, match="a register has no level"):
        check([op(0, "write", 1, 0)], f"register:{level}")


def test_staleness_needs_times() -> None:
    operations = [Operation(0, "read", None, None, None, "ok", 0, 1, 0, 1)]
    with pytest.raises(ModelError, match="has no times"):
        check(operations, "register:bounded-staleness=5s")


def test_a_cas_has_no_such_level() -> None:
    operations = [Operation(0, "cas", None, [1, 2], None, "ok", 5, 6, 0, 1)]
    with pytest.raises(ModelError, match="no operation 'cas'"):
        check(operations, "register:sequential")


@pytest.mark.parametrize(
    ("level", "reader", "answer", "code"),
    [
        ("sequential", 1, "", 0), ("sequential", 1, "x", 0), ("sequential", 1, "z", 1), ("sequential", 0, "", 1),
        ("read-your-writes", 0, "", 1), ("read-your-writes", 1, "", 0),
        ("monotonic-reads", 0, "", 0), ("monotonic-reads", 0, "z", 1),
    ],
)  # fmt: skip
def test_the_level_of_a_key_value_store(
    level: str, reader: int, answer: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A key starts as an empty string."""
    events = [("invoke", 0, "put", '"x"'), ("ok", 0, "put", '"x"'), ("invoke", reader, "get", "nil")]
    lines = [
        f'{{:process {process}, :type :{type_}, :f :{f}, :key "k", :value {value}}}'
        for type_, process, f, value in [*events, ("ok", reader, "get", f'"{answer}"')]
    ]
    path = tmp_path / "kv.txt"
    path.write_text("\n".join(lines))
    assert run_command(["check", str(path), "--level", level]) == code
    path.write_text("\n".join(lines).replace(":put", ":append"))
    capsys.readouterr()
    assert run_command(["check", str(path), "--level", level]) == 254
    assert "line 2" in capsys.readouterr().err
