"""The files that ``harness system new`` writes: the key-value server from the examples."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from harness.errors import UsageError

FILE: Final = "kv.toml"
#: Their directory in an installed package, and in a source tree.
_PACKAGED: Final = Path(__file__).resolve().with_name("example")
_EXAMPLE: Final = Path(__file__).resolve().parents[3] / "examples" / "kv"


def write_skeleton(directory: Path) -> None:
    """Write a system into a new or empty directory.  Raises UsageError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise UsageError(f"{directory} is not empty: name a new directory")
        for path in sorted((_PACKAGED if _PACKAGED.is_dir() else _EXAMPLE).iterdir()):
            if path.is_file():
                shutil.copy(path, directory / path.name)
        file = directory / FILE
        # Drop the reference to the schema, which only exists in the source tree.
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(line for line in lines if not line.startswith("#:schema ")))
    except OSError as error:
        raise UsageError(f"{directory}: {error.strerror}") from None
