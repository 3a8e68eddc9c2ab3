"""Findings: what checks and gates found, as data.

A check returns findings and no sentence.  Each is one struct; ``kind`` names what was found, ``severity`` how bad it
is.  ``reports.words`` makes the English of them.  A system brings the kinds of its own checks (:class:`Kind`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from history.records.verdicts import Counterexample, KindCount, Verdict, count_kinds

Severity: TypeAlias = Literal[
    "data lost", "missing on nodes", "log truncated", "inconsistent", "no commits", "replica behind", "alarm"
]
#: From the worst down.  What some nodes lack and others have is missing on nodes, not lost; a log is truncated where
#: committed entries went from it and every log reaches as far again.
SEVERITIES: Final[tuple[Severity, ...]] = (
    "data lost", "missing on nodes", "log truncated", "inconsistent", "no commits", "replica behind", "alarm",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of violation that a check can find: how bad it is, and what it ``means`` to somebody who reads of it."""

    name: str
    severity: Severity = "inconsistent"
    means: str = ""


#: Kinds of contradictions in which something acknowledged is gone; all others are *inconsistent*.
LOST: Final = frozenset({"lost-write", "lost-element", "lost-append"})
_LOST: Final = tuple(Kind(name, "data lost") for name in sorted(LOST))


class Finding(Struct, frozen=True, kw_only=True, tag_field="type"):
    """One thing that a ``check`` found; it follows the ``verdict``.

    ``since`` and ``until`` are when it was first and last seen (ns since the run's start; None: not known).
    """

    check: str
    kind: str
    verdict: Verdict = "invalid"
    severity: Severity = "inconsistent"
    nodes: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None


class Contradiction(Finding, frozen=True, kw_only=True):
    """Answers that cannot all be true: ``count`` of one kind, on these objects.

    With ``more`` there may be others that were not looked for.
    """

    count: int
    keys: tuple[str, ...] = ()
    more: bool = False


class Loss(Struct, frozen=True):
    """One loss of a ``node``: ``lost`` elements that its last read lacks, ``elsewhere`` of which another node's has.

    ``seen_ns``: when that node answered the first read that lacked one of them and after which it never showed it.
    What it lost at another moment, after reads that showed what was new by then, is another loss.
    """

    node: str
    lost: int
    elsewhere: int
    seen_ns: int


class Elements(Finding, frozen=True, kw_only=True):
    """What became of the elements of all sets, by the last read of the node that lacks the most.

    ``ok``: an element is there; ``lost``: it was acknowledged before, and is not; ``recovered``: it is there, though
    its add was in doubt; ``unexpected``: it was never added, or its add failed; ``duplicated``: it is there twice.
    ``losses`` are of every node and moment, in the order in which they were seen: ``missing`` elements in all, of which
    ``gone`` are in no node's last read.  ``named`` has the elements of each class that breaks a promise, in part.
    ``unread`` sets were not read at the end; no client of ``silent`` nodes was answered then.
    """

    kind: str = "elements"
    verdict: Verdict = "valid"
    ok: int = 0
    lost: int = 0
    unexpected: int = 0
    recovered: int = 0
    duplicated: int = 0
    named: dict[str, tuple[Any, ...]] = {}
    losses: tuple[Loss, ...] = ()
    missing: int = 0
    gone: int = 0
    unread: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()

    @property
    def lost_by_node(self) -> dict[str, int]:
        """How many elements the last read of each node lacks, in the order of the losses."""
        return dict(sum((Counter({one.node: one.lost}) for one in self.losses), Counter[str]()))


class KnownDefect(Struct, frozen=True, kw_only=True):
    """A known defect whose fingerprint a run bears, and the kinds of violations that it explains there.

    ``why`` names the page about it.
    """

    name: str
    kinds: tuple[str, ...]
    why: str = ""

    def describe(self) -> str:
        """Text such as "Known defect deleted-logs: lost-write, stale-read (docs/findings.md: …)"."""
        return f"Known defect {self.name}: {', '.join(self.kinds)}{f' ({self.why})' if self.why else ''}"


def known_defects_in(results: Mapping[str, Any]) -> tuple[KnownDefect, ...]:
    """The known defects in ``results.json``, without what is none."""
    found = []
    for record in results.get("known_defects") or ():
        try:
            found.append(msgspec.convert(record, KnownDefect))
        except msgspec.ValidationError:
            continue
    return tuple(found)


def contradictions(
    check: str, examples: Iterable[Counterexample], own: Iterable[Kind] = ()
) -> tuple[Contradiction, ...]:
    """The findings of a check that has a counterexample of each of its violations; ``own`` are kinds of its own."""
    examples, own = tuple(examples), tuple(own)
    dated = [(one.kind, one.completed_at) for one in examples]
    keys: dict[str, dict[str, None]] = {}
    for one in examples:
        keys.setdefault(one.kind, {})[str(one.key)] = None
    return tuple(_contradiction(check, kind, keys[kind.kind], own) for kind in count_kinds(dated, len(dated)))


def contradictions_of_keys(
    check: str, keys: Iterable[tuple[Any, Iterable[KindCount], bool]]
) -> tuple[Contradiction, ...]:
    """The findings of the keys of a history: (key, its violations by kind, whether it may have more)."""
    found: dict[str, Contradiction] = {}
    for key, kinds, more in keys:
        for kind in kinds:
            one = _contradiction(check, kind, (str(key),), (), more=more)
            found[kind.kind] = one if kind.kind not in found else _joined(found[kind.kind], one)
    return tuple(sorted(found.values(), key=lambda one: (one.since is None, one.since)))


def _contradiction(
    check: str, kind: KindCount, keys: Iterable[str], own: Iterable[Kind], *, more: bool = False
) -> Contradiction:
    known = (one.severity for one in (*own, *_LOST) if one.name == kind.kind)
    severity: Severity = next(known, "inconsistent")
    return Contradiction(
        check=check, kind=kind.kind, severity=severity, since=kind.first, until=kind.last, count=kind.count,
        keys=tuple(keys), more=more,
    )  # fmt: skip


def _joined(one: Contradiction, other: Contradiction) -> Contradiction:
    begun = [time for time in (one.since, other.since) if time is not None]
    ended = [time for time in (one.until, other.until) if time is not None]
    return msgspec.structs.replace(
        one, since=min(begun, default=None), until=max(ended, default=None), count=one.count + other.count,
        keys=(*one.keys, *other.keys), more=one.more or other.more,
    )  # fmt: skip


def findings_in(check: Mapping[str, Any]) -> tuple[Finding, ...]:
    """The findings in a check's record in ``results.json``, without what is no finding.

    One whose type is not known here, as of a system that is not installed, is a plain :class:`Finding`.
    """
    records = check.get("findings")
    found = (_finding(record) for record in (records if isinstance(records, list | tuple) else ()))
    return tuple(one for one in found if one is not None)


def _finding(record: Any) -> Finding | None:
    if not isinstance(record, Mapping):
        return None
    types = {one.__name__: one for one in Finding.__subclasses__()}
    try:
        if (known := types.get(str(record.get("type")))) is not None:
            return msgspec.convert(record, known)
        plain = {name: record[name] for name in Finding.__struct_fields__ if name in record}
        return msgspec.convert(plain | {"type": Finding.__name__}, Finding)
    except msgspec.ValidationError:
        return None
