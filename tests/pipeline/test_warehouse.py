"""The tables of all runs: the same run twice changes nothing, a bad run harms no other."""

from __future__ import annotations

import json
import os
import shutil
import threading
from codecs import BOM_UTF8
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checker import check
from history import SECOND, FormatError, RunFiles
from history.readers import read_any
from history.readers.convert import convert_history
from history.recording import Recording
from history.tables.schemas import ALL_TABLES, RUNS
from history.tables.warehouse import read_runs
from pipeline import Tables, append_run, ingest, local_tables, read_all, read_table, run_tables
from pipeline.spark.hadoop_fs import listing
from pipeline.tables import local
from pipeline.tables.storage import write_file
from pipeline.tables.windows import window_table
from pipeline.warehouse import landing, staging
from pipeline.warehouse.remote import contents
from pipeline.warehouse.versions import STAGE
from tests.support.history.foreign_files import TEXTS, Record, edn, kv, log, story, story_of
from tests.support.reports.stood_still import stand_still


@pytest.fixture
def judged(make_random, tmp_path):
    """Runs with tables, as a store has them."""

    def make(seed: int) -> RunFiles:
        made = make_random(seed)
        root = tmp_path / "store" / "register-kill-0.4.0" / f"2026010{seed}T000000.000Z-{seed}"
        root.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made.root, root)
        run = RunFiles(root)
        run.plan.write_text(json.dumps({"version": "0.4.0", "nemesis": ["kill"], "workload": "register"}))
        local_tables(run, model="register", deadline_s=10)
        return run

    return make


def files(directory: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(directory)): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in directory.rglob("*.parquet")
    }


def test_the_same_run_twice_changes_nothing(judged, tmp_path) -> None:
    run, warehouse = judged(1), tmp_path / "warehouse"
    assert append_run(warehouse, run)
    before = files(warehouse)
    assert not append_run(warehouse, run)
    assert files(warehouse) == before


def test_a_run_judged_anew_replaces_itself(judged, tmp_path) -> None:
    run, warehouse = judged(1), tmp_path / "warehouse"
    append_run(warehouse, run)
    run.results.write_text(json.dumps({"verdict": "unknown"}))
    assert append_run(warehouse, run)
    assert read_runs(warehouse)["verdict"].to_pylist() == ["unknown"]
    assert set(read_all(warehouse, "verdicts")["run"].to_pylist()) == {"register-kill-0.4.0/" + run.root.name}
    assert read_all(warehouse, "operations").num_rows == read_runs(warehouse)["operations"][0].as_py()


@pytest.mark.parametrize(
    ("files", "read", "verdict"),
    [
        ({"plan": {"version": "1"}}, 1, "unknown"),
        ({"plan": {"version": "1"}}, 2, "invalid"),
        ({"plan": {"version": "1"}, "state": {"failures": ["SSH to n3 was lost"]}}, 1, "harness failure"),
        ({"plan": {"version": "1"}, "state": {"failures": []}, "results": {"verdict": "valid"}}, 1, "valid"),
        ({}, 1, "valid"),
        ({}, 2, "invalid"),
    ],
)
def test_a_run_of_ours_that_was_never_judged_is_not_valid(
    recorder, tmp_path, files: dict, read: int, verdict: str
) -> None:
    """A history alone has the verdict of its keys."""
    run = recorder.call(0, "write", 1, key="k").call(0, "read", None, read, key="k").close()
    for name, record in files.items():
        getattr(run, name).write_text(json.dumps(record))
    local_tables(run, model="register", deadline_s=10)
    append_run(tmp_path / "warehouse", run)
    assert read_runs(tmp_path / "warehouse")["verdict"].to_pylist() == [verdict]


def test_rows_and_tables_of_all_runs(judged, tmp_path) -> None:
    runs, warehouse = [judged(seed) for seed in (1, 2, 3)], tmp_path / "warehouse"
    for run in runs:
        append_run(warehouse, run)
    rows = read_runs(warehouse)
    assert rows.schema.equals(RUNS, check_metadata=False)
    assert rows["run"].to_pylist() == sorted(
        set(read_all(warehouse, "faults")["run"].to_pylist()) | set(rows["run"].to_pylist())
    )
    assert set(rows["nemesis"].to_pylist()) == {"kill"}
    operations = read_all(warehouse, "operations")
    assert operations.num_rows == sum(rows["operations"].to_pylist())
    assert set(operations["run"].to_pylist()) == set(rows["run"].to_pylist())


