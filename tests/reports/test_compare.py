"""Two runs over each other: the curves start together, odd runs cost their curves only, the server gives any two."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest

from history import RunFiles
from reports.analysis import faults
from reports.load.run import commands_of, read_run
from reports.load.store_index import StoreIndex
from reports.page import compare
from reports.site import serve, site
from tests.support.reports.answer import Answer
from tests.support.reports.recorded_runs import recorded_run
from tests.support.reports.runs import make
from tests.support.reports.shapes import HOSTILE, Shape
from tests.support.reports.unpack import unpacked

SHAPE = Shape(operations=1500, rate=100.0, interval_s=2.0)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    make(tmp_path / "t" / "20260301T020000.000Z-1", SHAPE)
    make(tmp_path / "t" / "20260301T030000.000Z-2", Shape(kind="invalid", operations=900, rate=60.0, seed=2))
    evil = make(tmp_path / HOSTILE.replace("/", "_") / "run&b=#?", Shape(operations=60, rate=10.0, hostile=True))
    evil.history.write_text("nonsense")
    return tmp_path


def test_curves_begin_with_the_main_phase_and_hold_what_the_run_did(store: Path) -> None:
    files = RunFiles(store / "t" / "20260301T020000.000Z-1")
    curves = compare.curves_of(files)
    assert curves is not None
    assert curves["start"] == pytest.approx(-5.0, abs=0.2)
    assert curves["time"][0] == pytest.approx(curves["start"] + 0.5)
    assert len(curves["time"]) == len(curves["ok"]) == len(curves["p99"])
    events = [json.loads(line) for line in files.history.read_text().splitlines()[1:]]
    assert sum(curves["ok"]) == sum(event["type"] == "ok" and event["process"] != "nemesis" for event in events)
    assert curves["end"] - curves["main_end"] == pytest.approx(2.0, abs=0.5)
    assert curves["command"] == list(commands_of(json.loads(files.plan.read_text()))[0])
    first = curves["faults"][0]
    assert first["fault"] == "partition-majorities-ring"
    assert (first["end"] - first["start"], first["start"]) == (pytest.approx(2.0, abs=0.2), pytest.approx(2.0, abs=0.2))
    width, lengths = curves["available"]
    assert sum(count for _, count in lengths) * width == pytest.approx(curves["end"] - curves["start"], abs=width)


def test_equal_neighbours_are_counted() -> None:
    assert compare._lengths(np.array([1, 1, 0, 2, 2, 2])) == [[1, 2], [0, 1], [2, 3]]
    assert compare._lengths(np.array([7])) == [[7, 1]]


def test_a_run_that_cannot_be_read_keeps_its_row(store: Path) -> None:
    rows = StoreIndex(store, remember=False).rows()
    page = site.compare_page(store, rows)
    _, data = unpacked(page)
    curves = {run["run"]: run["curves"] for run in data["runs"]}
    assert curves["run&b=#?"] is None
    assert sum(found is not None for found in curves.values()) == 2
    assert "<img" not in page
    assert page.count("<script>") == 1


def test_less_than_two_runs_have_nothing_to_compare(store: Path) -> None:
    shutil.rmtree(store / "t")
    rows = StoreIndex(store, remember=False).rows()
    assert "Two runs are needed" in site.compare_page(store, rows)
    assert "Two runs are needed" in site.compare_page(store, [])


def test_the_server_compares_the_two_that_are_asked_for(store: Path) -> None:
    server = serve.Site(store)
    rows = {row.run: row.place for row in StoreIndex(store, remember=False).rows()}

    def asked(**wanted: str) -> list[str]:
        answer = Answer(server, "/compare.html", query=urlencode(wanted))
        assert answer.status == 200
        return [run["place"] for run in unpacked(answer.body.decode())[1]["runs"]]

    first, evil = rows["20260301T020000.000Z-1"], rows["run&b=#?"]
    assert set(asked(a=first, b=evil)) == {first, evil}
    assert len(asked()) == 2
    assert first in asked(a=first)
    assert len(asked(a=first, b=first)) == 2
    for wrong in ("a=../../etc/passwd", "a=t/nothing&b=t", "b=%ff", "&".join(f"a={n}" for n in range(99))):
        assert Answer(server, "/compare.html", query=wrong).status == 404


def test_any_run_of_the_store_can_be_chosen_from_the_server(store: Path) -> None:
    rows = StoreIndex(store, remember=False).rows()
    body = Answer(serve.Site(store), "/compare.html").body.decode()
    assert unpacked(body)[1]["choices"] == [[row.place, row.verdict] for row in rows]


def test_recovery_curves_are_the_mean_rate_around_the_heals(store: Path) -> None:
    files = RunFiles(store / "t" / "20260301T020000.000Z-1")
    run = read_run(files)
    windows = faults.fault_windows(run, [])
    found = compare.recovery_of(run.operations, windows)
    events = [json.loads(line) for line in files.history.read_text().splitlines()[1:]]
    oks = [e["time"] / 1e9 for e in events if e["type"] == "ok" and e["process"] != "nemesis"]
    healed = [(w.healed, w.rate_before) for w in windows if w.installed and w.healed is not None and w.rate_before]
    assert found["faults"] == len(healed) > 0
    place = int(np.flatnonzero(found["time"] == 0.75)[0])
    shares = [sum(heal + 0.5 <= at < heal + 1 for at in oks) / 0.5 / before for heal, before in healed]
    assert found["share"][place] == pytest.approx(float(np.mean(shares)), rel=0.02)
    assert np.isnan(compare.recovery_of(run.operations, [])["share"]).all()


def test_a_recovery_curve_that_is_empty_says_why(tmp_path: Path) -> None:
    files = RunFiles(recorded_run("stale-reads", tmp_path))
    run = read_run(files)
    (window,) = faults.fault_windows(run, [])
    load = float(run.operations.invoked.max()) / 1e9

    def why(*windows: faults.FaultWindow, cut: bool = False) -> str:
        found = compare.recovery_of(run.operations, windows, cut=cut)
        assert bool(found["why"]) == (found["faults"] == 0)
        return str(found["why"])

    assert why(window) == ""
    assert why() == why(replace(window, state="skipped")) == "no fault was installed"
    assert why(replace(window, healed=None)) == "no fault was healed"
    assert why(replace(window, healed=load + 1)) == "no fault was healed before the load ended"
    assert why(replace(window, rate_before=None)) == "no fault has a rate before it and was healed under load"
    assert why(replace(window, rate_before=None), cut=True) == "the history was cut, so it gives no rates"
    (tmp_path / "cut").mkdir()
    cut = compare.curves_of(RunFiles(recorded_run("ledgers-lost", tmp_path / "cut")))
    assert cut is not None
    assert cut["recovery"]["why"] == "the history was cut, so it gives no rates"


@pytest.mark.parametrize("name", ["replica-behind", "stale-reads", "element-lost"])
def test_recovery_curves_end_with_the_load_and_not_with_the_final_reads(name: str, tmp_path: Path) -> None:
    files = RunFiles(recorded_run(name, tmp_path))
    run = read_run(files)
    windows = faults.fault_windows(run, [])
    found = compare.recovery_of(run.operations, windows)
    events = [json.loads(line) for line in files.history.read_text().splitlines()[1:]]
    of_clients = [one for one in events if one["process"] != "nemesis" and one["type"] == "invoke"]
    asked = max(one["time"] / 1e9 for one in of_clients if one.get("phase") == "main")
    assert max(one["time"] / 1e9 for one in of_clients) > asked, "there are final reads"
    heals = [w.healed for w in windows if w.installed and w.healed is not None and w.rate_before]
    room = max(asked - heal for heal in heals)
    known = found["time"][~np.isnan(found["share"])]
    assert known.max() + compare.STEP_S / 2 <= room
