"""Files that our faults destroyed, and what that excuses.

A server may refuse to start on a damaged file of the classes that its system names (``System.may_refuse``).  A log that
we cut lacks what we cut off, and a node forgets a term whose file we destroyed. None of this is the system's fault.
Nothing else is excused: if only a minority of the nodes was damaged, the cluster must keep its data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias, cast, get_args

from harness.judge.answers_by_process import last_answers, last_begins
from harness.judge.recovery import committed_by
from harness.plan import Plan
from history import Probe, Receipt
from reports.words.of_damage import cut_text, damaged_text

FileClass: TypeAlias = Literal["data", "index", "term", "snapshot", "other", "unknown"]

#: The classes of files that hold parts of the log.
LOG: Final[tuple[FileClass, ...]] = ("data", "index")
#: The faults that damage files.  Without a witness, such a fault may have damaged any file.
FAULTS: Final = ("file-truncate", "file-bitflip")
#: A vote that was under way when the file was damaged shows in probes within this time (ns).
_FRESH_NS: Final = 2_000_000_000
#: An answer may arrive this long (ns) after the end of its process, because a probe waits that long for it.
_LATE_NS: Final = 1_000_000_000
#: Ending all processes takes at most this long (ns).  A process that still answers after that was not ended.
_ENDED_NS: Final = 10_000_000_000


@dataclass(frozen=True, slots=True)
class Damage:
    """One file of one node, damaged between ``begin`` and ``end`` (ns since the run's start) while the server was down.

    ``begin`` is before the fault's first command.  Every later answer of the node comes from the damaged copy.
    """

    node: str
    file: str
    kind: FileClass
    begin: int
    end: int

    def may_be(self, *kinds: FileClass) -> bool:
        """Return whether the file belongs, or may belong, to one of these classes."""
        return self.kind == "unknown" or self.kind in kinds


@dataclass(frozen=True, slots=True)
class Excused:
    """For each node, the times (begin and end, ns) during which our faults explain why its log is short."""

    spans: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def covers(self, node: str, time: int) -> bool:
        return any(begin <= time < end for begin, end in self.spans.get(node, ()))


class Voided(NamedTuple):
    """Proof that our damage may explain a loss of committed entries from ``since`` (ns) on.

    Only ``whole`` of ``members`` nodes were seen to hold everything committed by then on a log that was not cut.
    """

    since: int
    nodes: tuple[str, ...]
    whole: int
    members: int


@dataclass(frozen=True, slots=True)
class Damages:
    """All damage of a run; ``may_refuse`` holds the classes of files whose damage lets a node refuse to start."""

    all: tuple[Damage, ...] = ()
    may_refuse: frozenset[str] = frozenset()

    @property
    def nodes(self) -> frozenset[str]:
        return frozenset(damage.node for damage in self.all)

    def of(self, node: str, *kinds: FileClass) -> list[Damage]:
        """Return the damage on a node, to some classes of files or to all."""
        return [damage for damage in self.all if damage.node == node and (not kinds or damage.may_be(*kinds))]

    def first(self, *kinds: FileClass) -> int | None:
        """Return the time of the first damage to a file of these classes (ns), or None."""
        return min((damage.begin for damage in self.all if damage.may_be(*kinds)), default=None)

    def before(self, node: str, time: int) -> bool:
        """Return whether any file of the node had been damaged by this time."""
        return any(damage.begin <= time for damage in self.of(node))

    @property
    def refusable(self) -> tuple[Damage, ...]:
        """The damage that lets a node refuse to start."""
        kinds = cast(Iterable[FileClass], self.may_refuse)
        return tuple(damage for damage in self.all if self.may_refuse and damage.may_be(*kinds))

    def refused(self, probes: Sequence[Probe], gone_at: int = -1) -> dict[str, Damage]:
        """Return the nodes that never answered after damage that lets them refuse to start, with that damage.

        If ``gone_at`` (ns) is given, all processes were ended at that time, and the nodes must not have answered after
        it.  Until then, and a little longer, the old process may answer.  If no node ever answered, nothing is known
        and the result is empty.
        """
        begins, last = last_begins(probes), last_answers(probes)

        def silent_since(node: str, moment: int) -> bool:
            return begins.get(node, -1) <= moment and last.get(node, -1) <= moment + _ENDED_NS

        return {
            damage.node: damage
            for damage in self.refusable
            if last and silent_since(damage.node, max(damage.end, gone_at))
        }

    def excused_logs(self, probes: Sequence[Probe]) -> Excused:
        """Return the spans from damage to a node's log until that log is again as long as its commit index was."""
        spans: dict[str, list[tuple[int, int]]] = {}
        for damage in self.all:
            if damage.may_be(*LOG):
                spans.setdefault(damage.node, []).append((damage.begin, _whole_again(damage, probes)))
        return Excused(spans)

    def voided(self, members: Iterable[str], probes: Sequence[Probe]) -> Voided | None:
        """Return the time since which our damage to logs may have lost committed entries; None if that cannot be shown.

        A replicated log keeps an entry that a majority of disks holds.  A log that we cut does not count: what had been
        committed by then is safe only if a majority of the members held all of it on uncut logs.  If nodes do not
        report what is committed, this cannot be shown.
        """
        everyone = list(members)
        logs = sorted((damage for damage in self.all if damage.may_be(*LOG)), key=lambda damage: damage.begin)
        for damage in logs:
            cut = {other.node for other in logs if other.begin <= damage.begin}
            committed = committed_by(probes, damage.end)
            near = [p for p in probes if p.answered and damage.begin <= p.time <= damage.end + _FRESH_NS]
            hold = {p.node for p in near if max(p.log_end, p.applied) >= committed}
            whole = len((hold - cut) & {*everyone})
            if committed >= 0 and whole <= len(everyone) // 2:
                return Voided(damage.begin, tuple(sorted(cut)), whole, len(everyone))
        return None

    def forgot_term(self, node: str, before: int, after: int) -> bool:
        """Return whether the node's term was damaged between two of its answers; the first may have arrived late."""
        return any(damage.begin <= after and damage.end >= before - _LATE_NS for damage in self.of(node, "term"))

    def double_vote(self, term: int, second_claim: int, probes: Sequence[Probe]) -> bool:
        """Return whether a node may have voted twice in a term because we destroyed the file that held its vote.

        The first vote came before the damage, so some node knew of the term by then or soon after.  The second leader
        came after the damage.
        """
        for damage in self.all:
            if damage.may_be("term") and damage.begin <= second_claim:
                known = (p.term for p in probes if p.answered and p.time <= damage.end + _FRESH_NS)
                if term <= max(known, default=-1):
                    return True
        return False

    def warnings(self, members: Iterable[str], *, lost: bool = False) -> list[str]:
        """Return warnings about damage to more than a minority of members and, if data is ``lost``, about cut logs."""
        counted, lines = frozenset(members), []
        number, hit = len(counted), sorted(self.nodes & counted)
        if len(hit) > (number - 1) // 2:
            lines.append(damaged_text(hit, number))
        if lost and (cut := sorted({damage.node for damage in self.all if damage.may_be(*LOG)})):
            lines.append(cut_text(cut))
        return lines


NONE: Final = Damages()


def _whole_again(damage: Damage, probes: Sequence[Probe]) -> int:
    mine = [probe for probe in probes if probe.node == damage.node and probe.answered]
    had = committed_by(mine, damage.end)
    again = (probe.time for probe in mine if probe.time > damage.end and probe.log_end >= had)
    return next(again, 1 << 62)


def damages_of(receipts: Iterable[Receipt], plan: Plan) -> Damages:
    """Return the damage that the receipts' witnesses show.

    A fault without a witness may have damaged any file of its targets.
    """
    system = plan.under_test
    damages: list[Damage] = []
    for receipt in receipts:
        end = receipt.started if receipt.stood is None else receipt.stood
        damaged = receipt.witness.get("damaged")
        if isinstance(damaged, dict):
            damages += [
                Damage(node, str(harm.get("file", "a file")), _class(harm.get("class")), receipt.started, end)
                for node, harm in damaged.items()
            ]
        elif receipt.fault in FAULTS and receipt.state == "indeterminate":
            damages += [Damage(node, "a file", "unknown", receipt.started, end) for node in receipt.nodes]
    return Damages(tuple(damages), system.may_refuse)


def _class(recorded: object) -> FileClass:
    return cast(FileClass, recorded) if recorded in get_args(FileClass) else "other"
