"""The words for the operations of a history."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.files import wording_of
from history import Operation
from reports.style.wording import by_values

FAILED = Operation(0, "alter", "broker-0", [1, 3, 115, [1, 3]], None, "fail", 0, 1, 0, 1, error="2001: no")


def history(path: Path, **fields: object) -> Path:
    path.write_text(json.dumps({"format": "harness-history", "version": 1, **fields}) + "\n")
    return path


def test_the_model_that_the_history_names_writes_it(tmp_path: Path) -> None:
    wording = wording_of(history(tmp_path / "history.jsonl", model="sync-state-set"))
    assert wording(FAILED) == "alter to [1, 3] refused (2001): expected epoch 115, master 1 of epoch 3"


@pytest.mark.parametrize("model", ["register", "no such model", None])
def test_values_are_shown_where_no_model_has_words(tmp_path: Path, model: str | None) -> None:
    assert wording_of(history(tmp_path / "history.jsonl", model=model)) is by_values


@pytest.mark.parametrize("text", ["", "{", "[]\n", '{"format": "other"}\n'])
def test_values_are_shown_of_what_is_no_history(tmp_path: Path, text: str) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(text)
    assert wording_of(path) is by_values
    assert wording_of(tmp_path / "none") is by_values
