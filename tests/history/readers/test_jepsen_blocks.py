"""``test.jepsen``: a file by the public Fressian library, and many spellings of our own."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker import check
from harness.jepsen_store import history_in
from history import FormatError
from history.readers import read_any
from history.readers.fressian import FressianError, FressianReader
from history.readers.jepsen_blocks import parse_blocks
from tests.support.draws import draws
from tests.support.history.jepsen_file import Fressian, Key, Raw, block, index, reference, vector

#: As make.clj beside it wrote it.
FIXTURE = Path(__file__).parent / "jepsen" / "test.jepsen"


def test_a_file_by_the_public_library(tmp_path: Path) -> None:
    history = read_any(FIXTURE)
    assert history.format == "test-jepsen"
    assert [(one.f, one.key, one.value, one.result, one.outcome) for one in history.operations or ()] == [
        ("write", 1, 7, 7, "ok"), ("read", 1, None, 7, "ok"), ("cas", 1, [7, -9], None, "info"),
    ]  # fmt: skip
    assert [one.error for one in history.operations or ()][2] == "['indeterminate', 'timed out after 3.5 s: 😀']"
    assert [(one.f, one.value) for one in history.nemesis] == [
        ("start-partition", None), ("start-partition", ["isolated", {"n1": ["n2", "n3"]}]),
    ]  # fmt: skip
    unread, said = history.assumed
    assert ("not the rest" in unread, said) == (True, "the results in the file say valid")
    assert check(FIXTURE, "cas-register").verdict == "valid"
    (tmp_path / "test.jepsen").write_bytes(FIXTURE.read_bytes())
    assert history_in(tmp_path) == tmp_path / "test.jepsen"


def test_every_prefix_and_every_damaged_byte_is_refused_with_its_place() -> None:
    data = FIXTURE.read_bytes()
    spoilt = [data[:end] for end in range(6, len(data))]
    spoilt += [data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :] for place in range(6, len(data))]
    unnoticed = []
    for number, one in enumerate(spoilt):
        try:
            parse_blocks(one, "test.jepsen")
            unnoticed.append(number)
        except FormatError as error:
            unnoticed += [] if error.place.startswith("byte ") else [number]
    assert not unnoticed


def operations(answer: Any) -> list[dict[Any, Any]]:
    events = [("invoke", 0, "write", 3), ("ok", 0, "write", 3), ("invoke", 1, "read", None), ("ok", 1, "read", answer)]
    return [
        {Key("type"): Key(type_), Key("process"): process, Key("f"): Key(f), Key("value"): value, Key("time"): n,
         Key("index"): n}
        for n, (type_, process, f, value) in enumerate(events)
    ]  # fmt: skip


def stream(items: list[Any], spell: Fressian) -> bytes:
    return block(4, b"".join(map(spell, items)))


def whole(history: Any, spell: Fressian, *more: bytes, **fields: Any) -> bytes:
    """The root is block 1, which refers to the history's, block 2."""
    return index([block(2, spell({Key("history"): history, **{Key(k): v for k, v in fields.items()}})), *more], 1)


def record(item: dict[Any, Any], spell: Fressian) -> bytes:
    names = ("index", "time", "type", "process", "f", "value")
    return b"\xef" + spell("jepsen.history.Op") + b"\x07" + b"".join(spell(item[Key(n)]) for n in names) + spell(None)


def chunked(items: list[Any], spell: Fressian) -> bytes:
    first, second = stream(items[:1], spell), stream(items[1:], Fressian())
    return whole(reference(2), Fressian(), vector(4, (0, 3), (1, 4)), first, second)


def nested(items: list[Any], spell: Fressian) -> bytes:
    whole_stream = stream(items, spell)
    return whole(reference(2), Fressian(), vector(4, (0, 3)), vector(4, (0, 4)), whole_stream)


def partial(items: list[Any], spell: Fressian) -> bytes:
    """The history is in the rest of the root."""
    rest = block(3, struct.pack(">i", 0) + Fressian()({Key("history"): reference(3), Key("name"): "hidden"}))
    root = block(3, struct.pack(">i", 2) + Fressian()({Key("name"): "shown"}))
    return index([root, rest, stream(items, spell)], 1)


