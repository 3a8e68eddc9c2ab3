"""Findings: what checks and gates found, as data.

A check returns findings and no sentence.  Each is one struct; ``kind`` names what was found, ``severity`` how bad it
is.  ``reports.words`` makes the English of them.  A system brings the kinds of its own checks (:class:`Kind`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar

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


#: Seconds without a commit, until the end of the record, that are called an outage.
OUTAGE_S: Final = 10.0


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

    With ``more`` there may be others that were not looked for.  ``logged``: the objects' names in the nodes' logs.
    """

    count: int
    keys: tuple[str, ...] = ()
    more: bool = False
    logged: tuple[str, ...] = ()


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


class Comeback(Finding, frozen=True, kw_only=True):
    """How a cluster came back after its last heal; ``nodes`` are those at fault where it did not.

    ``unserved`` are the kinds of operations, or "changes", that clients asked for in vain; ``behind`` the nodes that
    did not catch up.  Where ``by_clients`` only clients show that nodes are back: every kind was served again at
    ``served_ns``.  Else each node had to apply ``target``, the commit index of ``leader_at_heal``: ``reached_ns`` is
    when it did, ``applied`` what it had applied last.  Times are in ns since the run's start; None: never, or unknown.
    ``seconds`` is how long it all took.  The last new commit, the last operation that was served, and the end of the
    record tell an outage from a replica that is behind.
    """

    check: str = "recovery"
    kind: str = "no-recovery"
    severity: Severity = "replica behind"
    unserved: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    healed_ns: int
    by_clients: bool = False
    served_ns: int | None = None
    target: int = -1
    leader_at_heal: str | None = None
    applied: dict[str, int | None] = {}
    reached_ns: dict[str, int | None] = {}
    seconds: float | None = None
    last_commit_ns: int | None = None
    last_served_ns: int | None = None
    end_ns: int | None = None

    @property
    def is_outage(self) -> bool:
        """Whether nothing was committed any more; where clients decide, whether none was served."""
        if self.last_commit_ns is None or self.end_ns is None:
            return self.by_clients and self.served_ns is None
        silent = self.last_served_ns is None or self.last_served_ns <= self.last_commit_ns + 10**9
        return silent and self.end_ns - self.last_commit_ns >= OUTAGE_S * 1e9

    @property
    def graded(self) -> Comeback:
        """With the severity that follows; where clients decide, nothing is known of replicas that served nobody."""
        stopped = self.is_outage or (self.by_clients and not self.behind) or "changes" in self.unserved
        return msgspec.structs.replace(self, severity="no commits" if stopped else "replica behind")


Fate: TypeAlias = Literal["lost", "missing", "held"]
_OF_ENTRIES: Final[Mapping[Fate, Severity]] = {
    "lost": "data lost", "missing": "missing on nodes", "held": "log truncated",
}  # fmt: skip


class EntryFate(Struct, frozen=True):
    """The fate of the entries up to ``index``, which were committed and went from at least one log.

    ``lost``: at ``time`` (ns), when logs were shortest, none went beyond ``longest``.  ``missing``: at the end the logs
    of ``short`` (node -> end) do not reach ``index``.  ``held``: all do.  Of entries that are not lost, ``holders`` are
    the nodes whose logs may have reached them at the ``time`` when these were fewest, since the first had lost some.
    """

    fate: Fate
    index: int
    time: int
    longest: int = -1
    short: dict[str, int] = {}
    holders: tuple[str, ...] = ()
    nodes: int = 0

    @property
    def severity(self) -> Severity:
        return _OF_ENTRIES[self.fate]


class NodeMoment(Struct, frozen=True):
    """An answer of ``node`` at ``time`` (ns since the run's start) that shows what breaks a rule."""

    node: str
    time: int


class Fall(NodeMoment, frozen=True):
    """A node's log ended at ``log_end``, where ``committed`` had been committed.

    ``restarted``: by their pids, the process that reported the commit index is not the one whose log fell.
    ``index_fell``: the node's commit index itself fell, from the first to the second, and no pid shows a restart.
    Either way a fall proves nothing by itself, because a log may be lost with its machine; beside one that does, it
    belongs to the same finding.
    """

    log_end: int
    committed: int
    restarted: bool = False
    index_fell: tuple[int, int] | None = None

    @property
    def proves(self) -> bool:
        """Whether the log fell below the commit index of one process."""
        return not self.restarted and self.index_fell is None


class BeyondLog(NodeMoment, frozen=True):
    """An answer that the node's earlier answers contradict.

    ``above`` names the index that had reached ``index``; ``bound`` is that of the later answer: the end of the log, or
    the commit index.
    """

    above: Literal["committed", "applied"]
    index: int
    bound: int


class ShortLeader(NodeMoment, frozen=True):
    """The node led in ``term`` with a log that ended below ``committed``, as the node ``told_by`` had said."""

    term: int
    log_end: int
    committed: int
    told_by: str


class StepBack(NodeMoment, frozen=True):
    """The node was in ``term``, and had been in the later term ``before`` at ``last`` (ns)."""

    term: int
    before: int
    last: int


class Claim(NodeMoment, frozen=True):
    """The node was first seen to lead in ``term``."""

    term: int


class Digest(NodeMoment, frozen=True):
    """The node reported this ``digest`` of its contents at an ``index``, an *index* or an *applied index*."""

    of: str
    index: int
    digest: str


class OfNodes(Finding, frozen=True, kw_only=True):
    """What answers of nodes show: ``count`` times in all, of which ``moments`` are recorded, in the order of time."""

    count: int = 0
    moments: tuple[NodeMoment, ...] = ()

    @property
    def marks(self) -> tuple[NodeMoment, ...]:
        """The moments from when something was wrong."""
        return self.moments


