"""Records, which every foreign format is parsed into: maps with Jepsen's names for the fields, and their places.

Parsers turn bytes into records.  ``jepsen_events`` turns records into events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from history.errors import FormatError

#: The place where the map starts, in a unit that ``wrong`` understands, and the map.
Record: TypeAlias = tuple[int, dict[str, Any]]
Wrong: TypeAlias = Callable[[int, str], FormatError]


@dataclass(frozen=True, slots=True)
class Records:
    """The records of a file, in event order; ``wrong(place, message)`` makes errors.

    ``mapping`` maps our fields to those of the file (``f`` to ``method``), and ``notes`` lists other assumptions.
    """

    records: Sequence[Record]
    wrong: Wrong
    mapping: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
