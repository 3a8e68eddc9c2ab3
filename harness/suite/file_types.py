"""The fields of a suite file: names, types, bounds."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from harness.judge.known_defects import Text
from harness.options import option_types
from history.schema import list_of, table

LENGTH: Final = r"(?=\d)(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?"
LENGTH_WORDS: Final = "a length of time such as '2h50m', '90m' or '100s'"

#: The options that a cell may set.  All cells of a suite share one cluster and one Spark master, and the seed has its
#: own field.
OPTIONS: Final = {
    name: wanted for name, wanted in option_types().items() if name not in ("seed", "cluster", "spark_master")
}


def _one_or_more(wanted: Any) -> Any:
    return wanted | list_of(wanted)


_EXPECTING: Final[dict[str, Any]] = {
    "expect": _one_or_more(Literal["valid", "invalid", "unknown"]),
    "kinds": _one_or_more(Text),
    "known": _one_or_more(Text),
    "why": str,
    "skip": str,
}
_AXES: Final = {name: _one_or_more(wanted) for name, wanted in OPTIONS.items()}
_CONDITION: Final = table("Condition", _AXES)
_OVERRIDE: Final = table("Override", {"where": _CONDITION, **OPTIONS, **_EXPECTING}, needed=["where"])
_MATRIX: Final = table(
    "Matrix",
    {
        "name": str,
        **_AXES,
        "seed": _one_or_more(Annotated[int, Meta(ge=0)]),
        "repeat": Annotated[int, Meta(ge=1, le=1000)],
        "schedule": str,
        **_EXPECTING,
        "exclude": list_of(_CONDITION, least=0),
        "override": list_of(_OVERRIDE, least=0),
    },
)
SUITE: Final = table(
    "Suite",
    {
        "description": str,
        "budget": Annotated[str, Meta(pattern=rf"^{LENGTH}$(?!\n)", title=LENGTH_WORDS)],
        "retries": Annotated[int, Meta(ge=0, le=5)],
        "on_failure": Literal["continue", "stop"],
        "defects": _one_or_more(str),
        "defaults": table("Defaults", OPTIONS),
        "matrix": list_of(_MATRIX),
    },
    needed=["matrix"],
)
