"""DLedger's own wire protocol, as far as the harness uses it: RocketMQ's remoting frames with JSON inside.

A frame is a length (4 bytes, big endian, of all that follows), the header's length with the serialization in the top
byte (0: JSON), the header, and the body.  The codes are those of ``DLedgerRequestCode``.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any, Final

METADATA: Final = 50000
LEADERSHIP_TRANSFER: Final = 51005
GROUP: Final = "harness"
SUCCESS: Final = 200
#: The library's own limit, of netty's decoder.
LARGEST_FRAME: Final = 16 << 20

Address = tuple[str, int]


def frame(code: int, body: dict[str, Any], opaque: int = 1) -> bytes:
    """One request."""
    header = {"code": code, "flag": 0, "language": "PYTHON", "opaque": opaque, "serializeTypeCurrentRPC": "JSON",
              "version": 0}  # fmt: skip
    packed = _json(header)
    rest = struct.pack(">I", len(packed)) + packed + _json(body)
    return struct.pack(">I", len(rest)) + rest


def ask(address: Address, code: int, body: dict[str, Any], timeout: float = 3.0) -> dict[str, Any]:
    """The body of the answer.  Raises OSError (a timeout too) when none comes, ValueError when it is malformed."""
    deadline = time.monotonic() + timeout
    with socket.create_connection(address, timeout=timeout) as connection:
        connection.sendall(frame(code, body))
        (length,) = struct.unpack(">I", _exactly(connection, 4, deadline))
        if not 4 <= length <= LARGEST_FRAME:
            raise ValueError(f"a frame of {length} bytes")
        rest = _exactly(connection, length, deadline)
    header_length = struct.unpack(">I", rest[:4])[0] & 0xFFFFFF
    header = json.loads(rest[4 : 4 + header_length])
    answer = json.loads(rest[4 + header_length :] or b"null")
    if not isinstance(answer, dict):
        raise ValueError(f"code {header.get('code')}: {header.get('remark')}")
    return answer


def metadata(address: Address, node: str) -> dict[str, Any]:
    """The leader that a node knows (``leaderId``, absent while it knows none) and the members (``peers``)."""
    return ask(address, METADATA, {"group": GROUP, "remoteId": node})


def transfer_leadership(address: Address, leader: str, to: str, term: int) -> None:
    """Request a leadership transfer from the leader.

    A leader that steps down at once may not answer: a request that was accepted and not answered is no error here,
    since the probes show whether the other node came to lead.  Raises ValueError with the library's code when the
    leader refuses (it no longer leads, the term is another, the other node is too far behind), OSError when it cannot
    be reached.
    """
    body = {"group": GROUP, "remoteId": leader, "transferId": leader, "transfereeId": to, "term": term}
    try:
        answer = ask(address, LEADERSHIP_TRANSFER, body)
    except TimeoutError:
        return
    if answer.get("code") != SUCCESS:
        raise ValueError(f"refused with code {answer.get('code')}")


def _exactly(connection: socket.socket, count: int, deadline: float) -> bytes:
    data = b""
    while len(data) < count:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        if not (more := connection.recv(count - len(data))):
            raise ConnectionResetError("closed without an answer")
        data += more
    return data


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
