"""The command never imports pandas for pyarrow; a program that wants pandas still gets it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pandas")

SCRIPT = """
import sys
from history.no_pandas import ArrowFinder
sys.meta_path.insert(0, ArrowFinder)
import pyarrow as pa
table = pa.table({"a": [1, None], "b": ["x", "y"]})
assert pa.array([1.5]).type == pa.float64()
assert "pandas" not in sys.modules, "imported"
frame = table.to_pandas()
import pandas
assert isinstance(frame, pandas.DataFrame) and list(frame["b"]) == ["x", "y"]
assert pa.Table.from_pandas(frame).column("b").to_pylist() == ["x", "y"]
"""


def test_arrays_of_lists_do_not_import_pandas() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
