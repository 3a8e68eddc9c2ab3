"""The warehouse is fed: by a check, and by ``harness ingest``."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from harness.cli.main import run_command
from harness.files import FileCheckOptions, check_file, needs_convention, write_plainly
from harness.judge.conclude import append_to_warehouse
from history.recording import Recording
from history.tables.warehouse import read_runs, read_trends
from tests.support.harness.recorded_run import record


def runs(store: Path) -> list[tuple[str, str]]:
    table = read_runs(store / "warehouse")
    return list(zip(table["run"].to_pylist(), table["verdict"].to_pylist(), strict=True))


@pytest.mark.slow
def test_a_check_brings_its_run_and_replaces_it(tmp_path: Path) -> None:
    run = record(tmp_path)
    name = f"{run.root.parent.name}/{run.root.name}"
    assert run_command(["check", "latest", "--no-spark", "--store", str(tmp_path)]) == 0
    assert runs(tmp_path) == [(name, "valid")]
    lines = run.history.read_text().splitlines(keepends=True)
    run.history.write_text("".join(lines[:-1]) + lines[-1].replace('"value":2', '"value":1'))
    assert run_command(["check", str(run.root), "--no-spark"]) == 1
    assert runs(tmp_path) == [(name, "invalid")]
    (trend,) = read_trends(tmp_path / "warehouse").to_pylist()
    assert (trend["runs"], trend["verdict_counts"], trend["newest"]) == (1, [("invalid", 1)], name)


def test_a_run_that_is_in_no_store_makes_no_warehouse(tmp_path: Path) -> None:
    record(tmp_path / "elsewhere")
    root = next((tmp_path / "elsewhere").glob("register*/2*"))
    assert run_command(["check", str(root), "--no-spark", "--store", str(tmp_path / "store")]) == 0
    assert not list(tmp_path.rglob("warehouse"))


def test_all_runs_of_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = record(tmp_path)
    other = run.root.with_name("20260102T000000.000Z-8")
    shutil.copytree(run.root, other)
    (other / "history.jsonl").write_text("no history\n")
    assert run_command(["ingest", "--store", str(tmp_path)]) == 255
    output = capsys.readouterr()
    assert "1 added, 0 unchanged, 1 failed" in output.out
    said = output.err
    assert said.startswith("working in this process: 2 runs are fewer than 200")
    assert f"{other.name}: FormatError: {other}/history.jsonl: line 1: expected a JSON object" in said
    shutil.rmtree(other)
    assert run_command(["ingest", "--store", str(tmp_path)]) == 0
    assert "0 added, 1 unchanged, 0 failed" in capsys.readouterr().out


def test_no_store_and_no_spark_for_a_uri(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["ingest", "--store", str(tmp_path / "none")]) == 254
    assert run_command(["ingest", "hdfs://nowhere/run", "--no-spark", "--store", str(tmp_path)]) == 254
    assert "only Spark can read a URI" in capsys.readouterr().err


def test_what_keeps_a_run_out_of_the_warehouse_is_a_warning_with_the_mend(tmp_path: Path) -> None:
    run = record(tmp_path)
    (warning,) = append_to_warehouse(Recording(run.root), tmp_path)
    assert warning.endswith(f"`harness ingest {run.root}` adds it")


WITHOUT_SPARK = """
import json, sys
from harness.cli.main import run_command
history, root, store = sys.argv[1:]
codes = [run_command(["check", history]), run_command(["check", root, "--no-spark", "--store", store]),
         run_command(["ingest", root, "--store", store])]
print(json.dumps([codes, "pyspark" in sys.modules]))
"""


@pytest.mark.slow
def test_one_small_run_needs_no_spark_and_gets_the_same_answer(tmp_path: Path) -> None:
    run = record(tmp_path, last_read=1)
    lone = tmp_path / "lone.jsonl"
    shutil.copy(run.history, lone)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, str(lone), str(run.root), str(tmp_path)],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1]) == [[1, 1, 0], False]
    assert runs(tmp_path) == [(f"{run.root.parent.name}/{run.root.name}", "invalid")]


def test_a_file_is_brought_by_its_model_or_counts_as_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its conventions are those of ``harness check``: here a bank that starts with something."""
    path, store = tmp_path / "bank.edn", str(tmp_path / "store")
    path.write_text(
        "{:type :invoke :process 0 :f :read :value nil}\n{:type :ok :process 0 :f :read :value {0 6 1 4}}\n"
        "{:type :invoke :process 0 :f :transfer :value {:from 0 :to 1 :amount 2}}\n"
        "{:type :ok :process 0 :f :transfer :value {:from 0 :to 1 :amount 2}}\n"
    )
    assert run_command(["ingest", "--no-spark", "--store", store, str(path)]) == 1
    assert "line 4: a register has no operation 'transfer'" in capsys.readouterr().err
    command = ["ingest", "--no-spark", "--store", store, "--model", "bank", "--initial", '{"0": 6, "1": 4}', str(path)]
    assert run_command(command) == 0
    assert capsys.readouterr().out.startswith("1 added, 0 unchanged, 0 failed")
    assert run_command(command) == 0
    assert capsys.readouterr().out.startswith("0 added, 1 unchanged, 0 failed")
    assert [verdict for _, verdict in runs(Path(store))] == ["valid"]