class ShortLogs(OfNodes, frozen=True, kw_only=True):
    """Committed entries that are not in a log; ``entries``: what became of them, if any is known to be gone."""

    entries: EntryFate | None = None


class EntriesDeleted(ShortLogs, frozen=True, kw_only=True):
    check: str = "committed-kept"
    kind: str = "committed-entries-deleted"
    moments: tuple[Fall, ...] = ()


class CommitBeyondLog(ShortLogs, frozen=True, kw_only=True):
    check: str = "log-order"
    kind: str = "commit-beyond-log"
    moments: tuple[BeyondLog, ...] = ()


class LeaderLacksCommitted(ShortLogs, frozen=True, kw_only=True):
    check: str = "leader-complete"
    kind: str = "leader-lacks-committed"
    moments: tuple[ShortLeader, ...] = ()


class TermForgotten(OfNodes, frozen=True, kw_only=True):
    check: str = "terms-kept"
    kind: str = "term-forgotten"
    moments: tuple[StepBack, ...] = ()


class Contrast(OfNodes, frozen=True, kw_only=True):
    """What is wrong only from the second of its moments on, which is ``since``."""

    @property
    def marks(self) -> tuple[NodeMoment, ...]:
        return tuple(one for one in self.moments if one.time >= (self.since or 0))


class TwoLeaders(Contrast, frozen=True, kw_only=True):
    """``terms``: the nodes that led in each term with several."""

    check: str = "election-safety"
    kind: str = "two-leaders"
    terms: dict[int, tuple[str, ...]]
    moments: tuple[Claim, ...] = ()


class ReplicasDiffer(Contrast, frozen=True, kw_only=True):
    """``count`` indexes at which digests differ; ``by_node``: at how many the node is in the minority."""

    check: str = "replicas-agree"
    kind: str = "replicas-differ"
    by_node: dict[str, int] = {}
    moments: tuple[Digest, ...] = ()


class AlarmPattern(Struct, frozen=True):
    """Lines of logs of ``nodes`` that hold ``pattern``, and not ``unless``, are violations by themselves."""

    pattern: str
    nodes: tuple[str, ...]
    unless: str | None = None


class Alarms(Finding, frozen=True, kw_only=True):
    """Alarms of nodes: ``patterns`` of lines that are violations, and ``notes`` that prove nothing by themselves."""

    check: str = "node-logs"
    kind: str = "log-alarm"
    severity: Severity = "alarm"
    patterns: tuple[AlarmPattern, ...] = ()
    notes: tuple[str, ...] = ()


class FaultCount(Struct, frozen=True):
    """How often something was counted under the fault of this number."""

    id: int
    fault: str
    count: int


class ViolationTimes(Finding, frozen=True, kw_only=True):
    """When violations of clients were seen: ``counted`` of all ``of`` have a time (an engine may list only some).

    ``phases`` maps a phase to the count of those that an operation of it shows.  ``faults`` stood at some time from the
    write that was missed to the answer that missed it; two at once count twice.  ``calm``: the count without any fault.
    """

    kind: str = "violation-times"
    verdict: Verdict = "valid"
    of: int
    counted: int
    phases: dict[str, int]
    faults: tuple[FaultCount, ...]
    calm: int


class Skipped(Finding, frozen=True, kw_only=True):
    """There was nothing to judge, and ``why``."""

    kind: str = "skipped"
    verdict: Verdict = "valid"
    why: str


class OkCounts(Finding, frozen=True, kw_only=True):
    """Operations that were ok in the main phase, by kind, and the ``least`` of each that is asked for."""

    check: str = "operations"
    kind: str = "ok-counts"
    verdict: Verdict = "valid"
    least: int
    ok: dict[str, int]


class WindowCount(Struct, frozen=True):
    """Operations ``ok`` under a fault, the ``least`` that is asked for, and why nothing is (``exempt``)."""

    id: int
    fault: str
    ok: int
    least: int
    exempt: str


class UnderFault(Finding, frozen=True, kw_only=True):
    """Operations under each fault; ``before``: writes acknowledged before a fault that left no quorum."""

    check: str = "under-fault"
    kind: str = "under-fault"
    verdict: Verdict = "valid"
    faults: tuple[WindowCount, ...]
    before: dict[int, int] = {}


class Pace(Finding, frozen=True, kw_only=True):
    """Figures of the harness's own pace (ms, operations a second, shares), by name."""

    check: str = "kept-pace"
    kind: str = "pace"
    verdict: Verdict = "valid"
    figures: dict[str, float]


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


F = TypeVar("F", bound=Finding)


def first_of(kind: type[F], check: Mapping[str, Any]) -> F | None:
    """The first finding of this type in a check's record; None where there is none."""
    return next((one for one in findings_in(check) if isinstance(one, kind)), None)


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
    types: dict[str, type[Finding]] = {}
    for kind in types_below(Finding):  # ours come first: no other type takes their names
        types.setdefault(kind.__name__, kind)
    try:
        if (known := types.get(str(record.get("type")))) is not None:
            return msgspec.convert(record, known, str_keys=True)
        plain = {name: record[name] for name in Finding.__struct_fields__ if name in record}
        return msgspec.convert(plain | {"type": Finding.__name__}, Finding)
    except msgspec.ValidationError:
        return None


def types_below(kind: type[Finding]) -> Iterator[type[Finding]]:
    """All types of findings below one, each before those below it."""
    for below in kind.__subclasses__():
        yield below
        yield from types_below(below)
