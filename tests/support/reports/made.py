"""Types of the fixtures."""

from __future__ import annotations

from collections.abc import Callable

from history import RunFiles

Maker = Callable[..., RunFiles]
