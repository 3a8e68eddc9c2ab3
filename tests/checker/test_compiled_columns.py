"""Compiled passes over columns against the definition and against what numpy makes of the same columns."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from checker import ModelError
from checker import columnar as by_columns
from checker.columnar import check_columns
from checker.core.compiled_code import CompiledCode
from checker.core.options import CheckOptions
from checker.engines import automaton, registers
from checker.engines.zones import zones
from checker.engines.zones_columns import prepare, takes_part
from checker.kernels import many_keys as keys_kernel
from checker.kernels.encode import gather
from checker.kernels.zones import INVALID, REPEATED, VALID, judge
from history import Operation
from history.codes import ABSENT, CAS, NEVER, OK, READ
from history.readers.columns import OperationColumns
from tests.support.checker.columns import columns_of
from tests.support.checker.oracle import Sampler, dense_history, is_linearizable


def judged(columns: OperationColumns) -> Any:
    fields = (columns.kind, columns.outcome, columns.value, columns.key, columns.invoke, columns.ret)
    return judge(*fields, len(columns.keys))


@pytest.mark.parametrize(("apart", "gap"), [(0, 0), (20, 0), (10**6, 0), (0, 30)])
@pytest.mark.parametrize("keys", [1, 3])
def test_compiled_zones_judge_every_key_as_the_definition_does(keys: int, apart: int, gap: int) -> None:
    random, seen = Random(keys + apart + gap), dict.fromkeys((VALID, INVALID, REPEATED), 0)
    for _ in range(600):
        objects = [
            Sampler(random, values=random.choice([None, None, None, 3]), cas=random.random() < 0.1,
                    truth=random.choice([0.7, 0.95])).history(random.randint(1, 8), 3)
            for _ in range(keys)
        ]  # fmt: skip
        columns = columns_of(objects, random, apart=apart, gap=gap)
        found = judged(columns)
        if found is None:
            assert (apart, keys) == (10**6, 3)
            continue
        state, counts = found
        prepared = prepare(columns)
        assert zones(prepared.clusters).valid == (INVALID not in state)
        assert (prepared.simple == (state != REPEATED)).all()
        if REPEATED not in state:
            assert counts.tolist() == np.bincount(prepared.key, minlength=keys).tolist()
        for key, operations in enumerate(objects):
            seen[state[key]] += 1
            assert state[key] == REPEATED or (state[key] == VALID) == is_linearizable(operations), operations
    assert min(seen.values()) > 20 or apart == 10**6


@pytest.mark.parametrize(("apart", "gap", "budget"), [(0, 0, 1), (20, 0, 10**6), (10**6, 0, 1), (0, 30, 10**6)])
def test_many_keys_with_repeated_values_are_judged_as_by_the_definition(apart: int, gap: int, budget: int) -> None:
    random, seen, missed = Random(apart + gap), dict.fromkeys(range(3), 0), 0
    for _ in range(500):
        objects = [
            Sampler(random, values=random.choice([1, 2, 3, None]), cas=random.random() < 0.1,
                    truth=random.choice([0.8, 1])).history(random.randint(1, 8), 3)
            if random.random() < 0.5
            else dense_history(random, random.randint(2, 8), values=random.randint(1, 3), doubt=random.choice([0, 0.5]))
            for _ in range(random.randint(1, 5))
        ]  # fmt: skip
        columns = columns_of(objects, random, apart=apart, gap=gap)
        wanted = np.array([random.random() < 0.8 for _ in objects])
        fields = (columns.kind, columns.outcome, columns.value, columns.key, columns.invoke, columns.ret)
        keyed = keys_kernel.arrange_keys(*fields, wanted)
        if keyed is None:
            assert apart == 10**6
            continue
        state, key = np.full(len(objects), 7, np.int8), 0
        while key < len(objects):
            before = key
            key = keys_kernel.judge_keys(keyed, key, budget, state)
            assert budget > 1 or key == before + 1
        counts = np.bincount(columns.key[takes_part(columns)], minlength=len(objects))
        assert (np.diff(keyed.starts) == np.where(wanted, counts, 0)).all()
        for number in np.flatnonzero(wanted).tolist():
            truth = is_linearizable(objects[number])
            plain = all(o.f != "cas" or o.outcome == "fail" for o in objects[number])
            # A swap is not for the automaton, and a dead end after pending writes were only counted proves nothing.
            if state[number] != keys_kernel.OPEN:
                assert (state[number] == keys_kernel.VALID) == truth, objects[number]
                assert plain
            missed += truth and plain and state[number] == keys_kernel.OPEN
            seen[state[number]] += 1
    assert min(seen.values()) > 20 or apart == 10**6
    assert missed < 5


@pytest.mark.parametrize(("apart", "gap"), [(0, 0), (20, 0), (10**6, 0), (0, 30)])
@pytest.mark.parametrize("keys", [1, 3])
def test_zones_and_automaton_at_once_judge_every_key_as_the_definition_does(keys: int, apart: int, gap: int) -> None:
    random, seen, left = Random(keys + apart + gap), dict.fromkeys(range(5), 0), 0
    for _ in range(700):
        budget = random.choice([1, 10**5, 10**5])
        objects = [
            Sampler(random, values=random.choice([1, 3, None]), cas=random.random() < 0.1,
                    truth=random.choice([0.7, 0.95])).history(random.randint(1, 8), 3)
            if random.random() < 0.5
            else dense_history(random, random.randint(2, 8), values=random.randint(1, 3), doubt=random.choice([0, 0.5]))
            for _ in range(keys)
        ]  # fmt: skip
        columns = columns_of(objects, random, apart=apart, gap=gap)
        fields = (columns.kind, columns.outcome, columns.value, columns.key, columns.invoke, columns.ret)
        judged = keys_kernel.judge_all(*fields, keys, budget)
        if judged is None:
            assert (apart, keys) == (10**6, 3)
            continue
        state, counts, present = judged
        assert [which for which in range(5) if present >> which & 1] == sorted(set(state.tolist()))
        reported = np.bincount(columns.key[takes_part(columns)], minlength=keys)
        assert all(counts[state != REPEATED] == reported[state != REPEATED])
        for key, operations in enumerate(objects):
            seen[state[key]] += 1
            truth = is_linearizable(operations)
            if state[key] != REPEATED:
                assert (state[key] in (keys_kernel.AGREED, keys_kernel.EXPLAINED)) == truth, operations
            plain = all(o.f != "cas" or o.outcome == "fail" for o in operations)
            left += truth and plain and state[key] == REPEATED and budget > 1
    assert min(seen.values()) > 20 or apart == 10**6
    # After pending writes were only counted, a dead end proves nothing.
    assert left < 5


def test_far_too_large_numbers_are_left_to_others() -> None:
    read = Operation(0, "read", None, None, 1, "ok", 0, 1, 0, 1)
    columns = columns_of([[read]], Random(1))
    for value in (2**63 - 1, -(2**63) + 1, 2**62, -(2**62)):
        assert judged(replace(columns, value=np.array([value]))) is None
        far = columns_of([[read, replace(read, invoke_index=2, return_index=3)]], Random(1))
        assert judged(replace(far, value=np.array([value, 7]))) is None
    assert judged(replace(columns, ret=np.array([1 << 31]))) is None


@pytest.mark.parametrize(("small", "short", "compiled"),
    [(0, 0, False), (400, 0, False), (0, 0, True), (400, 0, True), (0, 10_000, True)])  # fmt: skip
def test_with_or_without_proofs_and_compiled_passes_the_verdicts_are_the_same(
    small: int, short: int, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By numpy, by the compiled zones and then the automaton, by both of them in one."""
    for module in (by_columns, automaton):
        monkeypatch.setattr(module, "PLAIN_SEARCH_CALLS", small)
    monkeypatch.setattr(by_columns, "MAX_SHORT", short)
    kernel = registers.zones_kernel
    monkeypatch.setattr(registers, "zones_kernel", lambda size: kernel(size) if compiled else None)
    random, seen = Random(4), {"valid": 0, "invalid": 0}
    for number in range(250):
        cas = random.random() < 0.4
        objects = [
            Sampler(random, values=random.choice([None, None, 3]), cas=cas, truth=0.9).history(random.randint(1, 8), 3)
            for _ in range(random.randint(1, 4))
        ]
        columns = columns_of(objects, random, apart=random.choice([0, 20]), gap=random.choice([0, 40]))
        if number % 3 == 0:
            # Columns of a table may be read-only or lie apart in memory.
            columns.value.flags.writeable = False
            columns = replace(columns, invoke=np.repeat(columns.invoke, 2)[::2])
        reported, bare = (
            check_columns(columns, "cas-register", CheckOptions(proofs=proofs)) for proofs in (True, False)
        )
        for report in (reported, bare):
            assert [key.verdict == "valid" for key in report.keys] == [is_linearizable(o) for o in objects]
            assert [key.key for key in report.keys] == list(range(len(objects)))
            assert report.verdict == ("valid" if all(key.verdict == "valid" for key in report.keys) else "invalid")
        assert [k.operations for k in reported.keys] == [k.operations for k in bare.keys]
        assert [k.violations > 0 for k in reported.keys] == [k.violations > 0 for k in bare.keys]
        assert bool(reported.counterexamples) == (reported.verdict == "invalid")
        assert not bare.counterexamples
        assert reported.keys[-1] == reported.keys[len(objects) - 1] == reported.keys[-1:][0]
        seen[reported.verdict] += 1
    assert min(seen.values()) > 30


