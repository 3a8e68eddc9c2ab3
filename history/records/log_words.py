"""The meaning of lines of a system's logs, for excerpts, as the system declares it.

Results carry it, under ``environment``: a report is drawn without the system at hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

_PLACE: Final = "log_words"


@dataclass(frozen=True, slots=True)
class LogWords:
    """Regular expressions, each empty where the system has nothing to say; flags stand in a group, ``(?i:…)``.

    ``noise`` is left out of excerpts.  ``milestones`` count like a warning: elections, truncations and the like, beside
    those that every system's log may have.  ``replication``: a leader goes over to feeding a follower in another way.
    Raises ValueError for what is no regular expression.
    """

    noise: str = ""
    milestones: str = ""
    replication: str = ""

    def __post_init__(self) -> None:
        for name, text in asdict(self).items():
            try:
                # As a part of a longer one, which is how they are used: flags for all of it may not stand there.
                re.compile(f"(?:{text})")
            except re.error as error:
                raise ValueError(f"{name} is no regular expression: {error}; write flags as (?i:…)") from None

    def to_environment(self) -> dict[str, Any]:
        """The entry in the results' ``environment``; empty where nothing is declared."""
        return {_PLACE: asdict(self)} if self != NO_WORDS else {}

    @classmethod
    def of_results(cls, results: Mapping[str, Any]) -> LogWords:
        """Read the words from a run's results; what is no regular expression counts as not declared."""
        environment = results.get("environment")
        found = environment.get(_PLACE) if isinstance(environment, Mapping) else None
        named = found if isinstance(found, Mapping) else {}
        return cls(**{one.name: _expression(named.get(one.name)) for one in fields(cls)})


NO_WORDS: Final = LogWords()


def _expression(text: object) -> str:
    try:
        return text if isinstance(text, str) and re.compile(f"(?:{text})") else ""
    except re.error:
        return ""
