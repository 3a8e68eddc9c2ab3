"""Compiled versions of the loops in ``transaction_loops``, by the same names."""

from __future__ import annotations

from types import FunctionType

from checker.kernels import transaction_loops
from history.compiled import compiled

globals().update(
    {name: compiled(loop) for name, loop in vars(transaction_loops).items() if isinstance(loop, FunctionType)}
)
