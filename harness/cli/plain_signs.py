"""Output on terminals that do not know all signs: another sign that is alike, or an escape, and never an error."""

from __future__ import annotations

import codecs
from typing import Final, TextIO

_ALIKE: Final = dict(zip("├┤─┄│–—“”‘’→·…≤≥×", ["|", "|", "-", ".", "|", "-", "-", '"', '"', "'", "'", "->", ".", "...",
                                              "<=", ">=", "x"], strict=True))  # fmt: skip
_NAME: Final = "harness-plain-signs"


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_ALIKE.get(sign) or sign.encode("unicode_escape").decode() for sign in signs), error.end


def print_plainly(*streams: TextIO) -> None:
    """From now on the streams replace what their encoding does not have."""
    codecs.register_error(_NAME, _plain)
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=_NAME)
