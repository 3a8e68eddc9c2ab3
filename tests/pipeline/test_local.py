"""The tables of one run, computed in this process; every way in which a record can be incomplete or wrong."""

from __future__ import annotations

import subprocess
import sys

import pytest

from history import FormatError, Probe, RunFiles, pair, read_history
from history.metrics.awake_clock import AwakeClock
from history.tables.schemas import TABLES, TABLES_VERSION
from pipeline import local_tables, read_table
from pipeline.tables.load_figures import batches_of, load_figures


def tables_of(run: RunFiles, model: str = "register"):
    return local_tables(run, model=model, deadline_s=10)


def test_all_tables_have_exactly_the_written_down_schema(make_random) -> None:
    run = make_random(1)
    tables_of(run)
    written = {path.name for path in run.tables.iterdir()}
    assert written == {"manifest.json", *(f"{name}.parquet" for name in TABLES)}
    for name, schema in TABLES.items():
        found = read_table(run.table(name), name).schema
        assert found.equals(schema, check_metadata=False)
        assert found.metadata[b"harness.version"] == str(TABLES_VERSION).encode()
        assert [field.metadata for field in found] == [field.metadata for field in schema]


def test_verdicts_by_key(recorder) -> None:
    recorder.call(0, "write", 1, key="good").call(0, "read", None, 1, key="good")
    recorder.at(5).call(0, "write", 1, key=7).at(9).call(1, "read", None, None, key=7)
    tables = tables_of(recorder.close())
    assert [(verdict.key, verdict.verdict) for verdict in tables.key_verdicts] == [(7, "invalid"), ("good", "valid")]
    assert tables.key_verdicts[0].counterexamples[0].operations
    rows = read_table(recorder.run.table("verdicts"), "verdicts").to_pylist()
    assert {row["key"] for row in rows} == {"7", '"good"'}


def test_when_an_operation_was_due(recorder) -> None:
    """It is that of the invocation; what was answered late was due early, so the response takes longer."""
    recorder.at(5).event("invoke", 0, "read", due=2_000_000).event("invoke", 1, "read")
    recorder.at(9).event("ok", 0, "read", value=None).event("ok", 1, "read", value=None)
    tables_of(run := recorder.close())
    assert read_table(run.table("operations"), "operations")["intended"].to_pylist() == [2_000_000, None]
    figures, *_ = load_figures(batches_of(run.table("operations")), AwakeClock())
    assert (figures["p99_ms"], figures["response_p99_ms"]) == (4, 7)


def test_an_empty_history_gives_empty_tables(recorder) -> None:
    tables = tables_of(recorder.close())
    assert (tables.key_verdicts, tables.faults) == ([], [])
    assert all(read_table(recorder.run.table(name), name).num_rows == 0 for name in TABLES)


def test_nothing_but_nemesis_events(recorder) -> None:
    recorder.at(5).fault("invoke", 1, "inject", nodes=["n1"])
    tables = tables_of(recorder.close())
    assert [fault["state"] for fault in tables.faults] == ["indeterminate"]


def test_a_killed_harness_leaves_a_history_and_nothing_else(recorder) -> None:
    recorder.call(0, "write", 1).event("invoke", 1, "write", value=2)
    run = recorder.close()
    with run.history.open("ab") as file:
        file.write(b'{"index":3,"time":')
    tables_of(run)
    _, operation = read_table(run.table("operations"), "operations").to_pylist()
    assert (operation["outcome"], operation["returned"], operation["return_index"]) == ("info", None, None)


@pytest.mark.parametrize("cut", range(0, 400, 7))
def test_a_history_cut_anywhere_is_read_up_to_its_last_whole_line(recorder, cut: int) -> None:
    recorder.call(0, "write", 1, key="ä").call(1, "read", None, 1, key="ä")
    run = recorder.close()
    data = run.history.read_bytes()
    run.history.write_bytes(data[: max(len(data) - cut, data.index(b"\n") + 1)])
    tables_of(run)
    whole = pair(read_history(run.history).events)
    assert read_table(run.table("operations"), "operations").num_rows == len(whole)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ('{"index":2,"time":0,"type":"invoke","process":"me","f":"read"}', "line 4"),
        ("{", "line 4"),
        ('{"index":3,"time":0,"type":"invoke","process":5,"f":"read"}', "line 4"),
        ('{"index":2,"time":0,"type":"invoke","process":99999999999999999999,"f":"read","value":null}', "line 4"),
        ('{"index":2,"time":0,"type":"ok","process":5,"f":"read","value":null}', "line 4"),
    ],
)
def test_a_bad_line_is_named_and_leaves_the_old_tables(recorder, line: str, place: str) -> None:
    run = recorder.call(0, "write", 1).close()
    tables_of(run)
    before = run.tables.stat().st_ino
    with run.history.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(FormatError) as caught:
        tables_of(run)
    assert caught.value.place == place
    assert run.tables.stat().st_ino == before
    assert [path.name for path in run.root.iterdir() if "tables" in path.name] == ["tables"]


def test_a_run_without_a_history(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        tables_of(RunFiles(tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_key_on_which_the_checker_fails_leaves_the_verdicts_on_the_others(recorder) -> None:
    recorder.call(0, "append", 1, key="odd").call(0, "write", 1, key="lost").call(0, "read", None, None, key="lost")
    lost, odd = tables_of(recorder.close()).key_verdicts
    assert (lost.key, lost.verdict, lost.failure) == ("lost", "invalid", None)
    assert (odd.key, odd.verdict, odd.operations) == ("odd", "unknown", 1)
    assert "ModelError" in (odd.failure or "")


def test_probes(recorder, write_probes) -> None:
    run = recorder.call(0, "write", 1).close()
    write_probes(run, [Probe(5, "n1", "leader", 3, "n1", 0, 9, 9, 9), Probe(6, "n2", error="timed out")])
    tables_of(run)
    rows = read_table(run.table("probes"), "probes").to_pylist()
    assert [(row["node"], row["term"], row["error"]) for row in rows] == [("n1", 3, None), ("n2", -1, "timed out")]


def test_a_bad_probe_is_named(recorder, write_probes) -> None:
    run = recorder.close()
    write_probes(run, [Probe(5, "n1")])
    with run.probes.open("a") as file:
        file.write('{"time":1}\n')
    with pytest.raises(FormatError, match="line 3"):
        tables_of(run)


def test_lone_surrogates_and_any_json_survive(recorder) -> None:
    run = recorder.close()
    lines = [
        '{"index":0,"time":0,"type":"invoke","process":1,"f":"write","value":4,"key":"\\ud800"}',
        '{"index":1,"time":1,"type":"info","process":1,"f":"write","value":4,"key":"\\ud800","error":"\\udfff"}',
    ]
    with run.history.open("a") as file:
        file.write("\n".join(lines) + "\n")
    tables = tables_of(run)
    assert tables.key_verdicts[0].key == "\ud800"
    assert read_table(run.table("operations"), "operations").to_pylist()[0]["error"] == "\\udfff"


def test_importing_the_package_does_not_import_pyspark() -> None:
    code = "import pipeline, sys; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_history_that_no_model_judges_has_no_verdicts(recorder) -> None:
    recorder.call(0, "write", 1, key="k").call(0, "read", None, 7, key="k")
    tables = local_tables(recorder.close(), model=None, deadline_s=10)
    assert tables.key_verdicts == []
    assert read_table(recorder.run.table("operations"), "operations").num_rows == 2
