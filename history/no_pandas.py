"""Keep pyarrow from importing pandas, which takes longer than all else that a short command does.

Before it makes an array of a list, pyarrow asks whether the list is a pandas object, and for that it imports pandas
where it is installed, as PySpark needs it.  It asks only once: if there was no pandas then, it looks again only for
``to_pandas``.  So pandas is hidden while pyarrow asks for the first time.  Only for processes of our own: a program
that imports our packages may give pyarrow series of pandas.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any


def hide_pandas_once() -> None:
    """Let pyarrow ask for pandas now, and find none, unless it is loaded already."""
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
    """Finds pyarrow, and hides pandas from it as soon as it is loaded; most commands never load it."""

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
