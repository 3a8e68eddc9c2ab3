"""Return the only finding of a check, with the given type."""

from __future__ import annotations

from history import Check
from history.records.finding import F


def only(check: Check, kind: type[F]) -> F:
    (finding,) = check.findings
    assert isinstance(finding, kind)
    return finding
