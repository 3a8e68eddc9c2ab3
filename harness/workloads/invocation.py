"""The invocation of an operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Invocation:
    """An invocation: ``f``, ``key`` and ``value`` as in the history.

    ``final``: it is issued after everything was healed, when any node may answer it, in the strongest mode.
    """

    f: str
    key: str
    value: Any = None
    final: bool = False