def test_writers_at_the_same_time(judged, tmp_path) -> None:
    run, warehouse = judged(1), tmp_path / "warehouse"
    failures: list[OSError] = []

    def work() -> None:
        try:
            for _ in range(5):
                append_run(warehouse, run)
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert not append_run(warehouse, run)
    assert sorted(path.name for path in warehouse.iterdir()) == ["landing", "tables", "versions"]
    assert not list((warehouse / "landing").iterdir())
    assert read_runs(warehouse).num_rows == 1


def test_tables_with_a_column_of_another_type_are_refused(judged, tmp_path) -> None:
    run = judged(1)
    part = run.table("faults") / "part-00000.parquet"
    table = pq.ParquetFile(part).read()
    texts = pa.array(["1"] * table.num_rows, pa.string())
    pq.write_table(table.set_column(0, "id", texts).replace_schema_metadata(table.schema.metadata), part)
    with pytest.raises(FormatError, match="the column id of faults is string, but this release needs int64"):
        append_run(tmp_path / "warehouse", run)
    with pytest.raises(FileNotFoundError):
        read_runs(tmp_path / "warehouse")


def test_tables_that_are_not_what_their_manifest_says_are_made_anew(judged, tmp_path) -> None:
    run, warehouse = judged(1), tmp_path / "warehouse"
    part = run.table("operations") / "part-00000.parquet"
    whole = pq.ParquetFile(part).read()
    pq.write_table(whole.slice(1), part)
    with pytest.raises(FormatError, match=r"rows of operations, but manifest\.json says"):
        append_run(warehouse, run)
    assert [outcome.state for outcome in ingest([run], warehouse, deadline_s=10)] == ["added"]
    assert read_all(warehouse, "operations").num_rows == whole.num_rows
    shutil.rmtree(run.table("probes"))
    assert [outcome.state for outcome in ingest([run], warehouse, deadline_s=10)] == ["unchanged"]


def bad_runs(judged) -> tuple[list[RunFiles], list[str]]:
    runs = [judged(seed) for seed in range(1, 8)]
    for run in runs[1:]:
        shutil.rmtree(run.tables)
    runs[2].history.write_text('{"format":"jepsen"}\n')
    runs[3].history.write_text('{"format":"harness-history","version":9}\n')
    shutil.rmtree(runs[4].root)
    runs[5].history.write_bytes(b"")
    expected = ["added", "added", "FormatError: ", "FormatError: ", "FileNotFoundError: ", "FormatError: ", "added"]
    return runs, expected


def check_outcomes(outcomes, runs: list[RunFiles], expected: list[str]) -> None:
    assert [outcome.run.rpartition("/")[2] for outcome in outcomes] == [run.root.name for run in runs]
    assert [
        (outcome.error or outcome.state)[: len(text)] for outcome, text in zip(outcomes, expected, strict=True)
    ] == expected


def test_a_bad_run_is_named_and_all_others_are_done(judged, tmp_path) -> None:
    runs, expected = bad_runs(judged)
    warehouse = tmp_path / "warehouse"
    outcomes = ingest(runs, warehouse, deadline_s=10)
    check_outcomes(outcomes, runs, expected)
    assert "line 1: version 9 is not one that this release reads" in (outcomes[3].error or "")
    assert read_runs(warehouse).num_rows == 3
    again = ingest(runs, warehouse, deadline_s=10)
    assert [outcome.state for outcome in again if outcome.state != "failed"] == ["unchanged"] * 3


def test_a_run_that_goes_away_while_it_is_read(judged, tmp_path, monkeypatch) -> None:
    runs, warehouse = [judged(1), judged(2)], tmp_path / "warehouse"

    def gone(path: Path, name: str) -> pa.Table:
        if name == "windows" and runs[0].root.name in str(path):
            shutil.rmtree(runs[0].root)
        return read_table(path, name)

    monkeypatch.setattr(landing, "read_table", gone)
    outcomes = ingest(runs, warehouse, deadline_s=10)
    assert [outcome.state for outcome in outcomes] == ["failed", "added"]
    assert (outcomes[0].error or "").startswith("FileNotFoundError: ")
    assert set(read_all(warehouse, "operations")["run"].to_pylist()) == {f"register-kill-0.4.0/{runs[1].root.name}"}


def test_a_run_that_is_removed_while_its_tables_are_made_stays_away(judged, tmp_path, monkeypatch) -> None:
    run = judged(1)
    shutil.rmtree(run.tables)

    def gone(operations: pa.Table) -> pa.Table:
        shutil.rmtree(run.root)
        return window_table(operations)

    monkeypatch.setattr(local, "window_table", gone)
    (outcome,) = ingest([run], tmp_path / "warehouse", deadline_s=10)
    assert (outcome.error or "").startswith("FileNotFoundError: ")
    assert not run.root.exists()