@pytest.mark.parametrize("name", ["zones", "automaton", "chains", "search", "wgl"])
def test_an_engine_that_is_forced_decides_columns_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By columns where it can, and what it cannot decide it refuses."""
    for module in (by_columns, automaton):
        monkeypatch.setattr(module, "PLAIN_SEARCH_CALLS", 0)
    random, seen = Random(6), {"valid": 0, "invalid": 0, "refused": 0}
    for _ in range(300):
        values, cas = random.choice([None, 2]), random.random() < 0.4
        operations = Sampler(random, values=values, cas=cas, truth=0.9).history(random.randint(1, 8), 3)
        options = CheckOptions(engine=name, proofs=random.random() < 0.5)
        try:
            (found,) = check_columns(columns_of([operations], random), "cas-register", options).keys
        except ModelError:
            seen["refused"] += 1
            continue
        assert (found.verdict == "valid") == is_linearizable(operations), operations
        assert bool(found.counterexamples) == (found.verdict == "invalid" and options.proofs)
        seen[found.verdict] += 1
    assert min(seen["valid"], seen["invalid"]) > 5
    assert (seen["refused"] > 0) == (name not in ("search", "wgl"))


def test_a_short_history_is_not_decided_after_its_deadline() -> None:
    random = Random(8)
    columns = columns_of([Sampler(random, values=3, truth=1, doubt=False).history(600, 4)], random)
    moments = iter([0.0])
    late = check_columns(columns, "register", CheckOptions(1.0, clock=lambda: next(moments, 2.0)))
    assert late.verdict == "unknown"
    assert "the deadline passed" in str(late.keys[0].reason)
    assert check_columns(columns, "register", CheckOptions(1.0, clock=lambda: 0.0)).verdict == "valid"


def test_a_short_history_is_judged_by_compiled_code_only_once_that_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    judge_all, code, random = keys_kernel.judge_all, CompiledCode(), Random(8)

    def counted(*fields: Any) -> Any:
        asked.append(len(fields))
        return judge_all(*fields)

    monkeypatch.setattr(keys_kernel, "judge_all", counted)
    monkeypatch.setattr(by_columns, "COMPILED", code)
    columns = columns_of([Sampler(random, values=3, truth=1, doubt=False).history(600, 4)], random)
    for ready in (False, True):
        assert code.ready == ready
        assert check_columns(columns, "register").verdict == "valid"
        assert bool(asked) == ready
        code.mark_ready()


@pytest.mark.parametrize(("apart", "gap"), [(0, 0), (10**9, 0), (0, 60)])
def test_gathered_columns_are_what_numpy_makes_of_them(apart: int, gap: int) -> None:
    random = Random(5)
    for _ in range(300):
        sampler = Sampler(random, values=random.choice([None, 3]), cas=random.random() < 0.5)
        columns = columns_of([[], sampler.history(random.randint(1, 12), 4)], random, apart=apart, gap=gap)
        spread = np.where(columns.value == ABSENT, ABSENT, columns.value * (1 + apart))
        columns = replace(columns, value=spread)
        found = gather(columns.kind, columns.outcome, columns.value, columns.old, columns.invoke, columns.ret)
        rows = np.flatnonzero(takes_part(columns))
        done = columns.outcome[rows] == OK
        places = np.sort(np.concatenate([columns.invoke[rows], columns.ret[rows[done]]]))
        assert found.row.tolist() == rows.tolist()
        assert found.kind.tolist() == columns.kind[rows].tolist()
        assert found.names[found.value].tolist() == columns.value[rows].tolist()
        swaps = columns.kind[rows] == CAS
        assert found.names[found.old][swaps].tolist() == columns.old[rows][swaps].tolist()
        assert found.names.tolist() == sorted({ABSENT, *found.names.tolist()})
        assert places[found.invoke].tolist() == columns.invoke[rows].tolist()
        assert places[found.ret[done]].tolist() == columns.ret[rows][done].tolist()
        assert (found.ret[~done] == NEVER).all()
        calls = np.where(found.code >= 0, found.code, ~found.code)
        assert (np.where(found.code >= 0, found.invoke[calls], found.ret[calls]) == np.arange(places.size)).all()
        made = set(columns.value[rows][columns.kind[rows] != READ].tolist())
        assert [name in made for name in found.names.tolist()] == found.written.tolist()
