"""Files that people write: read with or without a byte order mark, and named for what they are instead."""

from __future__ import annotations

import gzip
from codecs import BOM_UTF8
from pathlib import Path

import pytest

from history.toml_file import read_toml, read_toml_or_object

DEEP = 5000


@pytest.mark.parametrize("mark", [b"", BOM_UTF8], ids=["plain", "marked"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["unix", "dos"])
def test_toml_and_json_are_read(tmp_path: Path, mark: bytes, end: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(mark + end.join([b"a = 1", b"[b]", b'c = "\xc3\xbc"']))
    assert read_toml(path) == read_toml_or_object(path) == {"a": 1, "b": {"c": "ü"}}
    path.write_bytes(mark + end.join([b"", b'{"a": 1,', b'"b": {"c": "\xc3\xbc"}}']))
    assert read_toml_or_object(path) == {"a": 1, "b": {"c": "ü"}}


@pytest.mark.parametrize(
    ("content", "toml", "either"),
    [
        (b'{"a": 1}', "it is JSON, not TOML", None),
        (b"[1, 2]", "it is JSON, not TOML", "it is JSON, not TOML"),
        (b'{"a": ', "not TOML: .*line 1", "expected a JSON object: .*line 1"),
        (b"a = ", "not TOML: ", "not TOML: "),
        (gzip.compress(b"a = 1"), "this is gzip", "this is gzip"),
        (b"a = '\xfc'", "not UTF-8 text: byte 5 is 0xfc", "not UTF-8 text"),
        (b"a = " + b"[" * DEEP + b"]" * DEEP, "nested too deeply", "nested too deeply"),
        (b'{"a":' * DEEP + b"1" + b"}" * DEEP, "not TOML", "nested too deeply"),
    ],
    ids=["object", "list", "half", "toml", "gzip", "latin-1", "deep toml", "deep json"],
)
def test_what_a_file_is_instead(tmp_path: Path, content: bytes, toml: str, either: str | None) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=toml):
        read_toml(path)
    if either is not None:
        with pytest.raises(ValueError, match=either):
            read_toml_or_object(path)
