"""The number of random examples: enough in the fixed command to find what a test is for, far more in the nightly."""

from __future__ import annotations

import os

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def draws(fixed: int, nightly: int) -> int:
    """Return the number of examples. The fixed command always draws the same ones, so more would find nothing new."""
    return nightly if NIGHTLY else fixed