WRITTEN: dict[str, Callable[[list[Any]], bytes]] = {
    "a stream": lambda items: whole(reference(2), Fressian(), stream(items, Fressian())),
    "one list": lambda items: whole(reference(2), Fressian(), block(2, Fressian()(items))),
    "a closed list": lambda items: whole(reference(2), Fressian(), block(2, Fressian("closed")(items))),
    "an open list": lambda items: whole(reference(2), Fressian(), block(2, Fressian("open")(items))),
    "an open list up to the end": lambda items: whole(
        reference(2), Fressian(), block(2, b"\xee" + b"".join(map(Fressian(), items)))
    ),
    "in the root": lambda items: whole(items, Fressian()),
    "texts in chunks": lambda items: whole(reference(2), Fressian(), stream(items, Fressian(chunks=True))),
    "cached names": lambda items: whole(reference(2), Fressian(), stream(items, Fressian(cached=True))),
    "two chunks": lambda items: chunked(items, Fressian(cached=True)),
    "vectors in vectors": lambda items: nested(items, Fressian()),
    "a map in parts": lambda items: partial(items, Fressian()),
    "records": lambda items: whole(
        reference(2), Fressian(), block(4, b"".join(record(item, Fressian()) for item in items))
    ),
    "caches begun anew": lambda items: whole(
        reference(2), Fressian(), block(4, b"".join(b"\xfe" + Fressian(cached=True)(item) for item in items))
    ),
    "an empty chunk": lambda items: whole(
        reference(2), Fressian(), vector(4, (0, 3), (0, 4)), block(4, b""), stream(items, Fressian())
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize(("answer", "right"), [(3, "valid"), (4, "invalid"), (None, "invalid")])
def test_a_history_in_every_spelling(name: str, answer: Any, right: str, tmp_path: Path) -> None:
    path = tmp_path / "test.jepsen"
    path.write_bytes(WRITTEN[name](operations(answer)))
    assert check(path).verdict == right


VALUES: list[tuple[Raw | Any, Any]] = [
    (Raw(b"\x4f\x00"), -256), (Raw(b"\x50\x05"), 5), (Raw(b"\x51\x00"), 256), (Raw(b"\x67\xff\xff"), -1),
    (Raw(b"\x73\x00\x00\x01"), (1 << 24) + 1), (Raw(b"\x7e\x00\x00\x00\x00\x00\x07"), 7), (Raw(b"\xff"), -1),
    (Raw(b"\xfb"), 0.0), (Raw(b"\xf9\x3f\x80\x00\x00"), 1.0), (Raw(b"\xc6\xd2\x01\x00"), 256),
    (Raw(b"\xc1\xe7\x02\x01\x03"), [1, 2, 3]), (Raw(b"\xb0\x03\x03\x04\x05"), [3, 4, 5]),
    (Raw(b"\xef\xdemore\x01\x09"), 9),
    (Raw(b"\xc9\xdcaa\xdcbb"), "aa/bb"), ("é" * 9, "é" * 9), (Raw(b"\xef\xdechar\x01\x50\x78"), "x"),
    (Raw(b"\xe0\xed\xa0\xbd\xed\xb8\x80"), "😀"),
]  # fmt: skip


@pytest.mark.parametrize(("spelt", "value"), VALUES)
def test_values(spelt: Any, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "test.jepsen"
    write = operations(3)[:1]
    write[0][Key("value")] = spelt
    path.write_bytes(WRITTEN["a stream"](write))
    assert [one.value for one in read_any(path).operations or ()] == [value]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"JEPSEN" + struct.pack(">iq", 1, 0), "byte 10: the file has no index: the test was cut off"),
        (b"JEPSEN" + struct.pack(">iq", 7, 0), "byte 6: expected version 0 or 1 of the format, found 7"),
        (index([block(2, Fressian()({}))], 1), "a test without one"),
        (index([block(2, Fressian()({}))], 2), "expected block 2, which the index does not have"),
        (index([block(2, Fressian()([]))], 1), "expected the test as a map"),
        (whole(reference(2), Fressian(), vector(1, (0, 2))), "this block contains itself"),
        (whole(reference(2), Fressian(), vector(1, (0, 3)), block(4, b"")), "expected 1 operations, found 0"),
        (whole(reference(2), Fressian(), block(4, b"\x05")), "operation 0: expected a map, found '5'"),
        (whole(reference(2), Fressian(), block(4, b"\xe5" * 300)), "nested at most 100 deep"),
        (whole(reference(2), Fressian(), block(4, b"\x81")), "expected one of 0 earlier values, found number 1"),
        (whole(reference(2), Fressian(), block(4, b"\xfd")), "found the end of a list"),
        (whole(reference(2), Fressian(), block(4, b"\xce")), "found code 0xce"),
        (whole(reference(2), Fressian(), block(4, b"\xe3\x40\xff")), "expected a count"),
        (whole(reference(2), Fressian(), block(4, b"\xc0\xe5\x01")), "expected the fields of map"),
        (
            whole(reference(2), Fressian(), stream(operations(3)[1:2], Fressian())),
            "operation 0: process 0 completes an operation that it never invoked",
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_place(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "test.jepsen"
    path.write_bytes(data)
    with pytest.raises(FormatError) as caught:
        read_any(path)
    assert message in str(caught.value)


CODES = st.one_of(
    st.binary(max_size=8),
    st.sampled_from([
        b"\xc6\xd9\x50\xff" + b"\xff" * 255, b"\xc7\xd1\x07\xf8" + b"\x7f" * 8, b"\xc0",
        b"\xe6", b"\xed", b"\xee", b"\xfd",
        b"\xcd", b"\x80", b"\xef\xdbvec\x01", b"\xef\xdachar\x01", b"\xa0", b"\xca", b"\xe2", b"\xb0", b"\xc7", b"\xf7",
    ]),
)  # fmt: skip


@given(pieces=st.lists(CODES, max_size=12))
@settings(max_examples=draws(300, 10_000))
def test_spoilt_values(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    with contextlib.suppress(FressianError):
        list(FressianReader(data, 0, len(data)).values())


@pytest.mark.parametrize(("valid", "word"), [(True, "valid"), (False, "invalid"), (Key("unknown"), "unknown")])
def test_its_results_are_named(valid: Any, word: str, tmp_path: Path) -> None:
    path = tmp_path / "test.jepsen"
    results = {Key("valid?"): valid}
    path.write_bytes(whole(reference(2), Fressian(), stream(operations(3), Fressian()), results=results))
    assert read_any(path).assumed[1:] == (f"the results in the file say {word}",)
