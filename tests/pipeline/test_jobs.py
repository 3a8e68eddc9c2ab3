"""The same tables on Spark: the answer must be that of the local way, whatever the history holds."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from history import FormatError, KeyVerdict, Probe, RunFiles
from history.tables.schemas import TABLES
from pipeline import JobError, Tables, local_tables, read_table, run_tables
from pipeline.spark.actions import cause

pytestmark = pytest.mark.spark


def timeless(verdicts: list[KeyVerdict]) -> list[KeyVerdict]:
    return [dataclasses.replace(verdict, seconds=0.0) for verdict in verdicts]


def rows(run: RunFiles) -> dict[str, list[dict[str, Any]]]:
    found = {name: read_table(run.table(name), name).to_pylist() for name in TABLES}
    found["verdicts"] = [dict(row, seconds=0, details="") for row in found["verdicts"]]
    found["verdicts"].sort(key=lambda row: row["key"] or "")
    return found


def both(spark, run: RunFiles, model: str = "register", deadline_s: float = 10) -> Tables:
    """Both ways' answer, after comparing them value by value and row by row."""
    local = local_tables(run, model=model, deadline_s=deadline_s)
    here = rows(run)
    there = run_tables(spark, run, model=model, deadline_s=deadline_s)
    assert timeless(there.key_verdicts) == timeless(local.key_verdicts)
    assert there.faults == local.faults
    assert rows(run) == here
    return there


@pytest.mark.parametrize("seed", range(6))
def test_random_histories(spark, make_random, seed: int) -> None:
    both(spark, make_random(seed, operations=40 + 60 * seed))


def test_some_of_them_are_invalid_and_some_valid(spark, make_random) -> None:
    verdicts = {verdict.verdict for verdict in both(spark, make_random(2)).key_verdicts}
    assert "invalid" in verdicts


def test_compare_and_set(spark, recorder) -> None:
    recorder.call(0, "write", 1, key="k").at(3).call(1, "cas", [1, 2], key="k").at(4).call(0, "read", None, 2, key="k")
    tables = both(spark, recorder.close(), "cas-register")
    assert [verdict.verdict for verdict in tables.key_verdicts] == ["valid"]


@pytest.mark.parametrize("model", ["cas-register", "counter"])
def test_tiny_keys_are_decided_however_late_it_is(spark, recorder, model: str) -> None:
    for key in range(200):
        if model == "counter":
            recorder.call(0, "add", 1, key=key).call(0, "read", None, 1, key=key)
        else:
            recorder.call(0, "write", 1, key=key).call(1, "cas", [1, 1], key=key).call(0, "read", None, 1, key=key)
    tables = both(spark, recorder.close(), model, deadline_s=1e-6)
    assert [verdict.verdict for verdict in tables.key_verdicts] == ["valid"] * 200


def test_nothing_at_all(spark, recorder) -> None:
    assert both(spark, recorder.close()).key_verdicts == []


def test_only_unfinished_operations(spark, recorder) -> None:
    recorder.event("invoke", 0, "write", value=1).event("invoke", 1, "read")
    run = recorder.close()
    both(spark, run)
    assert read_table(run.table("operations"), "operations")["returned"].null_count == 2


def test_a_torn_tail_and_no_probes(spark, make_random) -> None:
    run = make_random(7)
    data = run.history.read_bytes()
    run.history.write_bytes(data[:-9])
    both(spark, run)


def test_probes(spark, recorder, write_probes) -> None:
    run = recorder.call(0, "write", 1).close()
    write_probes(run, [Probe(5, "n1", "leader", 3), Probe(6, "n2", error="timed out")])
    both(spark, run)


def test_the_schemas_are_exact(spark, make_random) -> None:
    run = make_random(3)
    run_tables(spark, run, model="register", deadline_s=10)
    for name, schema in TABLES.items():
        assert read_table(run.table(name), name).schema.equals(schema, check_metadata=False)
        assert [path.name for path in run.table(name).iterdir()] == ["part-00000.parquet"]


@pytest.mark.parametrize(
    "lines",
    [
        ["ok 0 read a"],
        ["invoke 0 read a", "invoke 0 read a"],
        ["invoke 0 read a", "ok 0 read b"],
        ["invoke 0 read a", "ok 0 write a"],
        ["invoke 0 read a", "ok 0 read a", "fail 0 read a"],
        ["invoke 0 read a", "invoke 1 read a", "ok 1 read b", "ok 0 read b"],
        ["invoke 0 read a", "info 0 read a", "invoke 0 read a", "invoke 1 read a", "ok 2 read a"],
    ],
)
def test_what_does_not_pair_is_refused_alike(spark, recorder, lines: list[str]) -> None:
    for line in lines:
        kind, process, f, key = line.split()
        recorder.event(kind, int(process), f, key=key)
    run = recorder.close()
    complaints = []
    for compute in (local_tables, lambda run, **rest: run_tables(spark, run, **rest)):
        with pytest.raises(FormatError) as caught:
            compute(run, model="register", deadline_s=10)
        complaints.append(str(caught.value).replace('"', "'"))  # keys are texts there, and values here
    assert complaints[0] == complaints[1]
    assert not run.tables.exists()


@pytest.mark.parametrize(("seen", "verdict"), [(1, "invalid"), (2, "valid")])
def test_a_refused_cas_is_judged_by_what_it_saw(spark, recorder, seen, verdict) -> None:
    for value in (1, 2):
        recorder.event("invoke", 0, "write", value=value, key="a").event("ok", 0, "write", value=value, key="a")
    recorder.event("invoke", 1, "cas", value=[3, 4], key="a").event("ok", 1, "cas", value=[3, 4, seen], key="a")
    tables = both(spark, recorder.close(), model="cas-register")
    assert [reported.verdict for reported in tables.key_verdicts] == [verdict]


def test_a_key_on_which_the_checker_fails_leaves_the_verdicts_on_the_others(spark, recorder) -> None:
    recorder.call(0, "append", 1, key="odd").call(0, "write", 1, key="lost").call(0, "read", None, None, key="lost")
    lost, odd = both(spark, recorder.close()).key_verdicts
    assert (lost.verdict, odd.verdict) == ("invalid", "unknown")
    assert "ModelError" in (odd.failure or "")


def test_a_model_that_a_worker_lacks_is_named_with_the_mend(spark, recorder) -> None:
    run = recorder.call(0, "write", 1).close()
    with pytest.raises(JobError, match=r"not know the model 'odd': install the package .* or judge with --no-spark"):
        run_tables(spark, run, model="odd", deadline_s=10)
    assert not run.tables.exists()


def test_nothing_stays_in_the_cache(spark, recorder) -> None:
    run_tables(spark, recorder.call(0, "write", 1).close(), model="register", deadline_s=10)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0


def test_the_cause_of_a_lost_worker() -> None:
    text = "An error occurred\n: o.a.s.SparkException: Job aborted: o.a.s.SparkException: it died\n\tat x"
    assert cause(text) == "it died"
    assert cause("something else") == "something else"
    assert cause("") == cause("SparkException: ") == "Spark gave no reason"
    text = """An error occurred while calling o34.collect.
: org.apache.spark.SparkException: Job aborted: org.apache.spark.SparkException:
Error from python worker:
  Traceback (most recent call last):
    File "<frozen runpy>", line 198, in _run_module_as_main
  ModuleNotFoundError: No module named 'pandas.core'
PYTHONPATH was:
  /somewhere
org.apache.spark.SparkException: No port number in the daemon's output
"""
    assert cause(text) == "ModuleNotFoundError: No module named 'pandas.core'"
