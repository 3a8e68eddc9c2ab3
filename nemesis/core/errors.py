"""The exceptions of the nemesis package.

::

    FaultError            a fault was tried, and nothing proves that it is active or gone
    SkippedError          a fault was not tried, for this reason
     └─ NotYetError       … but it may be possible a moment later (no leader is known just now)
    UnknownFaultError     no fault has this name                                (a KeyError)
    ScheduleError         a schedule that is impossible                         (a ValueError)
    OptionError           an unknown option, or a value out of bounds (a ValueError)

Every other exception (a node that cannot be reached, a full disk) is a harness failure, and is raised unchanged
after an attempt to heal.
"""

from __future__ import annotations

from collections.abc import Iterable

from history.schema import suggestion


class FaultError(Exception):
    """A fault was tried and its effect is in doubt: its receipt is ``indeterminate``."""


class SkippedError(Exception):
    """A fault was not tried: its receipt is ``skipped``."""


class NotYetError(SkippedError):
    """A fault has no target right now, but may have one shortly."""


class UnknownFaultError(KeyError):
    """No fault has this name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.message = f"there is no nemesis {name!r}; {suggestion(name, known)}".removesuffix("; ")
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


class ScheduleError(ValueError):
    """An impossible schedule: for example, it exceeds its time limit or heals a fault that it never injected."""


class OptionError(ValueError):
    """An unknown option of a fault, or a value out of bounds."""
