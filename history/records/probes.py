"""``probes.jsonl``: what each node said of itself, about four times a second."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from history.errors import FormatError
from history.json_object import load_object
from history.schema import Int64, convert

PROBES_FORMAT: Final = "harness-probes"
PROBES_VERSION: Final = 3

Role: TypeAlias = Literal["leader", "follower", "candidate", "unknown"]


@dataclass(frozen=True, slots=True)
class Probe:
    """One answer to one status request, or the reason why there was none (then ``error`` is set).

    Log positions are indexes of the node's own log, -1 where it has none.  ``time`` is when the answer arrived
    (nanoseconds since the run's start); ``clock_ms`` is the node's own wall clock in milliseconds since 1970.

    ``digest`` is a hash of the whole state machine after the entry ``state_index``, the furthest one that it ever
    applied: two nodes that report the same index must report the same digest.  None from a system that has none.

    Counts since the process ``pid`` started, 0 on a healthy node: ``unapplied_oks`` acknowledgements of entries that
    were never applied here, ``apply_errors`` batches in which applying failed, ``reapplied`` returns to entries applied
    before, ``undecodable`` committed entries that could not be read.  ``fault`` is the first thing that went wrong in
    it, in words.

    ``log_begin`` and ``log_end`` are the first and the last entry of the node's log.

    ``own`` are numbers and texts that the node said beyond these, under the system's own names.
    """

    time: Int64
    node: str
    role: Role = "unknown"
    term: Int64 = -1
    leader: str | None = None
    log_begin: Int64 = -1
    log_end: Int64 = -1
    committed: Int64 = -1
    applied: Int64 = -1
    snapshots_saved: Int64 = 0
    snapshots_loaded: Int64 = 0
    clock_ms: Int64 = 0
    state_index: Int64 = -1
    digest: str | None = None
    unapplied_oks: Int64 = 0
    apply_errors: Int64 = 0
    reapplied: Int64 = 0
    undecodable: Int64 = 0
    fault: str | None = None
    pid: Int64 = 0
    error: str | None = None
    own: Mapping[str, int | float | str] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        return self.error is None

    @property
    def holds_from(self) -> int:
        """The index from which on entries must be in the node's log: what lies below is in its snapshot.

        A log without any entry says no begin: where there is a snapshot, all that was applied may be in it.
        """
        empty = self.log_begin == self.log_end == -1
        return self.applied + 1 if empty and (self.snapshots_saved or self.snapshots_loaded) else self.log_begin

    def to_json(self) -> dict[str, Any]:
        if self.error is not None:
            return {"time": self.time, "node": self.node, "error": self.error}
        record = {name: getattr(self, name) for name in self.__slots__ if name not in ("error", "own")}
        return {**record, "own": dict(self.own)} if self.own else record


_FIELDS: Final = frozenset(Probe.__slots__)


@dataclass(frozen=True, slots=True)
class Claim:
    """A node's claim about leadership: whether it leads, in which term (-1 without), and the name of its leader."""

    node: str
    leads: bool
    term: int = -1
    names: str | None = None


def claim_of(probe: Probe) -> Claim:
    """The claim about leadership in a probe that answered."""
    return Claim(probe.node, probe.role == "leader", probe.term, probe.leader)


def leader_by(claims: Iterable[Claim], members: Collection[str]) -> str | None:
    """The leader by what the nodes say at one moment, None without one.

    Only members may lead.  The highest term decides between several that say so.  Where they have no terms, nothing
    shows which of them is the older: then it is the one that a majority of all members names, if there is one.
    """
    said = [claim for claim in claims if claim.node in members]
    leading = [(claim.node, claim.term) for claim in said if claim.leads]
    if len(leading) < 2 or max(term for _, term in leading) >= 0:
        return leader_among(leading)
    votes = Counter(claim.node if claim.leads else claim.names for claim in said)
    return next((node for node, _ in leading if votes[node] > len(members) // 2), None)


def leader_among(claims: Iterable[tuple[str, int]]) -> str | None:
    """The leader, of the (node, term) that call themselves leader: the first :func:`by_rank`, None if none."""
    return next(iter(by_rank(claims)), None)


def by_rank(claims: Iterable[tuple[str, int]]) -> list[str]:
    """The nodes of some (node, term) that call themselves leader: the highest term first, in one term by name.

    Several may do so at once: those that were cut off do not know yet that they were succeeded.
    """
    return [node for node, _ in sorted(claims, key=lambda claim: (-claim[1], claim[0]))]


def last_commit(probes: Iterable[Probe]) -> int | None:
    """When the cluster was last seen to commit something new (ns); None where no probe shows it.

    A node that learns what had been committed before, as after a restart, commits nothing: a commit index counts that
    is above all that were reported before it.  After a loss the indexes begin again from further down: then it counts
    on a leader, above the end that its log had when the node was first seen to lead in that term.
    """
    highest: int | None = None
    last = None
    held: dict[tuple[str, int], int] = {}
    before: dict[str, int] = {}
    for probe in sorted((one for one in probes if one.answered), key=lambda one: one.time):
        leading = (probe.node, probe.term)
        led = probe.role == "leader" and leading in held
        if probe.role == "leader":
            held.setdefault(leading, probe.log_end)
        rose = led and probe.committed > before[probe.node] and probe.committed > held[leading] >= 0
        if (highest is not None and probe.committed > highest) or rose:
            last = probe.time
        highest = probe.committed if highest is None else max(highest, probe.committed)
        before[probe.node] = probe.committed
    return last


def probes_header() -> str:
    """The first line of the file, without its newline."""
    return json.dumps({"format": PROBES_FORMAT, "version": PROBES_VERSION}, separators=(",", ":"))


def read_probes(path: Path) -> list[Probe]:
    """Read a whole ``probes.jsonl``; a torn last line is left out.  Raises FormatError and OSError."""
    with path.open("rb") as file:
        return list(probes_in(file, path))


def _probe(record: dict[str, Any]) -> Probe:
    """The probe in a record.  Raises ValueError."""
    if unknown := record.keys() - _FIELDS:
        raise ValueError(f"there is no field {min(unknown)!r}")
    return convert(record, Probe)


def probes_in(lines: Iterable[bytes], path: Path) -> Iterator[Probe]:
    """The probes in the lines of a file, which ``path`` names; a torn last line is left out.  Raises FormatError."""
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n"):
            return
        try:
            record = load_object(line)
            if number > 1:
                yield _probe(record)
            elif record["format"] != PROBES_FORMAT or record["version"] != PROBES_VERSION:
                raise ValueError(f"expected {PROBES_FORMAT} version {PROBES_VERSION}")
        except (ValueError, TypeError, KeyError) as error:
            raise FormatError(str(path), f"line {number}", f"not a probe: {error}") from None
