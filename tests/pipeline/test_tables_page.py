"""The page is what the schemas say."""

from __future__ import annotations

from pathlib import Path

from history.tables.schemas import TABLES
from pipeline.tables_page import page

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run: python -m pipeline.tables_page > docs/tables.md"


def test_every_column_is_on_it_with_its_meaning() -> None:
    for schema in TABLES.values():
        for field in schema:
            assert f"| `{field.name}` | {field.type} |" in page()
            assert field.metadata[b"meaning"].decode().replace("|", "\\|") in page()
