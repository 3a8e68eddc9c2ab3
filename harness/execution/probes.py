"""Probe the status of every node four times a second, and keep the newest answers."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final, get_args

from harness.systems.api import COUNTS, FIGURES, Prober
from history import Probe
from history.records.line_file import LineFile
from history.records.probes import WRONG_TYPE, Role, leader_now, probes_header

logger = logging.getLogger("harness.execution.probes")

PERIOD_S: Final = 0.25
TIMEOUT_S: Final = 1.0
#: How long (s) after its timeout a prober may take to answer, and how long it may take to close, before it is given up.
OVERDUE_S: Final = 10.0

#: Maps the name that a prober gives a figure to the field of a probe.
_FIELDS: Final[Mapping[str, str]] = {
    **{figure: figure for figure in FIGURES},
    **{count: count.partition(".")[2] for count in COUNTS},
}
_TEXTS: Final = frozenset({"role", "leader", "digest", "fault"})
#: Tables hold signed 64-bit integers.  A larger figure, such as -1 read as unsigned, does not fit.
_LARGEST: Final = 1 << 63
#: Longer texts are cut, because they arrive four times a second.
_LONGEST: Final = 200


def probe_of(figures: Mapping[str, Any], node: str, time_ns: int) -> Probe:
    """Return a probe with a node's figures.

    Figures that are not in FIGURES or COUNTS go into ``own``; None means unknown.  Raises ValueError for a figure of
    the wrong type, which would later break comparisons.
    """
    given = {name: value for name, value in figures.items() if value is not None}
    known = {name: value for name, value in given.items() if name in _FIELDS}
    if wrong := [f"{name} {value!r}" for name, value in known.items() if not _fits(name, value)]:
        raise ValueError(f"{WRONG_TYPE}: {', '.join(wrong)}"[:_LONGEST])
    own = {name: _plain(value) for name, value in given.items() if name not in _FIELDS}
    return Probe(time_ns, node, **{_FIELDS[name]: value for name, value in known.items()}, own=own)


def _fits(name: str, value: object) -> bool:
    if name == "role":
        return value in get_args(Role)
    return type(value) is str if name in _TEXTS else type(value) is int and -_LARGEST <= value < _LARGEST


def _plain(value: object) -> int | float | str:
    """Return a number unchanged and a boolean as 1 or 0; convert anything else to text."""
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value if type(value) in (int, float) else int(value)
    return str(value)[:_LONGEST]


class ProbeLog:
    """``probes.jsonl`` and the newest probe of each node; written from one thread, read from any."""

    def __init__(self, path: Path, members: Collection[str] = ()) -> None:
        """Open the file.  ``members`` store data or vote; if empty, all probed nodes do."""
        self._members = members
        self._file = LineFile(path)
        self.latest: dict[str, Probe] = {}
        self.all: list[Probe] = []
        #: Those of members: any other node, such as a metadata server, may have a log of its own.
        self.of_members: list[Probe] = []
        #: The nodes that ever reported an applied index, even if it was 0.
        self.applying: set[str] = set()
        self._write(probes_header())

    @property
    def logless(self) -> list[str]:
        """The members that answered but never reported an applied index, such as arbiters."""
        return sorted({probe.node for probe in self.of_members if probe.answered} - self.applying)

    def append(self, probe: Probe) -> None:
        """Write a probe to the file. Raises OSError if this or an earlier write fails."""
        self._write(json.dumps(probe.to_json(), separators=(",", ":")))
        self.latest = {**self.latest, probe.node: probe}
        self.all.append(probe)
        if not self._members or probe.node in self._members:
            self.of_members.append(probe)

    def _write(self, text: str) -> None:
        self._file.write((text + "\n").encode())

    def sync(self) -> None:
        self._file.sync()

    def close(self) -> None:
        self._file.close()

    def leader(self) -> str | None:
        """Return the leader according to the newest probes."""
        return leader_now(self.latest, self._members or self.latest.keys())


async def probe_forever(probers: Mapping[str, Prober], log: ProbeLog, run_clock: Callable[[], int]) -> None:
    """Probe all nodes until cancelled; ``run_clock`` returns nanoseconds since the run's start."""
    async with asyncio.TaskGroup() as group:
        for node, prober in probers.items():
            group.create_task(_probe_node(node, prober, log, run_clock))
        await asyncio.Event().wait()  # run until cancelled, even without probers


async def _probe_node(node: str, prober: Prober, log: ProbeLog, run_clock: Callable[[], int]) -> None:
    try:
        due = time.monotonic()
        while True:
            try:
                async with asyncio.timeout(TIMEOUT_S + OVERDUE_S) as limit:
                    figures = await prober.ask(TIMEOUT_S)
                probe = probe_of(figures, node, run_clock())
                if figures.get("applied") is not None:
                    log.applying.add(node)
            except (OSError, ValueError) as error:
                late = f"its prober had not returned {OVERDUE_S:g} s after its timeout"
                probe = Probe(run_clock(), node, error=late if limit.expired() else str(error))
            log.append(probe)
            due = max(due + PERIOD_S, time.monotonic())
            await asyncio.sleep(due - time.monotonic())
    finally:
        try:
            async with asyncio.timeout(OVERDUE_S):
                await prober.close()
        except TimeoutError:
            logger.warning("the prober of %s did not close within %g s", node, OVERDUE_S)
