"""Recognize compressed files and other encodings by their first bytes, where UTF-8 text is expected."""

from __future__ import annotations

from typing import Final

#: The first bytes of Jepsen's ``test.jepsen``, which we read.
MAGIC: Final = b"JEPSEN"
_FIRST_BYTES: Final = {
    b"\x1f\x8b": "this is gzip: unpack it first, with `gunzip -c FILE`",
    b"\x28\xb5\x2f\xfd": "this is Zstandard: unpack it first, with `zstdcat FILE`",
    b"\xfd7zXZ\0": "this is xz: unpack it first, with `xzcat FILE`",
    b"BZh": "this is bzip2: unpack it first, with `bzcat FILE`",
    b"PK\x03\x04": "this is a ZIP archive: unpack it first, with `unzip FILE`",
    b"\xff\xfe": "this is UTF-16: convert it to UTF-8 first, with `iconv -f UTF-16 -t UTF-8 FILE`",
    b"\xfe\xff": "this is UTF-16: convert it to UTF-8 first, with `iconv -f UTF-16 -t UTF-8 FILE`",
}


_ENCODINGS: Final = {"UTF-16LE": (0, 1), "UTF-16BE": (1, 0)}


def recognized_format(head: bytes) -> str | None:
    """Return a message that names a file's format and how to convert it to text; None if it is not recognized."""
    for name, (letters, zeros) in _ENCODINGS.items():
        # Without a byte order mark: the file begins with ASCII, so every other byte is 0.
        if len(head) > 3 and all(head[letters:8:2]) and not any(head[zeros:8:2]):
            return f"this is UTF-16: convert it to UTF-8 first, with `iconv -f {name} -t UTF-8 FILE`"
    return next((message for first, message in _FIRST_BYTES.items() if head.startswith(first)), None)
