"""Probe the status of every node four times a second, and keep the newest answers."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from harness.clients.wire import LostError, NotSentError, Wire
from history import Probe
from history.records.probes import leader_among, probes_header

PERIOD_S: Final = 0.25
TIMEOUT_S: Final = 1.0

#: history.Probe's field -> the status answer's.
_FIELDS: Final = {
    "role": "role",
    "term": "term",
    "leader": "leader",
    "ledger_begin": "ledgerBegin",
    "ledger_end": "ledgerEnd",
    "committed": "committed",
    "applied": "applied",
    "snapshots_saved": "snapshotsSaved",
    "snapshots_loaded": "snapshotsLoaded",
    "clock_ms": "clockMs",
    "state_index": "stateIndex",
    "digest": "digest",
    "unapplied_oks": "unappliedOks",
    "apply_errors": "applyErrors",
    "reapplied": "reapplied",
    "undecodable": "undecodable",
    "fault": "fault",
    "pid": "pid",
}


def probe_of(answer: dict[str, Any], node: str, time_ns: int) -> Probe:
    """The probe in a status answer; one with ``error`` when the answer is not a status."""
    if answer.get("ok") is not True:
        return Probe(time_ns, node, error=str(answer.get("message", answer))[:200])
    known = {field: answer[name] for field, name in _FIELDS.items() if answer.get(name) is not None}
    if wrong := [f"{field} {value!r}" for field, value in known.items() if type(value) is not _kind(field)]:
        return Probe(time_ns, node, error=f"a status of the wrong shape: {', '.join(wrong)}"[:200])
    return Probe(time_ns, node, **known)


def _kind(field: str) -> type:
    return str if field in ("role", "leader", "digest", "fault") else int


class ProbeLog:
    """``probes.jsonl`` and the newest probe of each node; written from one thread, read from any.

    After a failed write the file is cut back to its last whole line and every later append raises the same error: half
    a line in the middle of a file would make all of it unreadable.
    """

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._size = 0
        self._failure: OSError | None = None
        self.latest: dict[str, Probe] = {}
        self.all: list[Probe] = []
        self._write(probes_header())

    def append(self, probe: Probe) -> None:
        """Raises OSError when the disk refuses it."""
        if self._failure is not None:
            raise self._failure
        self._write(json.dumps(probe.to_json(), separators=(",", ":")))
        self.latest = {**self.latest, probe.node: probe}
        self.all.append(probe)

    def _write(self, text: str) -> None:
        line = (text + "\n").encode()
        try:
            written = os.write(self._fd, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, f"only {written} of {len(line)} bytes were taken", "probes.jsonl")
        except OSError as error:
            self._failure = error
            os.ftruncate(self._fd, self._size)
            raise
        self._size += len(line)

    def sync(self) -> None:
        os.fdatasync(self._fd)

    def close(self) -> None:
        os.close(self._fd)

    def leader(self) -> str | None:
        """The leader by the newest probes."""
        newest = self.latest.values()
        return leader_among((probe.node, probe.term) for probe in newest if probe.answered and probe.role == "leader")


async def probe_forever(endpoints: Mapping[str, tuple[str, int]], log: ProbeLog, run_clock: Callable[[], int]) -> None:
    """Probe all nodes until cancelled; ``run_clock`` reads nanoseconds since the run's start."""
    async with asyncio.TaskGroup() as group:
        for node, (host, port) in endpoints.items():
            group.create_task(_probe_node(node, Wire(host, port), log, run_clock))


async def _probe_node(node: str, wire: Wire, log: ProbeLog, run_clock: Callable[[], int]) -> None:
    try:
        due = time.monotonic()
        while True:
            try:
                answer = await wire.ask({"op": "status"}, TIMEOUT_S)
                probe = probe_of(answer, node, run_clock())
            except (NotSentError, LostError) as error:
                probe = Probe(run_clock(), node, error=str(error))
            log.append(probe)
            due = max(due + PERIOD_S, time.monotonic())
            await asyncio.sleep(due - time.monotonic())
    finally:
        wire.close()
