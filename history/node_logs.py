"""Excerpts of the nodes' logs around a given time, and the ends of logs when a run died.

Log lines carry wall-clock times.  The history's header says when the run started, which relates the two.  A line
without a time (in a stack trace) belongs to the one above it.  Files are searched by bisection, because a lagging node
writes megabytes.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from history.log_times import stamp_of
from history.recording import LOG_LINE, Recording
from history.records.layout import RunFiles
from history.records.log_words import LogWords

_LEVEL: Final = re.compile(r"\b(ERROR|WARN|INFO|DEBUG|TRACE)\b")
#: Words that matter in any system's log; each system adds its own (``history.records.log_words``).
_IMPORTANT: Final = r"truncate|[Ss]napshot|Exception|OutOfMemory"
_FRAME: Final = re.compile(r"^\s+at |^\s+\.\.\. \d+ more")
#: A number by itself, or a long one at the end of a word; the digits in n3 or fetcher-n5 are part of a name.
_COUNTED: Final = r"(?<![A-Za-z0-9])\d+|(?<=[A-Za-z])\d{3,}"
_LOG_NAME: Final = re.compile(r"\.log(\.\d+)?$")
_NEWEST_NAME: Final = re.compile(r"\.log$")
MAX_LINE: Final = 400
#: How many bytes at the end of a file are read to get its last lines.
_TAIL_BYTES: Final = 65536
#: If logs have more bytes than this, only the lines around moments of interest are read.
MAX_BYTES: Final = 24_000_000
#: A line that a node repeats this often in an excerpt probably shows where the node is stuck.
OFTEN: Final = 1000


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a node's log.

    ``seconds`` since the run's start; ``level`` is empty if the line names none.

    ``times``: how often the node wrote this line, ignoring its numbers, during the excerpt; ``last``: when it last
    did (s).

    ``important``: it contains words that matter; ``of_replication``: a leader changes how it feeds a follower.

    ``stamp``: length of the timestamp at the start of the text, in characters.
    """

    node: str
    file: str
    seconds: float
    level: str
    text: str
    times: int = 1
    last: float = 0.0
    important: bool = False
    of_replication: bool = False
    stamp: int = 0

    @property
    def weight(self) -> int:
        return (2 if self.level == "ERROR" else 1 if self.level == "WARN" else 0) + (2 if self.important else 0)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The log lines of ``nodes`` from ``start`` to ``end`` (seconds), in order.

    ``left_out`` is the number of lines that are not shown; similar lines are merged and counted, not left out.
    ``silent`` are the nodes that logged nothing in that time.
    """

    nodes: tuple[str, ...]
    start: float
    end: float
    lines: tuple[LogLine, ...]
    left_out: int

    @property
    def silent(self) -> tuple[str, ...]:
        return tuple(node for node in self.nodes if all(line.node != node for line in self.lines))


def around(
    run: RunFiles | Recording,
    started: str,
    event: tuple[float, float],
    nodes: Sequence[str],
    room: tuple[float, float],
    limit: int,
) -> Excerpt:
    """Return the log lines of some nodes nearest to an event (its start and end), sharing ``limit`` among the nodes.

    ``room``: seconds before and after the event that are searched.  Stack traces are reduced to the exception.
    """
    start, end, origin = max(event[0] - room[0], 0.0), event[1] + room[1], _origin(started)
    chosen, recording = tuple(dict.fromkeys(nodes)), Recording.of(run)
    if origin is None:
        return Excerpt((), start, end, (), 0)
    raw = [
        line
        for node, path in log_files(recording.files)
        if node in chosen
        for line in _between(node, path, recording, origin, start, end)
    ]
    share = max(limit // max(len(chosen), 1), 4)
    counted = _counted(recording.files, chosen)
    mine = {node: [line for line in raw if line.node == node] for node in chosen}
    nearest = [line for node in chosen for line in _nearest(mine[node], event, share, counted)]
    shown = sorted(nearest, key=lambda line: (line.seconds, line.node))
    return Excerpt(chosen, start, end, tuple(shown), len(raw) - sum(line.times for line in shown))


def _nearest(raw: Sequence[LogLine], event: tuple[float, float], share: int, counted: re.Pattern[str]) -> list[LogLine]:
    """Choose the lines nearest to the event; half of the share is reserved for important ones."""

    def away(line: LogLine) -> float:
        return max(event[0] - line.seconds, line.seconds - event[1], 0.0)

    kinds = sorted(_collapsed((line for line in raw if not _FRAME.match(line.text)), away, counted), key=away)
    important = [line for line in kinds if line.weight][: share // 2]
    return important + [line for line in kinds if line not in important][: share - len(important)]


def excerpt(run: RunFiles | Recording, started: str, start_s: float, end_s: float, limit: int = 60) -> list[LogLine]:
    """Return the lines of all nodes between two times without noise, but at most the ``limit`` most important ones.

    Lines that are repeated very often (:data:`OFTEN`) come first, most frequent first; the rest is in order of
    time.
    """
    origin = _origin(started)
    if origin is None:
        return []
    recording = Recording.of(run)
    named = log_files(recording.files)
    lines = (line for node, path in named for line in _between(node, path, recording, origin, start_s, end_s))
    kinds = _collapsed(lines, lambda line: line.seconds, _counted(recording.files))
    ranked = sorted(kinds, key=lambda line: (-line.weight - (2 if line.times >= OFTEN else 0), line.seconds))
    return sorted(ranked[:limit], key=lambda line: (-line.times if line.times >= OFTEN else 0, line.seconds, line.node))


def over_the_run(run: RunFiles | Recording, started: str, lines: Sequence[LogLine]) -> list[LogLine]:
    """Count lines over the whole run: how often, and when first and last, a node logged the same line.

    Lines without a date are returned unchanged, because nothing says when similar lines were logged.
    """
    origin = _origin(started)
    if origin is None:
        return list(lines)
    recording = Recording.of(run)
    counted = _counted(recording.files)
    shapes = {(line.node, _shape(line.text[line.stamp :], counted)): line for line in lines if line.stamp}
    tallies = {
        key: _Times(max(re.split("#", key[1]), key=len).encode(errors="replace")) for key in shapes if "…" not in key[1]
    }
    for node, path in log_files(recording.files):
        mine = [(shape, times) for (of, shape), times in tallies.items() if of == node]
        if mine:
            with recording.log(path) as source:
                _count_in(source, origin, counted, mine)
    whole = {
        id(shapes[key]): replace(
            shapes[key], text=times.text, stamp=times.stamp, times=times.count, seconds=times.first, last=times.last
        )
        for key, times in tallies.items()
        if times.count
    }
    return [whole.get(id(line), line) for line in lines]


@dataclass(slots=True)
class _Times:
    """Count and times (s) of the lines whose shape has this ``fragment``; ``text`` and ``stamp`` of the earliest."""

    fragment: bytes
    text: str = ""
    stamp: int = 0
    count: int = 0
    first: float = 0.0
    last: float = 0.0


@dataclass(slots=True)
class _Repeated:
    """Lines of one log that differ only in their dates: how many, and the lowest and highest date as written."""

    count: int
    lowest: bytes
    highest: bytes


def _count_in(source: BinaryIO, origin: float, counted: re.Pattern[str], shapes: Sequence[tuple[str, _Times]]) -> None:
    # A stuck node writes hundreds of thousands of lines: only the dates that may be first or last are parsed.
    repeated: dict[bytes, _Repeated] = {}
    end = 0
    for line in _lines(source):
        known = repeated.get(line[end:])
        if known is None:
            if not any(times.fragment in line for _, times in shapes) or (stamp := stamp_of(line, origin)) is None:
                continue
            end = stamp.end
            known = repeated.setdefault(line[end:], _Repeated(0, line[:end], line[:end]))
        date = line[:end]
        known.count += 1
        known.lowest, known.highest = min(known.lowest, date), max(known.highest, date)
    for body, lines in repeated.items():
        ends = {date + body: stamp_of(date + body, origin) for date in (lines.lowest, lines.highest)}
        dated = sorted((stamp.moment - origin, stamp.end, _text(line)) for line, stamp in ends.items() if stamp)
        shape = _shape(dated[0][2][dated[0][1] :], counted)
        for own, times in shapes:
            if own != shape:
                continue
            if not times.count or dated[0][0] < times.first:
                times.first, times.stamp, times.text = dated[0]
            times.last = max(times.last, dated[-1][0])
            times.count += lines.count


def _shape(text: str, counted: re.Pattern[str]) -> str:
    """Return a line without the numbers in which similar lines differ."""
    return counted.sub(lambda match: "#" if match[1] else match[0], text)


def by_second(run: RunFiles | Recording, started: str, start_s: float, end_s: float) -> list[LogLine]:
    """Return the important lines of nodes and harness between two times, merging similar ones in each second."""
    origin = _origin(started)
    if origin is None:
        return []
    recording = Recording.of(run)
    files = recording.files
    named = [*log_files(files), *([("", files.log)] if files.log.is_file() and not files.log.is_symlink() else [])]
    merged, counted = list[LogLine](), _counted(files)
    for node, path in named:
        lines = (
            line for line in _between(node, path, recording, origin, start_s, end_s) if not _FRAME.match(line.text)
        )
        kept = (line for line in lines if line.weight or line.of_replication)
        for _, same in groupby(kept, key=lambda line: int(line.seconds)):
            merged += _collapsed(same, lambda line: line.seconds, counted)
    return merged


def merged(moments: Iterable[float], room_s: float) -> list[tuple[float, float]]:
    """Return the periods within ``room_s`` seconds of any given time, without overlaps, in order."""
    spans: list[tuple[float, float]] = []
    for moment in sorted(moments):
        start, stop = max(moment - room_s, 0.0), moment + room_s
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], stop)
        else:
            spans.append((start, stop))
    return spans


def _counted(files: RunFiles, nodes: Iterable[str] = ()) -> re.Pattern[str]:
    """Compile a pattern that skips node names and captures the numbers in which similar lines may differ."""
    below = files.nodes.iterdir() if files.nodes.is_dir() else ()
    names = sorted({*nodes, *(folder.name for folder in below)}, key=len, reverse=True)
    kept = "".join(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])|" for name in names)
    return re.compile(f"{kept}({_COUNTED})")


def _collapsed(lines: Iterable[LogLine], rank: Callable[[LogLine], float], counted: re.Pattern[str]) -> list[LogLine]:
    """Merge each node's lines that differ only in their numbers: keep the one with the lowest rank, with a count."""
    kept: dict[tuple[str, str], LogLine] = {}
    counts: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], float] = {}
    shapes: dict[str, str] = {}
    for line in lines:
        text = line.text[line.stamp :]
        if text not in shapes:
            shapes[text] = _shape(text, counted)
        shape = (line.node, f"{line.stamp > 0} {shapes[text]}")
        counts[shape] += 1
        last[shape] = max(line.seconds, last.get(shape, line.seconds))
        if shape not in kept or rank(line) < rank(kept[shape]):
            kept[shape] = line
    return [replace(line, times=counts[shape], last=last[shape]) for shape, line in kept.items()]


