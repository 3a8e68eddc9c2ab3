"""Messages as a broker stores them, made from the fields that our readers use."""

from __future__ import annotations

import struct


def stored(offset: int, body: bytes, *, v6: bool = False, position: int = 0) -> bytes:
    """Return one message of the commit log, with a meaningless topic and properties."""
    host = b"\0" * (20 if v6 else 8)
    rest = struct.pack(">IIIIQQI", 0xDAA320A7, 0, 0, 0, offset, position, 0x30 if v6 else 0)
    rest += bytes(8) + host + bytes(8) + host + bytes(12)
    rest += struct.pack(">I", len(body)) + body + b"\x07harness" + b"\0\0"
    return struct.pack(">I", 4 + len(rest)) + rest
