"""The page is what the schemas say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import history.tables.warehouse
from history.recording import Recording
from history.tables.schemas import ALL_TABLES, RUNS, TRENDS
from pipeline import local_tables, refresh
from pipeline.tables_page import page
from pipeline.warehouse.landing import Landing

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run: python -m pipeline.tables_page > docs/tables.md"


def test_every_column_is_on_it_with_its_meaning() -> None:
    rows = page().splitlines()
    for schema in (*ALL_TABLES.values(), RUNS, TRENDS):
        for field in schema:
            meaning = field.metadata[b"meaning"].decode().replace("|", "\\|")
            assert any(row.startswith(f"| `{field.name}` | ") and row.endswith(f" | {meaning} |") for row in rows)


def test_types_are_written_in_words() -> None:
    assert "| `kinds` | list of string |" in page()
    assert "| `core` | list of struct |" in page()
    assert "| `started_at` | timestamp[us]? |" in page()


@pytest.fixture
def mixed(make_random, tmp_path: Path) -> Path:
    """A warehouse of two months, in whose first file a column is not there yet."""
    warehouse = tmp_path / "warehouse"
    landing = Landing(warehouse)
    for seed, name in ((1, "t/20251201"), (2, "t/20260101")):
        local_tables(run := make_random(seed, operations=200), model="register", deadline_s=10)
        assert landing.add(Recording(run.root), name)
    landing.publish()
    refresh(warehouse)
    (first,) = (warehouse / "tables" / "faults" / "month=2025-12").iterdir()
    pq.write_table(pq.ParquetFile(first).read().drop_columns(["leader"]), first)
    return warehouse


def opened(by: str, warehouse: Path, spark: Any = None) -> Any:
    """The table of faults, by the program of the page that uses ``by``."""
    (program,) = (text for text in re.findall(r"(?:^    .*\n)+", page(), re.MULTILINE) if f"{by}." in text)
    names = {"duckdb": duckdb, "pyarrow": pa, "history": history, "spark": spark}
    exec("\n".join(line[4:] for line in program.replace("store/warehouse", str(warehouse)).splitlines()), names)
    return names["faults"]


LEADERS = [("2025-12", None), ("2026-01", "n3")]


def test_the_programs_of_the_page_find_columns_that_the_first_file_lacks(mixed: Path) -> None:
    faults = opened("pyarrow.dataset", mixed).to_table()
    assert sorted(set(zip(*(faults[name].to_pylist() for name in ("month", "leader")), strict=True))) == LEADERS
    assert sorted(set(opened("duckdb", mixed).project("month, leader").fetchall())) == LEADERS


@pytest.mark.spark
def test_the_program_for_spark_finds_them_too(spark, mixed: Path) -> None:
    faults = opened("spark", mixed, spark)
    assert sorted((row.month, row.leader) for row in faults.select("month", "leader").distinct().collect()) == LEADERS
    assert faults.schema["run"].dataType.simpleString() == "string"