def log_files(files: RunFiles, *, rotated: bool = True) -> list[tuple[str, Path]]:
    """Return (node, path) for every collected log, or only the newest unless ``rotated``; links are not followed."""
    if not files.nodes.is_dir():
        return []
    wanted = _LOG_NAME if rotated else _NEWEST_NAME
    folders = [Path(folder) for folder, *_ in os.walk(files.nodes)] if not files.nodes.is_symlink() else []
    inside = (path for folder in folders if folder != files.nodes for path in folder.glob("*.log*"))
    paths = sorted(path for path in inside if path.is_file() and not path.is_symlink())
    return [(path.relative_to(files.nodes).parts[0], path) for path in paths if wanted.search(path.name)]


def tail(recording: Recording, path: Path, lines: int) -> list[str]:
    """Return at most this many of the last lines of a log, from its last 64 KiB. Raises OSError and UnsafeFileError."""
    with recording.log(path) as source:
        source.seek(max(source.seek(0, os.SEEK_END) - _TAIL_BYTES, 0))
        return [_text(line) for line in source.read(_TAIL_BYTES).splitlines()[-lines:]]


def seconds_of(line: str, started: str) -> float | None:
    """Return when a line was logged, in seconds since the run's start; None if the line has no date."""
    if (origin := _origin(started)) is None or (stamp := stamp_of(line.encode(), origin)) is None:
        return None
    return stamp.moment - origin


