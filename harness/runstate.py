"""``run.json``: times and failures of a run, written as they happen, so that even a killed run shows how far it got."""

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

#: Moments of a run in the order in which they are reached.  Those of a restart occur only with ``restart_at_end``.
MOMENTS: Final = (
    "warm-up", "main", "main-end", "healed", "recovered", "quiet", "final-reads",
    "restarting", "restarted", "restarted-recovered", "restarted-reads", "restarted-quiet", "end",
)  # fmt: skip


@dataclass(slots=True)
class RunState:
    """How far a run got, and what went wrong.

    - ``moments``: names from MOMENTS, and their nanoseconds since the run's start.
    - ``ended``: whether the run reached its end.
    - ``stopped``: the violation at which the run was stopped (``--stop-on-violation``).
    - ``unhealed``: one sentence for each fault that the harness could not heal.  After such a failure, recovery says
      nothing about the system.
    - ``standstills``: periods (begin and end in nanoseconds since the run's start) in which this process itself was
      stalled.
    - ``pace``: how punctually operations were issued, in ms and operations per second (``Load``).
    - ``lag_ms``: the largest delay of a task's wake-up in each second since the run's start, stalls included.
    - ``ended_roles``: nodes, and the roles whose processes were not running at the run's end.
    - ``died_starting``: the nodes on which a process exited during the last start.
    - ``restart_failed``: why the system did not serve again after the restart at the end.  This counts as a finding
      about the system, not as a harness failure.
    - ``logless``: the nodes that answered probes but never reported ``applied``.  Probes cannot show this, because they
      also have -1 for a node that has applied nothing.
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
        """Record that a moment was reached now, unless it is recorded already.  The next :meth:`save` writes it."""
        assert moment in MOMENTS
        self.moments.setdefault(moment, time)

    def fail(self, text: str) -> None:
        """Record a harness failure.  The first one is the reason, later ones are consequences."""
        if text not in self.failures:
            self.failures.append(text)

    def warn(self, text: str) -> None:
        """Record a warning, once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def note_lag(self, due: int, now: int) -> None:
        """Record that the event loop woke a task at ``now`` which was ``due`` earlier (nanoseconds since run start)."""
        second, late = max(now, 0) // 10**9, round(max(now - due, 0) / 1e6, 1)
        self.lag_ms += [0.0] * (second + 1 - len(self.lag_ms))
        self.lag_ms[second] = max(self.lag_ms[second], late)

    def save(self) -> None:
        """Write the state to disk if it has changed, and wait for the disk.

        Call it from one thread at a time.  Raises OSError.
        """
        if self.path is None:
            return
        # Copy the values, because other threads may be changing them.
        recorded = {name: copy(getattr(self, name)) for name in _RECORDED}
        record = {"format": STATE_FORMAT, "version": STATE_VERSION, **recorded}
        if record != self._saved:
            write_json(self.path, record)
            self._saved = record

    @classmethod
    def read(cls, path: Path) -> RunState:
        """Read the state from a file; without a file, return an empty state that has not ended.  Raises ValueError."""
        try:
            return cls.from_json(read_object(path), path)
        except FormatError:
            raise
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    @classmethod
    def from_json(cls, record: Mapping[str, Any], path: Path) -> RunState:
        """Return the state in a file's record, or an empty state if there is no file.

        ``path`` names the file.  Raises FormatError.
        """
        if not record and not path.exists():
            return cls()
        if (record.get("format"), record.get("version")) != (STATE_FORMAT, STATE_VERSION):
            raise FormatError(str(path), "the file", f"expected {STATE_FORMAT} version {STATE_VERSION}")
        try:
            return msgspec.convert({name: record[name] for name in _RECORDED if name in record}, cls)
        except msgspec.ValidationError as error:
            raise FormatError(str(path), "the file", str(error)) from None


_RECORDED: Final = tuple(setting.name for setting in fields(RunState) if setting.name not in ("path", "_saved"))
