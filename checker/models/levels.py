"""Isolation levels, the anomalies that each excludes, and which levels are stronger than others.

The levels are Adya's, over items: read uncommitted (PL-1), read committed (PL-2), consistent view (PL-2+), cursor
stability (PL-CS), snapshot isolation (PL-SI), repeatable read (PL-2.99) and serializable (PL-3). Each has a variant
that also keeps the order of a session (``strong-session-``), and one that keeps real time (``strong-``; the strongest
of all is called strict serializable).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from checker.core.model import ModelError
from history.schema import hint

# The orders that an anomaly depends on: only what the transactions read and wrote, or sessions or real time as well.
DATA, PROCESS, REALTIME = range(3)
#: Suffixes of the names of anomalies, and prefixes of those of levels.
SUFFIXES: Final = ("", "-process", "-realtime")
_PREFIXES: Final = ("", "strong-session-", "strong-")

#: Each level with those that are a step stronger.
_STRONGER: Final[dict[str, tuple[str, ...]]] = {
    "read-uncommitted": ("read-committed",),
    "read-committed": ("consistent-view", "cursor-stability"),
    "consistent-view": ("snapshot-isolation", "repeatable-read"),
    "cursor-stability": ("snapshot-isolation", "repeatable-read"),
    "snapshot-isolation": ("serializable",),
    "repeatable-read": ("serializable",),
    "serializable": (),
}
#: The weakest levels that an anomaly refutes.
REFUTES: Final[dict[str, tuple[str, ...]]] = {
    "G0": ("read-uncommitted",),
    "duplicate-element": ("read-uncommitted",),
    "unknown-element": ("read-uncommitted",),
    "G1a": ("read-committed",),
    "G1b": ("read-committed",),
    "G1c": ("read-committed",),
    "dirty-update": ("read-committed",),
    "incompatible-order": ("read-committed",),
    "future-read": ("read-committed",),
    "own-order": ("read-committed",),
    "G-single": ("consistent-view",),
    "lost-update": ("cursor-stability",),
    "internal": ("snapshot-isolation",),
    "G-nonadjacent": ("snapshot-isolation", "repeatable-read"),
    "G2-item": ("repeatable-read",),
}
_ALIASES: Final = {"strong-serializable": "strict-serializable"}
_ALL: Final = tuple((base, variant) for variant in (DATA, PROCESS, REALTIME) for base in _STRONGER)


def _name(base: str, variant: int) -> str:
    name = _PREFIXES[variant] + base
    return _ALIASES.get(name, name)


#: All levels, the plain ones first; in each variant the weaker ones come first.
LEVELS: Final = tuple(_name(*level) for level in _ALL)


def _reached(base: str) -> set[str]:
    return {base}.union(*map(_reached, _STRONGER[base]))


_AS_STRONG: Final = {
    _name(base, variant): frozenset(
        _name(other, stronger) for other in _reached(base) for stronger in range(variant, REALTIME + 1)
    )
    for base, variant in _ALL
}


def level_named(name: str) -> str:
    """Return the level of that name.  Raises ModelError with similar names, or all names."""
    plain = _ALIASES.get(name, name)
    if plain not in LEVELS:
        raise ModelError(f"there is no isolation level {name!r}; {hint(name, LEVELS)}")
    return plain


def as_strong(level: str) -> frozenset[str]:
    """Return the level and all stronger ones: an anomaly that refutes it refutes them all."""
    return _AS_STRONG[level]


def weakest_refuted(anomaly: str, *, in_doubt: bool = False) -> tuple[str, ...]:
    """Return the weakest levels that an anomaly refutes, given its name with its suffix.

    A write cycle through a transaction ``in_doubt`` refutes only read committed: either that transaction committed,
    or others saw an aborted one.
    """
    base, variant = split(anomaly)
    refuted = ("read-committed",) if base == "G0" and in_doubt else REFUTES[base]
    return tuple(_name(level, variant) for level in refuted)


def split(anomaly: str) -> tuple[str, int]:
    """Split an anomaly's name into the anomaly and the meaning of its suffix."""
    for variant in (REALTIME, PROCESS):
        if anomaly.endswith(SUFFIXES[variant]):
            return anomaly.removesuffix(SUFFIXES[variant]), variant
    return anomaly, DATA


def holding(refuted: Iterable[str]) -> tuple[str, ...]:
    """Return the levels that none of the given ones refutes."""
    fallen = frozenset[str]().union(*map(as_strong, refuted))
    return tuple(level for level in LEVELS if level not in fallen)


def strongest(levels: Iterable[str]) -> tuple[str, ...]:
    """Return the strongest of these levels: those that no other one includes."""
    given = tuple(levels)
    return tuple(level for level in given if not any(other in as_strong(level) for other in given if other != level))
