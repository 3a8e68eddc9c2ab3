"""The words for an operation: its model's, where that has some."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from history import Operation

#: What was asked and answered, in the words of the object that the operations are on; empty: its values say it.
Wording: TypeAlias = Callable[[Operation], str]


def by_values(_: Operation) -> str:
    """Put no operation into words."""
    return ""
