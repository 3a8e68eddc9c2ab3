"""What the documentation shows is what happens."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "checker.md"


def test_the_page_of_the_checker(tmp_path: Path) -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, globs={"tmp_path": tmp_path}, verbose=False)
    assert (failed, tried > 8) == (0, True)


@pytest.mark.parametrize("name", ["checker", "checker.core.model"])
def test_docstrings(name: str) -> None:
    failed, tried = doctest.testmod(import_module(name))
    assert (failed, tried > 0) == (0, True)


def test_an_engine_stands_at_the_end_of_a_file_of_its_own() -> None:
    """The registry holds lines alone: what an engine is, its own file says."""
    assert "Engine(" not in (PAGE.parents[1] / "checker" / "dispatch.py").read_text()
