"""The words by which runs are grouped, from whatever a plan holds."""

from __future__ import annotations

from typing import Any

import pytest

from history.records.plans import nemesis_name, system_version


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"version": "0.4.0", "label": "0.4.0 planted-bug stale-reads"}, "0.4.0 planted-bug stale-reads"),
        ({"version": "0.4.0"}, "0.4.0"),
        ({}, ""),
        ({"version": None}, ""),
    ],
)
def test_the_version_names_mode_and_planted_bug(plan: dict[str, Any], words: str) -> None:
    assert system_version(plan) == words


@pytest.mark.parametrize(
    ("nemesis", "name"),
    [(["kill"], "kill"), (("kill", "bridge"), "kill+bridge"), ([], ""), (None, ""), ("kill", "kill"), ([1], "1")],
)
def test_the_turns_of_a_nemesis_are_one_name(nemesis: Any, name: str) -> None:
    assert nemesis_name({"nemesis": nemesis}) == name


def test_a_plan_without_a_nemesis_has_no_name_for_it() -> None:
    assert nemesis_name({}) == ""
