"""Findings of checks and gates, as data.

A check returns findings instead of sentences.  Each finding is one struct: ``kind`` names what was found and
``severity`` says how bad it is.  ``reports.words`` turns findings into English.  A system under test declares the kinds
that its own checks can find (:class:`Kind`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from history.records.verdicts import Counterexample, KindCount, Verdict, count_kinds

Severity: TypeAlias = Literal[
    "data lost",
    "missing on nodes",
    "log truncated",
    "inconsistent",
    "no commits",
    "not served",
    "replica behind",
    "alarm",
]
#: Worst first.  Data that some nodes lack and others have is "missing on nodes", not lost.  A log counts as "truncated"
#: if committed entries disappeared from it but in the end every log reaches as far again.
SEVERITIES: Final[tuple[Severity, ...]] = (
    "data lost", "missing on nodes", "log truncated", "inconsistent", "no commits", "not served", "replica behind",
    "alarm",
)  # fmt: skip


#: An outage is at least this many seconds without a commit, up to the end of the record.
OUTAGE_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of violation that a check can find: how bad it is, and what it ``means``, as text for readers."""

    name: str
    severity: Severity = "inconsistent"
    means: str = ""


#: Kinds of contradictions in which acknowledged data is gone; all others are *inconsistent*.
LOST: Final = frozenset({"lost-write", "lost-element", "lost-append"})
_LOST: Final = tuple(Kind(name, "data lost") for name in sorted(LOST))


class Finding(Struct, frozen=True, kw_only=True, tag_field="type"):
    """One thing that a ``check`` found, with the ``verdict`` that follows from it.

    ``since`` and ``until`` are when it was first and last seen (ns since the run's start; None if unknown).
    """

    check: str
    kind: str
    verdict: Verdict = "invalid"
    severity: Severity = "inconsistent"
    nodes: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None


class Contradiction(Finding, frozen=True, kw_only=True):
    """Answers that cannot all be right: ``count`` violations of one kind, on the objects ``keys``.

    ``more`` means that there may be further violations that the check did not look for.  ``logged`` are the objects'
    names in the nodes' logs.  ``shown`` has for each of these the entry that clients were shown and that is gone, or is
    empty.
    """

    count: int
    keys: tuple[str, ...] = ()
    more: bool = False
    logged: tuple[str, ...] = ()
    shown: tuple[int, ...] = ()


class Loss(Struct, frozen=True):
    """Elements that a ``node`` lost at the same time.

    The node's last read lacks ``lost`` elements; another node's last read has ``elsewhere`` of them.  ``seen_ns`` is
    when the node answered the first read that lacked one of them and after which it never showed that element again.
    Elements that it lost at another time, after reads that showed newer elements, are a separate loss.
    """

    node: str
    lost: int
    elsewhere: int
    seen_ns: int


class Elements(Finding, frozen=True, kw_only=True):
    """The fate of the elements of all sets.

    Counted in the last read of the node that lacks the most: ``ok``, elements that were added and are present;
    ``recovered``, those of them whose add was in doubt; ``lost``, acknowledged before that read but absent.  Counted
    over all nodes: ``unexpected``, present although never added or their add failed; ``duplicated``, more than once in
    some read.  ``losses`` are those of all nodes, in the order in which they were first seen: ``missing`` elements in
    total, of which ``gone`` are in no node's last read.  ``named`` lists some elements of each class that breaks a
    promise.  ``unread`` are the sets that nobody read at the end, and ``silent`` the nodes that answered no client
    then.
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
        """Number of elements that each node's last read lacks, in the order of the losses."""
        return dict(sum((Counter({loss.node: loss.lost}) for loss in self.losses), Counter[str]()))


