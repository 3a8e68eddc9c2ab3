"""Measure how long each question of ``docs/questions.md`` takes over a generated warehouse, or make a notebook.

    python -m bench.pipeline.questions [--runs 42000] [--rounds 5]      prints the page's table
    python -m bench.pipeline.questions --notebook > docs/questions.ipynb

The page is the only source: its ``python`` block opens the tables, and each ``sql`` block is a question.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.pipeline.generated_runs import made_tables, write_by_month

PAGE = Path(__file__).resolve().parents[2] / "docs" / "questions.md"
NOTEBOOK = PAGE.with_suffix(".ipynb")
_BLOCK = re.compile(r"^```(python|sql)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Question:
    """A question in words, and in SQL."""

    title: str
    sql: str


def opening(page: str) -> str:
    """Return the program that opens the tables and defines ``db``."""
    return "".join(text for language, text in _BLOCK.findall(page) if language == "python")


def questions(page: str) -> list[Question]:
    """Return the questions of a page, each with its heading."""
    found = []
    for section in page.split("\n## ")[1:]:
        found += [
            Question(section.partition("\n")[0], text)
            for language, text in _BLOCK.findall(section)
            if language == "sql"
        ]
    return found


def notebook(page: str) -> str:
    """Return the page as a Jupyter notebook."""
    cells: list[dict[str, Any]] = []
    pieces = _BLOCK.split(page)
    for place in range(0, len(pieces), 3):
        if pieces[place].strip():
            _add(cells, "markdown", pieces[place].strip())
        if place + 1 < len(pieces):
            language, code = pieces[place + 1], pieces[place + 2].rstrip()
            _add(cells, "code", code if language == "python" else f'db.sql("""\n{code}\n""")')
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _add(cells: list[dict[str, Any]], kind: str, source: str) -> None:
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    cells.append(cell | {"source": source.splitlines(keepends=True)})


@contextlib.contextmanager
def opened(page: str, store: Path) -> Iterator[Any]:
    """Yield the connection that the page's own program opens; ``store`` contains ``store/warehouse``."""
    before, names = Path.cwd(), dict[str, Any]()
    os.chdir(store)
    try:
        exec(compile(opening(page), str(PAGE), "exec"), names)
        yield names["db"]
    finally:
        if "db" in names:
            names["db"].close()
        os.chdir(before)


def measured(runs: int, rounds: int) -> Iterator[str]:
    """Yield the lines of a Markdown table with the fastest of some rounds for each question."""
    page = PAGE.read_text()
    with tempfile.TemporaryDirectory() as directory:
        write_by_month(Path(directory, "store", "warehouse", "tables"), made_tables(runs))
        with opened(page, Path(directory)) as db:
            yield "| question | rows | seconds | processor seconds |"
            yield "| --- | --- | --- | --- |"
            for question in questions(page):
                taken, rows = [], 0
                for _ in range(rounds):
                    began, spent = time.perf_counter(), time.process_time()
                    rows = len(db.sql(question.sql).fetchall())
                    taken.append((time.perf_counter() - began, time.process_time() - spent))
                seconds, processor = (min(values) for values in zip(*taken, strict=True))
                yield f"| {question.title} | {rows} | {seconds:.2f} | {processor:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=42_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--notebook", action="store_true")
    asked = parser.parse_args()
    if asked.notebook:
        sys.stdout.write(notebook(PAGE.read_text()))
        return
    for line in measured(asked.runs, asked.rounds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
