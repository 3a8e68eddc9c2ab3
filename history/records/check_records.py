"""Read the records of checks in ``results.json``, which another release or a third-party check may have written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def check_records(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the records of checks and gates, skipping anything that is not a JSON object."""
    records = results.get("checks")
    return [record for record in records if isinstance(record, dict)] if isinstance(records, list | tuple) else []
