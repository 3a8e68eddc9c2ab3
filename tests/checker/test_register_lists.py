"""Lists of operations on registers, decided in columns, against the definition and against what calls of them say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker import CasRegister, ModelError, Register, check, per_key, warm
from checker.core.calls import calls_of
from checker.core.definition import is_linearization
from checker.core.options import CheckOptions
from checker.core.result import CertificateError
from checker.engines import register_lists, short_keys
from checker.engines.register_lists import columns_of_list, order_of_zones, verified
from checker.engines.short_keys import search_short_keys
from checker.per_key import by_key, check_object
from history import Operation
from tests.support.checker.oracle import Sampler, is_linearizable

#: What a small number of the sampler becomes: numbers, texts, numbers beyond 64 bits, both.
NAMES: dict[str, Callable[[int], Any]] = {
    "small": lambda number: number,
    "far apart": lambda number: number * 10**12 - 3,
    "texts": lambda number: f"v{number}",
    "beyond 64 bits": lambda number: number + 2**63 - 2,
    "the number of none": lambda number: -(2**63) + number,
    "mixed": lambda number: number if number % 2 else str(number),
}


def renamed(value: Any, name: Callable[[int], Any]) -> Any:
    return (
        [renamed(item, name) for item in value] if isinstance(value, list) else None if value is None else name(value)
    )


def joined(objects: list[list[Operation]], random: Random, *, names: str, apart: int) -> list[Operation]:
    """The operations of several keys as one list: places of the keys interleaved, ``apart`` from each other."""
    keys = len(objects)

    def placed(one: Operation, key: int) -> Operation:
        at: list[Any] = [apart * (place * keys + key) for place in (one.invoke_index, one.return_index or 0)]
        value, result = renamed(one.value, NAMES[names]), renamed(one.result, NAMES[names])
        return replace(one, key=f"k{key}", invoke_index=at[0], return_index=at[1], value=value, result=result)

    whole = [placed(one, key) for key, operations in enumerate(objects) for one in operations]
    random.shuffle(whole)
    return whole


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Operation], Any, Random]:
    random = Random(draw(st.integers(0, 2**32)))
    cas = draw(st.booleans())
    objects = [
        Sampler(random, values=random.choice([None, None, 3]), cas=cas, truth=random.choice([0.7, 0.97]))
        .history(random.randint(1, 8), 3)
        for _ in range(draw(st.integers(1, 3)))
    ]  # fmt: skip
    whole = joined(objects, random, names=draw(st.sampled_from(sorted(NAMES))), apart=draw(st.sampled_from([1, 10**9])))
    return whole, CasRegister() if cas else Register(), random


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    warm()


@settings(max_examples=400, deadline=None)
@given(histories(), st.sampled_from([0, 5, 2000]))
def test_a_list_is_judged_as_by_the_definition_and_as_by_calls(history: Any, proven: int) -> None:
    operations, model, _ = history
    assert columns_of_list(operations, model) is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(per_key, "MAX_PROVEN_OPERATIONS", proven)
        bare, whole = check(operations, model, proofs=False), check(operations, model)
    objects = by_key(operations)
    assert [verdict.key for verdict in whole.keys] == [verdict.key for verdict in bare.keys] == list(objects)
    for quick, shown, mine in zip(bare.keys, whole.keys, objects.values(), strict=True):
        # The oracle's null is a register that was never written.
        truth = "valid" if is_linearizable(mine) else "invalid"
        plain = check_object(mine, model, CheckOptions())
        assert quick.verdict == shown.verdict == plain.verdict == truth
        assert quick.operations == shown.operations == plain.operations
        if proven == 2000:
            assert (shown.certificate, shown.violations, shown.kinds) == (
                plain.certificate, plain.violations, plain.kinds,
            )  # fmt: skip
        for example in shown.counterexamples:
            assert not is_linearizable(example.operations)
            # A core may show a cas by what it writes alone.
            assert {one.invoke_index for one in example.operations} <= {one.invoke_index for one in mine}


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_an_order_is_verified_as_by_the_definition(seed: int) -> None:
    random = Random(seed)
    cas = random.random() < 0.5
    objects = [
        Sampler(random, values=2 if cas else random.choice([None, 2]), cas=cas, truth=0.97)
        .history(random.randint(1, 5), 2)
        for _ in range(2)
    ]  # fmt: skip
    operations = joined(objects, random, names="small", apart=1)
    model = CasRegister() if cas else Register()
    found = columns_of_list(operations, model)
    assert found is not None
    columns = found.columns
    orders: list[list[int]] = []
    for key in range(len(columns.keys)):
        rows = np.flatnonzero(columns.key == key)
        order = rows[np.argsort(columns.invoke[rows])].tolist()
        if random.random() < 0.5:
            random.shuffle(order)
        if random.random() < 0.3:
            order = random.choices(order, k=len(order))
        orders.append([row for row in order if random.random() < 0.9])
    random.shuffle(orders)
    wanted = np.ones(len(columns.keys), np.bool_)
    lengths = verified(columns, np.array([row for order in orders for row in order], np.int64), wanted)
    for key in range(len(columns.keys)):
        mine = next((order for order in orders if order and columns.key[order[0]] == key), [])
        rows = np.flatnonzero(columns.key == key)
        made = calls_of([columns.operation(row) for row in rows.tolist()], model)
        by_row = {int(rows[call.source]): call for call in made}
        right = all(row in by_row for row in mine) and is_linearization([by_row[row] for row in mine], made, model)
        assert lengths[key] == (len(mine) if right else -1)


@pytest.mark.parametrize("seed", range(40))
def test_short_keys_are_decided_as_by_the_definition(seed: int) -> None:
    random = Random(seed)
    objects = [
        Sampler(random, values=random.choice([1, 2, 3]), cas=random.random() < 0.7, truth=random.choice([0.7, 0.97]))
        .history(random.randint(0, 8), random.randint(1, 4))
        for _ in range(60)
    ]  # fmt: skip
    found = columns_of_list(joined(objects, random, names="small", apart=1), CasRegister())
    assert found is not None
    columns, keys = found.columns, len(found.columns.keys)
    wanted = np.array([random.random() < 0.9 for _ in range(keys)])
    short = search_short_keys(columns, wanted, CasRegister())
    assert short is not None
    assert ((short.valid | short.invalid) == wanted).all()
    truth = [is_linearizable(objects[int(str(key)[1:])]) for key in columns.keys]
    assert (short.valid == (wanted & truth)).all()
    assert (verified(columns, short.order, short.valid)[short.valid] >= 0).all()


def test_a_short_key_is_left_to_others_after_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one step by call most are left, and what is decided is the same."""
    random = Random(1)
    objects = [Sampler(random, values=2, cas=True, truth=0.9).history(8, 4) for _ in range(200)]
    found = columns_of_list(joined(objects, random, names="small", apart=1), CasRegister())
    assert found is not None
    everything = np.ones(len(found.columns.keys), np.bool_)
    whole = search_short_keys(found.columns, everything, CasRegister())
    monkeypatch.setattr(short_keys, "STEPS", 1)
    few = search_short_keys(found.columns, everything, CasRegister())
    assert whole is not None
    assert few is not None
    assert (whole.valid | whole.invalid).all()
    assert 0 < np.count_nonzero(few.valid | few.invalid) < everything.size
    assert not (few.valid & ~whole.valid).any()
    assert not (few.invalid & ~whole.invalid).any()