def _origin(started: str) -> float | None:
    try:
        moment = datetime.fromisoformat(started)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


@dataclass(frozen=True, slots=True)
class _Words:
    """Patterns that give log lines their meaning; None if the system declares none."""

    important: re.Pattern[str]
    noise: re.Pattern[str] | None
    replication: re.Pattern[str] | None


def _words(recording: Recording) -> _Words:
    """Return the patterns of the run's system from its results; for an unjudged run, those of any system."""
    return _compiled(LogWords.of_results(recording.lenient("results")))


@lru_cache(maxsize=8)
def _compiled(declared: LogWords) -> _Words:
    important = re.compile(f"{_IMPORTANT}|{declared.milestones}" if declared.milestones else _IMPORTANT)
    noise, replication = (re.compile(text) if text else None for text in (declared.noise, declared.replication))
    return _Words(important, noise, replication)


def _between(
    node: str, path: Path, recording: Recording, origin: float, start_s: float, end_s: float
) -> Iterator[LogLine]:
    words = _words(recording)
    with recording.log(path) as source:
        source.seek(_bisect(source, source.seek(0, os.SEEK_END), origin, origin + start_s))
        now: float | None = None
        meanings: dict[str, _Meaning | None] = {}
        for line in _lines(source):
            stamped = stamp_of(line, origin)
            now = stamped.moment if stamped else now
            if now is None or now < origin + start_s:
                continue
            if now > origin + end_s:
                return
            text, stamp = _text(line), stamped.end if stamped else 0
            # A stuck node repeats the same line with different times, so classify each distinct text once.
            if (body := text[stamp:]) not in meanings:
                meanings[body] = _meaning(text, words)
            if (meaning := meanings[body]) is not None:
                yield LogLine(
                    node, path.name, now - origin, meaning.level, text,
                    important=meaning.important, of_replication=meaning.of_replication, stamp=stamp,
                )  # fmt: skip


