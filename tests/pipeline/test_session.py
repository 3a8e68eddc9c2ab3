"""Spark starts without a trace on the terminal, in the directory, in the environment; and says why if it does not."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline import JavaMissingError, SessionError, start_session
from pipeline.spark.session import scratch_prefix
from pipeline.spark.warm import WarmSession, made_up_run, raise_priority, spark_processes


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


def test_a_session_whose_jvm_has_died_can_be_stopped(monkeypatch) -> None:
    class Dead:
        def stop(self) -> None:
            raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr("pipeline.spark.warm.start_session", lambda *_, **__: Dead())
    warm = WarmSession(app="tests", rounds=0, nice=0)
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


def test_only_our_own_launchers_are_told_from_other_children(tmp_path) -> None:
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


def test_the_priority_of_a_process_that_is_gone() -> None:
    assert raise_priority(2**22 - 1)


SCRIPT = """
import os, signal, sys
from pathlib import Path
from pipeline import WarmSession, run_tables
from pipeline.spark.warm import family, jvm_pid, made_up_run

def surroundings():
    # pyspark leaves two SPARK_ variables of its own behind
    return signal.getsignal(signal.SIGINT), {k: v for k, v in os.environ.items() if not k.startswith("SPARK_")}

def priorities(spark):
    return {os.getpriority(os.PRIO_PROCESS, pid) for pid in family(jvm_pid(spark))}

began, before = os.getpriority(os.PRIO_PROCESS, 0), surroundings()
warm = WarmSession("local[1]", app="tests", memory="512m", rounds=1)
warm._thread.join()
print(*family(jvm_pid(warm._session)), flush=True)
print(*priorities(warm._session), flush=True)
spark = warm.get(1)
print(*priorities(spark), flush=True)
assert surroundings() == before
assert os.getpriority(os.PRIO_PROCESS, 0) == began
"""


def run_script(end: str, work: Path, scratch: Path) -> subprocess.CompletedProcess[str]:
    work.mkdir()
    scratch.mkdir()
    environment = {**os.environ, "TMPDIR": str(scratch)}
    command = [sys.executable, "-c", SCRIPT + end]
    return subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.spark
@pytest.mark.nightly
def test_a_session_leaves_no_trace_and_takes_no_core_from_others(tmp_path) -> None:
    work, scratch = tmp_path / "work", tmp_path / "scratch"
    done = run_script("warm.stop()", work, scratch)
    assert (done.returncode, done.stderr) == (0, "")
    _, while_warming, fetched = done.stdout.splitlines()
    own = os.getpriority(os.PRIO_PROCESS, 0)
    below = str(min(19, own + 10))
    assert while_warming == below
    assert fetched == (str(own) if os.geteuid() == 0 else below)
    assert not list(work.iterdir())
    assert not list(scratch.iterdir())


@pytest.mark.spark
def test_the_jvm_and_the_workers_end_with_a_killed_process(tmp_path) -> None:
    done = run_script("os.kill(os.getpid(), signal.SIGKILL)", tmp_path / "work", tmp_path / "scratch")
    assert done.returncode == -signal.SIGKILL
    pids = [int(pid) for pid in done.stdout.splitlines()[0].split()]
    assert len(pids) >= 2
    deadline = time.monotonic() + 30
    while any(running(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in pids if running(pid)]


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.spark
def test_ctrl_c_and_the_end_of_a_terminal_are_not_for_spark(tmp_path) -> None:
    """Both are told to every process that was started there: what they mean is for this one to say."""
    end = """
import tempfile
told = [pid for pid in family(jvm_pid(spark)) if os.getpgid(pid) == os.getpgid(0)]
assert jvm_pid(spark) in told
for pid in told:
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
    end = """
import time
os.kill(jvm_pid(spark), signal.SIGKILL)
time.sleep(3)
os._exit(0)
"""
    done = run_script(end, tmp_path / "work", tmp_path / "scratch")
    assert (done.returncode, done.stderr) == (0, "")