@pytest.mark.parametrize("model", ["cas-register", "register", "counter"])
def test_no_tiny_key_depends_on_the_clock(model: str) -> None:
    """On a clock by which the deadline passes before the first key, and on one that stands still."""
    random = Random(2)
    objects = [Sampler(random, values=2, cas=model == "cas-register", truth=1).history(8, 3) for _ in range(300)]
    operations = joined(objects, random, names="small", apart=1)
    if model == "counter":
        operations = [
            replace(one, f="add", value=1 if one.value is None else one.value, result=None) for one in operations
        ]  # fmt: skip
    hasty = count(step=1000)
    late, still = (
        check(operations, model, deadline_s=2, clock=clock) for clock in (lambda: float(next(hasty)), lambda: 0.0)
    )
    assert [key.verdict for key in late.keys] == [key.verdict for key in still.keys] == ["valid"] * len(still.keys)
    assert [key.certificate for key in late.keys] == [key.certificate for key in still.keys]


def test_what_columns_cannot_say_is_left_to_calls() -> None:
    write = Operation(0, "write", None, 1, None, "ok", 0, 1, 0, 1)
    read = Operation(0, "read", None, None, 1, "ok", 2, 3, 2, 3)
    assert columns_of_list([write, read], Register()) is not None
    left: list[tuple[list[Operation], Register]] = [
        ([], Register()),
        ([write], Register(0)),
        ([replace(write, value=True), read], Register()),
        ([replace(write, value=1.5), read], Register()),
        ([replace(write, value=[1]), read], Register()),
        ([write, replace(read, invoke_index=1)], Register()),
        ([replace(write, return_index=None)], Register()),
        ([replace(write, f="cas", value=[None, 1])], Register()),
        ([replace(write, f="cas", value=[None, 1, 2])], CasRegister()),
        ([replace(write, f="cas", value=[3, 1], result=[3, 1, None])], CasRegister()),
        ([replace(write, f="enqueue")], Register()),
    ]
    for operations, model in left:
        assert columns_of_list(operations, model) is None, operations
    # True is not 1, whatever Python says.
    assert check([replace(write, value=True), read]).verdict == "invalid"
    for wrong in (left[5], left[6], left[8], left[10]):
        with pytest.raises(ModelError):
            check(*wrong)


def test_an_order_that_is_none_is_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    operations = [
        Operation(0, "write", None, number, None, "ok", 0, 1, 2 * number, 2 * number + 1) for number in range(3)
    ]
    found = columns_of_list(operations, Register())
    assert found is not None
    alone = np.ones(1, np.bool_)
    assert verified(found.columns, order_of_zones(found.columns, alone), alone).tolist() == [3]
    assert per_key.valid_keys(found.columns, Register(), CheckOptions())[0].certificate == 3
    monkeypatch.setattr(register_lists, "linearization", lambda *_: np.array([1, 0, 2]))
    assert verified(found.columns, order_of_zones(found.columns, alone), alone).tolist() == [-1]
    with pytest.raises(CertificateError, match="zones"):
        per_key.valid_keys(found.columns, Register(), CheckOptions())
