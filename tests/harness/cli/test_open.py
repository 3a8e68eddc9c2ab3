"""``harness run --open``: the site is served by a process of its own for as long as the run takes."""

from __future__ import annotations

import urllib.error
import urllib.request
import webbrowser
from pathlib import Path

import pytest

from harness.cli.serve import live_page, watch_of
from history import read_history
from tests.support.reports.recorded_runs import recorded_run


def test_the_live_page_is_served_and_opened_while_the_block_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, said = list[str](), list[str]()
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setenv("DISPLAY", ":0")
    with live_page(tmp_path / "store", said.append):
        (address,) = opened
        with urllib.request.urlopen(address) as answer:
            assert answer.status == 200
    assert address in said[0]
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address)


def test_the_monitor_follows_registers_and_nothing_that_it_cannot(tmp_path: Path) -> None:
    root = recorded_run("stale-reads", tmp_path)
    watch = watch_of(root)
    assert watch is not None
    events = read_history(root / "history.jsonl").events
    found = next((event.index for event in events if watch(event)), None)
    assert found is not None
    watch = watch_of(recorded_run("element-lost", tmp_path))
    assert watch is None
    (root / "plan.json").write_text("{}")
    assert watch_of(root) is None


def test_without_a_desktop_no_browser_takes_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server also starts, though the working directory has modules with the names of ours and Python's."""
    for name in ("harness", "click", "json"):
        (tmp_path / f"{name}.py").write_text("import os; os.open('imported', os.O_CREAT); raise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    monkeypatch.setattr(webbrowser, "open", pytest.fail)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    said = list[str]()
    with live_page(tmp_path / "store", said.append):
        pass
    assert (len(said), (tmp_path / "imported").exists()) == (1, False)
