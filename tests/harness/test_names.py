"""Names of tests are folders: plain, short, and different for different tests."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import names
from harness.plan import Plan
from harness.store import create_run, link_latest

texts = st.text(min_size=1, max_size=40)
parts = st.tuples(st.lists(texts, min_size=1, max_size=2), st.lists(texts, max_size=6), st.lists(texts, max_size=3))
specs = st.text("ab/+@!~.-, é", min_size=1, max_size=4)


@given(parts)
@settings(max_examples=200)
def test_a_name_is_one_plain_folder_that_fits(made: tuple[list[str], list[str], list[str]]) -> None:
    name = names.test_name(*made)
    assert re.fullmatch(r"[A-Za-z0-9_+@!][A-Za-z0-9_+@!~.-]*", name)
    assert len(name) <= names.LONGEST + 9


@given(st.lists(specs, max_size=3), st.lists(specs, max_size=3))
@settings(max_examples=400)
def test_other_faults_have_another_name(one: list[str], other: list[str]) -> None:
    same = names.test_name(("set",), one, ("1",)) == names.test_name(("set",), other, ("1",))
    assert same == (one == other or [one, other] in ([[], ["no-fault"]], [["no-fault"], []]))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a@leader/one",), ("a@leader.one",)),
        (("a+b",), ("a", "b")),
        (("é",), ("ü",)),
        (tuple(f"fault-number-{n}" for n in range(40)), tuple(f"fault-number-{n}" for n in range(1, 41))),
        (("x" * 300,), ("x" * 301,)),
    ],
)
def test_what_was_written_differently_is_kept_apart(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert Plan(seed=1, nemesis=one).test != Plan(seed=1, nemesis=other).test


@pytest.mark.parametrize(
    "hostile",
    [
        {"system": "../../etc", "version": "1"},
        {"system": "a/b", "version": "1"},
        {"system": ".", "version": ".."},
        {"system": "größer als", "version": "1.0 beta"},
        {"system": "-rf", "version": "$(reboot)"},
        {"system": "x" * 400, "version": "y" * 400},
        {"nemesis": ("kill-followers@subset/!n1", "é\n\0")},
        {"version": "0.4.0/../../..", "workload": "a b"},
    ],
)
def test_a_run_lies_in_its_store_whatever_its_plan_is_called(tmp_path: Path, hostile: dict[str, object]) -> None:
    store = tmp_path / "store"
    run = create_run(store, Plan.from_json({**Plan(seed=1).to_json(), **hostile}), datetime(2026, 1, 1, tzinfo=UTC))
    link_latest(run)
    assert run.root.resolve().parent.parent == store.resolve()
    assert (store / "latest" / "plan.json").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store"]


def test_versions_with_and_without_a_space_are_kept_apart() -> None:
    made = {Plan.from_json({**Plan(seed=1).to_json(), "version": text}).test for text in ("1.0 beta", "1.0-beta")}
    assert len(made) == 2


def test_usual_names_are_as_they_are_written() -> None:
    plan = Plan(seed=1, nemesis=("kill-leader@n1", "bridge"))
    assert plan.test == "register-kill-leader@n1+bridge-0.4.0"
