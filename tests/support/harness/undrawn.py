"""Runs that are judged without their plots: the real ones take a second each, and have tests of their own."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def plotted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The verdicts of the runs of which the plots would have been drawn."""
    runs: list[str] = []

    def draw_all(drawn: Any) -> list[Any]:
        runs.append(drawn.run.verdict)
        return []

    monkeypatch.setattr("reports.plots.plots.draw_all", draw_all)
    return runs