def test_directories_of_other_tools_are_brought_and_shrunk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jepsen, etcd, store = tmp_path / "jepsen", tmp_path / "etcd", tmp_path / "store"
    for directory in (jepsen, etcd / "client-1"):
        directory.mkdir(parents=True)
    events = [("invoke", "write", "1"), ("ok", "write", "1"), ("invoke", "read", "nil"), ("ok", "read", "2")]
    text = "".join(f"{{:type :{type_} :process 0 :f :{f} :value {value}}}\n" for type_, f, value in events)
    (jepsen / "history.edn").write_text(text)
    asked = {"Type": "range", "Range": {"Start": "a", "End": "", "Revision": 0}}
    answer = {"Range": {"KVs": [], "Count": 0}, "Revision": 7}
    (etcd / "client-1" / "operations.json").write_text(
        json.dumps({"ClientId": 1, "Input": asked, "Call": 1, "Output": answer, "Return": 2})
    )
    assert run_command(["ingest", "--no-spark", "--store", str(store), str(jepsen), str(etcd)]) == 0
    assert [verdict for _, verdict in runs(store)] == ["invalid", "invalid"]
    for directory, shrunk in ((jepsen, jepsen / "history.shrunk.jsonl"), (etcd, tmp_path / "etcd.shrunk.jsonl")):
        assert run_command(["shrink", str(directory)]) == 0
        assert run_command(["check", str(shrunk)]) == 1


@pytest.mark.parametrize(("f", "code"), [("write", 0), ("cas", 1)])
def test_a_large_file_is_brought_by_the_same_conventions(
    f: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("harness.files.LARGE", 1)
    path = tmp_path / "history.edn"
    value = "[1 2]" if f == "cas" else "2"
    path.write_text(
        f"{{:type :invoke :process 0 :f :{f} :value {value}}}\n{{:type :ok :process 0 :f :{f} :value {value}}}\n"
    )
    assert run_command(["ingest", "--no-spark", "--store", str(tmp_path / "store"), str(path)]) == code
    assert ("line 2: a register has no operation 'cas'" in capsys.readouterr().err) == bool(code)


@pytest.mark.parametrize(("null", "verdict"), [("absent", "invalid"), ("unknown", "valid")])
def test_a_file_is_written_by_the_convention_for_null(
    tmp_path: Path, null: Literal["absent", "unknown"], verdict: str
) -> None:
    path, target = tmp_path / "register.edn", tmp_path / "history.jsonl"
    path.write_text(
        "{:type :invoke :process 0 :f :write :value 5}\n{:type :ok :process 0 :f :write :value 5}\n"
        "{:type :invoke :process 0 :f :read :value nil}\n{:type :ok :process 0 :f :read :value nil}\n"
    )
    write_plainly(path, FileCheckOptions(null=null), target)
    assert check_file(target, FileCheckOptions()).report.verdict == verdict


@pytest.mark.parametrize(("model", "needs"), [("register", True), ("cas-register", False), ("set", True)])
def test_a_large_history_whose_model_lacks_an_operation_is_not_ingested_as_it_is(
    model: str, needs: bool, tmp_path: Path
) -> None:
    events = [
        {"index": place, "time": place, "type": type_, "process": 0, "f": f, "value": value}
        for place, (type_, f, value) in enumerate(
            (type_, f, value) for f, value in (("write", 1), ("cas", [1, 2])) for type_ in ("invoke", "ok")
        )
    ]
    path = tmp_path / "cas.jsonl"
    header = {"format": "harness-history", "version": 1, "model": model}
    path.write_text("".join(json.dumps(line) + "\n" for line in [header, *events]))
    assert needs_convention(path, large=0) is needs
