"""One run of every kind, made once a session, and one browser a file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import reports
from history import RunFiles
from tests.support.reports.browser import Pictures, Tab, chromium, tab
from tests.support.reports.made import Maker
from tests.support.reports.read_once import histories_read_once
from tests.support.reports.runs import make
from tests.support.reports.shapes import Shape


@pytest.fixture(scope="session", autouse=True)
def _read_once() -> Iterator[None]:
    with histories_read_once():
        yield


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    """``made(kind, **changes)``: the files of a run of 2,500 operations in 25 s; made once for the same arguments."""
    store: dict[str, RunFiles] = {}

    def get(kind: str = "valid", *, tables: bool = False, **changes: object) -> RunFiles:
        shape = replace(Shape(kind=kind, operations=2500, rate=100.0, interval_s=4.0, fault="all"), **changes)  # type: ignore[arg-type]
        name = f"{shape}{tables}"
        if name not in store:
            store[name] = make(tmp_path_factory.mktemp(kind) / "register" / f"run-{kind}", shape, tables=tables)
        return store[name]

    return get


@pytest.fixture(scope="session")
def with_page(made: Maker) -> Maker:
    """Like ``made``, with its page, which is written once."""
    written: set[RunFiles] = set()

    def get(kind: str = "valid", *, tables: bool = False, **changes: object) -> RunFiles:
        files = made(kind, tables=tables, **changes)
        if files not in written:
            reports.write_report(files)
            written.add(files)
        return files

    return get


@pytest.fixture
def fresh(made: Maker, tmp_path: Path) -> Maker:
    """Like ``made``, but a copy of a small run, which a test may spoil."""

    def get(kind: str = "valid", *, tables: bool = False, **changes: object) -> RunFiles:
        small: dict[str, object] = {"operations": 750, "rate": 50.0, "interval_s": 2.0, "fault": Shape().fault}
        run = made(kind, tables=tables, **(small | changes))
        return RunFiles(Path(shutil.copytree(run.root, tmp_path / "register" / f"run-{kind}")))

    return get


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium for a file.  While its driver runs there is an event loop, in which no other can be run."""
    with chromium() as found:
        yield found


@pytest.fixture
def shown(with_page: Maker, browser: Any) -> Iterator[Tab]:
    """The page of an invalid run; whatever opens it, it complains of nothing."""
    with tab(browser, with_page("invalid").report.as_uri()) as found:
        yield found
        assert found.complaints == []


@pytest.fixture(scope="session")
def pictures() -> Pictures:
    named = os.environ.get("SCREENSHOTS")
    folder = Path(named) if named else None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    return Pictures(folder)
