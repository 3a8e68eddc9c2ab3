"""Detect the format of a history from what the file holds, and read the events of the formats that are texts."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from history.errors import FormatError
from history.file_signatures import recognized_format
from history.readers.edn import parse_edn
from history.readers.jepsen_events import TextHistory
from history.readers.jepsen_log import parse_jepsen_log
from history.readers.porcupine_kv import parse_porcupine_kv

#: From this size on the compiled reader (0.3 s to load) is worth it.
LARGE: Final = 8 << 20
#: Bytes of the largest foreign text that is read event by event, which takes about 15 times as much memory.
BY_ROWS: Final = 256 << 20
#: The model that a format implies, if any.
MODELS: Final = {"porcupine-kv": "kv"}
#: The format is detected by this many characters.
_HEAD: Final = 4096
_JSON_ARRAY: Final = re.compile(rb"""\s*\[\s*\{\s*"[^"]*"\s*:""")
#: Porcupine's events have these fields and no other.  Jepsen's have times and indexes, and other values.
_KV_EVENT: Final = re.compile(
    r"""\{(?=[^}]*:key\s)(?:[\s,]*:(?:process\s+\d+|type\s+:\w+|f\s+:(?:get|put|append)|key\s+"[^"]*\""""
    r"""|value\s+(?:nil|"(?:[^"\\]|\\.)*"))(?=[\s,}]))+[\s,]*\}"""
)

Kind: TypeAlias = Literal["jsonl", "parquet", "text"]


@dataclass(frozen=True, slots=True)
class ForeignText:
    """A foreign history by its events, which have not been paired yet."""

    format: str
    history: TextHistory
    model: str | None


def kind_of(path: Path) -> Kind:
    """``jsonl`` or ``parquet`` for our own formats, ``text`` for a foreign one.

    Raises FormatError for what is none of them at first sight, and OSError.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise FormatError(str(path), "byte 0", "expected a history, found an empty file")
    if head.startswith(b"PAR1"):
        return "parquet"
    if (what := recognized_format(head)) is not None:
        raise FormatError(str(path), "byte 0", f"expected a history, but {what}")
    head = head.removeprefix(BOM_UTF8)
    if _JSON_ARRAY.match(head):
        raise FormatError(str(path), "byte 0", "expected one JSON object a line, found a JSON array")
    if head.lstrip().startswith(b'{"'):
        return "jsonl"
    if size := _nuls(path):
        end = path.stat().st_size - size
        raise FormatError(
            str(path), f"byte {end}",
            f"expected text, found {size} NUL bytes up to the end: what had been written there was lost; "
            f"`head -c {end} FILE` gives what is left",
        )  # fmt: skip
    return "text"


def _nuls(path: Path) -> int:
    """Count the NUL bytes at the end of a file."""
    with path.open("rb") as file:
        size, count = path.stat().st_size, 0
        while count < size:
            step = min(size - count, 1 << 16)
            file.seek(size - count - step)
            found = step - len(file.read(step).rstrip(b"\0"))
            count += found
            if found < step:
                break
    return count


def read_text(path: Path, model: str | None = None) -> ForeignText:
    """The events of Jepsen's EDN and console log and of porcupine's kv, with or without BOM and CRLF.

    Raises FormatError with the line, and OSError.
    """
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(str(path), f"byte {error.start}", "expected UTF-8 text") from None
    name, parse = _text_format(text[:_HEAD], model)
    history = parse(text.replace("\r\n", "\n"), str(path))
    return ForeignText(name, history, MODELS.get(name))


def format_of(path: Path, model: str | None = None) -> str:
    """Detect the format of a text: ``edn``, ``jepsen-log`` or ``porcupine-kv``.  Raises OSError."""
    with path.open("rb") as file:
        return _text_format(file.read(4 * _HEAD).decode("utf-8-sig", errors="ignore")[:_HEAD], model)[0]


def too_large(path: Path, why: str, limit: int) -> FormatError:
    """The error for a text that could only be read event by event and is too large for that."""
    return FormatError(str(path), "the lines", f"a text of over {limit >> 20} MB is read by its lines alone: {why}")


def _text_format(start: str, model: str | None) -> tuple[str, Callable[[str, str], TextHistory]]:
    code = "\n".join(line for line in start.split("\n") if not line.lstrip().startswith(";")).lstrip()
    if not code.startswith(("{", "[", "(", "#")):
        return "jepsen-log", parse_jepsen_log
    if model in (None, MODELS["porcupine-kv"]) and _KV_EVENT.match(code):
        return "porcupine-kv", parse_porcupine_kv
    return "edn", parse_edn
