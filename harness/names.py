"""Names of tests: each is a folder of the store, so it is short, plain, and different for different tests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

#: At most this many characters of a name are the faults.
LONGEST_FAULTS: Final = 120
#: At most this many characters of a name; file systems take 255 bytes.
LONGEST: Final = 200
_PLAIN: Final = "A-Za-z0-9_+@!~.-"
_DIGEST: Final = 8


def test_name(before: Sequence[str], turns: Sequence[str], after: Sequence[str]) -> str:
    """The name of a test: what comes ``before`` its faults, the turns of these, and what comes after.

    ``/`` in a turn becomes ``~``, and ``+`` is doubled, as one of them stands between turns.  Where a name does not
    say all of it in plain letters, a digest of the whole stands at its end.
    """
    faults = "+".join(turn.replace("+", "++").replace("/", "~") for turn in turns) or "no-fault"
    plain = len(faults) <= LONGEST_FAULTS and not any("~" in turn for turn in turns)
    text = "-".join((*before, faults if len(faults) <= LONGEST_FAULTS else f"{len(turns)}-faults", *after))
    name = re.sub(f"[^{_PLAIN}]", ".", text)[:LONGEST].lstrip(".~-")
    if plain and name == text:
        return name
    whole = repr((tuple(before), tuple(turns), tuple(after)))
    return f"{name or 'test'}-{hashlib.sha256(whole.encode(errors='backslashreplace')).hexdigest()[:_DIGEST]}"
