"""The helper's protocol and timing, without a kernel."""

from __future__ import annotations

import errno
import random
import struct

import pytest

from nemesis.faults import queue_helper as helper


def packet_message(number: int, payload: bytes = b"") -> bytes:
    header = helper.attribute(helper.PACKET_HDR, struct.pack("!IHB", number, 0x0800, 1))
    more = [helper.attribute(helper.PAYLOAD, payload)] if payload else []
    return helper.message(helper.PACKET, 0, 60, header, *more)


def test_packets_are_read_out_of_one_datagram():
    data = packet_message(7, b"E" + bytes(30)) + packet_message(8)
    assert helper.packets(data) == [(7, b"E" + bytes(30)), (8, b"")]


def test_attributes_are_padded_and_their_length_is_not():
    assert helper.attribute(9, b"abc") == struct.pack("=HH", 7, 9) + b"abc\x00"


def test_a_verdict_accepts_one_packet_of_one_queue():
    data = helper.verdict(60, 7)
    size, kind = struct.unpack_from("=IH", data)
    assert (size, kind) == (len(data), (3 << 8) | 1)
    assert struct.unpack_from("!H", data, 18)[0] == 60
    assert data.endswith(struct.pack("!II", 1, 7))


def test_an_error_of_the_kernel_is_raised_and_an_acknowledgement_is_not():
    answer = struct.pack("=IHHIIi", 36, 2, 0, 0, 0, 0) + bytes(16)
    assert helper.packets(answer) == []
    with pytest.raises(OSError, match="not permitted"):
        helper.packets(struct.pack("=IHHIIi", 36, 2, 0, 0, 0, -1) + bytes(16))


def test_a_held_packet_that_is_there_no_more_is_no_error():
    """The kernel throws all of them away when the chain of another fault is removed; the helper went with them."""
    gone = struct.pack("=IHHIIi", 36, 2, 0, 0, 0, -errno.ENOENT) + bytes(16)
    assert helper.packets(gone + packet_message(7)) == [(7, b"")]


def test_jitter_keeps_the_order_and_the_bounds():
    timing = helper.Timing(0.05, 0.01, 0.0, random.Random(0))
    moments = [index * 0.0005 for index in range(4000)]
    dues = [timing.due(now) for now in moments]
    assert dues == sorted(dues)
    waits = [due - now for due, now in zip(dues, moments, strict=True)]
    assert min(waits) >= 0.04
    assert max(waits) <= 0.06 + 1e-9


def test_a_share_overtakes():
    timing = helper.Timing(0.02, 0.0, 0.25, random.Random(0))
    at_once = sum(timing.due(now) == now for now in map(float, range(4000)))
    assert 0.22 < at_once / 4000 < 0.28