class Comeback(Finding, frozen=True, kw_only=True):
    """How the cluster recovered after its last heal; ``nodes`` are those at fault if it did not.

    ``unserved`` are the kinds of operations (or "changes", or "reads on k3") that clients requested without success,
    and ``behind`` the nodes that did not catch up.  With ``by_clients``, only clients show that the cluster is back:
    every kind of operation was served again at ``served_ns``.  Otherwise each node must apply ``target``, the commit
    index of ``leader_at_heal``: ``reached_ns`` is when it did, and ``applied`` the last index that it applied.  Times
    are in ns since the run's start, and None if never or unknown.  ``seconds`` is how long the whole recovery took.
    ``last_commit_ns``, ``last_served_ns`` and ``end_ns`` (the end of the record) distinguish an outage from a replica
    that is behind.
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
        """Whether the cluster stopped committing, or, if only clients can tell, stopped serving."""
        if self.last_commit_ns is None or self.end_ns is None:
            return self.by_clients and self.served_ns is None
        silent = self.last_served_ns is None or self.last_served_ns <= self.last_commit_ns + 10**9
        return silent and self.end_ns - self.last_commit_ns >= OUTAGE_S * 1e9

    @property
    def graded(self) -> Comeback:
        """This finding with the severity that follows from it.

        If only clients can tell, nothing is known about replicas that served nobody.  If no node is behind, what is
        broken is service: of some objects, some kinds of operation, or a node's own clients.
        """
        stopped = self.is_outage or (self.by_clients and not self.behind) or "changes" in self.unserved
        short: Severity = "replica behind" if self.behind else "not served"
        return msgspec.structs.replace(self, severity="no commits" if stopped else short)


Fate: TypeAlias = Literal["lost", "missing", "held"]
_OF_ENTRIES: Final[Mapping[Fate, Severity]] = {
    "lost": "data lost", "missing": "missing on nodes", "held": "log truncated",
}  # fmt: skip


class EntryFate(Struct, frozen=True):
    """The fate of the entries up to ``index``, which were committed and then disappeared from at least one log.

    ``lost``: at ``time`` (ns), when the logs were shortest, none went beyond ``longest``.  ``missing``: at the end, the
    logs of ``short`` (node -> end of its log) do not reach ``index``.  ``held``: at the end, all logs reach it.  For
    entries that are not lost, ``holders`` are the nodes whose logs may have reached them at ``time``, when the fewest
    did since the first node had lost some.
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
    """An answer of ``node`` at ``time`` (ns since the run's start) that shows a broken rule."""

    node: str
    time: int


class Fall(NodeMoment, frozen=True):
    """A node's log ended at ``log_end``, although the node had reported ``committed`` as committed.

    ``restarted``: the pids show that the process with the shorter log is not the one that reported the commit index.
    ``index_fell``: the node's commit index itself fell, from the first value to the second, and no pid shows a restart.
    In both cases the fall proves nothing by itself, because a log may be lost with its machine.  Next to a fall that
    does prove something, it belongs to the same finding.
    """

    log_end: int
    committed: int
    restarted: bool = False
    index_fell: tuple[int, int] | None = None

    @property
    def proves(self) -> bool:
        """Whether the log fell below the commit index of one and the same process, which proves a violation."""
        return not self.restarted and self.index_fell is None


class BeyondLog(NodeMoment, frozen=True):
    """An answer that contradicts the node's earlier answers.

    ``above`` names the index that had reached ``index``.  ``bound`` is what the later answer gives for the end of the
    log or for the commit index, and is lower.
    """

    above: Literal["committed", "applied"]
    index: int
    bound: int


class ShortLeader(NodeMoment, frozen=True):
    """The node led in ``term`` with a log that ended below ``committed``, which ``told_by`` had reported."""

    term: int
    log_end: int
    committed: int
    told_by: str


class StepBack(NodeMoment, frozen=True):
    """The node was in ``term`` although it had been in the later term ``before`` at ``last`` (ns)."""

    term: int
    before: int
    last: int


class Claim(NodeMoment, frozen=True):
    """The first answer in which the node led in ``term``."""

    term: int


class Digest(NodeMoment, frozen=True):
    """The node reported this ``digest`` of its contents at ``index``.

    ``of`` says what kind of index that is: an *index* or an *applied index*.
    """

    of: str
    index: int
    digest: str


class OfNodes(Finding, frozen=True, kw_only=True):
    """A finding that nodes' answers show ``count`` times; ``moments`` are those recorded, in time order."""

    count: int = 0
    moments: tuple[NodeMoment, ...] = ()

    @property
    def marks(self) -> tuple[NodeMoment, ...]:
        """The recorded moments at which something was wrong."""
        return self.moments


class ShortLogs(OfNodes, frozen=True, kw_only=True):
    """Committed entries are not in a log; ``entries`` says what became of them if any are known to be gone."""

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
    """A finding that needs two moments to show: something is wrong only from ``since``, the second of them."""

    @property
    def marks(self) -> tuple[NodeMoment, ...]:
        return tuple(moment for moment in self.moments if moment.time >= (self.since or 0))


