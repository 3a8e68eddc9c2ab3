"""The log alarm that all servers on a JVM have in common."""

from __future__ import annotations

from typing import Final

from harness.systems.api import Alarm

OUT_OF_MEMORY: Final = Alarm(
    pattern="OutOfMemoryError", meaning="the server exceeded the memory that the harness allows it",
    follows="harness", wanted_by=("memory-pressure",),
)  # fmt: skip
