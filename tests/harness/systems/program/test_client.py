"""The law of outcomes for client programs, rule by rule, against real ones."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.core.calls import freeze
from checker.models.registry import model_named
from harness.systems.api import Machine
from harness.systems.law import Outcome
from harness.systems.program import child, client
from harness.systems.program.child import LineProgram, Program
from harness.systems.program.client import ProgramClient, completion_of, unusable
from harness.systems.program.workloads import ANSWERS as SHAPES
from harness.systems.program.workloads import WORKLOADS
from harness.workloads import Invocation
from tests.support.harness.line_programs import WAYS, misbehaving, program

READ, WRITE, CAS = Invocation("read", "x"), Invocation("write", "x", 3), Invocation("cas", "x", [1, 3])
HOME = Machine("n1", "10.0.0.1")


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "START_AGAIN_S", 0.0)
    monkeypatch.setattr(client, "GRACE_S", 0.0)


def outcomes(what: Program, *invocations: Invocation, timeout: float = 5.0) -> list[Outcome]:
    async def scene() -> list[Outcome]:
        one = ProgramClient(LineProgram(what), HOME, 0, timeout=timeout)
        try:
            return [await one.perform(invocation) for invocation in invocations]
        finally:
            await one.close()

    return asyncio.run(scene())


def types(what: Program, *invocations: Invocation, timeout: float = 5.0) -> list[str]:
    return [outcome.type for outcome in outcomes(what, *invocations, timeout=timeout)]


IN_DOUBT = ("dies", "is-killed", "dies-half-way", "garbage", "no-object", "not-a-number", "too-deep", "no-line",
            "no-type", "odd-type", "odd-error", "foreign", "text-id", "no-id", "twice")  # fmt: skip


@pytest.mark.parametrize("way", IN_DOUBT)
def test_a_program_that_dies_or_answers_garbage_is_info_and_the_next_operation_is_served(
    tmp_path: Path, way: str
) -> None:
    doubt, ok = outcomes(misbehaving(tmp_path, way, once=True), WRITE, WRITE)
    assert (doubt.type, doubt.value, doubt.node) == ("info", 3, "n1")
    assert doubt.error
    assert (ok.type, ok.value, ok.error) == ("ok", 3, None)


@pytest.mark.parametrize("way", IN_DOUBT)
def test_for_a_read_that_is_fail(tmp_path: Path, way: str) -> None:
    assert types(misbehaving(tmp_path, way, once=True), READ, READ) == ["fail", "ok"]


def test_an_answer_that_is_late_is_info(tmp_path: Path) -> None:
    assert types(misbehaving(tmp_path, "late", once=True), WRITE, timeout=0.3) == ["info"]
    assert types(misbehaving(tmp_path / "..", "silent"), READ, timeout=0.3) == ["fail"]


def test_a_value_that_is_none_of_this_operation_is_info(tmp_path: Path) -> None:
    write, cas, read = outcomes(misbehaving(tmp_path, "another-value"), WRITE, CAS, READ)
    assert (write.type, cas.type) == ("info", "info")
    assert write.error is not None
    assert "a write of 3 was invoked" in write.error
    assert (read.type, read.value) == ("ok", 4711)


def test_an_ok_read_that_names_no_value_claims_nothing(tmp_path: Path) -> None:
    read, write, cas = outcomes(misbehaving(tmp_path, "no-value"), READ, WRITE, CAS)
    assert (read.type, read.value) == ("fail", None)
    assert (write.type, write.value, cas.type, cas.value) == ("ok", 3, "ok", [1, 3])


def test_what_the_program_says_counts(tmp_path: Path) -> None:
    assert outcomes(misbehaving(tmp_path, "fails"), WRITE) == [Outcome("fail", 3, "n1", "not the primary")]
    assert outcomes(misbehaving(tmp_path, "doubts"), WRITE, READ) == [
        Outcome("info", 3, "n1", "timeout"), Outcome("fail", None, "n1", "timeout"),
    ]  # fmt: skip


def test_only_what_was_never_written_is_fail(tmp_path: Path) -> None:
    [outcome] = outcomes(Program(("no-such-program",), tmp_path), WRITE)
    assert outcome.type == "fail"
    closed = 'read -r line; echo \'{"id":1,"type":"ok"}\'; exec 0<&-; mkdir closed; exec sleep 30'
    wait = Invocation("write", "x", 4)

    async def scene() -> list[str]:
        one = ProgramClient(LineProgram(program(tmp_path, closed)), HOME, 0, timeout=5.0)
        try:
            first = await one.perform(wait)
            while not (tmp_path / "closed").exists():
                await asyncio.sleep(0.01)
            return [first.type, (await one.perform(WRITE)).type]
        finally:
            await one.close()

    assert asyncio.run(scene()) == ["ok", "fail"]


def test_it_is_given_what_it_needs(tmp_path: Path) -> None:
    script = 'head -n 1 > seen; echo \'{"id":1,"type":"ok"}\'; cat'
    assert types(program(tmp_path, script), WRITE) == ["ok"]
    assert (tmp_path / "seen").read_text() == (
        '{"id":1,"f":"write","key":"x","value":3,"node":"n1","address":"10.0.0.1","worker":0,"timeout":5.0}\n'
    )


VALUES = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers(), max_size=3)
ANSWERS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {}, optional={"type": st.sampled_from(["ok", "fail", "info"]) | VALUES, "value": VALUES, "error": VALUES}
)


@given(st.sampled_from([READ, WRITE, CAS]), ANSWERS)
def test_whatever_is_answered_fail_needs_the_word_and_a_read_is_never_in_doubt(
    invocation: Invocation, answer: dict[str, Any]
) -> None:
    if unusable(invocation, answer):
        return
    outcome = completion_of(invocation, answer, "n1")
    if invocation.f != "read":
        assert (outcome.type == "fail") == (answer["type"] == "fail")
    else:
        assert outcome.type != "info"
    if outcome.type == "ok" and invocation.f == "write":
        assert (type(outcome.value), outcome.value) == (int, 3)


@pytest.mark.parametrize(
    ("workload", "invocation", "right", "wrong"),
    [
        ("set", Invocation("read", "set-0"), [[], [3, 1]], [None, 3, "1,3", [1, "2"], [True], [1.5]]),
        ("set", Invocation("add", "set-0", 3), [None, 3], [4, [3]]),
        ("counter", Invocation("read", "counter-0"), [0, -7], [None, "7", 1.5, True, [7]]),
        ("counter", Invocation("add", "counter-0", 3), [None, 3], [4]),
        (
            "lock",
            Invocation("acquire", "lock-0"),
            [["acquired", 3], ["held", 2]],
            [None, 3, ["acquired"], ["acquired", None], ["held", None], ["released", 3], ["held", 2, 1], ["held", "2"]],
        ),
        (
            "lock",
            Invocation("release", "lock-0", 3),
            [["released", 3], ["held", 4], ["free", None]],
            [None, 3, True, ["acquired", 3], ["held", None], ["free", 3], ["released", 4]],
        ),
        ("lock", Invocation("read", "lock-0"), [None, 3], ["3", True, [3]]),
        (
            "bank",
            Invocation("read", "bank-0"),
            [[], [[0, -5], [1, 5]]],
            [None, 5, {"0": 5}, [[0]], [[0, "5"]], [0, 5], [[0, -5], [1, 5], [1, 5]]],
        ),
        (
            "bank",
            Invocation("transfer", "bank-0", [0, 1, 5]),
            [None, [[0, -5], [1, 5]]],
            [True, [0, 1, 5], 5, [[0, -5], [0, -5]]],
        ),
        ("register", Invocation("read", "k0"), [None, 3, "three"], []),
    ],
)
def test_an_answer_of_another_kind_than_the_workloads_proves_nothing(
    workload: str, invocation: Invocation, right: list[Any], wrong: list[Any]
) -> None:
    answers = SHAPES.get(workload, {})
    name = WORKLOADS[workload].model
    assert isinstance(name, str)
    model = model_named(name)
    for value in right:
        answer = {"type": "ok", "value": value}
        assert unusable(invocation, answer, answers) == ""
        result = completion_of(invocation, answer, "n1").value
        model.admit(invocation.f, freeze(invocation.value), freeze(result))
    for value in wrong:
        assert unusable(invocation, {"type": "ok", "value": value}, answers), value
        assert not unusable(invocation, {"type": "info", "value": value}, answers)


def test_a_transfer_that_names_no_balances_claims_none() -> None:
    transfer = Invocation("transfer", "bank-0", [0, 1, 5])
    assert completion_of(transfer, {"type": "ok"}, "n1") == Outcome("ok", None, "n1")
    assert completion_of(transfer, {"type": "info", "error": "?"}, "n1") == Outcome("info", [0, 1, 5], "n1", "?")


def test_every_way_to_misbehave_is_tried() -> None:
    tried = {*IN_DOUBT, "late", "silent", "another-value", "no-value", "fails", "doubts", "right", "twice-later"}
    assert tried | {"dies-with-a-word"} == set(WAYS)
