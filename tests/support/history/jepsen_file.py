"""Write ``test.jepsen`` files: Fressian in many spellings, in blocks."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Key:
    """A keyword."""

    name: str


@dataclass(frozen=True)
class Raw:
    """Bytes that are written to the file unchanged."""

    data: bytes


@dataclass
class Fressian:
    """Encodes values, with ``lists`` counted, closed or open, strings in ``chunks``, and keywords ``cached``."""

    lists: str = "counted"
    chunks: bool = False
    cached: bool = False

    def __post_init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, value: Any) -> bytes:
        match value:
            case Raw(data):
                return data
            case Key(name):
                return b"\xca\xf7" + (self._cached(name) if self.cached else self(name))
            case None | True | False:
                return {None: b"\xf7", True: b"\xf5", False: b"\xf6"}[value]
            case int():
                return bytes([value]) if 0 <= value < 64 else b"\xf8" + struct.pack(">q", value)
            case float():
                return b"\xfa" + struct.pack(">d", value)
            case str():
                return self._text(value.encode())
            case list():
                return self._list(value)
            case dict():
                return b"\xc0" + self._list([item for pair in value.items() for item in pair])
        raise TypeError(value)

    def _cached(self, name: str) -> bytes:
        if name in self.seen:
            return bytes([0x80 + self.seen.index(name)])
        self.seen.append(name)
        return b"\xcd" + self(name)

    def _text(self, data: bytes) -> bytes:
        if self.chunks and len(data) > 2:
            return b"\xe2" + self(2) + data[:2] + self._text(data[2:])
        return (bytes([0xDA + len(data)]) if len(data) < 8 else b"\xe3" + self(len(data))) + data

    def _list(self, items: list[Any]) -> bytes:
        inside = b"".join(map(self, items))
        if self.lists != "counted":
            return {"closed": b"\xed", "open": b"\xee"}[self.lists] + inside + b"\xfd"
        return (bytes([0xE4 + len(items)]) if len(items) < 8 else b"\xec" + self(len(items))) + inside


def block(kind: int, data: bytes) -> bytes:
    head = struct.pack(">qIh", 14 + len(data), 0, kind)
    return struct.pack(">qIh", 14 + len(data), zlib.crc32(head, zlib.crc32(data)), kind) + data


def index(blocks: list[bytes], root: int) -> bytes:
    """Return a whole file: its header, blocks with numbers from 1 on, and the index, whose root is one of them."""
    places, place = [], 18
    for one in blocks:
        places.append(place)
        place += len(one)
    pairs = b"".join(struct.pack(">iq", number, start) for number, start in enumerate(places, start=1))
    return b"JEPSEN" + struct.pack(">iq", 1, place) + b"".join([*blocks, block(1, struct.pack(">i", root) + pairs)])


def reference(number: int) -> Raw:
    return Raw(b"\xef" + Fressian()("block-ref") + b"\x01" + bytes([number]))


def vector(count: int, *chunks: tuple[int, int]) -> bytes:
    """Return the block of a vector: the number of items, and for each chunk its first item and its block."""
    return block(5, struct.pack(">q", count) + b"".join(struct.pack(">qi", *chunk) for chunk in chunks))