class TwoLeaders(Contrast, frozen=True, kw_only=True):
    """Several nodes led in one term; ``terms`` lists them for each such term."""

    check: str = "election-safety"
    kind: str = "two-leaders"
    terms: dict[int, tuple[str, ...]]
    moments: tuple[Claim, ...] = ()


class ReplicasDiffer(Contrast, frozen=True, kw_only=True):
    """Digests differ at ``count`` indexes; ``by_node`` counts those at which a node is in the minority."""

    check: str = "replicas-agree"
    kind: str = "replicas-differ"
    by_node: dict[str, int] = {}
    moments: tuple[Digest, ...] = ()


class AlarmPattern(Struct, frozen=True):
    """Log lines on ``nodes`` that match ``pattern`` but not ``unless``; each is a violation by itself."""

    pattern: str
    nodes: tuple[str, ...]
    unless: str | None = None


class Alarms(Finding, frozen=True, kw_only=True):
    """Alarms in the nodes' logs: ``patterns`` of lines that are violations, and ``notes`` that prove nothing alone."""

    check: str = "node-logs"
    kind: str = "log-alarm"
    severity: Severity = "alarm"
    patterns: tuple[AlarmPattern, ...] = ()
    notes: tuple[str, ...] = ()


class FaultCount(Struct, frozen=True):
    """How often something happened while the fault with this ``id`` was in effect."""

    id: int
    fault: str
    count: int


class ViolationTimes(Finding, frozen=True, kw_only=True):
    """When clients saw violations; ``counted`` of ``of`` violations have a time (an engine may list only some).

    ``phases`` counts the violations that operations of each phase show.  ``faults`` counts those for which a fault was
    active at some time between the missed write and the answer that missed it; with two such faults a violation counts
    twice.  ``calm`` counts the violations without any fault.
    """

    kind: str = "violation-times"
    verdict: Verdict = "valid"
    of: int
    counted: int
    phases: dict[str, int]
    faults: tuple[FaultCount, ...]
    calm: int


class IsolationLevel(Finding, frozen=True, kw_only=True):
    """The isolation ``level`` that the run requested and its transactions violate."""

    check: str = "isolation"
    kind: str = "isolation-level"
    verdict: Verdict = "valid"
    level: str


class Skipped(Finding, frozen=True, kw_only=True):
    """The check had nothing to judge, for the reason ``why``."""

    kind: str = "skipped"
    verdict: Verdict = "valid"
    why: str


class OkCounts(Finding, frozen=True, kw_only=True):
    """Number of ok operations of each kind in the main phase; the run needs at least ``least`` of each.

    ``beside`` counts those of the kinds that are not required.  ``unapplied`` more were acknowledged but not applied,
    and ``refused`` more were refused; these do not count. Of the ``keys`` in use throughout, ``silent`` had no ok
    operation.
    """

    check: str = "operations"
    kind: str = "ok-counts"
    verdict: Verdict = "valid"
    least: int
    ok: dict[str, int]
    beside: dict[str, int] = {}
    unapplied: int = 0
    refused: int = 0
    keys: int = 0
    silent: int = 0


#: Why nothing is required under a fault: there was no quorum, or the fault or its quorum was brief.
Exempt: TypeAlias = Literal["", "no quorum", "brief", "brief quorum"]
#: Why nothing is required in a third of it: few operations were due, or no quorum or an election explains it.
ExemptThird: TypeAlias = Literal["", "few", "no quorum", "election"]


class WindowCount(Struct, frozen=True):
    """Number of ``ok`` operations under one fault, which must be at least ``least``.

    The fault was in effect from ``begin`` to ``end`` (ns since the run's start).  ``exempt`` says why no minimum
    applies, with the ``exempt_s`` seconds that were too short; it is empty if one does.  If the fault was in effect
    long enough to be judged in thirds, ``thirds`` says the same of each.  With ``together``, it was too short to count
    alone, and counts together with others like it.
    """

    id: int
    fault: str
    ok: int
    least: int
    exempt: Exempt
    exempt_s: float = 0.0
    thirds: tuple[ExemptThird, ...] = ()
    begin: int = 0
    end: int = 0
    together: bool = False


class ShortKind(Struct, frozen=True):
    """Fewer operations of one ``name`` than ``least`` were ok under the fault with this ``id``."""

    id: int
    name: str
    ok: int
    least: int


