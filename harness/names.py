"""Names of tests: each becomes a folder of the store, so it is short, plain and different for every test."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

#: At most this many characters of a name describe the faults.
LONGEST_FAULTS: Final = 120
#: At most this many characters in a name; file systems allow 255 bytes.
LONGEST: Final = 200
_PLAIN: Final = "A-Za-z0-9_+@!~.-"
_DIGEST: Final = 8


def test_name(before: Sequence[str], turns: Sequence[str], after: Sequence[str]) -> str:
    """Return the name of a test, made of words before its faults, the turns of its faults, and words after them.

    ``/`` in a turn becomes ``~``, and ``+`` is doubled, because a single one separates turns.  A name that had to be
    shortened or changed ends in a digest of the whole.
    """
    faults = "+".join(turn.replace("+", "++").replace("/", "~") for turn in turns) or "no-fault"
    plain = len(faults) <= LONGEST_FAULTS and not any("~" in turn for turn in turns)
    text = "-".join((*before, faults if len(faults) <= LONGEST_FAULTS else f"{len(turns)}-faults", *after))
    name = re.sub(f"[^{_PLAIN}]", ".", text)[:LONGEST].lstrip(".~-")
    if plain and name == text:
        return name
    whole = repr((tuple(before), tuple(turns), tuple(after)))
    return f"{name or 'test'}-{hashlib.sha256(whole.encode(errors='backslashreplace')).hexdigest()[:_DIGEST]}"
