"""Read TOML files that people write, or JSON from a program. Errors say what a file really is."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from history.file_signatures import recognized_format
from history.json_object import load_object


def read_toml(path: Path) -> dict[str, Any]:
    """Read the table in a TOML file.  Raises OSError, and ValueError that says what the file really is."""
    return _toml(read_text(path))


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        if text.lstrip().startswith(("{", "[")) and _is_json(text):
            raise ValueError("it is JSON, not TOML") from None
        raise ValueError(f"not TOML: {error}") from None


def read_toml_or_object(path: Path) -> dict[str, Any]:
    """Read the table in a TOML file or the object in a JSON file.  Raises OSError and ValueError."""
    text = read_text(path)
    return load_object(text) if text.lstrip().startswith("{") else _toml(text)


def read_text(path: Path) -> str:
    """Read a UTF-8 text file without its byte order mark.  Raises OSError and ValueError."""
    content = path.read_bytes()
    if (message := recognized_format(content)) is not None:
        raise ValueError(message)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text: byte {error.start} is 0x{content[error.start]:02x}") from None


def _is_json(text: str) -> bool:
    try:
        load_object(f'{{"": {text}}}')
    except ValueError:
        return False
    return True
