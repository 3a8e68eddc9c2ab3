"""``run.json``: times and failures of a run, written as they happen, so that a killed run shows how far it came."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

import msgspec

from harness.store import write_json
from history import FormatError
from history.json_object import read_object

STATE_FORMAT: Final = "harness-run"
STATE_VERSION: Final = 1

#: Moments of a run in the order in which they are reached; those of a restart only where one was asked for
#: (``restart_at_end``).
MOMENTS: Final = (
    "warm-up", "main", "main-end", "healed", "recovered", "quiet", "final-reads",
    "restarting", "restarted", "restarted-recovered", "restarted-reads", "restarted-quiet", "end",
)  # fmt: skip


@dataclass(slots=True)
class RunState:
    """``moments`` maps a name of MOMENTS to nanoseconds since the run's start; ``ended``: the run was not cut.

    ``stopped`` is the violation at which the run was stopped (``--stop-on-violation``).  ``unhealed`` are the faults
    that we could not heal, a sentence each: failures of ours, after which recovery says nothing of the system.
    ``standstills`` are the times (begin and end, nanoseconds since the run's start) in which this process itself stood
    still.  ``pace``: how well operations were issued when they were due, in ms and operations a second (``Load``).
    ``logless`` are the nodes that answered probes and never said ``applied``; probes do not show it, as they have -1
    for one that has applied nothing, too.  ``lag_ms``: for each second since the run's start the most by which the
    event loop woke a task late, standstills included.  ``ended_roles`` are the processes that did not run when the
    run's end was reached, names of roles by node, ``died_starting`` the nodes on which one ended while it was started.
    ``restart_failed`` is why the system did not serve again after the
    restart at the end: its finding, not ours.
    """

    path: Path | None = None
    moments: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    ended: bool = False
    stopped: str | None = None
    unhealed: list[str] = field(default_factory=list)
    standstills: list[tuple[int, int]] = field(default_factory=list)
    pace: dict[str, float] = field(default_factory=dict)
    lag_ms: list[float] = field(default_factory=list)
    ended_roles: dict[str, list[str]] = field(default_factory=dict)
    died_starting: list[str] = field(default_factory=list)
    restart_failed: str | None = None
    logless: list[str] = field(default_factory=list)
    _saved: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def reach(self, moment: str, time: int) -> None:
        """Record the time of a moment, once; written by the next :meth:`save`."""
        assert moment in MOMENTS
        self.moments.setdefault(moment, time)

    def fail(self, text: str) -> None:
        """Record a failure of the harness; the first one is the reason, later ones are consequences."""
        if text not in self.failures:
            self.failures.append(text)

    def warn(self, text: str) -> None:
        """Record a warning, once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def note_lag(self, due: int, now: int) -> None:
        """Record that the event loop, at ``now``, woke a task which was ``due`` (nanoseconds since the run's start)."""
        second, late = max(now, 0) // 10**9, round(max(now - due, 0) / 1e6, 1)
        self.lag_ms += [0.0] * (second + 1 - len(self.lag_ms))
        self.lag_ms[second] = max(self.lag_ms[second], late)

    def save(self) -> None:
        """Write what is not on the disk yet; from one thread at a time.  Waits for the disk.  Raises OSError."""
        if self.path is None:
            return
        # Copies: other threads go on noting.
        recorded = {name: copy(getattr(self, name)) for name in _RECORDED}
        record = {"format": STATE_FORMAT, "version": STATE_VERSION, **recorded}
        if record != self._saved:
            write_json(self.path, record)
            self._saved = record

    @classmethod
    def read(cls, path: Path) -> RunState:
        """The state in a file; an empty one that has not ended if there is none.  Raises ValueError."""
        try:
            return cls.from_json(read_object(path), path)
        except FormatError:
            raise
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    @classmethod
    def from_json(cls, record: Mapping[str, Any], path: Path) -> RunState:
        """The state in the record of a file, which ``path`` names; an empty one if there is no file."""
        if not record and not path.exists():
            return cls()
        whole = all(name in record for name in _ALWAYS)
        if not whole or (record.get("format"), record.get("version")) != (STATE_FORMAT, STATE_VERSION):
            raise FormatError(str(path), "the file", f"expected {STATE_FORMAT} version {STATE_VERSION}")
        try:
            return msgspec.convert({name: record[name] for name in _RECORDED if name in record}, cls)
        except msgspec.ValidationError as error:
            raise FormatError(str(path), "the file", str(error)) from None


_RECORDED: Final = tuple(one.name for one in fields(RunState) if one.name not in ("path", "_saved"))
#: What the first release recorded already.
_ALWAYS: Final = ("moments", "failures", "warnings", "environment", "interrupted", "ended")
