"""``harness run --open``: the site is served by a process of its own for as long as the run takes."""

from __future__ import annotations

import urllib.error
import urllib.request
import webbrowser
from pathlib import Path

import pytest

from harness.cli.serve import live_page


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
