"""Requests to a broker, the messages in its answers, and the bodies of our messages.

The codes are those of RocketMQ's ``RequestCode`` and ``ResponseCode``.  A pull is answered with messages as they are in
the commit log, back to back, each with its own offset in its queue.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from harness.systems.api import Setup
from harness.systems.remoting import Answer

PORT: Final = 10911
TOPIC: Final = "harness"
#: A topic with one queue, for sends that do not belong to the workload.
READY_TOPIC: Final = "ready"

SEND: Final = 10
PULL: Final = 11
RUNTIME: Final = 28
HA_STATUS: Final = 907
EPOCHS: Final = 1007

OK: Final = 0
BUSY: Final = 2
MESSAGE_ILLEGAL: Final = 13
NOT_AVAILABLE: Final = 14
NO_PERMISSION: Final = 16
NO_TOPIC: Final = 17
NOT_FOUND: Final = 19
OFFSET_MOVED: Final = 21
NO_QUEUE: Final = 29

#: Messages per pull: the most that a broker returns with its default configuration.
PAGE: Final = 32
#: Flags of a pull: the request has the subscription, commits no offset, and does not make the broker wait for messages.
_SUBSCRIPTION: Final = 4
_KEY: Final = "queue-"
#: Bits of a stored message's flags, for IPv6 addresses of its producer and of its broker.
_BORN_V6, _STORED_V6 = 1 << 4, 1 << 5


def queue_names(setup: Setup) -> tuple[str, ...]:
    """Return the names of the queues, which are the keys of the workload."""
    return tuple(f"{_KEY}{number}" for number in range(int(setup.options["queues"])))


def body_of(payload: int) -> bytes:
    """Return the body of a message: its number, and padding of 64 to 2053 bytes.

    The sizes vary because recovery of a log relies on the sizes of messages.
    """
    return b"%d:" % payload + b"." * (64 + payload * 7919 % 1990)


def payload_in(body: bytes) -> int | str:
    """Return the number in a body, or the start of a body that is not ours, as text."""
    number = body.partition(b":")[0]
    if number.isdigit() and body == body_of(int(number)):
        return int(number)
    return f"{len(body)} other bytes: {body[:20].hex()}"


def send_header(key: str) -> dict[str, object]:
    return _send(TOPIC, _queue(key))


def _send(topic: str, queue: int) -> dict[str, object]:
    return {"producerGroup": "harness", "topic": topic, "defaultTopic": "TBW102", "defaultTopicQueueNums": 4,
            "queueId": queue, "sysFlag": 0, "bornTimestamp": 0, "flag": 0, "properties": "", "reconsumeTimes": 0,
            "unitMode": False, "batch": False}  # fmt: skip


READY_HEADER: Final[Mapping[str, object]] = _send(READY_TOPIC, 0)


def pull_header(key: str, offset: int) -> dict[str, object]:
    return {"consumerGroup": "harness", "topic": TOPIC, "queueId": _queue(key), "queueOffset": offset,
            "maxMsgNums": PAGE, "sysFlag": _SUBSCRIPTION, "commitOffset": 0, "suspendTimeoutMillis": 0,
            "subscription": "*", "subVersion": 0, "expressionType": "TAG"}  # fmt: skip


def _queue(key: str) -> int:
    return int(key.removeprefix(_KEY))


@dataclass(frozen=True, slots=True)
class Page:
    """Messages from one place of a queue on, and the ``end`` of the queue: the offset of the next message.

    ``messages`` are the offset and the position in the commit log that are stored in each message, and its payload.
    """

    end: int
    messages: tuple[tuple[int, int, int | str], ...]


def page_in(answer: Answer) -> Page:
    """Return the page in an answer to a pull.  Raises ValueError if it is malformed."""
    end = int(answer.ext.get("maxOffset", ""))
    return Page(end, messages_in(answer.body) if answer.code == OK else ())


def messages_in(stored: bytes) -> tuple[tuple[int, int, int | str], ...]:
    """Return the stored offset and position and the payload of each message.

    Raises ValueError if a size leads beyond the bytes.

    The layout is that of ``MessageDecoder`` and ``MessageExtEncoder``.
    """
    messages, place = [], 0
    try:
        while place < len(stored):
            (size,) = struct.unpack_from(">I", stored, place)
            offset, position = struct.unpack_from(">QQ", stored, place + 20)
            (flags,) = struct.unpack_from(">I", stored, place + 36)
            # Skip born timestamp and host, stored timestamp and host, and two counters, up to the length of the body.
            hosts = (20 if flags & _BORN_V6 else 8) + (20 if flags & _STORED_V6 else 8)
            begin = place + 40 + 16 + hosts + 12
            (length,) = struct.unpack_from(">I", stored, begin)
            if size < 1 or place + size > len(stored) or begin + 4 + length > place + size:
                raise ValueError(f"a message of {size} bytes at {place} of {len(stored)}")
            messages.append((offset, position, payload_in(stored[begin + 4 : begin + 4 + length])))
            place += size
    except struct.error as error:
        raise ValueError(f"a message that ends too early, at {place} of {len(stored)}: {error}") from None
    return tuple(messages)
