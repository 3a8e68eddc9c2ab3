"""Numeric codes of functions, outcomes and missing values, the same wherever operations are columns.

They are part of the key of ``history.compiled``'s cache.
"""

from __future__ import annotations

from typing import Final

READ: Final = 0
WRITE: Final = 1
CAS: Final = 2

OK: Final = 0
INFO: Final = 1
FAIL: Final = 2
#: The outcomes by their codes.
OUTCOMES: Final = ("ok", "info", "fail")

#: A value that is null.
ABSENT: Final = -(1 << 63)
#: The rank of a return that was not seen.
NEVER: Final = 1 << 62
