"""A verdict is had whatever breaks beside it: Spark, the disk of the store, a right to write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import run_command
from harness.judge import conclude as module
from harness.judge.conclude import conclude
from history.recording import Recording
from pipeline import JobError, Tables, computed_tables
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
    found = conclude(Recording(run.root), lambda: object())  # type: ignore[arg-type, return-value]
    results = found.results
    assert (results.verdict, found.spark) == ("invalid", False)
    assert any("judged without Spark" in text and str(error) in text for text in results.warnings)


@pytest.mark.slow
def test_a_document_says_spark_where_spark_made_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Session:
        def __init__(self, **_: object) -> None: ...
        def get(self) -> object:
            return self

        def stop(self) -> None: ...

    def made(_: object, files: Recording, **options: Any) -> Tables:
        tables = computed_tables(files, **options)
        return Tables.of(tables["verdicts"], tables["faults"])

    record(tmp_path)
    monkeypatch.setattr("pipeline.WarmSession", Session)
    for tables, spark in ((made, True), (raising(JobError("the JVM died")), False)):
        monkeypatch.setattr(module, "run_tables", tables)
        assert run_command(["check", "latest", "--json", "--spark", "--store", str(tmp_path)]) == 0
        assert json.loads(capsys.readouterr().out)["spark"] is spark


FULL = OSError(28, "No space left on device", "tables")


@pytest.mark.parametrize("refused", ["store_tables", "replacing"])
@pytest.mark.parametrize(("last_read", "code"), [(1, 1), (2, 255)])
def test_a_verdict_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    refused: str, last_read: int, code: int,
) -> None:  # fmt: skip
    run = record(tmp_path, last_read=last_read)
    monkeypatch.setattr(module, refused, raising(FULL))
    assert run_command(["check", "latest", "--json", "--no-spark", "--store", str(tmp_path)]) == code
    output = capsys.readouterr()
    document = json.loads(output.out)
    assert (document["exit_code"], document["verdict"]) == (code, "invalid" if code == 1 else "valid")
    assert document["harness_failure"] == f"not written: {FULL}"
    assert document["results"] == (str(run.results) if refused == "store_tables" else None)
    assert code != 1 or "lost-write" in output.err
    assert str(FULL) in output.err
