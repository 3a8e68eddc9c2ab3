"""The whole pipeline on a standalone master with two workers: the same results as in this process."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from history import KeyVerdict, RunFiles
from history.extras import EXTRAS, modules_of
from history.tables.schemas import TABLES
from history.tables.warehouse import read_runs, read_trends
from pipeline import ingest, local_tables, read_table
from pipeline.spark.session import cluster_settings, is_local, is_on_this_machine
from tests.support.history.foreign_files import edn, story
from tests.support.pipeline.large import long_keys

WAIT_S = 300


def test_masters() -> None:
    assert [is_local(master) for master in ("local", "local[*]", "local[2,4]", "spark://h:1", "yarn")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert is_on_this_machine("spark://127.0.0.1:7077")
    assert not is_on_this_machine("spark://192.0.2.1:7077")
    assert not is_on_this_machine("yarn")


def test_what_is_shipped(tmp_path) -> None:
    assert cluster_settings("local[2]", tmp_path, "1g") == {}
    archive = cluster_settings("spark://h:1", tmp_path, "1g")["spark.archives"].partition("#")[0]
    code = "import checker, pipeline, history; print(history.__file__)"
    environment = {**os.environ, "PYTHONPATH": archive}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "packages.zip" in done.stdout


NAMED = """
import importlib.abc, sys

class Refused(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in sys.argv[1:]:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refused())
import checker.columnar, pipeline.spark.worker_daemon, pipeline.warehouse.ingest
"""


def test_workers_need_what_the_page_names_and_nothing_else() -> None:
    page = " ".join((Path(__file__).parents[2] / "docs" / "pipeline.md").read_text().split())
    named = re.search(r"Python 3.11 with ([\w, ]+) and (\w+) must be on the workers", page)
    assert named is not None
    # Spark brings the last two.
    needed = {*named[1].split(", "), named[2], "pyspark", "py4j"}
    ours = {"click", "msgspec", "numpy", "rich", *(module for extra in EXTRAS for module in modules_of(extra))}
    words = [sys.executable, "-c", NAMED, *(ours - needed)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def daemon(log: Path, *words: str, wrap: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[bytes]]:
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m",
                   "SPARK_LOG_DIR": str(log.parent)}  # fmt: skip
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*wrap, home / "bin" / "spark-class", *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def until(log: Path, text: str, times: int = 1) -> None:
    deadline = time.monotonic() + WAIT_S
    while log.read_text().count(text) < times:
        assert time.monotonic() < deadline, log.read_text()[-2000:]
        time.sleep(0.1)


@contextmanager
def cluster(tmp_path: Path, hidden: Path | None = None) -> Iterator[str]:
    """A master and two workers with one core each; the second one sees an empty directory ``hidden``."""
    port, log = free_port(), tmp_path / "master.log"
    url = f"spark://127.0.0.1:{port}"
    common = ["--host", "127.0.0.1", "--webui-port", "0"]
    with ExitStack() as stack:
        stack.enter_context(daemon(log, "org.apache.spark.deploy.master.Master", *common, "--port", str(port)))
        until(log, "New state: ALIVE")
        for number in range(2):
            words = ["--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / f"work-{number}"), url]
            words = ["org.apache.spark.deploy.worker.Worker", *common, *words]
            wrap: tuple[str, ...] = ()
            if hidden is not None and number:
                wrap = ("unshare", "--mount", "sh", "-c", f'mount -t tmpfs none {hidden} && exec "$@"', "sh")
            stack.enter_context(daemon(tmp_path / f"worker-{number}.log", *words, wrap=wrap))
        until(log, "Registering worker", 2)
        yield url


@pytest.fixture
def master(tmp_path) -> Iterator[str]:
    with cluster(tmp_path) as url:
        yield url


SCRIPT = """
import json, os, sys
from pathlib import Path
from history import RunFiles
from pipeline import ingest, run_tables, start_session
from pipeline.spark.big_keys import judge_big_keys
from pipeline.spark.large import Sizes

