"""``probes.jsonl``: the status that each node reported about itself, about four times a second."""

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

#: The beginning of the error of an answer that has a figure of the wrong type.
WRONG_TYPE: Final = "figures of the wrong type"

Role: TypeAlias = Literal["leader", "follower", "candidate", "unknown"]


@dataclass(frozen=True, slots=True)
class Probe:
    """One answer to one status request.  If there was no answer, ``error`` says why.

    ``time`` is when the answer arrived (nanoseconds since the run's start).  ``clock_ms`` is the node's own wall clock
    in milliseconds since 1970.

    Log positions are indexes in the node's own log, and -1 if there is none.  ``log_begin`` and ``log_end`` are the
    first and last entry of the log.

    ``digest`` is a hash of the whole state machine after the entry ``state_index``, the last one that it ever applied.
    Two nodes that report the same index must report the same digest.  It is None if the system has no digests.

    Some counts since the process ``pid`` started are 0 on a healthy node: ``unapplied_oks``, acknowledgements of
    entries that this node never applied; ``apply_errors``, batches that failed to apply; ``reapplied``, returns to
    entries applied before; and ``undecodable``, committed entries that could not be read.  ``fault`` describes the
    first thing that went wrong in the process.

    ``own`` holds other numbers and strings that the node reported, under the system's own names.
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
    def unreadable(self) -> bool:
        """Whether the node answered, but with a figure of the wrong type."""
        return self.error is not None and self.error.startswith(WRONG_TYPE)

    @property
    def holds_from(self) -> int:
        """Index from which entries must be in the node's log; earlier ones are in its snapshot.

        An empty log begins nowhere.  If such a node has a snapshot, everything that it applied may be in that
        snapshot.
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
class LeadershipClaim:
    """A node's claim about leadership: whether it leads, its term (-1 if none), and the node it names as leader."""

    node: str
    leads: bool
    term: int = -1
    names: str | None = None


def leader_now(newest: Mapping[str, Probe], members: Collection[str]) -> str | None:
    """Return the leader according to the newest probe of each node; see :func:`leader_by`."""
    answers = (probe for probe in newest.values() if probe.answered)
    return leader_by(
        (LeadershipClaim(reply.node, reply.role == "leader", reply.term, reply.leader) for reply in answers), members
    )


def leader_by(claims: Iterable[LeadershipClaim], members: Collection[str]) -> str | None:
    """Return the leader according to the nodes' claims at one moment; None if there is none.

    Only members can lead.  Among several leaders, the highest term wins.  Without terms nothing shows which leader is
    older, so the leader is the one that a majority of all members names, if any.
    """
    known = [claim for claim in claims if claim.node in members]
    leading = [(claim.node, claim.term) for claim in known if claim.leads]
    if len(leading) < 2 or max(term for _, term in leading) >= 0:
        return leader_among(leading)
    votes = Counter(claim.node if claim.leads else claim.names for claim in known)
    return next((node for node, _ in leading if votes[node] > len(members) // 2), None)


def leader_among(claims: Iterable[tuple[str, int]]) -> str | None:
    """Return the first node :func:`by_rank` among the (node, term) pairs that claim to lead; None if there are none."""
    return next(iter(by_rank(claims)), None)


def by_rank(claims: Iterable[tuple[str, int]]) -> list[str]:
    """Sort the nodes of (node, term) pairs that claim to lead: highest term first, then by name.

    Several nodes can claim to lead at once, because a leader that was cut off does not know that it was replaced.
    """
    return [node for node, _ in sorted(claims, key=lambda claim: (-claim[1], claim[0]))]


def last_commit(probes: Iterable[Probe]) -> int | None:
    """Return when the cluster was last seen to commit something new (ns); None if no probe shows it.

    A commit index counts only if it exceeds all those reported before: a node that merely learns what was committed,
    for example after a restart, commits nothing new.  After a loss, indexes start again from a lower value.  Then a
    leader's commit index counts if it rises above the end that its log had when the node was first seen to lead in that
    term.
    """
    highest: int | None = None
    last = None
    held: dict[tuple[str, int], int] = {}
    before: dict[str, int] = {}
    for probe in sorted((answer for answer in probes if answer.answered), key=lambda answer: answer.time):
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
    """Return the first line of ``probes.jsonl``, without its newline."""
    return json.dumps({"format": PROBES_FORMAT, "version": PROBES_VERSION}, separators=(",", ":"))


def read_probes(path: Path) -> list[Probe]:
    """Read a whole ``probes.jsonl``, ignoring a torn last line.  Raises FormatError and OSError."""
    with path.open("rb") as file:
        return list(probes_in(file, path))


def _probe(record: dict[str, Any]) -> Probe:
    """Convert a record to a probe.  Raises ValueError."""
    if unknown := record.keys() - _FIELDS:
        raise ValueError(f"there is no field {min(unknown)!r}")
    return convert(record, Probe)


def read_probe(line: bytes, path: Path, number: int) -> Probe:
    """Parse the probe in a line of the file ``path``.  Raises FormatError."""
    try:
        return _probe(load_object(line))
    except (ValueError, TypeError) as error:
        raise _no_probe(path, number, error) from None


def probes_in(lines: Iterable[bytes], path: Path) -> Iterator[Probe]:
    """Yield the probes in the lines of the file ``path``, ignoring a torn last line.  Raises FormatError."""
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n"):
            return
        if number > 1:
            yield read_probe(line, path, number)
            continue
        try:
            header = load_object(line)
            if header["format"] != PROBES_FORMAT or header["version"] != PROBES_VERSION:
                raise ValueError(f"expected {PROBES_FORMAT} version {PROBES_VERSION}")
        except (ValueError, TypeError, KeyError) as error:
            raise _no_probe(path, number, error) from None


def _no_probe(path: Path, number: int, error: Exception) -> FormatError:
    return FormatError(str(path), f"line {number}", f"not a probe: {error}")
