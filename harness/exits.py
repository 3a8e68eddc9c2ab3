"""How the command line ends: one table of exit codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

EXIT_OF_VERDICT: Final = {"valid": 0, "invalid": 1, "unknown": 2}
EXIT_USAGE: Final = 254
EXIT_FAILURE: Final = 255
EXIT_INTERRUPTED: Final = 130
_ORDER: Final = (0, 2, 1, EXIT_FAILURE, EXIT_INTERRUPTED)


def worst_code(codes: Iterable[int]) -> int:
    """Over many runs the worst wins: interrupted, 255, 1, 2, 0; 0 if there are none.

    A code that is none of these, such as 254 or a signal's, is no verdict: it counts as a failure of ours.
    """
    return max((code if code in _ORDER else EXIT_FAILURE for code in codes), key=_ORDER.index, default=0)
