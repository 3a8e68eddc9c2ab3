"""The exit codes of the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

EXIT_OF_VERDICT: Final = {"valid": 0, "invalid": 1, "unknown": 2}
EXIT_USAGE: Final = 254
EXIT_FAILURE: Final = 255
EXIT_INTERRUPTED: Final = 130
_ORDER: Final = (0, 2, EXIT_USAGE, EXIT_FAILURE, 1, EXIT_INTERRUPTED)


def exit_code(verdict: str, harness_failure: str | None) -> int:
    """Return the exit code of one run, by the rule that also determines the displayed verdict."""
    from history.records.verdicts import verdict_of

    return EXIT_OF_VERDICT.get(verdict_of({"verdict": verdict}, harness_failure), EXIT_FAILURE)


def worst_code(codes: Iterable[int]) -> int:
    """Return the worst of several exit codes, or 0 if there are none.

    From worst to best: interrupted (130), 1, 255, 254, 2, 0.  Any other code, such as one caused by a signal, counts as
    a failure (255).
    """
    return max((code if code in _ORDER else EXIT_FAILURE for code in codes), key=_ORDER.index, default=0)
