"""Encoder for Perfetto's trace format: packets of track events as protocol buffers (``trace_packet.proto``).

It encodes only what the exporter needs: descriptors of tracks, slices, instants, counters, and the start of the clock.
Names are written once and then referred to by number.  Field numbers are Perfetto's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO, Final

#: All packets share one sequence, so that they share the numbers of texts.
SEQUENCE: Final = 1
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
#: Sort the children of a track by rank.
EXPLICIT: Final = 3
BOOTTIME, REALTIME = 6, 1
_CLEARED, _NEEDED = 1, 2


def varint(value: int) -> bytes:
    """Encode an integer; a negative one takes 64 bits."""
    rest = value & 0xFFFF_FFFF_FFFF_FFFF
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def integer(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def message(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def text(field: int, value: str) -> bytes:
    return message(field, value.encode("utf-8", "replace"))


class Packets:
    """Writer of a trace to ``out``; times are nanoseconds, and :meth:`track` returns the numbers of tracks."""

    def __init__(self, out: BinaryIO, started_ns: int | None = None) -> None:
        """``started_ns`` is when the trace starts, in nanoseconds since 1970, if known."""
        self._out = out
        self._tracks = 0
        self._texts: dict[tuple[int, str], int] = {}
        self._new = b""
        clock = b""
        if started_ns is not None:
            pairs = ((BOOTTIME, 0), (REALTIME, started_ns))
            clocks = (message(1, integer(1, number) + integer(2, time)) for number, time in pairs)
            clock = message(6, b"".join(clocks))
        self._write(clock + integer(13, _CLEARED))

    def track(self, name: str, parent: int = 0, rank: int = 0, *, counter: bool = False) -> int:
        """Describe a track and return its number."""
        self._tracks += 1
        described = integer(1, self._tracks) + text(2, name) + integer(11, EXPLICIT) + integer(12, rank)
        if parent:
            described += integer(5, parent)
        if counter:
            described += message(8, b"")
        self._write(message(60, described))
        return self._tracks

    def begin(self, track: int, time: int, name: str, category: str = "", **arguments: str | int | None) -> None:
        """Begin a slice, which :meth:`end` ends; slices of one track may nest but not overlap otherwise."""
        self._event(BEGIN, track, time, self._named(name, category, arguments))

    def end(self, track: int, time: int) -> None:
        self._event(END, track, time, b"")

    def instant(self, track: int, time: int, name: str, category: str = "", **arguments: str | int | None) -> None:
        self._event(INSTANT, track, time, self._named(name, category, arguments))

    def count(self, track: int, time: int, value: int) -> None:
        """Set a counter's value."""
        self._event(COUNTER, track, time, integer(30, value))

    def _named(self, name: str, category: str, arguments: Mapping[str, str | int | None]) -> bytes:
        parts = [integer(10, self._number(2, name))]
        if category:
            parts.append(integer(3, self._number(1, category)))
        for key, value in arguments.items():
            if value is None:
                continue
            held = integer(4, value) if isinstance(value, int) else text(6, value)
            parts.append(message(4, integer(1, self._number(3, key)) + held))
        return b"".join(parts)

    def _number(self, kind: int, value: str) -> int:
        """Return the number of a string within its kind; a new string is written with the next packet."""
        known = self._texts.get((kind, value))
        if known is None:
            known = self._texts[kind, value] = len(self._texts) + 1
            self._new += message(kind, integer(1, known) + text(2, value))
        return known

    def _event(self, kind: int, track: int, time: int, content: bytes) -> None:
        event = message(11, integer(9, kind) + integer(11, track) + content)
        new = message(12, self._new) if self._new else b""
        self._new = b""
        self._write(integer(8, time) + new + event + integer(13, _NEEDED))

    def _write(self, content: bytes) -> None:
        self._out.write(message(1, content + integer(10, SEQUENCE)))
