"""Keep pyarrow from importing pandas, which takes longer than everything else in a short command.

Before pyarrow makes an array from a list, it checks whether the list is a pandas object, and imports pandas for that if
it is installed (PySpark needs it).  It checks only once: if pandas was missing then, it looks again only for
``to_pandas``.  So we hide pandas during that first check.  We do this only in our own processes, since a program that
imports our packages may pass pandas series to pyarrow.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any


def hide_pandas_once() -> None:
    """Make pyarrow look for pandas now, and not find it.  Does nothing if pandas is already imported."""
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    sys.meta_path.insert(0, _NoPandas)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(_NoPandas)


class _NoPandas:
    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:  # noqa: ARG004
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


class ArrowFinder:
    """Import hook that hides pandas as soon as pyarrow is imported.  Most commands never import pyarrow."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == "pyarrow" else None
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            hide_pandas_once()

        loader: Any = spec.loader
        loader.exec_module = exec_module
        return spec