def test_a_name_that_is_no_utf8_is_refused_in_words_that_can_be_printed(judged, tmp_path) -> None:
    """Arrow opens no such path."""
    run = judged(1)
    place = run.root.rename(run.root.with_name("20260101-\udcff"))
    bad, good = ingest([place, judged(2)], tmp_path / "warehouse", deadline_s=10)
    assert (bad.run, bad.state, good.state) == ("register-kill-0.4.0/20260101-\\udcff", "failed", "added")
    assert (bad.error or "").isascii()


def test_tables_that_cannot_be_read_are_made_anew_and_others_are_not(judged, tmp_path) -> None:
    runs = [judged(1), judged(2)]
    before = [files(run.tables) for run in runs]
    (runs[0].table("verdicts") / "part-00000.parquet").write_bytes(b"PAR1")
    outcomes = ingest(runs, tmp_path / "warehouse", deadline_s=10)
    assert [outcome.state for outcome in outcomes] == ["added", "added"]
    after = [files(run.tables) for run in runs]
    assert not set(after[0].items()) & set(before[0].items())
    assert after[1] == before[1]


def test_what_is_read_back_as_less_than_was_written_is_not_landed(judged, tmp_path, monkeypatch) -> None:
    run, warehouse = judged(1), tmp_path / "warehouse"

    def forgetful(path: Path, schema: pa.Schema, content: Any) -> int:
        rows = write_file(path, schema, content)
        if path.parents[1].name == "operations":
            write_file(path, schema, [])
        return rows

    monkeypatch.setattr(landing, "write_file", forgetful)
    with pytest.raises(FormatError, match=r"/operations/month=2026-01/.*: \d+ rows were written, but 0 were found"):
        append_run(warehouse, run)
    (outcome,) = ingest([run], warehouse, deadline_s=10)
    assert (outcome.state, (outcome.error or "").partition(":")[0]) == ("failed", "FormatError")
    assert not list((warehouse / "landing").iterdir())


def test_what_is_landed_was_synced_before(judged, tmp_path, monkeypatch) -> None:
    synced: set[int] = set()
    landed: set[int] = set()
    held = landing.Landing(tmp_path)
    assert held.add(judged(1), "t/20260101")
    rename = os.rename

    def renamed(path: Path, target: Path) -> None:
        landed.update(file.stat().st_ino for file in path.rglob("*.parquet"))
        assert landed == synced
        rename(path, target)

    monkeypatch.setattr(os, "fsync", lambda file: synced.add(os.fstat(file).st_ino))
    monkeypatch.setattr(os, "rename", renamed)
    held.publish()
    assert len(landed) == len(ALL_TABLES) + 1


def test_a_run_whose_tables_have_other_rows_is_added_again(judged, tmp_path) -> None:
    """As when it is judged by another model: nothing else of it has changed."""
    run, warehouse = judged(1), tmp_path / "warehouse"
    assert append_run(warehouse, run)
    local_tables(run, model=None, deadline_s=10)
    assert append_run(warehouse, run)
    assert read_all(warehouse, "verdicts").num_rows == 0


