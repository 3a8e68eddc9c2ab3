"""Which way a piece of work goes: by its size, unless it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from harness.spark_choice import MANY, choose, session_for
from history.records.layout import LARGE_BYTES


@pytest.mark.parametrize(
    ("sizes", "asked", "words"),
    [
        ([], None, "in this process: 0 runs are fewer than 200, and no history is larger than 64 MiB"),
        ([LARGE_BYTES], None, "in this process: its history has at most 64 MiB"),
        ([LARGE_BYTES + 1], None, "through Spark: its history has more than 64 MiB"),
        ([1] * (MANY - 1), None, "in this process: 199 runs are fewer"),
        ([1] * MANY, None, "through Spark: 200 runs reach the limit of 200"),
        ([1, LARGE_BYTES + 1], None, "through Spark: 1 of 2 histories are larger than 64 MiB"),
        ([1] * MANY, False, "in this process: as requested"),
        ([1], True, "through Spark: as requested"),
    ],
)
def test_the_way_is_by_size_unless_it_is_asked_for(sizes: list[int], asked: bool | None, words: str) -> None:
    assert str(choose(sizes, asked)).startswith(words)


def test_the_way_without_spark_has_no_session() -> None:
    with session_for(choose([1]), "local[1]", app="tests", settings={}) as session:
        assert session is None


def test_the_rule_alone_loads_no_pipeline() -> None:
    """The plans of a suite are made by it, in a process that judges nothing."""
    code = "import harness.suite.session, sys; sys.exit('pipeline' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
