"""A run whose readers go away: judged to its end, with the verdict's code, and what goes where."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.cluster.machine import HARNESS, PATIENCE_S
from tests.support.cluster.run_jobs import CLUSTER, KV

pytestmark = pytest.mark.cluster

#: Without a fault: nothing but the reader can spoil it.
RUN = (
    f"run --system {KV} --cluster {CLUSTER} --nodes 3 --time-limit 4 --warm-up 1 --rate 50 --concurrency 3 --seed 7 "
    "--no-spark"
)
#: On a machine that has no time for the clients a run proves nothing, and says so.
JUDGED = {(0, "valid"), (2, "unknown")}


@pytest.mark.parametrize(
    "redirected",
    [
        "2>&1 | head -n 2",
        pytest.param("2>&1 >/dev/null | head -n 2", marks=pytest.mark.nightly),
        pytest.param("| head -c 10", marks=pytest.mark.nightly),
    ],
)
def test_a_reader_that_goes_away_costs_the_run_nothing(tmp_path: Path, redirected: str) -> None:
    line = f"{HARNESS} {RUN} --store {tmp_path} {redirected}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=PATIENCE_S)
    results = json.loads((tmp_path / "latest" / "results.json").read_text())
    assert (done.returncode, results["verdict"]) in JUDGED, done
    assert results["harness_failure"] is None, done
    assert "Traceback" not in done.stdout + done.stderr
    assert "Exception ignored" not in done.stdout + done.stderr


@pytest.mark.parametrize("pipeline", ["--no-spark", pytest.param("--spark", marks=pytest.mark.nightly)])
def test_as_json_standard_output_is_one_document(tmp_path: Path, pipeline: str) -> None:
    """With Spark, too: its JVM inherits the stream."""
    words = [*RUN.replace("--no-spark", pipeline).split(), "--json", "--store", str(tmp_path)]
    done = subprocess.run([HARNESS, *words], capture_output=True, text=True, timeout=PATIENCE_S)
    document = json.loads(done.stdout)
    assert (done.returncode, document["verdict"]) in JUDGED, done.stderr
    assert (document["exit_code"], document["harness_failure"]) == (done.returncode, None)
    assert document["run"] == str((tmp_path / "latest").resolve())
    for piece in ("  main  ", document["verdict"].upper(), "report: "):
        assert piece in done.stderr
