"""run.json: written as things happen, so that a killed run shows how far it came."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.runstate import MOMENTS, RunState


def test_every_moment_is_on_disk_when_it_is_saved(tmp_path: Path) -> None:
    state = RunState(tmp_path / "run.json")
    for number, moment in enumerate(MOMENTS):
        state.reach(moment, number)
        state.save()
        assert RunState.read(tmp_path / "run.json").moments == dict(zip(MOMENTS[: number + 1], range(99), strict=False))


def test_what_is_on_disk_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[object] = []
    monkeypatch.setattr("harness.runstate.write_json", lambda path, record: written.append(record))
    state = RunState(tmp_path / "run.json")
    for _ in range(3):
        state.save()
    state.reach("main", 1)
    state.save()
    state.save()
    state.warn("w")
    state.save()
    assert len(written) == 3


def test_a_moment_is_reached_once() -> None:
    state = RunState()
    state.reach("healed", 5)
    state.reach("healed", 9)
    assert state.moments == {"healed": 5}


def test_an_unknown_moment_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError):
        RunState().reach("lunch", 1)


def test_failures_and_warnings_are_kept_once_in_their_order() -> None:
    state = RunState()
    for text in ("b", "a", "b"):
        state.fail(text)
        state.warn(text)
    assert (state.failures, state.warnings) == (["b", "a"], ["b", "a"])


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    state = RunState(path, {"main": 3}, ["f"], ["w"], {"java": "21"}, interrupted=True, ended=True, stopped="event 7")
    state.unhealed, state.standstills, state.restart_failed = ["u"], [(1, 2)], "n1 did not start"
    state.pace = {"asked_per_s": 200.0}
    state.save()
    again = RunState.read(path)
    again.path = path
    assert again == state


def test_no_file_is_a_run_that_has_not_ended(tmp_path: Path) -> None:
    assert RunState.read(tmp_path / "none") == RunState()
    assert not RunState.read(tmp_path / "none").ended


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(ValueError, match=r"run\.json: expected a JSON object: Expecting"):
        RunState.read(tmp_path / "run.json")


@pytest.mark.parametrize("record", [[], None, {}, {"format": "harness-run", "version": 9}, {"format": "harness-run"}])
def test_another_file_is_refused(tmp_path: Path, record: object) -> None:
    (tmp_path / "run.json").write_text(json.dumps(record))
    with pytest.raises(
        ValueError, match=r"run\.json: (the file: )?expected (harness-run version 1|a JSON object, found)"
    ):
        RunState.read(tmp_path / "run.json")


def test_the_worst_lag_of_each_second_is_kept(tmp_path: Path) -> None:
    state = RunState(tmp_path / "run.json")
    for due, now in ((100, 101), (500, 540), (999, 1_003), (4_000, 4_002), (4_500, 4_500)):
        state.note_lag(due * 10**6, now * 10**6)
    assert state.lag_ms == [40.0, 4.0, 0.0, 0.0, 2.0]
    state.save()
    assert RunState.read(tmp_path / "run.json").lag_ms == state.lag_ms
