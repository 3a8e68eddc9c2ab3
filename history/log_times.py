"""The dates of log lines, in the formats that servers write.

========================  ==============================================================================
ISO 8601, Go, PostgreSQL  ``2026-11-26 21:12:01.282 UTC [1813] LOG:``, ``2026/11/26 21:11:31``, Kafka's in brackets
a process id before it    NATS ``[788] 2026/11/26 21:11:31.527983``, Redis ``684:M 26 Nov 2026 21:11:25.488``
a level before it         Cassandra ``INFO  [main] 2026-11-26 21:11:31,527``, ``[WARN] 2026-11-26T21:11:31Z``
an hour of one digit      MariaDB ``2026-11-26  9:12:01 0 [Note]``
a colour before it        Rust's tracing ``ESC[2m2026-11-26T21:11:31.527983Z``
syslog                    ``Nov 26 21:12:01 n1 etcd[7]:``, after ``<34>`` or not; RFC 5424 ``<34>1 2026-11-26T…``
glog, klog                ``I1126 21:12:01.282000 7 raft.go:5]``, also with a year
seconds since 1970        ``1795727521.282``, in milli-, micro- and nanoseconds without the point
a field                   etcd ``{"level":"info","ts":"2026-11-26T21:11:28.555Z"``, ``level=info ts=1795727521.2``
========================  ==============================================================================

A date without a zone is taken as UTC.  A date without a year gets the year that brings it nearest to the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple

_CLOCK: Final = rb"(\d?\d:\d\d:\d\d)(?:[.,](\d{1,9}))?"
_DATE: Final = rb"(\d{4})[-/](\d\d)[-/](\d\d)[ T] ?" + _CLOCK + rb"(?: ?(Z|UTC|GMT|[+-]\d\d:?\d\d)\b)?"
_MONTHS: Final = (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec")
_MONTH: Final = b"(" + b"|".join(_MONTHS) + b")"
_LEVEL: Final = rb"\W?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\W{1,3}(?:\[[^]]{1,100}\] {1,2})?"
#: Text that may come before a date: a process id, a syslog priority, a level and a thread, a colour, a bracket or a
#: quotation mark.
_BEFORE: Final = rb"(?:\[\d+\] |\x1b\[[\d;]+m|\d+:[A-Z] |<\d{1,3}>\d? ?|" + _LEVEL + rb"|\W{0,2})"
_EPOCH: Final = rb"(\d{10})(?:[.,](\d{1,9})|((?:\d{3}){1,3}))?(?!\d)"
#: Names of the field that holds a structured line's time, and how many bytes of the line are searched for it.
_FIELD: Final = rb'[{,\s]"?(?:ts|time|timestamp|@timestamp|\$date)"?\s?[:=]\s?"?'
_FIELD_BYTES: Final = 400
_STRUCTURED: Final = re.compile(rb"\{|[\w@]+=")
#: A number counts as a timestamp only if it is within this many seconds of the run.
_NEAR_S: Final = 30 * 86_400


class Stamp(NamedTuple):
    """Time at which a line was logged (s since 1970); ``end`` is the length of a leading timestamp in bytes, else 0."""

    moment: float
    end: int


def stamp_of(line: bytes, origin: float) -> Stamp | None:
    """Return the date of a log line, or None; ``origin`` is when the run started (s since 1970)."""
    for pattern, moment_of in _AT_THE_BEGINNING:
        if (match := pattern.match(line)) is not None and (moment := moment_of(match, origin)) is not None:
            return Stamp(moment, match.end())
    if _STRUCTURED.match(line) is None:
        return None
    fields = b" " + line[:_FIELD_BYTES]
    for pattern, moment_of in _IN_A_FIELD:
        if (match := pattern.search(fields)) is not None and (moment := moment_of(match, origin)) is not None:
            return Stamp(moment, 0)
    return None


_Found = re.Match[bytes]


def _dated(match: _Found, _origin: float) -> float | None:
    year, month, day, clock, fraction, zone = match.groups()
    return _moment(int(year), int(month), int(day), clock, fraction, zone)


def _day_month(match: _Found, origin: float) -> float | None:
    day, month, year, clock, fraction = match.groups()
    return _of_year(year, _MONTHS.index(month) + 1, int(day), clock, fraction, origin)


def _month_day(match: _Found, origin: float) -> float | None:
    month, day, year, clock, fraction = match.groups()
    return _of_year(year, _MONTHS.index(month) + 1, int(day), clock, fraction, origin)


def _glog(match: _Found, origin: float) -> float | None:
    year, month, day, clock, fraction = match.groups()
    return _of_year(b"20" + year if year and len(year) == 2 else year, int(month), int(day), clock, fraction, origin)


def _epoch(match: _Found, origin: float) -> float | None:
    whole, *fractions = match.groups()
    fraction = fractions[0] or fractions[1]
    moment = float(whole) + (float(b"0." + fraction) if fraction else 0.0)
    return moment if abs(moment - origin) < _NEAR_S else None


def _of_year(
    year: bytes | None, month: int, day: int, clock: bytes, fraction: bytes | None, origin: float
) -> float | None:
    if year:
        return _moment(int(year), month, day, clock, fraction)
    started = datetime.fromtimestamp(origin, UTC).year
    moments = (_moment(candidate, month, day, clock, fraction) for candidate in (started - 1, started, started + 1))
    return min((time for time in moments if time is not None), key=lambda time: abs(time - origin), default=None)


def _moment(
    year: int, month: int, day: int, clock: bytes, fraction: bytes | None, zone: bytes | None = None
) -> float | None:
    whole = _second(year, month, day, clock, zone)
    return None if whole is None else whole + (float(b"0." + fraction) if fraction else 0.0)


@lru_cache(maxsize=1024)  # a stuck node logs thousands of lines in a second
def _second(year: int, month: int, day: int, clock: bytes, zone: bytes | None) -> float | None:
    offset = zone.decode() if zone and zone[:1] in b"+-" else "+00:00"
    try:
        return datetime.fromisoformat(f"{year:04d}-{month:02d}-{day:02d}T{clock.decode():0>8}{offset}").timestamp()
    except ValueError:
        return None


_Format = tuple[re.Pattern[bytes], Callable[[_Found, float], float | None]]
_AT_THE_BEGINNING: Final[tuple[_Format, ...]] = (
    (re.compile(_BEFORE + _DATE), _dated),
    (re.compile(_BEFORE + rb"(\d{1,2}) " + _MONTH + rb" (?:(\d{4}) )?" + _CLOCK), _day_month),
    (re.compile(_BEFORE + _MONTH + rb" +(\d{1,2}) (?:(\d{4}) )?" + _CLOCK), _month_day),
    (re.compile(rb"[A-Z](\d{4}|\d\d|)(\d\d)(\d\d) " + _CLOCK), _glog),
    (re.compile(rb"\W{0,2}" + _EPOCH), _epoch),
)
_IN_A_FIELD: Final[tuple[_Format, ...]] = (
    (re.compile(_FIELD + _DATE), _dated),
    (re.compile(_FIELD + _EPOCH), _epoch),
)
