"""Plots and JUnit."""

from __future__ import annotations

import hashlib
import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import reports
from history import RunFiles
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.plots import plots
from reports.text import junit
from tests.support.reports.made import Maker
from tests.support.reports.shapes import HOSTILE


@pytest.mark.slow
def test_the_whole_set_is_written_and_is_the_same_twice(fresh: Maker) -> None:
    files = fresh("invalid", fault="all", operations=800)
    reports.write_all(files)
    assert not files.plots.exists(), "nobody asked for them"
    outcome = reports.write_all(files, plots=True)
    assert outcome.warnings == []
    names = {
        "latency-raw",
        "latency-quantiles",
        "rate",
        "leaders",
        "log-ends",
        "restarts",
        "topology",
        "counterexample",
    }
    assert {path.name for path in files.plots.iterdir()} == {
        f"{name}.{kind}" for name in names for kind in ("png", "svg")
    }
    first = _digests(files.plots)
    shutil.rmtree(files.plots)
    files.plots.mkdir()
    assert reports.write_all(files).warnings == [], "where they were, they are drawn anew"
    assert _digests(files.plots) == first


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_a_run_without_operations_has_no_plots(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert plots.draw_all(prepare(read_run(RunFiles(tmp_path / "run")))) == []


@pytest.mark.parametrize(
    ("kind", "failures", "errors"),
    [("valid", 0, 0), ("invalid", 1, 0), ("no-recovery", 1, 0), ("unknown", 0, 1), ("harness-failure", 0, 1)],
)
def test_junit_counts_what_went_wrong(made: Maker, tmp_path: Path, kind: str, failures: int, errors: int) -> None:
    junit.write(read_run(made(kind)), tmp_path / "junit.xml")
    suite = ET.parse(tmp_path / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("failures"), suite.get("errors")) == (str(failures), str(errors))
    assert suite.get("tests") == str(len(suite.findall("testcase"))) != "0"


def test_junit_holds_hostile_text(fresh: Maker, tmp_path: Path) -> None:
    files = fresh("invalid", hostile=True)
    results = json.loads(files.results.read_text())
    results["sentence"] = HOSTILE + "\x00\ufffe]]>"
    files.results.write_text(json.dumps(results))
    junit.write(read_run(files), tmp_path / "junit.xml")
    root = ET.parse(tmp_path / "junit.xml").getroot()
    assert HOSTILE.split("\x1b")[0] in "".join(root.itertext())