class EmptyThird(Struct, frozen=True):
    """No operation (of one of the ``kinds``, if any are given) was ok in one third of the fault with this ``id``.

    ``place`` is 0, 1 or 2.  If ``idle``, no operation was even under way.
    """

    id: int
    place: int
    kinds: tuple[str, ...] = ()
    idle: bool = False


class UnderFault(Finding, frozen=True, kw_only=True):
    """Operations under each fault: ``total`` ok ones, and what is missing under single faults.

    ``together`` and ``together_least`` are the ok and the required operations under faults that were too short to be
    judged one by one.  ``before`` counts writes acknowledged before faults that left no quorum, ``before_least`` those
    required.  ``unapplied`` is as in :class:`OkCounts`.
    """

    check: str = "under-fault"
    kind: str = "under-fault"
    verdict: Verdict = "valid"
    faults: tuple[WindowCount, ...]
    total: int = 0
    short_kinds: tuple[ShortKind, ...] = ()
    empty_thirds: tuple[EmptyThird, ...] = ()
    together: int = 0
    together_least: int = 0
    unapplied: int = 0
    before: dict[int, int] = {}
    before_least: dict[int, int] = {}


class ReadBack(Finding, frozen=True, kw_only=True):
    """Writes ``acknowledged`` under faults, at least ``least``, on ``keys`` keys, of which ``unread`` were not read."""

    check: str = "read-back"
    kind: str = "read-back"
    acknowledged: int
    least: int
    keys: int
    unread: tuple[str, ...]


class Unfelt(Struct, frozen=True):
    """A fault whose victims answered while they should have been stopped.

    They served ``operations``, and ``nodes`` answered probes.
    """

    id: int
    fault: str
    operations: int
    nodes: tuple[str, ...]


class FaultStates(Finding, frozen=True, kw_only=True):
    """How often each fault got into each state: that of its receipt, *late* (after the load) or *unfelt*.

    ``bare`` are the faults that were never installed as required, and ``reasons`` say why.
    """

    check: str = "faults"
    kind: str = "fault-states"
    states: dict[str, dict[str, int]]
    bare: tuple[str, ...]
    reasons: dict[str, tuple[str, ...]]
    unfelt: tuple[Unfelt, ...]


class ReadSpan(Struct, frozen=True):
    """Final reads at the end, or after the restart: of ``read`` keys, not of the keys ``missing``.

    ``unserved`` maps nodes to the keys that their own clients requested without success.
    """

    restarted: bool
    read: int
    missing: tuple[str, ...]
    unserved: dict[str, tuple[str, ...]]


class FinalReads(Finding, frozen=True, kw_only=True):
    """The final reads of all ``keys``; with ``by_each``, each node's own clients must read them."""

    check: str = "final-reads"
    kind: str = "final-reads"
    keys: int
    by_each: bool
    spans: tuple[ReadSpan, ...]


#: The highest 99th percentile (ms) of how late operations may be issued by the harness.
LATE_MS: Final = 1000.0
#: The share of the main phase in which the harness may have stood still.
STILL_SHARE: Final = 0.1


class Pace(Finding, frozen=True, kw_only=True):
    """Figures, by name, that show whether the harness kept pace (ms, operations per second or shares).

    ``late_ms`` is how late 99 of 100 operations were at most, and ``still`` the share of the main phase in which the
    harness was stalled. ``queued`` operations of an ``open_loop`` found no client.
    """

    check: str = "kept-pace"
    kind: str = "pace"
    verdict: Verdict = "valid"
    figures: dict[str, float]
    late_ms: float
    still: float
    queued: int
    open_loop: bool


class RunEnd(Finding, frozen=True, kw_only=True):
    """How the run ended."""

    check: str = "whole"
    kind: str = "run-end"
    how: Literal["reached", "interrupted", "failed", "stopped", "killed"]


class KnownDefect(Struct, frozen=True, kw_only=True):
    """A known defect that left its fingerprint in a run, and the kinds of violations that it explains there.

    ``why`` names the page that describes it.
    """

    name: str
    kinds: tuple[str, ...]
    why: str = ""


def known_defects_in(results: Mapping[str, Any]) -> tuple[KnownDefect, ...]:
    """Return the known defects in ``results.json``, skipping malformed records."""
    defects = []
    for record in results.get("known_defects") or ():
        try:
            defects.append(msgspec.convert(record, KnownDefect))
        except msgspec.ValidationError:
            continue
    return tuple(defects)


