"""How much one task may hold."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.spark.large import COLUMN_BYTES, Sizes, worker_bytes


def session(memory: str, cores: str = "") -> Any:
    settings = {"spark.executor.pyspark.memory": memory, "spark.executor.cores": cores}
    return SimpleNamespace(conf=SimpleNamespace(get=settings.get))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 7 << 29), ("512m", 512 << 20), ("4g", 4 << 30), ("1024", 1 << 30), ("2GB", 2 << 30), ("8mb", 8 << 20)],
)
def test_what_a_worker_may_take_is_a_setting_of_sparks(text: str, expected: int) -> None:
    assert worker_bytes(session(text)) == expected


def test_the_workers_of_an_executor_share_its_setting() -> None:
    assert worker_bytes(session("8g", "4")) == 2 << 30


def test_the_largest_key_of_a_task_follows_from_it() -> None:
    assert Sizes().most(session(""), COLUMN_BYTES) > 10_000_000
    assert Sizes().most(session("1g"), COLUMN_BYTES) == (384 << 20) // COLUMN_BYTES
    assert Sizes().most(session("512m"), COLUMN_BYTES) == 0
    assert Sizes(key=7).most(session("1g"), COLUMN_BYTES) == 7
