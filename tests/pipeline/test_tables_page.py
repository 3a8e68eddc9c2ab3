"""The page is what the schemas say."""

from __future__ import annotations

from pathlib import Path

from history.tables.schemas import ALL_TABLES, RUNS, TRENDS
from pipeline.tables_page import page

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run: python -m pipeline.tables_page > docs/tables.md"


def test_every_column_is_on_it_with_its_meaning() -> None:
    rows = page().splitlines()
    for schema in (*ALL_TABLES.values(), RUNS, TRENDS):
        for field in schema:
            meaning = field.metadata[b"meaning"].decode().replace("|", "\\|")
            assert any(row.startswith(f"| `{field.name}` | ") and row.endswith(f" | {meaning} |") for row in rows)


def test_types_are_told_in_words() -> None:
    assert "| `kinds` | list of string |" in page()
    assert "| `core` | list of struct |" in page()
    assert "| `started_at` | timestamp[us] |" in page()
