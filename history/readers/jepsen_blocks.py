"""Read the history in Jepsen's ``test.jepsen``, and the verdict in its results.

The file is a series of blocks, each with a length, a checksum and a type.  An index says where each block begins.  The
root block holds the test map, of which only ``:history`` and ``:results`` are read.  ``jepsen.store.format`` describes
the format.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, Final

from history.errors import FormatError
from history.file_signatures import MAGIC
from history.readers.fressian import BlockRef, FressianError, FressianReader
from history.readers.records import Records

_VERSIONS: Final = (0, 1)
_INDEX, _FRESSIAN, _PARTIAL, _STREAM, _VECTOR = range(1, 6)
_HEADER: Final = struct.Struct(">qIh")
_VERDICTS: Final = {True: "valid", False: "invalid", "unknown": "unknown"}


def parse_blocks(data: bytes, source: str) -> Records:
    """Parse the history of a test into numbered records.  Raises FormatError with the byte."""
    file = _File(data, source)
    root = file.map_in(file.root, "the test")
    history = root.get("history")
    items = file.items(history.block) if isinstance(history, BlockRef) else history
    if not items:
        raise FormatError(source, f"byte {len(data)}", "expected a history, found a test without one")
    for number, item in enumerate(items):
        if not isinstance(item, dict):
            raise FormatError(source, f"operation {number}", f"expected a map, found {str(item)[:40]!r}")
    notes: tuple[str, ...] = ("only the history and the results' :valid? were read, not the rest of the test map",)
    results = root.get("results")
    if isinstance(results, BlockRef) and results.block in file.offsets:
        results = file.map_in(results.block, "results")
    if isinstance(results, dict) and results.get("valid?") in _VERDICTS:
        notes = (
            *notes,
            f"the results in the file say {_VERDICTS[results['valid?']]}",
        )
    return Records(
        list(enumerate(items)), lambda place, message: FormatError(source, f"operation {place}", message), notes=notes
    )


class _File:
    """The blocks of a ``test.jepsen`` file."""

    def __init__(self, data: bytes, source: str) -> None:
        self.data, self.source = data, source
        if len(data) < 18:
            raise self.wrong(len(data), "expected the header of a test.jepsen, found the end of the file")
        version, index = struct.unpack_from(">iq", data, len(MAGIC))
        if version not in _VERSIONS:
            raise self.wrong(6, f"expected version {' or '.join(map(str, _VERSIONS))} of the format, found {version}")
        if not index:
            raise self.wrong(10, "the file has no index: the test was cut off before its first operations were saved")
        place, end, kind = self._block(index)
        if kind != _INDEX or (end - place) % 12 != 4:
            raise self.wrong(index, "expected the index of the blocks")
        (self.root,) = struct.unpack_from(">i", data, place)
        self.offsets = dict(struct.iter_unpack(">iq", data[place + 4 : end]))
        self._read: set[int] = set()

    def wrong(self, place: int, message: str) -> FormatError:
        return FormatError(self.source, f"byte {place}", message)

    def _block(self, offset: int) -> tuple[int, int, int]:
        """Return where a block's content begins and ends, and the block's type, after checking the checksum."""
        if not 0 <= offset <= len(self.data) - _HEADER.size:
            raise self.wrong(len(self.data), f"expected a block at byte {offset}, found the end of the file")
        size, checksum, kind = _HEADER.unpack_from(self.data, offset)
        start, end = offset + _HEADER.size, offset + size
        if size < _HEADER.size or end > len(self.data):
            raise self.wrong(offset, f"expected a block of {size} bytes, found the end of the file: it may be cut")
        computed = zlib.crc32(_HEADER.pack(size, 0, kind), zlib.crc32(memoryview(self.data)[start:end]))
        if computed != checksum:
            raise self.wrong(offset, "the checksum of this block does not match its content: the file is damaged")
        return start, end, kind

    def _at(self, number: int) -> tuple[int, int, int]:
        if number not in self.offsets:
            raise self.wrong(len(self.data), f"expected block {number}, which the index does not have")
        return self._block(self.offsets[number])

    def _values(self, start: int, end: int) -> Iterator[Any]:
        try:
            yield from FressianReader(self.data, start, end).values()
        except FressianError as error:
            raise self.wrong(error.place, str(error)) from None

    def map_in(self, number: int, label: str) -> dict[str, Any]:
        """Read the map in a block, whose remaining entries may be in other blocks."""
        merged: dict[str, Any] = {}
        visited: set[int] = set()
        while number and number not in visited:
            visited.add(number)
            start, end, kind = self._at(number)
            number = 0
            if kind == _PARTIAL and end - start >= 4:
                (number,) = struct.unpack_from(">i", self.data, start)
                start += 4
            value = next(self._values(start, end), None) if kind in (_FRESSIAN, _PARTIAL) else None
            if not isinstance(value, dict):
                raise self.wrong(start, f"expected {label} as a map")
            merged = {**value, **merged}
        return merged

    def items(self, number: int) -> list[Any]:
        """Read the items of a vector, which may span many blocks."""
        if number in self._read:
            raise self.wrong(self.offsets[number], "this block contains itself, or is in two vectors")
        self._read.add(number)
        start, end, kind = self._at(number)
        if kind == _STREAM:
            return list(self._values(start, end))
        if kind == _FRESSIAN:
            return list(next(self._values(start, end), None) or ())
        if kind != _VECTOR or (end - start) % 12 != 8:
            raise self.wrong(start, "expected the history as a vector")
        chunks = (block for _, block in struct.iter_unpack(">qi", self.data[start + 8 : end]))
        operations = [item for block in chunks for item in self.items(block)]
        (count,) = struct.unpack_from(">q", self.data, start)
        if len(operations) != count:
            raise self.wrong(start, f"expected {count} operations, found {len(operations)}")
        return operations
