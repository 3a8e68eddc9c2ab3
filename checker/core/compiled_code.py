"""Whether compiled code is loaded: an object that engines ask, and no import."""

from __future__ import annotations

from threading import Event
from typing import Final


class CompiledCode:
    """Whether compiled code is loaded: a short history uses it only then.

    Loading it takes 0.3 s, compiling it for the first time half a minute.  Safe to use from several threads.
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
