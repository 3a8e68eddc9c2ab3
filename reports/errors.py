"""Warnings, instead of exceptions, for parts of a run that cannot be read or drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from history.extras import missing_extra

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReportOutcome:
    """Paths of the files that were written, and one warning for each part that could not be read or drawn."""

    paths: list[Path]
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class Notes:
    """List of warnings without duplicates."""

    warnings: list[str] = field(default_factory=list)

    def add(self, sentence: str) -> None:
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def attempt(self, part: str, make: Callable[[], T], otherwise: T) -> T:
        """Return ``make()``; if it fails, add a warning that names ``part`` and return ``otherwise``."""
        try:
            return make()
        except Exception as error:  # noqa: BLE001 (a part that cannot be drawn must not cost the page or the verdict)
            missing = missing_extra(error) if isinstance(error, ModuleNotFoundError) else None
            self.add(f"{part}: {missing or f'{type(error).__name__}: {error}'}"[:500])
            return otherwise

    def attempt_list(self, part: str, make: Callable[[], list[T]]) -> list[T]:
        """Return ``make()`` as :meth:`attempt` does; if it fails, return an empty list."""
        return self.attempt(part, make, [])
