"""A verdict is had whatever breaks beside it: Spark, the disk of the store, a right to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.judge import conclude as module
from harness.judge.conclude import conclude
from pipeline import JobError
from tests.support.harness.recorded_run import record


def raising(error: Exception) -> Any:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize("error", [JobError("the JVM died"), ConnectionRefusedError(111, "Connection refused")])
def test_spark_that_breaks_down_at_work_costs_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    run = record(tmp_path, last_read=1)
    monkeypatch.setattr(module, "run_tables", raising(error))
    results = conclude(run, lambda: object())  # type: ignore[arg-type, return-value]
    assert results.verdict == "invalid"
    assert any("judged without Spark" in text and str(error) in text for text in results.warnings)