master, root, long, warehouse, *others = sys.argv[1:]
spark = start_session(master, app="tests", memory="512m", settings={
    "spark.scheduler.minRegisteredResourcesRatio": "1.0", "spark.cores.max": "2",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s"})
run = RunFiles(Path(root))
tables = run_tables(spark, run, model="register", deadline_s=30)
pieces = run_tables(spark, RunFiles(Path(root) / "again"), model="register", deadline_s=30,
    history=(Path(root) / "history.jsonl").as_uri(), sizes=Sizes(piece=5000))
keys = run_tables(spark, RunFiles(Path(long)), model="register", deadline_s=30, sizes=Sizes(key=30))
operations = spark.read.parquet(str(run.table("operations")))
os.chdir(Path(root).parent)
relative = run_tables(spark, RunFiles(Path(root).relative_to(Path.cwd())), model="register", deadline_s=30)
def where(batches):
    import os, pipeline, pyarrow
    list(batches)
    yield pyarrow.record_batch({"where": [os.path.dirname(pipeline.__file__)]})
big = [[v.key, v.verdict, v.violations, v.reason] for v in judge_big_keys(spark, operations)]
runs = [RunFiles(Path(os.path.relpath(other))) for other in others]
outcomes = ingest(runs, Path(os.path.relpath(warehouse)), deadline_s=30, spark=spark)
places = spark.range(8, numPartitions=8).mapInArrow(where, "where string").collect()
print(json.dumps({
    "executors": spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1,
    "places": sorted({row["where"] for row in places}),
    "verdicts": [verdict.to_json() for verdict in tables.key_verdicts],
    "big": big, "keys": [verdict.to_json() for verdict in keys.key_verdicts],
    "pieces": pieces.faults, "faults": tables.faults, "relative": relative.faults,
    "outcomes": [outcome.state for outcome in outcomes],
}))
spark.stop()
"""


def untimed(verdict: KeyVerdict) -> dict:
    return json.loads(json.dumps(dataclasses.replace(verdict, seconds=0.0).to_json()))


@pytest.mark.spark
@pytest.mark.nightly
def test_a_standalone_cluster_gives_the_same_results(master, make_random, tmp_path) -> None:
    run, others = make_random(11, operations=400), [make_random(seed) for seed in range(20, 26)]
    local = local_tables(run, model="register", deadline_s=30)
    rows = {name: read_table(run.table(name), name) for name in TABLES if name != "verdicts"}
    long = long_keys(tmp_path / "long")
    words = [master, run.root, long.root, tmp_path / "there", *(other.root for other in others)]
    done = subprocess.run([sys.executable, "-c", SCRIPT, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["executors"] == 2
    assert len(found["places"]) == 2
    assert all("harness_packages" in place for place in found["places"])
    assert [untimed(KeyVerdict.from_json(verdict)) for verdict in found["verdicts"]] == [
        untimed(verdict) for verdict in local.key_verdicts
    ]
    assert found["faults"] == local.faults
    assert {name: read_table(run.table(name), name) for name in rows} == rows
    again = RunFiles(run.root / "again")
    without_probes = set(rows) - {"probes"}
    assert {name: read_table(again.table(name), name) for name in without_probes} == {
        name: rows[name] for name in without_probes
    }
    assert found["pieces"] == found["relative"] == local.faults
    expected = local_tables(long, model="register", deadline_s=30).key_verdicts
    keys = [KeyVerdict.from_json(verdict) for verdict in found["keys"]]
    assert {"zones-distributed", "zones"} <= {verdict.engine for verdict in keys}
    assert [(v.key, v.verdict, v.violations) for v in keys] == [(v.key, v.verdict, v.violations) for v in expected]
    by_zones = {verdict.key: verdict for verdict in local.key_verdicts if verdict.engine == "zones"}
    for key, verdict, violations, reason in found["big"]:
        zoned = by_zones.get(key)
        assert reason or (zoned is not None and (verdict, violations) == (zoned.verdict, zoned.violations))
    assert found["outcomes"] == ["added"] * len(others)
    there = read_runs(tmp_path / "there")
    ingest([RunFiles(other.root) for other in others], tmp_path / "here", deadline_s=30)
    assert there.drop("written").equals(read_runs(tmp_path / "here").drop("written"))
    assert read_trends(tmp_path / "there").equals(read_trends(tmp_path / "here"))


UNSEEN = """
import sys
from pathlib import Path
from history import RunFiles
from pipeline import JobError, ingest, run_tables, start_session
from pipeline.spark.large import Sizes

master, root, warehouse, *places = sys.argv[1:]
spark = start_session(master, app="tests", memory="512m", settings={
    "spark.scheduler.minRegisteredResourcesRatio": "1.0", "spark.cores.max": "2",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s"})
run = RunFiles(Path(root))
for work in (
    lambda: run_tables(spark, run, model="register", deadline_s=30, sizes=Sizes(piece=2000)),
    lambda: ingest(places, Path(warehouse), deadline_s=30, spark=spark),
    lambda: ingest([Path(place).as_uri() for place in places], Path(warehouse), deadline_s=30, spark=spark),
):
    try:
        work()
    except JobError as error:
        print(error)
spark.stop()
"""


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide a directory from a worker")
def test_what_a_worker_does_not_see_is_refused_with_the_path_and_the_mend(make_random, tmp_path) -> None:
    (hidden := tmp_path / "shared").mkdir()
    run = RunFiles(make_random(1, operations=200).root.rename(hidden / "run"))
    with cluster(tmp_path, hidden) as url:
        places = [str(make_random(seed, operations=20).root) for seed in range(2, 10)]
        words = [url, str(run.root), str(hidden / "warehouse"), *places]
        done = subprocess.run([sys.executable, "-c", UNSEEN, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, second, third = done.stdout.splitlines()
    warehouse = str(hidden / "warehouse")
    for complaint, path in ((first, str(run.root)), (second, warehouse), (third, warehouse)):
        assert complaint.startswith("the worker ")
        assert f"does not see {path}" in complaint
        assert "under the same path" in complaint
    assert not run.tables.exists()
    assert not list(run.root.glob("tables.*"))


OWN = """
import sys
from pathlib import Path
from pipeline import WarmSession, ingest

master, shared, *places = sys.argv[1:]
warm = WarmSession(master, app="tests", shared=Path(shared), settings={
    "spark.scheduler.minRegisteredResourcesRatio": "1.0", "spark.cores.max": "2", "spark.executor.memory": "512m",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s"})
for outcome in ingest(places, Path(shared, "warehouse"), deadline_s=30, spark=warm.get(300), large=10):
    print(outcome.state, outcome.error)
warm.stop()
"""


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide a directory from a worker")
def test_workers_need_not_see_the_drivers_temporary_directory(make_random, tmp_path) -> None:
    """Neither for the made-up run nor for what is staged."""
    for directory in (hidden := tmp_path / "own", shared := tmp_path / "shared"):
        directory.mkdir()
    (foreign := tmp_path / "history.edn").write_bytes(edn(story(value=7)))
    environment = {**os.environ, "TMPDIR": str(hidden)}
    with cluster(tmp_path, hidden) as url:
        words = [url, shared, make_random(1, operations=200).root.as_uri(), foreign, foreign.as_uri()]
        command = [sys.executable, "-c", OWN, *map(str, words)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()) == (0, ["added None", "added None", "unchanged None"]), (
        done.stderr
    )
    assert [path.name for path in shared.iterdir()] == ["warehouse"]
