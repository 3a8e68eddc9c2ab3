"""The run that is under way: what it has recorded so far, read incrementally as its files grow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from history import FormatError, RunFiles
from history.recording import Recording
from history.records.events import NEMESIS, Event, read_event
from history.records.probes import Probe, leader_now, read_probe
from history.records.receipts import receipts_of
from history.safe_open import open_below

#: The latest seconds that are drawn.
SHOWN_S: Final = 120
#: Most bytes of a file that one look reads; a file that grew by more is read by several looks.
MAX_READ: Final = 8 << 20
OUTCOMES: Final = ("ok", "fail", "info")


#: Takes each event of a run in order; returns a sentence at the event that completes the first violation.
Watch = Callable[[Event], str | None]


class Second(NamedTuple):
    """The number of operations that ended in the second starting at ``start``, by outcome."""

    start: int
    ok: int
    fail: int
    info: int


class Band(NamedTuple):
    """A fault that is or was active, in seconds; ``end`` is None while it is active."""

    fault: str
    start: float
    end: float | None


@dataclass(frozen=True, slots=True)
class Overview:
    """A run at one time: its age in seconds, its latest seconds, faults, leaders and nodes.

    - ``leaders``: the time (s) from which each leader led, and its node.
    - ``violation``: the first violation that the monitor found, and when (s); None if there is none so far.
    - ``stopped``: the violation at which the monitor stopped the run; empty if it did not.
    - ``unreadable``: how many lines could not be read and are left out, and the error of the first.
    """

    place: str
    age_s: float
    seconds: list[Second]
    bands: list[Band]
    leaders: list[tuple[float, str]]
    nodes: list[Probe]
    violation: tuple[float, str] | None
    stopped: str
    unreadable: tuple[int, str]

    @property
    def start(self) -> int:
        """The first second that is drawn."""
        return first_shown(self.age_s)

    @property
    def top(self) -> int:
        """The highest number of operations in any second."""
        return max((second.ok + second.fail + second.info for second in self.seconds), default=1)

    @property
    def standing(self) -> list[str]:
        return [band.fault for band in self.bands if band.end is None]


def first_shown(age_s: float) -> int:
    """Return the first second that is drawn, because only the latest ones are."""
    return max(int(age_s) + 1 - SHOWN_S, 0)


class LiveRun:
    """The records of one run; each :meth:`look` reads only what was appended since the last one.

    ``watch`` receives every event until it finds a violation.
    """

    def __init__(self, root: Path, watch: Watch | None = None) -> None:
        self._files = RunFiles(root)
        self._watch = watch
        self._violation: tuple[float, str] | None = None
        self._unreadable = (0, "")
        self._lock = threading.Lock()
        self._read: dict[Path, tuple[int, int]] = {}
        self._seconds: dict[int, list[int]] = {}
        self._nemesis: list[Event] = []
        self._newest: dict[str, Probe] = {}
        self._leaders: list[tuple[float, str]] = []
        self._last = 0

    def look(self) -> Overview:
        """Return the run as it is now.  Raises OSError, and FormatError for links and the like."""
        with self._lock:
            for see, path in ((self._see_event, self._files.history), (self._see_probe, self._files.probes)):
                for number, line in self._new_lines(path):
                    try:
                        see(number, line)
                    except FormatError as error:  # one bad line must not cost those after it
                        count, first = self._unreadable
                        self._unreadable = count + 1, first or str(error)
            age = self._last / 1e9
            shown = sorted(second for second in self._seconds if second >= first_shown(age))
            return Overview(
                place=f"{self._files.root.parent.name}/{self._files.root.name}",
                age_s=age,
                seconds=[Second(second, *self._seconds[second]) for second in shown],
                bands=[
                    Band(receipt.fault, receipt.started / 1e9, None if receipt.healed is None else receipt.healed / 1e9)
                    for receipt in receipts_of(self._nemesis)
                    if receipt.state != "skipped"
                ],
                leaders=list(self._leaders),
                nodes=[self._newest[node] for node in sorted(self._newest)],
                violation=self._violation,
                stopped=str(Recording(self._files.root).lenient("state").get("stopped") or ""),
                unreadable=self._unreadable,
            )

    def _new_lines(self, path: Path) -> Iterator[tuple[int, bytes]]:
        """Yield the whole lines that were appended, with their numbers, but never the header."""
        offset, number = self._read.get(path, (0, 0))
        try:
            file = open_below(self._files.root, path)
        except FileNotFoundError:
            return
        with file:
            file.seek(offset)
            data = file.read(MAX_READ)
        whole = data[: data.rfind(b"\n") + 1]
        lines = whole.splitlines(keepends=True)
        self._read[path] = (offset + len(whole), number + len(lines))
        for place, line in enumerate(lines, start=number + 1):
            if place > 1:
                yield place, line

    def _see_event(self, number: int, line: bytes) -> None:
        event = read_event(line, self._files.history, number)
        self._last = max(self._last, event.time)
        if event.process == NEMESIS:
            self._nemesis.append(event)
        elif event.type in OUTCOMES:
            counts = self._seconds.setdefault(event.time // 10**9, [0, 0, 0])
            counts[OUTCOMES.index(event.type)] += 1
        if self._watch is not None and (text := self._watch(event)) is not None:
            self._violation = event.time / 1e9, text
            self._watch = None

    def _see_probe(self, number: int, line: bytes) -> None:
        probe = read_probe(line, self._files.probes, number)
        self._newest[probe.node] = probe
        self._last = max(self._last, probe.time)
        leader = leader_now(self._newest, self._newest.keys())
        if leader is not None and (not self._leaders or self._leaders[-1][1] != leader):
            self._leaders.append((probe.time / 1e9, leader))
