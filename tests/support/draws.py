"""How much a random test draws: enough to fail for what it is there for in the fixed command, far more by night."""

from __future__ import annotations

import os

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def draws(fixed: int, nightly: int) -> int:
    """The number of examples: the fixed command draws the same ones in every run, so more of them find nothing new."""
    return nightly if NIGHTLY else fixed
