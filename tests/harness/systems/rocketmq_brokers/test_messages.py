"""Bodies of messages, and messages as they lie in the commit log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.systems.remoting import Answer
from harness.systems.rocketmq_brokers.messages import NOT_FOUND, OK, Page, body_of, messages_in, page_in, payload_in
from tests.support.harness.stored_messages import stored

#: The first of three messages that a broker of 5.5.0 gave, of the body ``hello0``.
RECORDED = bytes.fromhex(
    "000000e1 daa320a7 7036e992 00000000 00000000 0000000000000000 0000000000000030 00000000"
    "0000000000000001 7f0000010000ae04 000001a21d07c152 7f00000100002a9f 00000000 0000000000000000 00000006"
)


@given(st.integers(0, 10**9))
def test_a_body_says_its_number(payload: int) -> None:
    body = body_of(payload)
    assert payload_in(body) == payload
    assert 64 < len(body) < 2100
    assert payload_in(body[:-1]) == f"{len(body) - 1} other bytes: {body[:20].hex()}"


@given(st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 10**6)), max_size=5), st.booleans())
def test_messages_are_read_back(messages: list[tuple[int, int]], v6: bool) -> None:
    content = b"".join(stored(offset, body_of(payload), v6=v6, position=7 * offset) for offset, payload in messages)
    assert messages_in(content) == tuple((offset, 7 * offset, payload) for offset, payload in messages)


def test_a_recorded_head_has_the_places_of_the_fields() -> None:
    assert messages_in((RECORDED + b"hello0").ljust(0xE1, b"\0")) == ((0, 48, "6 other bytes: 68656c6c6f30"),)


@given(st.integers(1, 300))
def test_a_cut_message_is_refused(cut: int) -> None:
    with pytest.raises(ValueError, match="message"):
        messages_in(stored(3, body_of(7))[:-cut])


def test_pages() -> None:
    found = Answer(OK, "", {"maxOffset": "9"}, stored(5, body_of(1)), 1)
    assert page_in(found) == Page(9, ((5, 0, 1),))
    assert page_in(Answer(NOT_FOUND, "", {"maxOffset": "9"}, b"", 1)) == Page(9, ())
    with pytest.raises(ValueError, match="int"):
        page_in(Answer(OK, "", {}, b"", 1))
