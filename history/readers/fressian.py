"""Decode the part of Fressian that Jepsen's tests use: the values in one block.

As in ``edn``, keywords and symbols become their names, sets become sorted lists, and maps become dicts.  A value with
no counterpart in JSON becomes text.  See github.com/Datomic/fressian, and ``jepsen.store.fressian`` for Jepsen's own
tags.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from history.readers.edn import name_of_key

#: (first code, code of zero, bytes that follow) for integers whose high bits are in the code.
_PACKED: Final = ((0x40, 0x50, 1), (0x60, 0x68, 2), (0x70, 0x72, 3), (0x74, 0x76, 4), (0x78, 0x7A, 5), (0x7C, 0x7E, 6))
_CONSTANTS: Final = {0xF5: True, 0xF6: False, 0xF7: None, 0xFB: 0.0, 0xFC: 1.0, 0xFF: -1}
#: Tags with a code of their own, and the number of their fields.
_TAGS: Final = {
    0xC0: ("map", 1), 0xC1: ("set", 1), 0xC3: ("uuid", 1), 0xC4: ("regex", 2), 0xC5: ("uri", 1), 0xC6: ("bigint", 1),
    0xC7: ("bigdec", 2), 0xC8: ("inst", 1), 0xC9: ("sym", 2), 0xCA: ("key", 2),
}  # fmt: skip
#: Codes of arrays of long, double, boolean, int, float and Object: a count, then that many items.
_ARRAYS: Final = range(0xB0, 0xB6)
_DEEPEST: Final = 100
#: Longest integer, in bytes: about 400 digits.
_LONGEST_NUMBER: Final = 166


class FressianError(ValueError):
    """Bytes are not valid Fressian; ``place`` is their position in the data."""

    def __init__(self, place: int, message: str) -> None:
        super().__init__(message)
        self.place = place


@dataclass(frozen=True, slots=True)
class BlockRef:
    """Jepsen's reference to another block in the file."""

    block: int


class _EndError(Exception):
    """Signals the end of a list where a value could follow."""


