"""Spark starts without a trace on the terminal, in the directory, in the environment; and says why if it does not."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from history import RunFiles
from pipeline import JavaMissingError, JobError, PackageMissingError, SessionError, ingest, start_session
from pipeline.spark.hadoop_fs import listing
from pipeline.spark.session import scratch_directory, scratch_prefix, sweep_dead
from pipeline.spark.warm import WarmSession, family, made_up_run, spark_processes
from tests.support.machine import is_running


def test_no_java_is_named_with_the_mend(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissingError, match="install openjdk-17-jre-headless"):
        start_session(app="tests")


def broken_java(directory: Path, script: str) -> Path:
    java = directory / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{script}\nexit 1\n")
    java.chmod(0o755)
    return directory


# pyspark forgets the pipe to a JVM that did not start
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("echo the machine is on fire >&2", "Spark did not start.*the machine is on fire"),
        ("echo java.lang.UnsupportedClassVersionError: x >&2", "is older: install openjdk-17-jre-headless"),
    ],
)
def test_a_java_that_dies_is_quoted(monkeypatch, tmp_path, capfd, script: str, complaint: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(broken_java(tmp_path, script)))
    before = dict(os.environ)
    with pytest.raises(SessionError) as caught:
        start_session(app="tests")
    assert re.search(complaint, str(caught.value), re.DOTALL)
    assert dict(os.environ) == before
    assert capfd.readouterr() == ("", "")
    del caught
    gc.collect()


def test_a_warm_session_hands_on_what_kept_it_from_starting(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    warm = WarmSession(app="tests")
    with pytest.raises(JavaMissingError):
        warm.get(10)
    warm.stop()


@pytest.mark.parametrize(("master", "there"), [("local[*]", False), ("spark://h:7077", True)])
def test_a_first_job_that_fails_leaves_the_run_to_this_process(monkeypatch, tmp_path, master: str, there: bool) -> None:
    """As where workers do not see the made-up run; on a cluster it is in a directory that they do see."""
    seen: list[Path] = []

    def blind(session: object, run: RunFiles, **options: object) -> None:
        seen.append(run.root)
        raise JobError(f"the worker h does not see {run.root}")

    monkeypatch.setattr("pipeline.spark.warm.start_session", lambda *_, **__: object())
    monkeypatch.setattr("pipeline.spark.warm.run_tables", blind)
    warm = WarmSession(master, app="tests", shared=tmp_path)
    with pytest.raises(SessionError, match="its first job failed: the worker h does not see"):
        warm.get(60)
    assert [tmp_path in root.parents for root in seen] == [there]
    assert not list(tmp_path.iterdir())


def test_a_session_whose_jvm_has_died_can_be_stopped(monkeypatch) -> None:
    class Dead:
        def stop(self) -> None:
            raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr("pipeline.spark.warm.start_session", lambda *_, **__: Dead())
    warm = WarmSession(app="tests", rounds=0)
    assert warm.get(5)
    warm.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_warm_session_that_takes_too_long(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(broken_java(tmp_path, "sleep 1")))
    warm = WarmSession(app="tests")
    with pytest.raises(SessionError, match=r"not ready within 0.01 s"):
        warm.get(0.01)
    warm.stop()
    del warm
    gc.collect()


def test_the_made_up_run_has_every_outcome_but_no_violation(tmp_path) -> None:
    from pipeline import local_tables, read_table

    run = made_up_run(tmp_path / "run")
    tables = local_tables(run, model="register", deadline_s=10)
    assert {verdict.verdict for verdict in tables.key_verdicts} == {"valid"}
    outcomes = read_table(run.table("operations"), "operations")["outcome"].to_pylist()
    assert {"ok", "fail"} <= set(outcomes)


def test_only_our_own_launchers_are_distinguished_from_other_children(tmp_path) -> None:
    stranger = subprocess.Popen(["sleep", "60"])
    ours = subprocess.Popen(["sh", "-c", "sleep 60; :", str(tmp_path / f"{scratch_prefix()}x")])
    try:
        deadline = time.monotonic() + 30
        while ours.pid not in (found := spark_processes()) and time.monotonic() < deadline:
            time.sleep(0.05)  # its command line appears a moment after it was started
        assert ours.pid in found
        assert stranger.pid not in found
    finally:
        for process in (stranger, ours):
            process.kill()
            process.wait()


def test_the_family_of_a_process_that_is_gone() -> None:
    assert family(2**22 - 1) == [2**22 - 1]
    assert os.getpid() in family(os.getppid())


ELSEWHERE = """
import os, pathlib, sys
from pipeline.spark.session import scratch_directory
os.getpid = lambda: 2**22 + 1
print(scratch_directory(pathlib.Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


def test_the_directory_of_a_session_elsewhere_stays_while_its_process_lives(tmp_path) -> None:
    """One in another container with the same temporary directory: its process number is that of none here."""
    other = subprocess.Popen(
        [sys.executable, "-c", ELSEWHERE, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdin is not None
    assert other.stdout is not None
    with other:
        theirs = Path(other.stdout.readline().strip())
        mine = scratch_directory(tmp_path)
        sweep_dead(tmp_path)
        assert sorted(tmp_path.iterdir()) == sorted([mine, theirs])
        other.kill()
    sweep_dead(tmp_path)
    assert list(tmp_path.iterdir()) == [mine]


SCRIPT = """
import os, signal, sys
from pathlib import Path
from pipeline import WarmSession, run_tables
from pipeline.spark.warm import family, made_up_run
from tests.support.pipeline.jvm import jvm_pid

def surroundings():
    # pyspark leaves two SPARK_ variables of its own behind
    return signal.getsignal(signal.SIGINT), {k: v for k, v in os.environ.items() if not k.startswith("SPARK_")}

before = surroundings()
warm = WarmSession("local[1]", app="tests", settings={"spark.driver.memory": "512m"}, rounds=1)
spark = warm.get(600)
print(*family(jvm_pid(spark)), flush=True)
assert surroundings() == before
"""


def run_script(end: str, work: Path, scratch: Path) -> subprocess.CompletedProcess[str]:
    work.mkdir()
    scratch.mkdir()
    here = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": here}
    for name in ("pandas", "pyarrow", "numpy", "json", "checker", "pipeline"):
        (work / f"{name}.py").write_text("import os; os.open('imported', os.O_CREAT); raise SystemExit(3)")
    planted = sorted(work.iterdir())
    command = [sys.executable, "-P", "-c", SCRIPT + end]
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    # No worker imported what lies where it started.
    assert sorted(work.iterdir()) == planted
    return done


@pytest.mark.spark
@pytest.mark.nightly
def test_a_session_leaves_no_trace(tmp_path) -> None:
    work, scratch = tmp_path / "work", tmp_path / "scratch"
    done = run_script("warm.stop()", work, scratch)
    assert (done.returncode, done.stderr) == (0, "")
    assert not list(scratch.iterdir())


@pytest.mark.spark
def test_the_jvm_and_the_workers_end_with_a_killed_process(tmp_path) -> None:
    done = run_script("os.kill(os.getpid(), signal.SIGKILL)", tmp_path / "work", tmp_path / "scratch")
    assert done.returncode == -signal.SIGKILL
    pids = [int(pid) for pid in done.stdout.splitlines()[0].split()]
    assert len(pids) >= 2
    deadline = time.monotonic() + 30
    while any(is_running(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in pids if is_running(pid)]


@pytest.mark.spark
def test_ctrl_c_and_the_end_of_a_terminal_are_not_for_spark(tmp_path) -> None:
    """Both are sent to every process that was started there: what they mean is for this one to say."""
    end = """
import tempfile
ours = [pid for pid in family(jvm_pid(spark)) if os.getpgid(pid) == os.getpgid(0)]
assert jvm_pid(spark) in ours
for pid in ours:
    os.kill(pid, signal.SIGINT)
    os.kill(pid, signal.SIGHUP)
with tempfile.TemporaryDirectory() as root:
    run_tables(spark, made_up_run(Path(root) / "run"), model="register", deadline_s=10)
warm.stop()
"""
    done = run_script(end, tmp_path / "work", tmp_path / "scratch")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.spark
@pytest.mark.nightly
def test_a_jvm_that_is_killed_leaves_no_traceback_on_the_terminal(tmp_path) -> None:
    """Also where a call waits for it: that raises, and its caller says what is to be said."""
    end = """
import threading, time
def wait():
    try:
        spark._jvm.java.lang.Thread.sleep(60_000)
    except Exception as error:
        print(type(error).__name__, flush=True)
jvm = jvm_pid(spark)
os.kill(jvm, signal.SIGSTOP)  # what it is asked now it has not read when it dies: the connection is reset
waiting = threading.Thread(target=wait)
waiting.start()
time.sleep(1)
os.kill(jvm, signal.SIGKILL)
waiting.join()
time.sleep(3)
os._exit(0)
"""
    done = run_script(end, tmp_path / "work", tmp_path / "scratch")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "Py4JNetworkError"


# -- the user's own Spark ---------------------------------------------------------------------------------------------

NO_REPOSITORY = """\
<ivysettings>
  <settings defaultResolver="none"/>
  <resolvers><filesystem name="none"><artifact pattern="{0}/[artifact]"/></filesystem></resolvers>
</ivysettings>
"""
STORE = """\
import java.net.URI;

public class Store extends org.apache.hadoop.fs.RawLocalFileSystem {
    @Override public URI getUri() { return URI.create("store:///"); }
    @Override public String getScheme() { return "store"; }
}
"""
OWN_SPARK = """
import json, sys
from pathlib import Path
from history import RunFiles
from pipeline import PackageMissingError, run_tables, start_session
from pipeline.spark.warm import made_up_run

root, jar = sys.argv[1:]
spark = start_session("local[1]", app="tests", memory="512m", settings={"spark.jars": jar, "spark.mine.second": "line"})
run = made_up_run(Path(root) / "run")
tables = run_tables(spark, RunFiles(Path(root) / "there"), model="register", deadline_s=10,
    history=f"store://{run.history}")
names = ("spark.mine.first", "spark.mine.second", "spark.sql.shuffle.partitions", "spark.ui.enabled")
print(json.dumps([[spark.conf.get(name) for name in names], sorted({v.verdict for v in tables.key_verdicts})]))
spark.stop()
"""


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_package_that_does_not_exist_is_named(tmp_path) -> None:
    ivy = tmp_path / "ivysettings.xml"
    ivy.write_text(NO_REPOSITORY.format(tmp_path))
    settings = {
        "spark.jars.packages": "no.such:thing:1", "spark.jars.ivy": str(tmp_path), "spark.jars.ivySettings": str(ivy),
    }  # fmt: skip
    with pytest.raises(SessionError, match=r"^Spark found no package no.such:thing:1: check its name and version"):
        start_session(app="tests", settings=settings)
    gc.collect()


@pytest.mark.spark
def test_the_users_settings_hold_and_a_jar_brings_its_kind_of_uri(tmp_path) -> None:
    """A file system of our own stands for an object store, whose jars are large."""
    import pyspark

    (tmp_path / "Store.java").write_text(STORE)
    hadoop = next((Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar"))
    jar = tmp_path / "store.jar"
    for command in (["javac", "-cp", str(hadoop), "Store.java"], ["jar", "cf", str(jar), "Store.class"]):
        subprocess.run(command, cwd=tmp_path, check=True)
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text(
        "spark.mine.first of the file\nspark.mine.second of the file\nspark.sql.shuffle.partitions 3\n"
        "spark.hadoop.fs.store.impl Store\n"
    )
    environment = {**os.environ, "SPARK_CONF_DIR": str(conf)}
    command = [sys.executable, "-c", OWN_SPARK, str(tmp_path), str(jar)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [["of the file", "line", "3", "false"], ["valid"]]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("uri", "words"),
    [
        (
            "s3a://bucket/run",
            r"no jar for s3a:// URIs: add it with --spark-conf spark.jars.packages=\S+:hadoop-aws:3\.",
        ),
        ("gs://bucket/run", r"no jar for gs:// .*:hadoop-gcp:3\."),
        ("s3://bucket/run", r"cannot read s3:// URIs: use s3a://"),
        ("own://bucket/run", r"no jar for own:// URIs: add it with --spark-conf spark.jars=JAR"),
    ],
)
def test_a_kind_of_uri_without_its_jar_is_refused_with_the_package(spark, uri: str, words: str, tmp_path) -> None:
    with pytest.raises(PackageMissingError, match=words):
        listing(spark, uri)
    run = made_up_run(tmp_path / "run")
    bad, good = ingest([uri, run], tmp_path / "warehouse", deadline_s=10, spark=spark)
    assert (bad.state, good.state) == ("failed", "added")
    assert bad.error is not None
    assert re.search(words, bad.error)
    assert "\n" not in bad.error