def test_a_history_that_is_still_being_written(judged, tmp_path) -> None:
    run, warehouse = judged(1), tmp_path / "warehouse"
    shutil.rmtree(run.tables)
    whole = run.history.read_bytes()
    run.history.write_bytes(whole[: len(whole) // 2])
    assert ingest([run], warehouse, deadline_s=10)[0].state == "added"
    few = read_runs(warehouse)["operations"].to_pylist()
    run.history.write_bytes(whole)
    with pytest.raises(FormatError, match=r"made from .*'history.jsonl': \d+.* but the run has "):
        append_run(warehouse, run)
    assert ingest([run], warehouse, deadline_s=10)[0].state == "added"
    assert read_runs(warehouse)["operations"].to_pylist() > few
    assert ingest([run], warehouse, deadline_s=10)[0].state == "unchanged"


def test_a_run_that_an_earlier_release_added_with_its_standstills_is_made_anew(judged, tmp_path) -> None:
    """Figures then counted the time in which the harness was stalled, in the run's tables and in the warehouse."""
    run, warehouse = judged(1), tmp_path / "warehouse"
    stand_still(run, 8 * SECOND, 30 * SECOND)
    state = run.state.read_text()
    run.state.unlink()
    local_tables(run, model="register", deadline_s=10)
    assert ingest([run], warehouse, deadline_s=10)[0].state == "added"
    manifest = run.tables / "manifest.json"
    recorded = json.loads(manifest.read_text())
    recorded.pop("standstills", None)
    manifest.write_text(json.dumps({**recorded, "of a later release": 1}))
    run.state.write_text(state)
    assert ingest([run], warehouse, deadline_s=10)[0].state == "added"
    assert ingest([run], warehouse, deadline_s=10)[0].state == "unchanged"
    local_tables(run, model="register", deadline_s=10)
    ingest([run], tmp_path / "fresh", deadline_s=10)
    for table in ("runs", "faults", "coverage"):
        old, new = (read_all(place, table).to_pylist() for place in (warehouse, tmp_path / "fresh"))
        assert [{**row, "written": 0} for row in old] == [{**row, "written": 0} for row in new]


def test_a_run_that_is_named_twice_is_added_once(judged, tmp_path) -> None:
    run, warehouse = judged(1), tmp_path / "warehouse"
    (link := run.root.with_name("latest")).symlink_to(run.root.name)
    states = [outcome.state for outcome in ingest([run.root, link, run.history], warehouse, deadline_s=10)]
    assert states == ["added", "unchanged", "unchanged"]
    held = landing.Landing(warehouse)
    (other := tmp_path / "other" / run.root.name).parent.mkdir()
    shutil.copytree(run.root, other)
    (other / "plan.json").write_text("{}")
    assert (held.add(Recording(other), "t/x"), held.add(Recording(other), "t/x")) == (True, False)
    with pytest.raises(FormatError, match="another run of this name is being added"):
        held.add(Recording(run.root), "t/x")
    assert read_runs(warehouse).num_rows == 1
    assert (
        read_all(warehouse, "operations").num_rows
        == pq.ParquetFile(run.table("operations") / "part-00000.parquet").metadata.num_rows
    )


def same_names(run: RunFiles, tmp_path: Path) -> list[Path]:
    """A run, a copy of it, and another run of the same name."""
    copies = [tmp_path / name / "register-kill-0.4.0" / run.root.name for name in ("copy", "other")]
    for copy in copies:
        shutil.copytree(run.root, copy)
    (copies[1] / "plan.json").write_text("{}")
    return [run.root, *copies]


def check_same_names(outcomes) -> None:
    assert [outcome.state for outcome in outcomes] == ["added", "unchanged", "failed"]
    assert (outcomes[2].error or "").startswith("FormatError: ")
    assert "another run of this name is being added" in (outcomes[2].error or "")


def test_runs_of_one_name_are_the_same_or_refused(judged, tmp_path) -> None:
    check_same_names(ingest(same_names(judged(1), tmp_path), tmp_path / "warehouse", deadline_s=10))


@pytest.mark.spark
def test_runs_of_one_name_are_the_same_or_refused_on_spark(spark, judged, tmp_path) -> None:
    places = same_names(judged(1), tmp_path)
    check_same_names(ingest(places, tmp_path / "warehouse", deadline_s=10, spark=spark))
    far = [path.as_uri() for path in places]
    check_same_names(ingest(far, tmp_path / "far", deadline_s=10, spark=spark))
    twice = [far[0], f"{far[0]}/", f"{far[0]}/history.jsonl"]
    states = [outcome.state for outcome in ingest(twice, tmp_path / "twice", deadline_s=10, spark=spark, large=10)]
    assert states == ["added", "unchanged", "unchanged"]
    rows = [read_runs(tmp_path / name).drop(["written", "fingerprint"]) for name in ("warehouse", "far", "twice")]
    assert rows[0] == rows[1] == rows[2]


EDN = """{:process 0, :type :invoke, :f :write, :value 1, :index 0}
{:process 0, :type :ok, :f :write, :value 1, :index 1}
{:process 1, :type :invoke, :f :read, :value nil, :index 2}
{:process 1, :type :ok, :f :read, :value 2, :index 3}
"""


def test_history_files_of_any_name_and_format(judged, tmp_path) -> None:
    run, warehouse = judged(1), tmp_path / "warehouse"
    files = tmp_path / "files"
    files.mkdir()
    shutil.copy(run.history, files / "ours.jsonl")
    (files / "history.edn").write_text(EDN)
    (files / "console.log").write_text(
        "INFO  jepsen.util - 3\t:invoke\t:write\t2\nINFO  jepsen.util - 3\t:ok\t:write\t2\n"
    )
    (files / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\xff")
    (files / "empty").touch()
    places = [files / name for name in ("ours.jsonl", "history.edn", "console.log", "picture.png", "empty", "none")]
    outcomes = ingest([*places, run.history], warehouse, deadline_s=10)
    assert [outcome.state for outcome in outcomes] == ["added"] * 3 + ["failed"] * 3 + ["added"]
    assert (
        outcomes[3].error
        == f"FormatError: {files}/picture.png: line 1: expected UTF-8 text, found an invalid byte at column 1"
    )
    wrong = f"FormatError: {files}/empty: line 1: expected a history, found an empty file"
    assert (outcomes[4].error or "").startswith(wrong)
    assert (outcomes[5].error or "").startswith("FileNotFoundError: ")
    rows = {row["run"]: row for row in read_runs(warehouse).to_pylist()}
    assert rows["files/history.edn"]["verdict"] == "invalid"
    assert rows["files/ours.jsonl"]["operations"] == rows[outcomes[6].run]["operations"]


DRESSES = {
    "plain": lambda data: data,
    "bom": lambda data: BOM_UTF8 + data,
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "bom and crlf": lambda data: BOM_UTF8 + data.replace(b"\n", b"\r\n"),
}


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("name", TEXTS)
def test_a_history_file_has_the_verdict_that_its_check_has(name: str, dress: str, tmp_path: Path) -> None:
    good = story_of(name)
    bad = [*good[:3], {**good[3], "value": "y" if name == "porcupine-kv" else 8}]
    for verdict, records in (("valid", good), ("invalid", bad)):
        path = tmp_path / f"{verdict}-history"
        path.write_bytes(DRESSES[dress](TEXTS[name](records)))
        (outcome,) = ingest([path], tmp_path / "warehouse", deadline_s=10)
        assert (outcome.state, outcome.error) == ("added", None)
        read = read_any(path)
        assert read.format == name
        assert check(read, read.model or "register", deadline_s=10).verdict == verdict
    rows = {row["run"].rpartition("/")[2]: row for row in read_runs(tmp_path / "warehouse").to_pylist()}
    assert {run: (row["verdict"], row["operations"]) for run, row in rows.items()} == {
        "valid-history": ("valid", 2),
        "invalid-history": ("invalid", 2),
    }


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b'[{"index": 0}]', 'line 1: expected events or operations, found {"index": 0}; understood: index from '),
        (b"PAR1", "byte 0: expected a history, found a table; give the directory of its run"),
        (BOM_UTF8 + b"{:process 0, :type :invoke, :f :get}\r\n{:process 0, :key\r\n",
         "line 3: expected '}', found the end of the file"),
        (b'{:process 0, :type :invoke, :f :get, :key "k"}\n{:process 0, :type :ok, :f :get, :key "k", :value 3}\n',
         "line 2: expected a string, found :value 3"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_history_file_is_reported_with_its_place(
    content: bytes, error: str, tmp_path: Path
) -> None:
    path = tmp_path / "history"
    path.write_bytes(content)
    (outcome,) = ingest([path], tmp_path / "warehouse", deadline_s=10)
    assert outcome.state == "failed"
    assert outcome.error is not None
    assert outcome.error.startswith(f"FormatError: {path}: {error}")


def numbered(records: list[Record]) -> list[Record]:
    return [{**record, "index": index, "time": 10 * index} for index, record in enumerate(records)]


def test_a_foreign_file_by_columns_has_the_tables_that_it_has_row_by_row(tmp_path: Path, monkeypatch) -> None:
    rows = numbered([row for number in range(60) for row in story(value=number, key=number % 3)])
    files = {"history.edn": edn(rows), "console.log": log(rows), "kv": kv(numbered(60 * story_of("porcupine-kv")))}
    found: list[Any] = []
    ways: list[dict[str, Any]] = [{}, {"large": 0, "piece": 500, "by_rows": 0}]
    for options in ways:
        monkeypatch.setattr(staging, "convert_history", partial(convert_history, **options))
        root = tmp_path / f"way-{len(found)}"
        (root / "files").mkdir(parents=True)
        for name, data in files.items():
            (root / "files" / name).write_bytes(data)
        outcomes = ingest([root / "files" / name for name in files], root / "warehouse", deadline_s=10)
        assert [outcome.state for outcome in outcomes] == ["added"] * 3
        found.append(everything(root / "warehouse"))
    assert found[0] == found[1]


def test_what_is_wrong_with_a_foreign_history_is_reported_with_its_own_lines(tmp_path: Path, monkeypatch) -> None:
    lines = [b"INFO jepsen.core - up", b"INFO  jepsen.util - 1\t:invoke\t:read\tnil", b"", b"WARN down"]
    lines += [b"INFO  jepsen.util - 1\t:invoke\t:read\tnil"]
    path = tmp_path / "console.log"
    path.write_bytes(b"\n".join(lines) + b"\n")
    ways: list[dict[str, Any]] = [{}, {"large": 0, "by_rows": 0}]
    for options in ways:
        monkeypatch.setattr(staging, "convert_history", partial(convert_history, **options))
        (outcome,) = ingest([path], tmp_path / "warehouse", deadline_s=10)
        assert outcome.error == f"FormatError: {path}: line 5: process 1 has an open operation, invoked at line 2"


def everything(warehouse: Path) -> dict[str, Any]:
    """All tables of a warehouse but what clocks decide."""
    tables = {name: read_all(warehouse, name) for name in ALL_TABLES}
    verdicts = tables["verdicts"].drop(["seconds", "details"])
    tables["verdicts"] = verdicts.sort_by([("run", "ascending"), ("key", "ascending")])
    return {**tables, "runs": read_runs(warehouse).drop("written")}


@pytest.mark.spark
def test_the_same_on_spark(spark, judged, tmp_path) -> None:
    runs, expected = bad_runs(judged)
    warehouse = tmp_path / "warehouse"
    check_outcomes(ingest(runs, warehouse, deadline_s=10, spark=spark), runs, expected)
    there = everything(warehouse)
    assert there["coverage"].num_rows
    assert there["counterexamples"].num_rows
    shutil.rmtree(warehouse)
    for run in runs:
        shutil.rmtree(run.tables, ignore_errors=True)
    ingest(runs, warehouse, deadline_s=10)
    assert there == everything(warehouse)
    assert ingest([], warehouse, deadline_s=10, spark=spark) == []


@pytest.mark.spark
@pytest.mark.nightly
def test_runs_on_a_file_system_that_only_spark_reads(spark, judged, tmp_path) -> None:
    runs = [judged(seed) for seed in (1, 2, 3)]
    store = runs[0].root.parent
    runs[1].history.write_text('{"format":"harness-history","version":9}\n')
    runs[2].history.unlink()
    spark.sparkContext._jsc.hadoopConfiguration().set("fs.viewfs.mounttable.far.link./store", store.as_uri())
    places = [f"viewfs://far/store/{name}" for name in (*(run.root.name for run in runs), "none")]
    outcomes = ingest([*places, runs[0].root], tmp_path / "warehouse", deadline_s=10, spark=spark)
    assert [outcome.state for outcome in outcomes] == ["added", "failed", "failed", "failed", "added"]
    assert (outcomes[1].error or "").startswith(f"FormatError: {places[1]}: line 1: version 9")
    assert outcomes[2].error == f"FileNotFoundError: {places[2]}: there is no history here"
    assert "none" in (outcomes[3].error or "")
    assert outcomes[0].run.endswith(f"/{runs[0].root.name}")
    (large,) = ingest(places[:1], tmp_path / "large", deadline_s=10, spark=spark, large=10)
    assert (large.run, large.state) == (outcomes[0].run, "added")
    same = ["run", "verdict", "operations", "ok", "violations", "rate", "p99_ms", "recovery_times_ms"]
    rows = [read_runs(tmp_path / name).select(same).to_pylist() for name in ("large", "warehouse")]
    assert rows[0][0] in rows[1]


@pytest.mark.spark
@pytest.mark.parametrize("large", [10, 1 << 30])
def test_a_run_has_the_same_rows_by_its_uri(spark, judged, tmp_path, large: int) -> None:
    """Also what its state says counts: standstills, and a harness failure before there were results."""
    run = judged(1)
    stand_still(run, 8 * SECOND, 30 * SECOND)
    run.state.write_text(json.dumps({**json.loads(run.state.read_text()), "failures": ["SSH to n3 was lost"]}))
    local_tables(run, model="register", deadline_s=10)
    found = []
    for warehouse, place in ((tmp_path / "here", str(run.root)), (tmp_path / "far", run.root.as_uri())):
        assert ingest([place], warehouse, deadline_s=10, spark=spark, large=large)[0].state == "added"
        found.append({name: read_all(warehouse, name).to_pylist() for name in ("runs", *ALL_TABLES)})
        for row in [*found[-1]["runs"], *found[-1]["verdicts"]]:
            for name in ("written", "fingerprint", "seconds", "details"):
                row.pop(name, None)
    assert found[0]["runs"][0]["verdict"] == "harness failure"
    assert found[0] == found[1]


@pytest.mark.spark
def test_a_large_history_by_its_uri_that_has_changed_is_seen(spark, judged, tmp_path) -> None:
    """It is not read for its fingerprint: its size, the time of its modification and its last bytes say so."""
    run = judged(1)

    def bring(seconds: int) -> str:
        os.utime(run.history, (seconds, seconds))
        (outcome,) = ingest([run.root.as_uri()], tmp_path / "warehouse", deadline_s=10, spark=spark, large=10)
        return outcome.state

    assert [bring(1000), bring(1000), bring(2000)] == ["added", "unchanged", "added"]
    lines = run.history.read_bytes().splitlines(keepends=True)
    changed = lines[-1].replace(b'"n1"', b'"n9"').replace(b'"n2"', b'"n9"').replace(b"timeout", b"timeOut")
    assert changed != lines[-1]
    run.history.write_bytes(b"".join([*lines[:-1], changed]))
    assert [bring(2000), bring(2000)] == ["added", "unchanged"]


@pytest.mark.spark
def test_what_is_staged_for_the_workers_of_a_cluster_is_in_the_warehouse(spark, judged, tmp_path, monkeypatch) -> None:
    """They see neither the driver's temporary directory nor anything in it."""
    warehouse, seen = tmp_path / "warehouse", []
    (foreign := tmp_path / "history.edn").write_text(EDN)

    def watched(session: Any, run: Recording, **options: Any) -> Tables:
        seen.append(run.files.root.parent)
        return run_tables(session, run, **options)

    monkeypatch.setattr("pipeline.warehouse.ingest.is_local", lambda _: False)
    monkeypatch.setattr("pipeline.warehouse.ingest.run_tables", watched)
    places = [judged(1).root.as_uri(), str(foreign), foreign.as_uri()]
    outcomes = ingest(places, warehouse, deadline_s=10, spark=spark, large=10)
    assert [outcome.state for outcome in outcomes] == ["added", "added", "unchanged"]
    assert seen == [warehouse] * 3
    (left := warehouse / f"{STAGE}x").mkdir()
    os.utime(left, (1, 1))
    assert ingest([], warehouse, deadline_s=10) == []
    assert not list(warehouse.glob(".*"))


@pytest.mark.spark
def test_runs_on_a_far_file_system_are_spread_over_all_tasks(spark, judged) -> None:
    """Not over those of a shuffle, of which there are four on the largest cluster."""
    runs = {number: listing(spark, judged(number + 1).root.as_uri()) for number in range(6)}
    assert contents(spark, runs).rdd.getNumPartitions() == 6


@pytest.mark.spark
def test_a_uri_that_no_task_can_read_is_named_and_all_others_are_added(spark, judged, tmp_path) -> None:
    runs = [judged(seed) for seed in (1, 2, 3)]
    (runs[1].root / ".history.jsonl.crc").write_bytes(b"crc\0" + bytes(40))
    places = [run.root.as_uri() for run in runs]
    outcomes = ingest([*places, "nowhere://far/away"], tmp_path / "warehouse", deadline_s=10, spark=spark)
    assert [outcome.state for outcome in outcomes] == ["added", "failed", "added", "failed"]
    assert (outcomes[1].error or "").startswith(f"JobError: {places[1]}: ")
    assert outcomes[3].run == "far/away"
    assert read_runs(tmp_path / "warehouse").num_rows == 2


@pytest.mark.spark
@pytest.mark.parametrize("large", [10, 1 << 30])
def test_names_that_readers_would_take_for_patterns_or_codes(spark, judged, tmp_path, large: int) -> None:
    run = judged(1)
    place = shutil.copytree(run.root, tmp_path / "a b" / "t [1-3] {x,y}*" / "50%41")
    warehouse = tmp_path / "ware [1] house"
    # Of a large one that is not here no more is known than its first line and its size.
    for source, state in ((place.as_uri(), "added"), (place, "added" if large == 10 else "unchanged")):
        (outcome,) = ingest([source], warehouse, deadline_s=10, spark=spark, large=large)
        assert (outcome.run, outcome.state, outcome.error) == (f"{place.parent.name}/50%41", state, None)
    ingest([run.root], tmp_path / "plain", deadline_s=10)
    assert read_runs(warehouse)["ok"].to_pylist() == read_runs(tmp_path / "plain")["ok"].to_pylist()


@pytest.mark.spark
def test_foreign_files_on_a_file_system_that_spark_reads(spark, tmp_path: Path, monkeypatch) -> None:
    """As the same files of this machine, and what is wrong is reported with their URIs."""
    files = tmp_path / "a b" / "files"
    files.mkdir(parents=True)
    (files / "good.edn").write_bytes(edn(story(value=7)))
    (files / "bad.edn").write_bytes(edn([*story(value=7)[:3], {**story(value=7)[3], "value": 8}]))
    (files / "odd.edn").write_bytes(edn(story(value=7)) + b"{:type :ok, :process 77, :f :read, :value 1}\n")
    (files / "empty").touch()
    paths = [files / name for name in ("good.edn", "bad.edn", "odd.edn", "empty")]
    far = ingest([path.as_uri() for path in paths], tmp_path / "far", deadline_s=10, spark=spark)
    near = ingest(paths, tmp_path / "near", deadline_s=10)
    assert [one.state for one in far] == [one.state for one in near] == ["added", "added", "failed", "failed"]
    assert [one.run for one in far] == [one.run for one in near]
    for one, other, path in zip(far, near, paths, strict=True):
        assert one.error == (other.error and other.error.replace(str(path), path.as_uri()))
    same = ["run", "verdict", "operations", "ok", "violations"]
    rows = [read_runs(tmp_path / name).select(same).to_pylist() for name in ("far", "near")]
    assert rows[0] == rows[1]
    assert [row["verdict"] for row in rows[0]] == ["invalid", "valid"]
    monkeypatch.setattr("pipeline.spark.hadoop_fs.shutil.disk_usage", lambda _: SimpleNamespace(free=100))
    (full,) = ingest([paths[0].as_uri()], tmp_path / "full", deadline_s=10, spark=spark)
    size = paths[0].stat().st_size
    assert full.error is not None
    assert full.error.startswith("OSError: ")
    assert f"{size} bytes need {3 * size} free bytes" in full.error


@pytest.mark.spark
@pytest.mark.nightly
def test_large_runs_among_small_ones(spark, judged, tmp_path) -> None:
    runs = [judged(seed) for seed in (1, 2)]
    for run in runs:
        shutil.rmtree(run.tables)
    sizes = sorted(run.history.stat().st_size for run in runs)
    warehouse = tmp_path / "warehouse"
    outcomes = ingest(runs, warehouse, deadline_s=10, spark=spark, large=sizes[0])
    assert [outcome.state for outcome in outcomes] == ["added", "added"]
    for run in runs:
        shutil.rmtree(run.tables)
    ingest(runs, tmp_path / "here", deadline_s=10)
    assert everything(warehouse) == everything(tmp_path / "here")


@pytest.mark.spark
@pytest.mark.nightly
def test_a_large_foreign_file_goes_to_all_tasks(spark, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "files" / "history.edn"
    path.parent.mkdir()
    path.write_bytes(edn(numbered([row for number in range(400) for row in story(value=number, key=number % 3)])))
    monkeypatch.setattr(staging, "convert_history", partial(convert_history, large=0, piece=9000, by_rows=0))
    found: list[Any] = []
    for options in ({"spark": spark, "large": 1000}, {}):
        warehouse = tmp_path / f"warehouse-{len(found)}"
        (outcome,) = ingest([path], warehouse, deadline_s=10, **options)
        assert (outcome.state, outcome.error) == ("added", None)
        found.append((read_all(warehouse, "operations"), read_runs(warehouse).drop("written")))
    assert found[0] == found[1]
    assert found[0][0].num_rows == 800
    path.write_bytes(path.read_bytes() + b"{:type :ok, :process 77, :f :read, :value 1, :index 9999, :time 99999}\n")
    (outcome,) = ingest([path], tmp_path / "warehouse", deadline_s=10, spark=spark, large=1000)
    assert outcome.error == f"FormatError: {path}: line 1601: process 77 completes an operation that it never invoked"


@pytest.mark.spark
@pytest.mark.nightly
def test_a_thousand_small_runs(spark, judged, tmp_path) -> None:
    """What 10^5 come to is measured by bench/pipeline/scale.py."""
    run = judged(1)
    places = []
    for number in range(1000):
        place = tmp_path / "many" / f"{number:04d}"
        place.mkdir(parents=True)
        os.link(run.history, place / "history.jsonl")
        places.append(place)
    places[500].joinpath("history.jsonl").unlink()
    outcomes = ingest(places, tmp_path / "warehouse", deadline_s=10, spark=spark)
    assert [outcome.state for outcome in outcomes] == ["added"] * 500 + ["failed"] + ["added"] * 499
    rows = read_runs(tmp_path / "warehouse")
    assert rows.num_rows == 999
    assert len(set(rows["operations"].to_pylist())) == 1
