"""Numeric codes for functions, outcomes and missing values, used wherever operations are stored as columns.

The cache of ``history.compiled`` depends on this file: changing a code recompiles everything.
"""

from __future__ import annotations

from typing import Final

READ: Final = 0
WRITE: Final = 1
CAS: Final = 2

OK: Final = 0
INFO: Final = 1
FAIL: Final = 2
#: The names of the outcomes, indexed by code.
OUTCOMES: Final = ("ok", "info", "fail")

#: Stands for a null value.
ABSENT: Final = -(1 << 63)
#: The return rank of an operation whose return was never seen.
NEVER: Final = 1 << 62
