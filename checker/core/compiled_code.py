"""Tell engines whether compiled code is loaded, because their choice depends on it."""

from __future__ import annotations

from threading import Event
from typing import Final


class CompiledCode:
    """Whether the compiled code is loaded.  Short histories use it only then.

    Loading takes 0.3 s; the first compilation takes half a minute.  Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._loaded = Event()

    @property
    def ready(self) -> bool:
        return self._loaded.is_set()

    def mark_ready(self) -> None:
        """Mark compiled code as loaded."""
        self._loaded.set()


#: That of this process.
COMPILED: Final = CompiledCode()
