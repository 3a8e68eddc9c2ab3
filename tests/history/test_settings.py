"""Which runs can be compared: equal settings on an equal machine."""

from __future__ import annotations

from typing import Any

import pytest

from history.records.settings import machine_of, series_names, settings_of

PLAN: dict[str, Any] = {"cluster": "inventory:/home/me/nodes.toml", "rate": 200.0, "nodes": 5, "seed": 7}


def test_settings_are_what_moves_a_figure() -> None:
    assert settings_of(PLAN) == "cluster=inventory nodes=5 rate=200.0"
    assert settings_of({**PLAN, "seed": 8, "started": "now"}) == settings_of(PLAN)
    assert settings_of({}) == ""


@pytest.mark.parametrize(
    "change",
    [
        {"rate": 100.0},
        {"nodes": 3},
        {"loop": "open"},
        {"options": {"snapshot_threshold": 9}},
        {"schedule": [["kill", 3.0]]},
    ],
)
def test_another_setting_is_another_series(change: dict[str, Any]) -> None:
    assert settings_of({**PLAN, **change}) != settings_of(PLAN)


@pytest.mark.parametrize("results", [{}, {"environment": None}, {"environment": {}}, {"environment": {"machine": 3}}])
def test_no_machine_is_none(results: dict[str, Any]) -> None:
    assert machine_of(results) is None


def test_a_series_is_named_by_both() -> None:
    assert machine_of({"environment": {"machine": "EPYC, 2 cores, 24 GiB"}}) == "EPYC, 2 cores, 24 GiB"
    assert series_names([("rate=1", None)]) == ["rate=1"]
    assert series_names([("rate=1", "EPYC"), ("", "EPYC")]) == ["rate=1 machine=EPYC", "machine=EPYC"]
