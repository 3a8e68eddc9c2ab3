"""Ledgers that are fenced: one writer adds entries, until a recovery or its own close fixes the last one.

No search is needed, because ids say where an entry is, and each payload is added once.  So checking the promises only
compares sequences and sets, in time linear in the number of operations.  Operations, by ledger (their ``key``):

===========  =============================  ==========================================================================
``f``        value                          result
===========  =============================  ==========================================================================
``create``                                  anything
``window``   ``[first, count]``: payloads   the id of each, None for one in doubt; all are in flight at once
``tail``     the first id                   ``lac``, ``first``, ``entries``: read without recovery, none beyond ``lac``
``recover``                                 ``last``: the ledger was fenced and ends there
``close``                                   ``last``: its writer closed it
``read``                                    ``last``, ``entries``: all of it after recovery (None: no replica has it);
                                            ``bytes`` of these; ``closed``, ``length``: its metadata.  None: it is gone
===========  =============================  ==========================================================================

All windows of a ledger belong to one worker, and their payloads count up.

What is checked, and the kinds of violations:

- An acknowledged add is readable forever, by its id and with its payload: ``lost-add``, ``unreadable-entry``,
  ``other-payload``, ``ledger-gone``.
- Once the end of a ledger was answered, no add beyond it is acknowledged: ``acknowledged-beyond-end``.  This compares
  ids rather than times, because the acknowledgement may have been under way.  An add acknowledged beyond several ends
  is held against the first that was answered: a later reader of the ledger only repeats it.
- Every recovery, close and reader sees the same end: ``ends-differ``.
- Ids are dense, payloads unique, in the order of the adds, and only what was added: ``hole``, ``duplicate``, ``order``,
  ``never-added``, ``failed-add-found``.
- An entry that was read once at or below LastAddConfirmed stays, and the ledger does not end before it:
  ``read-then-gone``, ``confirmed-beyond-end``.
- The length in the metadata is the sum of the payloads: ``wrong-length``.  It is ``length-beyond-end`` if the length is
  that sum plus the sizes of the next adds, up to one of them, so that it counts adds after the end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Final

from checker.core.wording import who
from history import Counterexample, Operation, Verdict
from history.records.text import counted

#: Every kind of violation and its meaning, most serious first.
KINDS: Final[Mapping[str, str]] = {
    "lost-add": "an acknowledged add lies beyond the settled end of its ledger, so no reader gets it",
    "acknowledged-beyond-end": "an entry was acknowledged beyond an end that a reader had already settled",
    "unreadable-entry": "an acknowledged entry is within its ledger, but a read of the whole ledger lacks it",
    "ledger-gone": "a ledger that was created cannot be found",
    "read-then-gone": "an entry was read, but a later read lacks it",
    "other-payload": "an entry differs from the one that was acknowledged, or from what another reader saw",
    "ends-differ": "two clients got different ends of the same ledger",
    "confirmed-beyond-end": "more adds were confirmed than the end of the ledger allows",
    "duplicate": "an entry that was added once appears twice",
    "never-added": "a read returned an entry that was never added",
    "failed-add-found": "a read returned an entry whose add certainly failed",
    "order": "entries are not in the order in which they were added",
    "hole": "an entry is missing before the end of the ledger",
    "wrong-length": "the length in a ledger's metadata differs from that of its entries",
    "length-beyond-end": "the length in a ledger's metadata counts adds beyond its end",
}
#: The kinds in which something acknowledged or confirmed is gone.
LOST: Final = ("lost-add", "acknowledged-beyond-end", "unreadable-entry", "ledger-gone", "read-then-gone")

#: The kinds in which a reader saw an entry as confirmed that is not in the ledger.
CONFIRMED: Final = ("read-then-gone", "confirmed-beyond-end")

_Key = str | int | None


@dataclass(frozen=True, slots=True)
class LedgerReport:
    """The violations, at most one per kind and ledger, most serious first.

    ``unread`` are the ledgers that no client read completely, so that nothing is known about them.  ``counts`` has the
    numbers of ledgers, acknowledged adds, adds in doubt, those of them that were kept, and ends that were answered.
    ``logged`` has, for each kind of violation, the numbers by which the nodes' logs name the ledgers; ``shown`` has,
    for each of these, the entry that a reader saw as confirmed, for the kinds that are about such an entry.
    """

    violations: tuple[Counterexample, ...]
    unread: tuple[_Key, ...]
    counts: dict[str, int]
    logged: dict[str, list[str]]
    shown: dict[str, list[int]]

    @property
    def verdict(self) -> Verdict:
        if self.violations:
            return "invalid"
        return "unknown" if self.unread or not self.counts["acknowledged"] else "valid"


@dataclass(slots=True)
class LedgerHistory:
    """One ledger's operations, and what they imply.

    ``acknowledged`` maps an id to the payload and the operation of its window.
    """

    key: _Key
    operations: list[Operation]
    size_of: Callable[[int], int]
    acknowledged: dict[int, tuple[int, Operation]] = field(default_factory=dict)
    ends: list[tuple[int, Operation]] = field(default_factory=list)
    wholes: list[Operation] = field(default_factory=list)

    def of(self, f: str) -> Iterator[Operation]:
        return (operation for operation in self.operations if operation.f == f)

    @property
    def number(self) -> int | None:
        """The system's number for the ledger, which the nodes' logs use."""
        number = next((operation.result for operation in self.of("create") if operation.outcome == "ok"), None)
        return number if isinstance(number, int) else None

    def broken(self, kind: str, sentence: str, *notes: tuple[Operation, str]) -> Counterexample:
        logged = f" (ledger {self.number} in the logs)" if self.number is not None else ""
        return Counterexample.of_promise(kind, f"ledger {self.key}{logged}: {sentence}", *notes)


def check_fenced_ledgers(operations: Iterable[Operation], size_of: Callable[[int], int]) -> LedgerReport:
    """Judge each ledger by its operations; ``size_of`` returns the size of a payload in bytes."""
    by_key: defaultdict[_Key, list[Operation]] = defaultdict(list)
    for operation in operations:
        by_key[operation.key].append(operation)
    violations: list[Counterexample] = []
    unread: list[_Key] = []
    logged: dict[str, list[str]] = {}
    shown: dict[str, list[int]] = {}
    counts = dict.fromkeys(("ledgers", "acknowledged", "doubted", "kept", "ends"), 0)
    for key, mine in by_key.items():
        ledger = LedgerHistory(key, sorted(mine, key=lambda operation: operation.invoke_index), size_of)
        if all(create.outcome != "ok" for create in ledger.of("create")):
            continue  # its id is not known
        broken = _first_of_each_kind(_judge(ledger))
        for example in broken if ledger.number is not None else ():
            logged.setdefault(example.kind, []).append(str(ledger.number))
            if example.kind in CONFIRMED:
                shown.setdefault(example.kind, []).append(_shown(example))
        violations += broken
        if not ledger.wholes:
            unread.append(key)
        _count(ledger, counts)
    violations.sort(key=lambda violation: (list(KINDS).index(violation.kind), violation.operations[0].invoke_index))
    return LedgerReport(tuple(violations), tuple(unread), counts, logged, shown)


def _first_of_each_kind(examples: Iterable[Counterexample]) -> list[Counterexample]:
    first: dict[str, Counterexample] = {}
    for example in examples:
        first.setdefault(example.kind, example)
    return list(first.values())


def _count(ledger: LedgerHistory, counts: dict[str, int]) -> None:
    kept = set(ledger.wholes[0].result["entries"]) if ledger.wholes else set()
    doubted = [payload for window in ledger.of("window") for payload in _in_doubt(window)]
    counts["ledgers"] += 1
    counts["acknowledged"] += len(ledger.acknowledged)
    counts["doubted"] += len(doubted)
    counts["kept"] += sum(payload in kept for payload in doubted)
    counts["ends"] += len(ledger.ends)


def _judge(ledger: LedgerHistory) -> Iterator[Counterexample]:
    yield from _acknowledgements(ledger)
    for operation in ledger.operations:
        if operation.outcome == "ok" and operation.f in ("recover", "close", "read") and operation.result is not None:
            ledger.ends.append((operation.result["last"], operation))
            if operation.result.get("closed") is not None:
                ledger.ends.append((operation.result["closed"], operation))
        if operation.outcome == "ok" and operation.f == "read":
            if operation.result is None:
                created = ((made, "creates the ledger") for made in ledger.of("create") if made.outcome == "ok")
                text = f"it was created, but {_who(operation)} could not find it"
                yield ledger.broken("ledger-gone", text, *created, (operation, "finds no such ledger"))
            else:
                ledger.wholes.append(operation)
    # Only the first violation of each kind is shown.  Sort by answer, so that it is the first contradictory answer.
    ledger.ends.sort(key=lambda end: end[1].end_index)
    ledger.wholes.sort(key=lambda op: op.end_index)
    yield from _ends(ledger)
    yield from _contents(ledger)
    yield from _tails(ledger)
    yield from _lengths(ledger)


# -- one promise each -------------------------------------------------------------------------------------------------


def _acknowledgements(ledger: LedgerHistory) -> Iterator[Counterexample]:
    """Check that ids of acknowledged adds are unique and grow."""
    highest = (-1, -1, ledger.operations[0])
    for window in ledger.of("window"):
        for payload, id_ in _acknowledged(window):
            if id_ < highest[0]:
                text = f"{payload} was added after {highest[1]}, and acknowledged with id {id_} below {highest[0]}"
                yield ledger.broken(
                    "order", text, (highest[2], _acked(highest[1], highest[0])), (window, _acked(payload, id_))
                )
            else:
                highest = (id_, payload, window)
            other, before = ledger.acknowledged.setdefault(id_, (payload, window))
            if other != payload:
                text = f"{other} ({_who(before)}) and {payload} ({_who(window)}) were both acknowledged with id {id_}"
                yield ledger.broken("duplicate", text, (before, _acked(other, id_)), (window, _acked(payload, id_)))


def _ends(ledger: LedgerHistory) -> Iterator[Counterexample]:
    """Check that all operations see the same end, and that nothing beyond it is acknowledged or confirmed."""
    if not ledger.ends:
        return
    first, earliest = min(ledger.ends, key=lambda end: end[1].end_index)
    for last, op in ledger.ends:
        if last != first:
            text = f"{_who(earliest)} got the answer that it ends at {first}, but {_who(op)} that it ends at {last}"
            yield ledger.broken("ends-differ", text, (earliest, _ends_at(first)), (op, _ends_at(last)))
            break
    shortest = _Shortest(ledger.ends)
    for id_, (payload, op) in ledger.acknowledged.items():
        acknowledged = f"{payload} was acknowledged with id {id_} ({_who(op)})"
        if (end := shortest.answered_first(id_)) is None:
            continue
        added, ended = (op, _acked(payload, id_)), (end[1], _ends_at(end[0]))
        if _before(op, end[1]):
            yield ledger.broken("lost-add", f"{acknowledged}, and then {_ended(end)}", added, ended)
        else:
            then = "and then" if _before(end[1], op) else "and"
            yield ledger.broken("acknowledged-beyond-end", f"{_ended(end)}, {then} {acknowledged}", ended, added)
    for op in ledger.of("tail"):
        if op.outcome == "ok" and (end := shortest.answered_first(op.result["lac"])) is not None:
            text = f"{_who(op)} saw {op.result['lac']} as confirmed, and {_ended(end)}"
            confirmed = (op, f"LastAddConfirmed {op.result['lac']}")
            yield ledger.broken("confirmed-beyond-end", text, confirmed, (end[1], _ends_at(end[0])))


_End = tuple[int, Operation]


class _Shortest:
    """An index of ends, to find the earliest answer whose end excludes an id."""

    def __init__(self, ends: Iterable[_End]) -> None:
        by_last = sorted(ends, key=lambda end: end[0])
        self._lasts = [last for last, _ in by_last]
        self._first = list(accumulate(by_last, partial(min, key=lambda end: end[1].end_index)))

    def answered_first(self, id_: int) -> _End | None:
        place = bisect_left(self._lasts, id_)
        return self._first[place - 1] if place else None


def _ended(end: _End) -> str:
    return f"{_who(end[1])} ended it at {end[0]}"


def _contents(ledger: LedgerHistory) -> Iterator[Counterexample]:
    """Check the whole ledger as each reader saw it after recovery."""
    windows = {payload: window for window in ledger.of("window") for payload in _payloads(window)}
    for whole in ledger.wholes:
        entries = whole.result["entries"]
        yield from _against_acknowledged(ledger, whole)
        if len(entries) != whole.result["last"] + 1:
            read = counted(len(entries), "entry", "entries")
            text = f"{_who(whole)} read {read} of a ledger that ends at {whole.result['last']}"
            yield ledger.broken("hole", text, (whole, f"{read}, {_ends_at(whole.result['last'])}"))
        yield from _sequence(ledger, whole, windows)


def _sequence(ledger: LedgerHistory, whole: Operation, windows: dict[int, Operation]) -> Iterator[Counterexample]:
    """Check that payloads are unique, were added, and are in the order of their adds."""
    place: dict[int, int] = {}
    highest = -1
    highest_of: dict[int, int] = {}
    for id_, payload in enumerate(whole.result["entries"]):
        reading = f"{_who(whole)} read {payload} with id {id_}"
        if payload is None:
            if id_ not in ledger.acknowledged:
                text = f"{_who(whole)} found no entry {id_}, and the ledger ends at {whole.result['last']}"
                yield ledger.broken("hole", text, (whole, _lacks(whole, id_)))
        elif payload in place:
            twice = f"reads {payload} with ids {place[payload]} and {id_}"
            yield ledger.broken("duplicate", f"{reading}, and with id {place[payload]}", (whole, twice))
        elif (window := windows.get(payload)) is None:
            place[payload] = id_
            yield ledger.broken("never-added", f"{reading}, which was never added", (whole, _reads(payload, id_)))
        else:
            place[payload] = id_
            if window.outcome == "fail":
                text = f"{reading}, whose add certainly failed ({_who(window)})"
                failed = (window, f"the add of {payload} fails")
                yield ledger.broken("failed-add-found", text, failed, (whole, _reads(payload, id_)))
            among = highest_of.get(window.invoke_index, -1)
            if payload < among or (payload < highest and _before(window, windows[highest])):
                later = among if payload < among else highest
                text = f"{reading}, after {later} that was added later"
                added = [(window, f"adds {payload}"), (windows[later], f"adds {later}")]
                yield ledger.broken("order", text, *added, (whole, f"reads {payload} behind {later}"))
            highest, highest_of[window.invoke_index] = max(highest, payload), max(among, payload)


def _against_acknowledged(ledger: LedgerHistory, whole: Operation) -> Iterator[Counterexample]:
    entries = whole.result["entries"]
    for id_, (payload, op) in ledger.acknowledged.items():
        if id_ >= len(entries):
            continue  # beyond the end
        if entries[id_] is None:
            text = f"{payload} was acknowledged with id {id_} ({_who(op)}), but {_who(whole)} finds it on no replica"
            yield ledger.broken("unreadable-entry", text, (op, _acked(payload, id_)), (whole, _lacks(whole, id_)))
        elif entries[id_] != payload:
            text = f"{payload} was acknowledged with id {id_} ({_who(op)}), where {_who(whole)} read {entries[id_]}"
            other = (whole, _reads(entries[id_], id_))
            yield ledger.broken("other-payload", text, (op, _acked(payload, id_)), other)


def _tails(ledger: LedgerHistory) -> Iterator[Counterexample]:
    """Check that reads without recovery always agree with reads of the whole ledger."""
    by_id: dict[int, tuple[int, Operation]] = {}
    for op in ledger.of("tail"):
        if op.outcome != "ok":
            continue
        for id_, payload in enumerate(op.result["entries"], op.result["first"]):
            if (earlier := by_id.setdefault(id_, (payload, op)))[0] != payload:
                text = f"{_who(earlier[1])} read {earlier[0]} with id {id_}, and {_who(op)} read {payload}"
                before = (earlier[1], _reads(earlier[0], id_))
                yield ledger.broken("other-payload", text, before, (op, _reads(payload, id_)))
            known = ledger.acknowledged.get(id_)
            if known is not None and known[0] != payload:
                text = f"{known[0]} was acknowledged with id {id_} ({_who(known[1])}), where {_who(op)} read {payload}"
                added = (known[1], _acked(known[0], id_))
                yield ledger.broken("other-payload", text, added, (op, _reads(payload, id_)))
    for whole in ledger.wholes:
        entries = whole.result["entries"]
        for id_, (payload, op) in by_id.items():
            now = entries[id_] if id_ < len(entries) else None
            if now is None:
                text = f"{_who(op)} read {payload} with id {id_}, confirmed; {_who(whole)} finds no such entry"
                yield ledger.broken("read-then-gone", text, (op, _reads(payload, id_)), (whole, _lacks(whole, id_)))
            elif now != payload:
                text = f"{_who(op)} read {payload} with id {id_}, and {_who(whole)} read {now}"
                yield ledger.broken("other-payload", text, (op, _reads(payload, id_)), (whole, _reads(now, id_)))


def _lengths(ledger: LedgerHistory) -> Iterator[Counterexample]:
    for whole in ledger.wholes:
        result = whole.result
        if result["length"] is not None and None not in result["entries"] and result["length"] != result["bytes"]:
            text = f"its metadata says {result['length']} bytes, but its entries have {result['bytes']} ({_who(whole)})"
            says = f"length {result['length']}, entries of {result['bytes']} bytes"
            beyond = result["length"] in _lengths_beyond(ledger, whole)
            text += ", which includes adds beyond its end" if beyond else ""
            yield ledger.broken("length-beyond-end" if beyond else "wrong-length", text, (whole, says))
    complete: dict[int, Operation] = {}
    for whole in ledger.wholes:
        entries = whole.result["entries"]
        if None in entries:
            continue  # a missing entry is a violation of another kind
        first = complete.setdefault(len(entries), whole)
        if first.result["entries"] != entries:
            text = f"{_who(first)} and {_who(whole)} read different entries"
            yield ledger.broken("other-payload", text, (first, "reads all"), (whole, "reads other entries"))


def _lengths_beyond(ledger: LedgerHistory, whole: Operation) -> Iterator[int]:
    """Yield the lengths that the ledger would have with one, two and more of the adds after its last entry."""
    last = max(whole.result["entries"], default=-1)
    added = (payload for window in ledger.of("window") if window.outcome != "fail" for payload in _payloads(window))
    return accumulate((ledger.size_of(payload) for payload in added if payload > last), initial=whole.result["bytes"])


# -- operations -------------------------------------------------------------------------------------------------------


def _payloads(window: Operation) -> range:
    first, count = window.value
    return range(first, first + count)


def _acknowledged(window: Operation) -> Iterator[tuple[int, int]]:
    """Yield payload and id of each acknowledged add."""
    if window.outcome == "ok":
        yield from ((p, id_) for p, id_ in zip(_payloads(window), window.result, strict=True) if id_ is not None)


def _in_doubt(window: Operation) -> Sequence[int]:
    if window.outcome == "ok":
        return [p for p, id_ in zip(_payloads(window), window.result, strict=True) if id_ is None]
    return [] if window.outcome == "fail" else _payloads(window)


def _before(operation: Operation, other: Operation) -> bool:
    return operation.outcome != "info" and operation.end_index < other.invoke_index


def _shown(example: Counterexample) -> int:
    """Return the entry that a reader saw as confirmed and that is not in the ledger."""
    by_function = {operation.f: operation.result for operation in example.operations}
    tail = by_function["tail"]
    if example.kind == "confirmed-beyond-end":
        return int(tail["lac"])
    entries = by_function["read"]["entries"]
    ids = range(tail["first"], tail["first"] + len(tail["entries"]))
    return next(id_ for id_ in ids if id_ >= len(entries) or entries[id_] is None)


def _who(operation: Operation) -> str:
    """Describe an operation: ``the recovery of process 9 on n5 (3.162-3.401 s)``."""
    noun = {"window": "the window", "recover": "the recovery", "close": "the close", "tail": "the reader",
            "read": "the last read", "create": "the create"}.get(operation.f, operation.f)  # fmt: skip
    until = "" if operation.returned is None else f"-{operation.returned / 1e9:.3f}"
    return f"{noun} of {who(operation)} ({operation.invoked / 1e9:.3f}{until} s)"


# -- an operation's part in a violation, in a few words ---------------------------------------------------------------


def _acked(payload: int, id_: int) -> str:
    return f"{payload} acknowledged with id {id_}"


def _reads(payload: int, id_: int) -> str:
    return f"reads {payload} with id {id_}"


def _lacks(whole: Operation, id_: int) -> str:
    return f"finds no entry {id_}, {_ends_at(whole.result['last'])}"


def _ends_at(last: int) -> str:
    return f"the ledger ends at {last}"