class _Meaning(NamedTuple):
    """Fields of a ``LogLine`` that depend only on its words."""

    level: str
    important: bool
    of_replication: bool


def _meaning(text: str, words: _Words) -> _Meaning | None:
    """Return the meaning of a line, which does not depend on its time; None if the line is noise."""
    if words.noise and words.noise.search(text):
        return None
    level = _LEVEL.search(text)
    of_replication = bool(words.replication and words.replication.search(text))
    return _Meaning(level.group(1) if level else "", bool(words.important.search(text)), of_replication)


def _bisect(source: BinaryIO, size: int, origin: float, moment: float) -> int:
    """Return an offset at most one block before the first line at or after a given time."""
    low, high = 0, size
    while high - low > 65536:
        middle = (low + high) // 2
        source.seek(middle)
        source.readline(LOG_LINE)
        stamp = next((dated for line in _lines(source) if (dated := stamp_of(line, origin)) is not None), None)
        if stamp is None or stamp.moment >= moment:
            high = middle
        else:
            low = middle
    return low if low == 0 else _line_start(source, low)


def _line_start(source: BinaryIO, place: int) -> int:
    source.seek(place, os.SEEK_SET)
    source.readline(LOG_LINE)
    return source.tell()


def _lines(source: BinaryIO) -> Iterator[bytes]:
    return iter(partial(source.readline, LOG_LINE), b"")


def _text(line: bytes) -> str:
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    return text if len(text) <= MAX_LINE else text[: MAX_LINE - 1] + "…"


def without_dates(recording: Recording, started: str, nodes: Sequence[str]) -> tuple[str, str] | None:
    """Return the first of these nodes with a log, and the log's name, if the last lines of that log have no dates."""
    for node, path in log_files(recording.files, rotated=False):
        if node in nodes:
            dated = any(seconds_of(line, started) is not None for line in tail(recording, path, 12))
            return None if dated else (node, path.name)
    return None
