"""The one form that every foreign format is parsed into: maps with Jepsen's names for the fields, and their places.

Parsing (bytes to records) ends here.  Conventions (records to events) begin in ``jepsen_events``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from history.errors import FormatError

#: Where the map starts (a place that ``wrong`` understands) and the map.
Record: TypeAlias = tuple[int, dict[str, Any]]
Wrong: TypeAlias = Callable[[int, str], FormatError]


@dataclass(frozen=True, slots=True)
class Records:
    """The records of a text, in the order of their events; ``wrong(place, message)`` makes the errors.

    ``mapping`` says how the fields of the source became ours (``f`` from ``method``), ``notes`` what else was assumed.
    """

    records: Sequence[Record]
    wrong: Wrong
    mapping: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
