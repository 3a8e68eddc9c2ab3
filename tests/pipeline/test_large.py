"""A run in pieces: the same tables as from the whole, the same complaints, and keys that no task holds."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bench.transactions.histories import write_history
from history import SECOND, FormatError, Probe, RunFiles
from history.tables.schemas import TABLES
from pipeline import Tables, local_tables, read_table, run_tables
from pipeline.spark.large import Sizes
from tests.support.pipeline.large import LENGTHS, long_keys

pytestmark = pytest.mark.spark
nightly = partial(pytest.param, marks=pytest.mark.nightly)


def in_pieces(spark, run: RunFiles, sizes: Sizes | None = None, **options: Any) -> Tables:
    return run_tables(spark, run, model="register", deadline_s=30, sizes=sizes or Sizes(piece=3000), **options)


def tables_of(run: RunFiles) -> dict[str, pa.Table]:
    found = {name: read_table(run.table(name), name) for name in TABLES}
    columns = found["verdicts"].column_names
    kept = [name for name in columns if name not in ("seconds", "details")]
    return {**found, "verdicts": found["verdicts"].select(kept).sort_by("key")}


@pytest.mark.parametrize(("seed", "operations"), [(1, 200), nightly(0, 300), nightly(2, 60)])
def test_the_same_tables(spark, make_random, write_probes, seed: int, operations: int) -> None:
    run = make_random(seed, operations=operations)
    write_probes(run, [Probe(5, "n1", "leader", 3), Probe(6, "n2", error="timed out")])
    run.state.write_text(json.dumps({"standstills": [[5 * SECOND, 14 * SECOND]]}))
    if seed == 1:
        run.history.write_bytes(run.history.read_bytes()[:-7])
    local = local_tables(run, model="register", deadline_s=30)
    whole = tables_of(run)
    found = in_pieces(spark, run)
    assert tables_of(run) == whole
    assert found.faults == local.faults
    assert len(list(run.table("operations").iterdir())) > 1
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0


@pytest.mark.nightly
def test_nothing_at_all(spark, recorder) -> None:
    run = recorder.close()
    local_tables(run, model="register", deadline_s=30)
    whole = tables_of(run)
    in_pieces(spark, run)
    assert tables_of(run) == whole


def test_keys_that_no_task_holds_get_the_verdict_of_the_kernel(spark, tmp_path: Path) -> None:
    run = long_keys(tmp_path / "run")
    local = {v.key: v for v in local_tables(run, model="register", deadline_s=30).key_verdicts}
    found = in_pieces(spark, run, Sizes(key=30, piece=3000)).key_verdicts
    assert {v.key: (v.verdict, v.operations, v.violations) for v in found} == {
        key: (v.verdict, v.operations, v.violations) for key, v in local.items()
    }
    assert {v.key for v in found if v.engine == "zones-distributed"} == {key for key, n in LENGTHS.items() if n > 30}
    assert {v.verdict for v in found} == {"valid", "invalid"}


@pytest.mark.nightly
def test_what_no_task_holds_and_distributed_zones_do_not_decide_is_unknown(spark, recorder) -> None:
    for value in (1, 2, 1, 2, 3):
        recorder.at(recorder.now + 5).call(0, "write", value, key="again").call(1, "read", None, value, key="again")
        recorder.call(0, "write", recorder.now, key="once")
    run = recorder.close()
    found = {}
    for key in (100, 3):
        for verdict in in_pieces(spark, run, Sizes(key=key)).key_verdicts:
            found[key, verdict.key] = (verdict.verdict, verdict.engine == "zones-distributed", verdict.reason)
    assert found[100, "again"][:2] == ("valid", False)
    assert found[3, "again"][:2] == ("unknown", True)
    assert "a value was written 2 times" in str(found[3, "again"][2])
    assert found[3, "once"] == ("valid", True, None)


LINE = '{{"index":{},"time":{},"type":"{}","process":{},"f":"read","value":null}}'


@pytest.mark.parametrize(
    ("bad", "place"),
    [
        (LINE.format(71, 71_000_000, "invoke", 1), "line 72"),
        (LINE.format(70, 70_000_000, "ok", 71), "line 72"),
        nightly(LINE.format(70, 0, "invoke", 1), "line 72"),
        nightly('{"index":', "line 72"),
        nightly(LINE.format(70, 70_000_000, "invoke", 3), "line 72"),
        # The first is wrong after the block before, the second within its own.
        (f"{LINE.format(70, 70_000_000, 'invoke', 3)}\n{LINE.format(71, 71_000_000, 'invoke', 69)}", "line 72"),
    ],
)
def test_what_is_wrong_is_named_alike(spark, recorder, bad: str, place: str) -> None:
    for number in range(100):
        recorder.at(number).event("invoke", number, "read")
    run = recorder.close()
    lines = run.history.read_text().splitlines()
    lines[71 : 72 + bad.count("\n")] = [bad]
    run.history.write_text("\n".join(lines) + "\n")
    complaints = []
    for compute in (lambda: local_tables(run, model="register", deadline_s=9), lambda: in_pieces(spark, run)):
        with pytest.raises(FormatError) as caught:
            compute()
        complaints.append(str(caught.value))
        assert caught.value.place == place
    assert complaints[0] == complaints[1]
    assert not run.tables.exists()


def far(spark, run: RunFiles) -> str:
    """The history's URI in a mount table of Hadoop's own, which stands for a file system that Python cannot open."""
    # Hadoop keeps a table that it has read: each test has one of its own.
    table = re.sub("[^a-z0-9]", "", run.root.parent.name)
    link = f"fs.viewfs.mounttable.{table}.link./data"
    spark.sparkContext._jsc.hadoopConfiguration().set(link, run.root.parent.as_uri())
    return f"viewfs://{table}/data/{run.root.name}/history.jsonl"


def test_a_corrupt_line_that_equals_the_torn_tail_is_named(spark, recorder, tmp_path) -> None:
    for number in range(100):
        recorder.at(number).event("invoke", number, "read")
    run = recorder.close()
    lines = run.history.read_text().splitlines()
    lines[71] = '{"index":'
    run.history.write_text("\n".join([*lines, '{"index":']))
    there = RunFiles(tmp_path / "there")
    for compute in (
        lambda: local_tables(run, model="register", deadline_s=9),
        lambda: in_pieces(spark, run),
        lambda: in_pieces(spark, there, history=far(spark, run)),
    ):
        with pytest.raises(FormatError) as caught:
            compute()
        assert caught.value.place == "line 72"
        assert "expected a JSON object" in caught.value.message


@pytest.mark.parametrize(("level", "verdict"), [("serializable", "invalid"), ("snapshot-isolation", "valid")])
def test_transactions_are_read_in_pieces_and_judged_by_one_worker(
    spark, tmp_path: Path, level: str, verdict: str
) -> None:
    """A write skew breaks serializability, and snapshot isolation allows it."""
    run, model = RunFiles(tmp_path / "run"), f"list-append:{level}"
    run.root.mkdir()
    write_history(run.history, 300, (100,))
    (local,) = local_tables(run, model=model, deadline_s=30).key_verdicts
    (found,) = run_tables(spark, run, model=model, deadline_s=30, sizes=Sizes(piece=3000)).key_verdicts
    assert len(list(run.table("operations").iterdir())) > 1
    assert found.verdict == verdict
    assert (found.verdict, found.operations, found.kinds) == (local.verdict, local.operations, local.kinds)


@pytest.mark.nightly
@pytest.mark.parametrize("off", [-1, 0, 1])
def test_a_torn_tail_wherever_the_file_is_cut(spark, make_random, tmp_path, off: int) -> None:
    run = make_random(4)
    size = run.history.stat().st_size
    with run.history.open("a") as file:
        file.write('{"index":')
    local_tables(run, model="register", deadline_s=30)
    whole = tables_of(run)
    there = RunFiles(tmp_path / "there")
    for compute in (
        lambda: in_pieces(spark, run, Sizes(piece=size + off)),
        lambda: in_pieces(spark, there, Sizes(piece=size + off), history=far(spark, run)),
    ):
        compute()
        assert tables_of(run) == whole
    assert tables_of(there) == whole


@pytest.mark.parametrize(
    "data", [b"", b"no header\n", b'{"format":"harness-history","version":9}\n', b'{"format":"jepsen"}\n']
)
def test_files_that_are_no_history(spark, recorder, data: bytes) -> None:
    run = recorder.close()
    run.history.write_bytes(data)
    with pytest.raises(FormatError) as caught:
        in_pieces(spark, run)
    with pytest.raises(FormatError) as expected:
        local_tables(run, model="register", deadline_s=9)
    assert str(caught.value) == str(expected.value)


def test_any_file_system_that_spark_reads(spark, make_random, tmp_path) -> None:
    run = make_random(5)
    local = local_tables(run, model="register", deadline_s=30)
    whole = tables_of(run)
    there = RunFiles(tmp_path / "there")
    found = in_pieces(spark, there, history=far(spark, run))
    assert found.faults == local.faults
    assert tables_of(there) == whole
