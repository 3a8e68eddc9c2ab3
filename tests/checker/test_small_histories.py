"""Registers by columns, and the strict cas register, against the definition on very many small histories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from checker import ANY, CasRegister
from checker.columnar import check_columns
from checker.core import definition
from checker.core.calls import Call
from checker.core.model import UNKNOWN, StrictCasRegister
from checker.core.options import CheckOptions
from checker.core.result import Limits
from checker.dispatch import decide
from checker.engines.automaton import timeline, timeline_columns
from checker.search.compiled import RegisterColumns, search_numbers
from history import Operation
from history.codes import ABSENT, NEVER
from history.readers.columns import OperationColumns
from tests.support.checker.oracle_compiled import CAS, FAIL, INFO, OK, READ, REFUSED, Histories, draw, truths

# Compiling the sampler takes longer than the tests of every run may.
pytestmark = pytest.mark.nightly
NO_LIMITS = Limits(lambda: 0.0)
AT_ONCE = 2000


def batches(samples: int, seed: int, most: int, *, cas: bool) -> Iterator[Histories]:
    for number in range(0, samples, AT_ONCE):
        yield draw(1_000_003 * seed + number, min(AT_ONCE, samples - number), most, cas)


def columns_of(some: Histories) -> OperationColumns:
    def unasked(row: int) -> Operation:
        raise AssertionError(row)

    key = np.repeat(np.arange(some.starts.size - 1), np.diff(some.starts))
    value, old = (np.where(column == 0, ABSENT, column) for column in (some.value, some.old))
    kind = np.where(some.kind == REFUSED, CAS, some.kind).astype(np.int8)
    ret = np.where(some.ret == NEVER, -1, some.ret)
    return OperationColumns(
        kind, some.outcome, value, old, key, some.invoke, ret, tuple(range(some.starts.size - 1)), unasked
    )


def by_columns(samples: int, seed: int, *, cas: bool) -> None:
    """Zones, the automaton on many keys and on one, chains and the search: whatever fits."""
    seen = {True: 0, False: 0}
    for some in batches(samples, seed, 9, cas=cas):
        truth = truths(some, strict=False, anywhere=False)
        report = check_columns(columns_of(some), "cas-register" if cas else "register", CheckOptions(proofs=False))
        for number, verdict in enumerate(report.keys):
            assert verdict.verdict == ("valid" if truth[number] else "invalid"), reported(some, number)
            seen[bool(truth[number])] += 1
    assert min(seen.values()) > samples / 10


def from_anywhere(samples: int, seed: int, *, cas: bool) -> None:
    """The automaton and the search from an unknown initial value."""
    seen = {True: 0, False: 0}
    for some in batches(samples, seed, 9, cas=cas):
        for number, truth in enumerate(truths(some, strict=False, anywhere=True)):
            kind, value, old, invoke, ret = dense(some, number)
            if not kind.size:
                continue
            names, ids = np.unique(np.concatenate([value, old]), return_inverse=True)
            value, old = ids[: kind.size], ids[kind.size :]
            if cas:
                from checker.kernels.search_state import ANY_STATE

                words = [str(name) for name in names]
                answer = search_numbers(RegisterColumns(kind, value, old, invoke, ret, words, ANY_STATE), NO_LIMITS)
                found = answer is not None and answer.verdict == "valid"
            else:
                columns = timeline_columns(kind == 1, value, invoke, ret, names.size)
                found = not timeline(columns, np.arange(names.size), NO_LIMITS).dead
            assert found == truth, reported(some, number)
            seen[bool(truth)] += 1
    assert min(seen.values()) > samples / 20


def dense(some: Histories, number: int) -> tuple[Any, ...]:
    rows = np.arange(some.starts[number], some.starts[number + 1])
    rows = rows[(some.outcome[rows] == OK) | ((some.outcome[rows] == INFO) & (some.kind[rows] != READ))]
    places = np.sort(np.concatenate([some.invoke[rows], some.ret[rows][some.ret[rows] != NEVER]]))
    ret = np.where(some.ret[rows] == NEVER, NEVER, np.searchsorted(places, some.ret[rows]))
    return some.kind[rows], some.value[rows], some.old[rows], np.searchsorted(places, some.invoke[rows]), ret


def calls_in(some: Histories, number: int, *, strict: bool) -> list[Call]:
    calls = []
    for row in range(some.starts[number], some.starts[number + 1]):
        kind, outcome, value, old = (int(column[row]) for column in some[:4])
        if outcome == FAIL and not (strict and kind == REFUSED):
            continue
        result: Any
        if kind == READ:
            f, asked, result = "read", None, value or None
        else:
            f = {CAS: "cas", REFUSED: "refused"}.get(kind, "write")
            asked = value or None if f == "write" else (old or None, value or None)
            result = UNKNOWN if outcome == INFO else None
        calls.append(Call(f, asked, result, int(some.invoke[row]), int(some.ret[row]), row))
    return calls


def reported(some: Histories, number: int) -> list[Call]:
    return calls_in(some, number, strict=True)


def strictly(samples: int, seed: int) -> None:
    seen, model = {True: 0, False: 0}, StrictCasRegister()
    for some in batches(samples, seed, 8, cas=True):
        for number, truth in enumerate(truths(some, strict=True, anywhere=False)):
            answer = decide(calls_in(some, number, strict=True), model, NO_LIMITS)
            assert answer.verdict == ("valid" if truth else "invalid"), reported(some, number)
            seen[bool(truth)] += 1
    assert min(seen.values()) > samples / 10


def test_the_compiled_definition_is_the_definition() -> None:
    for cas in (False, True):
        some = draw(5, 500, 7, cas)
        for strict, anywhere in ((False, False), (True, False), (False, True)):
            model = StrictCasRegister() if strict else CasRegister(ANY if anywhere else None)
            for number, truth in enumerate(truths(some, strict=strict, anywhere=anywhere)):
                calls = calls_in(some, number, strict=strict)
                assert definition.linearizable(calls, model) == truth, calls


@pytest.mark.parametrize("cas", [False, True])
def test_a_million_by_columns(cas: bool) -> None:
    by_columns(1_000_000, 4, cas=cas)


@pytest.mark.parametrize("cas", [False, True])
def test_a_million_from_an_unknown_value(cas: bool) -> None:
    from_anywhere(1_000_000, 5, cas=cas)


def test_a_million_with_strict_swaps() -> None:
    strictly(1_000_000, 6)
