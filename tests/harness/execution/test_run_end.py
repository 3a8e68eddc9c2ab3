"""The verdict is timed from the end of the run, also where that never came to its load."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.execution import run as run_module
from harness.execution.run import Run
from harness.plan import Plan
from history import RunFiles


def test_a_run_that_is_interrupted_before_its_load_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_args: Any, **_kwargs: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "Conductor", interrupted)
    run: Any = Run(Plan(seed=1), tmp_path, SimpleNamespace())  # type: ignore[arg-type]
    nodes: Any = SimpleNamespace(names=("n1",), members=("n1",), run=lambda commands: {})
    with pytest.raises(KeyboardInterrupt):
        run._conduct(nodes, nodes, SimpleNamespace(), RunFiles(tmp_path), SimpleNamespace())
    assert run._since_the_end() < 60
