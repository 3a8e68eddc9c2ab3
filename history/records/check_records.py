"""Read the records of checks in ``results.json``: another release, or a check of a third party, may have made them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def check_records(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the records of checks and gates; what is no object is left out."""
    found = results.get("checks")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list | tuple) else []


def check_details(check: Mapping[str, Any]) -> Mapping[str, Any]:
    """The details in a check's record; empty where they are no object."""
    details = check.get("details")
    return details if isinstance(details, Mapping) else {}


def details_by_check(results: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Map the name of each check and gate to its details."""
    return {str(check.get("name")): check_details(check) for check in check_records(results)}


def listed_details(check: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """List the objects under a name in a check's details; empty where that is no list."""
    found = check_details(check).get(name)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
