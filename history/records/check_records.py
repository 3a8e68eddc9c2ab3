"""Read the records of checks in ``results.json``: another release, or a check of a third party, may have made them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def check_records(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the records of checks and gates; what is no object is left out."""
    found = results.get("checks")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list | tuple) else []
