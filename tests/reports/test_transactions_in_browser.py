"""A transaction in the timeline: one span, and its steps in the order in which they were made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import run_command
from reports.page import pack
from tests.support.reports.browser import tab
from tests.support.reports.unpack import unpack

LISTS = """
{:type :invoke, :f :txn, :value [[:append 5 1] [:r 6 nil] [:r 5 nil]], :process 0, :time 1000000, :index 0}
{:type :ok, :f :txn, :value [[:append 5 1] [:r 6 nil] [:r 5 [1]]], :process 0, :time 9000000, :index 1}
{:type :invoke, :f :txn, :value [[:r 5 nil] [:append 6 2]], :process 1, :time 10000000, :index 2}
{:type :fail, :f :txn, :value [[:r 5 nil] [:append 6 2]], :process 1, :time 19000000, :index 3}
"""
REGISTERS = """
{:type :invoke, :f :txn, :value [[:write :x 1] [:read :y nil]], :process 0, :time 1000000, :index 0}
{:type :ok, :f :txn, :value [[:write :x 1] [:read :y nil]], :process 0, :time 9000000, :index 1}
{:type :invoke, :f :txn, :value [[:read :x nil]], :process 0, :time 10000000, :index 2}
{:type :ok, :f :txn, :value [[:read :x 1]], :process 0, :time 19000000, :index 3}
"""


@pytest.mark.parametrize(
    ("model", "history", "steps"),
    [
        ("list-append", LISTS, [["append 1 to 5", "read nothing in 6", "read [1] in 5"], ["read 5", "append 2 to 6"]]),
        ("multi-register", REGISTERS, [["write 1 to x", "read nothing in y"], ["read 1 in x"]]),
    ],
)
def test_a_card_lists_the_steps(model: str, history: str, steps: list[list[str]], tmp_path: Path, browser: Any) -> None:
    (tmp_path / "history.edn").write_text(history)
    page = tmp_path / "page.html"
    assert run_command(["report", str(tmp_path / "history.edn"), "--model", model, "-o", str(page)]) == 0
    for index, wanted in zip((0, 2), steps, strict=True):
        with tab(browser, f"{page.as_uri()}#op={index}") as shown:
            rows = shown.js("[...document.querySelectorAll('#pinned dt')].map(dt => "
                            "[dt.textContent, dt.nextSibling.textContent])")  # fmt: skip
            assert [text for name, text in rows if name.startswith("step")] == wanted
            assert not shown.complaints


@pytest.mark.parametrize("most", [pack.MAX_TEXTS, 1])
def test_steps_are_kept_whole_or_not_at_all(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page keeps a limited number of texts.  Beyond it, an operation must not show the text of another."""
    many = [["append", key, 1] for key in range(100)]
    records = [
        {"type": kind, "f": "txn", "value": value, "process": process, "time": time, "index": time}
        for process, value in ((0, many), (1, [["append", 200, 1]]))
        for kind, time in (("invoke", 2 * process), ("ok", 2 * process + 1))
    ]
    (tmp_path / "history.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    monkeypatch.setattr(pack, "MAX_TEXTS", most)
    page = tmp_path / "page.html"
    assert run_command(["report", str(tmp_path / "history.jsonl"), "--model", "list-append", "-o", str(page)]) == 0
    columns, data = unpack(page.read_text())
    texts = data["names"]["texts"]
    steps = [json.loads(texts[place]) if place < len(texts) else None for place in columns["qa"].tolist()]
    assert steps == ([many, [["append", 200, 1]]] if most > 1 else [many, None])
