"""How far a register's history is linearizable, and what a read could have returned; the oracle is the definition."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checker import Register
from checker.core.calls import calls_of
from checker.core.definition import linearizable
from history import Operation, RunFiles
from history.records.operations import Outcome
from reports.analysis.findings import Legal
from reports.analysis.register_history import OPEN, doubtful_of, history_of, legal_answers, prefix_of
from reports.load.columns import from_operations
from reports.load.run import read_run
from tests.support.reports.recorded_runs import recorded_run

OUTCOMES: Final[tuple[Outcome, ...]] = ("ok", "ok", "ok", "info", "fail")


@st.composite
def histories(draw: st.DrawFn) -> list[Operation]:
    """Up to seven reads and writes of values written once, at moments that all differ, with any answers."""
    count = draw(st.integers(1, 7))
    moments = draw(st.permutations(range(2 * count)))
    found = []
    for place in range(count):
        start, stop = sorted(moments[2 * place : 2 * place + 2])
        write = draw(st.booleans())
        outcome = draw(st.sampled_from(OUTCOMES))
        result = None if write else draw(st.sampled_from([None, *range(count)]))
        value = place if write else None
        kind = "write" if write else "read"
        answered = None if outcome == "info" else stop
        found.append(Operation(place, kind, "k", value, result, outcome, start, answered, start, stop, "n1"))
    return sorted(found, key=lambda operation: operation.invoked)


def holds(operations: list[Operation]) -> bool:
    return linearizable(calls_of(operations, Register()), Register())


def until(operations: list[Operation], moment: int) -> list[Operation]:
    """What had happened by a moment: an operation that had not completed is open, one that failed had no effect."""
    begun = [operation for operation in operations if operation.invoked <= moment and operation.outcome != "fail"]
    return [
        replace(o, outcome="info", returned=None) if o.returned is None or o.returned > moment else o for o in begun
    ]


@given(histories())
def test_a_history_is_linearizable_by_the_definition_and_so_is_its_longest_prefix(operations: list[Operation]) -> None:
    history = history_of(from_operations(operations), "k")
    assert history is not None
    everything = np.ones(len(history.value), dtype=np.bool_)
    assert history.linearizable(everything, OPEN) == holds(operations)
    ends = sorted(o.returned for o in operations if o.returned is not None and o.outcome == "ok")
    broken = [end for end in ends if not holds(until(operations, end))]
    assert prefix_of(history) == ((broken[0], sum(end < broken[0] for end in ends)) if broken else None)


@given(histories())
def test_every_legal_answer_of_a_read_is_named_and_no_other(operations: list[Operation]) -> None:
    history = history_of(from_operations(operations), "k")
    assert history is not None
    for place, read in enumerate(operations):
        if read.f != "read" or read.outcome != "ok":
            continue
        assert read.returned is not None
        others = until(operations[:place] + operations[place + 1 :], read.returned)
        values = {None, *(o.value for o in operations if o.f == "write" and o.outcome != "fail")}
        legal = {v for v in values if holds(sorted([*others, replace(read, result=v)], key=lambda o: o.invoked))}
        answers = legal_answers(history, read.invoke_index, ())
        assert (None if answers is None else set(answers)) == (legal if holds(others) else None)


def test_values_that_are_written_twice_and_other_operations_are_left_alone() -> None:
    twice = [Operation(n, "write", "k", 1, None, "ok", n, n + 1, n, n + 1, "n1") for n in (0, 10)]
    assert history_of(from_operations(twice), "k") is None
    swap = Operation(0, "cas", "k", [1, 2], None, "ok", 0, 1, 0, 1, "n1")
    assert history_of(from_operations([swap]), "k") is None
    assert history_of(from_operations(twice), "another") is None


def test_the_prefix_of_a_recorded_run_ends_with_an_answer_and_all_before_it_is_linearizable(tmp_path: Path) -> None:
    root = recorded_run("stale-reads", tmp_path)
    events = [json.loads(line) for line in (root / "history.jsonl").read_text().splitlines()[1:]]
    run = read_run(RunFiles(root))
    for key in [record["key"] for record in run.results["keys"] if record["violations"]]:
        history = history_of(run.operations, key)
        assert history is not None
        found = prefix_of(history)
        assert found is not None
        last = next(event for event in events if event["time"] == found[0])
        assert (last["type"], last["f"], last["key"]) == ("ok", "read", key)
        mine = [event for event in events if event.get("key") == key and event["type"] == "ok"]
        assert found[1] == sum(event["time"] < found[0] for event in mine)


def test_answers_that_need_a_write_of_unknown_outcome_come_last() -> None:
    open_ones = [Operation(n, "write", "k", n, None, "info", n, n + 50, n, n + 50) for n in range(1, 10)]
    sure = Operation(20, "write", "k", 2585, 2585, "ok", 100, 110, 100, 101)
    wrong = Operation(21, "read", "k", None, 77, "ok", 120, 130, 102, 103)
    history = history_of(from_operations([*open_ones, sure, wrong]), "k")
    assert history is not None
    answers = legal_answers(history, 102, ())
    assert answers is not None
    assert doubtful_of(history, answers) == list(range(1, 10))
    legal = Legal(("2585",), whole=True, doubtful=tuple(map(str, range(1, 10))))
    assert legal.text == "2585, or what one of 9 writes wrote whose outcome is not known"
    assert Legal(("1",), whole=True, doubtful=("2",)).text == "1 or 2"
    assert Legal(tuple("123456789"), whole=False).text == "1 or 2 or 3 or 4 or 5 or 6 or 7 or 8 or 1 more"
    assert Legal((), whole=False).text == ""