class FressianReader:
    """Reads the values in ``data`` from ``start`` to ``end`` one after another.  Raises FressianError."""

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self.data, self.place, self.end = data, start, end
        self._cached: list[Any] = []
        self._structs: list[tuple[str, int]] = []
        self._depth = 0

    def values(self) -> Iterator[Any]:
        while self.place < self.end:
            yield self.value()

    def value(self) -> Any:
        """Read the next value."""
        start = self.place
        try:
            return self._value(self._byte())
        except _EndError:
            raise FressianError(start, "expected a value, found the end of a list") from None

    def _bytes(self, size: int) -> bytes:
        if size < 0 or self.place + size > self.end:
            raise FressianError(self.place, f"expected {size} bytes, found the end of the block")
        self.place += size
        return self.data[self.place - size : self.place]

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _count(self) -> int:
        start, count = self.place, self.value()
        if type(count) is not int or not 0 <= count <= self.end:
            raise FressianError(start, f"expected a count, found {count!r}")
        return count

    def _value(self, code: int) -> Any:
        if code < 0x40:
            return code
        if code in _CONSTANTS:
            return _CONSTANTS[code]
        if code < 0x80:
            zero, size = next((zero, size) for first, zero, size in reversed(_PACKED) if code >= first)
            return ((code - zero) << 8 * size) | int.from_bytes(self._bytes(size), "big")
        if code == 0xF8:
            return int.from_bytes(self._bytes(8), "big", signed=True)
        if code in (0xF9, 0xFA):
            return struct.unpack(">f" if code == 0xF9 else ">d", self._bytes(4 if code == 0xF9 else 8))[0]
        if 0xD0 <= code <= 0xD9:
            return self._whole(code, 0xD0, 0xD8, 0xD9)
        if 0xDA <= code <= 0xE3:
            return self._text(self._whole(code, 0xDA, 0xE2, 0xE3))
        self._depth += 1
        if self._depth > _DEEPEST:
            raise FressianError(self.place, f"expected values that are nested at most {_DEEPEST} deep")
        value = self._compound(code)
        self._depth -= 1
        return value

    def _whole(self, code: int, packed: int, chunk: int, counted: int) -> bytes:
        """Read bytes or a string, possibly in chunks.  The length is in the code or precedes the content."""
        parts = []
        while code == chunk:
            parts.append(self._bytes(self._count()))
            code = self._byte()
        if not (packed <= code < chunk or code == counted):
            raise FressianError(self.place, f"expected another chunk, found code {code:#x}")
        return b"".join([*parts, self._bytes(code - packed if code < chunk else self._count())])

    def _text(self, data: bytes) -> str:
        """Decode a Java string, in which a character beyond 16 bits is two surrogates of three bytes each."""
        try:
            return data.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        except UnicodeDecodeError:
            raise FressianError(self.place - len(data), "expected UTF-8 text") from None

    def _compound(self, code: int) -> Any:
        if code < 0xA0:
            return self._of(self._cached, code - 0x80)
        if code < 0xB0:
            return self._tagged(*self._of(self._structs, code - 0xA0))
        if code in _TAGS:
            return self._tagged(*_TAGS[code])
        if 0xE4 <= code <= 0xEC or code in _ARRAYS:
            return self._list(code - 0xE4 if 0xE4 <= code < 0xEC else self._count())
        if code in (0xED, 0xEE):
            return self._until_end(open_ended=code == 0xEE)
        if code == 0xFD:
            raise _EndError
        return self._cache(code)

    def _cache(self, code: int) -> Any:
        if code == 0xCC:
            return self._of(self._cached, self._count())
        if code == 0xCD:
            place = len(self._cached)
            self._cached.append(None)
            self._cached[place] = self.value()
            return self._cached[place]
        if code == 0xEF:
            self._structs.append((str(self.value()), self._count()))
            return self._tagged(*self._structs[-1])
        if code == 0xF0:
            return self._tagged(*self._of(self._structs, self._count()))
        if code == 0xFE:
            self._cached, self._structs = [], []
            return self.value()
        raise FressianError(self.place - 1, f"expected a value, found code {code:#x}")

    def _of(self, cache: list[Any], place: int) -> Any:
        if place >= len(cache):
            raise FressianError(self.place, f"expected one of {len(cache)} earlier values, found number {place}")
        return cache[place]

    def _list(self, count: int) -> list[Any]:
        return [self.value() for _ in range(count)]

    def _until_end(self, *, open_ended: bool) -> list[Any]:
        values: list[Any] = []
        while not (open_ended and self.place == self.end):
            try:
                values.append(self._value(self._byte()))
            except _EndError:
                self._depth -= 1
                break
        return values

    def _tagged(self, tag: str, count: int) -> Any:
        start, fields = self.place, self._list(count)
        make = _MADE.get(tag)
        if make is None:
            return fields[0] if count == 1 else fields
        try:
            return make(*fields)
        except (TypeError, ValueError, ArithmeticError, AttributeError):
            raise FressianError(start, f"expected the fields of {tag}, found {str(fields)[:60]}") from None


def _map(items: list[Any]) -> dict[Any, Any]:
    return dict(zip(map(name_of_key, items[::2]), items[1::2], strict=True))


def _operation(*fields: Any) -> dict[str, Any]:
    """Convert an operation; its last field is a map of all fields outside the record, such as the error."""
    index, time, type_, process, f, value, more = fields
    return {**(more or {}), "index": index, "time": time, "type": type_, "process": process, "f": f, "value": value}


def _integer(data: bytes) -> int:
    if len(data) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(data)} bytes")
    return int.from_bytes(data, "big", signed=True)


def _decimal(data: bytes, scale: int) -> float:
    return float(Decimal(_integer(data)).scaleb(-scale))


#: Converts the fields of a tag.  Fields of an unknown tag stay a list, or the field itself if there is only one.
_MADE: Final[dict[str, Callable[..., Any]]] = {
    "map": _map,
    "set": lambda items: sorted(items, key=repr),
    "persistent-hash-set": lambda items: sorted(items or [], key=repr),
    "persistent-sorted-set": lambda items: list(items or []),
    "vec": list,
    "key": lambda space, name: name if space is None else f"{space}/{name}",
    "sym": lambda space, name: name if space is None else f"{space}/{name}",
    "char": chr,
    "bigint": _integer,
    "bigdec": _decimal,
    "ratio": lambda over, under: f"{over}/{under}",
    "uuid": bytes.hex,
    "record": lambda name, fields: fields,  # noqa: ARG005
    "jepsen.history.Op": _operation,
    "block-ref": BlockRef,
}