def defect_behind(results: Mapping[str, Any], kinds: Collection[str]) -> str:
    """Return the name of the only known defect that explains all of these kinds of violations; else empty."""
    names = [defect.name for defect in known_defects_in(results) if kinds and set(kinds) <= set(defect.kinds)]
    return names[0] if len(names) == 1 else ""


def contradictions(
    check: str, examples: Iterable[Counterexample], own: Iterable[Kind] = ()
) -> tuple[Contradiction, ...]:
    """Return the findings of a check that has a counterexample for each violation, one finding for each kind.

    ``own`` gives the severities of kinds that only this check has; other kinds lose data if in ``LOST``, and are
    inconsistent otherwise.
    """
    examples, own = tuple(examples), tuple(own)
    dated = [(example.kind, example.completed_at) for example in examples]
    keys: dict[str, dict[str, None]] = {}
    for example in examples:
        keys.setdefault(example.kind, {})[str(example.key)] = None
    return tuple(_contradiction(check, kind, keys[kind.kind], own) for kind in count_kinds(dated, len(dated)))


def contradictions_of_keys(
    check: str, keys: Iterable[tuple[Any, Iterable[KindCount], bool]]
) -> tuple[Contradiction, ...]:
    """Return the findings about the keys of a history, one for each kind of violation.

    ``keys`` yields (key, its violations by kind, whether it may have more).
    """
    by_kind: dict[str, Contradiction] = {}
    for key, kinds, more in keys:
        for kind in kinds:
            finding = _contradiction(check, kind, (str(key),), (), more=more)
            by_kind[kind.kind] = finding if kind.kind not in by_kind else _joined(by_kind[kind.kind], finding)
    return tuple(sorted(by_kind.values(), key=lambda finding: (finding.since is None, finding.since)))


def _contradiction(
    check: str, kind: KindCount, keys: Iterable[str], own: Iterable[Kind], *, more: bool = False
) -> Contradiction:
    known = (graded.severity for graded in (*own, *_LOST) if graded.name == kind.kind)
    severity: Severity = next(known, "inconsistent")
    return Contradiction(
        check=check, kind=kind.kind, severity=severity, since=kind.first, until=kind.last, count=kind.count,
        keys=tuple(keys), more=more,
    )  # fmt: skip


def _joined(first: Contradiction, other: Contradiction) -> Contradiction:
    begun = [time for time in (first.since, other.since) if time is not None]
    ended = [time for time in (first.until, other.until) if time is not None]
    return msgspec.structs.replace(
        first, since=min(begun, default=None), until=max(ended, default=None), count=first.count + other.count,
        keys=(*first.keys, *other.keys), more=first.more or other.more,
    )  # fmt: skip


F = TypeVar("F", bound=Finding)


def first_of(kind: type[F], check: Mapping[str, Any]) -> F | None:
    """Return the first finding of this type in a check's record; None if there is none."""
    return next((finding for finding in findings_in(check) if isinstance(finding, kind)), None)


def findings_in(check: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return the findings in a check's record in ``results.json``, skipping malformed ones.

    A finding of an unknown type, for example from a system that is not installed, becomes a plain :class:`Finding`.
    """
    records = check.get("findings")
    if not records or not isinstance(records, list | tuple):
        return ()
    types: dict[str, type[Finding]] = {}
    for kind in types_below(Finding):  # our own types come first, so no other type can take their names
        types.setdefault(kind.__name__, kind)
    findings = (_finding(record, types) for record in records)
    return tuple(finding for finding in findings if finding is not None)


def _finding(record: Any, types: Mapping[str, type[Finding]]) -> Finding | None:
    if not isinstance(record, Mapping):
        return None
    try:
        if (known := types.get(str(record.get("type")))) is not None:
            return msgspec.convert(record, known, str_keys=True)
        plain = {name: record[name] for name in Finding.__struct_fields__ if name in record}
        return msgspec.convert(plain | {"type": Finding.__name__}, Finding)
    except msgspec.ValidationError:
        return None


def types_below(kind: type[Finding]) -> Iterator[type[Finding]]:
    """Yield all subclasses of a finding type, each before its own subclasses."""
    for below in kind.__subclasses__():
        yield below
        yield from types_below(below)
