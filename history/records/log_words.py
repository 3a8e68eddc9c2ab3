"""Patterns, declared by a system, that say what lines in its logs mean, for excerpts.

Results store them under ``environment``, so that a report needs no access to the system.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

_PLACE: Final = "log_words"


@dataclass(frozen=True, slots=True)
class LogWords:
    """Regular expressions for lines of a system's logs; empty ones match nothing.  Write flags as a group, ``(?i:…)``.

    Lines that match ``noise`` are left out of excerpts.  ``milestones`` (elections, truncations and the like) count as
    much as warnings, in addition to those known for all systems.  ``replication`` matches a leader that starts to feed
    a follower in another way.  Raises ValueError if a value is not a regular expression.
    """

    noise: str = ""
    milestones: str = ""
    replication: str = ""

    def __post_init__(self) -> None:
        for name, text in asdict(self).items():
            try:
                # They are used as parts of longer expressions, where flags for the whole expression are not allowed.
                re.compile(f"(?:{text})")
            except re.error as error:
                raise ValueError(f"{name} is not a regular expression: {error}; write flags as (?i:…)") from None

    def to_environment(self) -> dict[str, Any]:
        """Return the entry for the results' ``environment``; empty if the system declares nothing."""
        return {_PLACE: asdict(self)} if self != NO_WORDS else {}

    @classmethod
    def of_results(cls, results: Mapping[str, Any]) -> LogWords:
        """Read the expressions from a run's results, ignoring invalid ones."""
        environment = results.get("environment")
        recorded = environment.get(_PLACE) if isinstance(environment, Mapping) else None
        named = recorded if isinstance(recorded, Mapping) else {}
        return cls(**{field.name: _expression(named.get(field.name)) for field in fields(cls)})


NO_WORDS: Final = LogWords()


def _expression(text: object) -> str:
    try:
        return text if isinstance(text, str) and re.compile(f"(?:{text})") else ""
    except re.error:
        return ""
