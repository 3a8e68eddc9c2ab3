"""Decide append-only logs: agreement on the entries, then one sweep over the indexes.

With t_i the moment at which index i was filled, t_0 <= t_1 <= …, and

    L_i = max(invocation of the append of i, invocations of reads that did not see i)
    U_i = min(return of the append of i, returns of reads that saw i)

the history is linearizable iff the running maximum of L stays at or below the running minimum (from behind) of U.
Pending appends that were not seen are dropped, but every gap below the greatest index must be filled by one of them:
the gaps, in order, take the earliest invoked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from checker.core.calls import Call
from checker.core.engine import ByColumns, Engine
from checker.core.model import Model
from checker.core.result import EngineResult, Limits, not_begun
from checker.engines.log_columns import LogProof, bounds, log_columns
from checker.engines.sentences import explain_log
from checker.models.objects import Log
from history import Operation
from history.records.verdicts import MAX_EXPLAINED

ENGINE: Final = "log sweep"
_FUNCTIONS: Final = ("append", "get", "list")


def entries_unique(calls: Sequence[Call]) -> bool:
    """Return whether the sweep applies: no value was appended twice, and none equals the answer for no entry."""
    appended = [call.value for call in calls if call.f == "append"]
    known = set(appended)
    return len(known) == len(appended) and None not in known and all(call.f in _FUNCTIONS for call in calls)


@dataclass(slots=True)
class _Disagreement(Exception):  # noqa: N818 (a finding, not an error)
    """Operations that cannot agree on the log's entries."""

    kind: str
    calls: tuple[Call, ...]


@dataclass(slots=True)
class _Entries:
    """Value of each index, with a call that shows it, and the appends by value."""

    at: dict[int, tuple[Any, Call]] = field(default_factory=dict)
    place: dict[Any, tuple[int, Call]] = field(default_factory=dict)
    appends: dict[Any, Call] = field(default_factory=dict)
    left_out: list[tuple[int, Call]] = field(default_factory=list)

    def claim(self, index: int, value: Any, call: Call) -> None:
        if value is None:
            self.left_out.append((index, call))
            return
        known = self.at.setdefault(index, (value, call))
        if known[0] != value:
            raise _Disagreement("log-overwrite", (known[1], call))
        where = self.place.setdefault(value, (index, call))
        if where[0] != index:
            raise _Disagreement("duplicate", (where[1], call))
        if value not in self.appends:
            raise _Disagreement("never-written", (call,))

    def refuse_left_out(self) -> None:
        """Reject lists that skip an index below their end.  Raises _Disagreement."""
        for index, call in self.left_out:
            if index in self.at:
                raise _Disagreement("log-overwrite", (self.at[index][1], call))
            raise _Disagreement("log-hole", (call,))


def decide_by_log_sweep(calls: Sequence[Call], limits: Limits, *, proof: bool = True) -> EngineResult:
    """Decide whether one log, whose values are appended once each, is linearizable."""
    try:
        filled, witnesses = _agree(calls, limits)
        return _sweep(calls, filled, witnesses, limits, proof=proof)
    except _Disagreement as disagreement:
        core = tuple(sorted(disagreement.calls, key=lambda call: call.invoke))
        last = max((call.ret for call in core if not call.pending), default=None)
        return EngineResult("invalid", ENGINE, cores=(core,), violations=1, last=last, kind=disagreement.kind)


def _agree(calls: Sequence[Call], limits: Limits) -> tuple[list[Call], dict[int, Call]]:
    """Return the append of every index, and the first call that shows each append's index, by its source.

    Gaps are filled by pending appends.  Raises _Disagreement.
    """
    entries = _Entries(appends={call.value: call for call in calls if call.f == "append"})
    longest: tuple[int, Call] | None = None
    for call in limits.paced(sorted(calls, key=lambda call: call.ret), ENGINE):
        for index, value in _claims(call):
            entries.claim(index, value, call)
            if longest is None or index >= longest[0]:
                longest = (index, call)
    entries.refuse_left_out()
    if longest is None:
        return [], {}
    spare = [call for call in calls if call.f == "append" and call.pending and call.value not in entries.place]
    spare.sort(key=lambda call: call.invoke, reverse=True)
    filled = []
    for index in range(longest[0] + 1):
        if index in entries.at:
            filled.append(entries.appends[entries.at[index][0]])
        elif spare:
            filled.append(spare.pop())
        else:
            raise _Disagreement("log-hole", (longest[1],))
    return filled, {entries.appends[value].source: call for value, (_, call) in entries.place.items()}


def _claims(call: Call) -> list[tuple[int, Any]]:
    if call.pending:
        return []
    if call.f == "append":
        return [(call.result, call.value)]
    if call.f == "get":
        return [] if call.result is None else [(call.value, call.result)]
    return list(enumerate(call.result))


def _sweep(
    calls: Sequence[Call], filled: list[Call], witnesses: dict[int, Call], limits: Limits, *, proof: bool
) -> EngineResult:
    size = len(filled)
    low: list[tuple[int, Call]] = [(call.invoke, call) for call in filled]
    high: list[tuple[int, Call]] = [(call.ret, call) for call in filled]
    for call in limits.paced(calls, ENGINE):
        if call.f == "append":
            continue
        unseen, sighted = _sight(call)
        if unseen is not None and unseen < size and call.invoke > low[unseen][0]:
            low[unseen] = (call.invoke, call)
        if sighted is not None and call.ret < high[sighted][0]:
            high[sighted] = (call.ret, call)
    for index in range(1, size):
        low[index] = max(low[index], low[index - 1], key=lambda bound: bound[0])
    for index in range(size - 2, -1, -1):
        high[index] = min(high[index], high[index + 1], key=lambda bound: bound[0])
    pairs = _crossings(low, high)
    if pairs and pairs[0][1].pending and pairs[0][1].source not in witnesses:
        # A pending append that fills a gap began too late, and there is no earlier one.
        raise _Disagreement("log-hole", pairs[0][:1])
    # A later one of this kind does not depend on order either, and is found once the others are out of its way.
    known = (pair for pair in pairs if not pair[1].pending or pair[1].source in witnesses)
    cores = list(dict.fromkeys(_witnessed(*pair, witnesses) for pair in known))
    if cores:
        shown = tuple(cores[:MAX_EXPLAINED])
        return EngineResult("invalid", ENGINE, cores=shown, violations=len(cores), last=cores[0][0].ret)
    return EngineResult("valid", ENGINE, order=_order(calls, filled, [bound[0] for bound in low]) if proof else None)


def _sight(call: Call) -> tuple[int | None, int | None]:
    """Return the least index that a read did not see, and the greatest that it saw."""
    if call.f == "list":
        return len(call.result), len(call.result) - 1 if call.result else None
    return (call.value, None) if call.result is None else (None, call.value)


def _witnessed(before: Call, after: Call, witnesses: dict[int, Call]) -> tuple[Call, ...]:
    """Return the core; an append without an answer needs a call that shows its index."""
    if not after.pending or index_said(before, after.value) is not None:
        return before, after
    witness = witnesses[after.source]
    return (witness, after) if witness.ret < after.invoke else (before, after, witness)


def index_said(call: Call, value: Any) -> int | None:
    """Return the index at which a call shows a value, or None."""
    return next((index for index, entry in _claims(call) if entry == value), None)


def _crossings(low: list[tuple[int, Call]], high: list[tuple[int, Call]]) -> list[tuple[Call, Call]]:
    """Return pairs (saw it by then, did not see it later), one for each early call, earliest first."""
    pairs: dict[int, tuple[Call, Call]] = {}
    for (late, after), (early, before) in zip(low, high, strict=True):
        if late > early:
            pairs.setdefault(before.source, (before, after))
    return sorted(pairs.values(), key=lambda pair: pair[0].ret)


def _order(calls: Sequence[Call], filled: list[Call], at: list[int]) -> list[Call]:
    """Place appends at their earliest moments, and reads as early as what they saw allows."""
    keyed = [((moment, index, 0), call) for index, (moment, call) in enumerate(zip(at, filled, strict=True))]
    for call in calls:
        if call.f == "append":
            continue
        unseen, sighted = _sight(call)
        if call.f == "get" and sighted is None:
            keyed.append(((call.invoke, -1, 0), call))
        else:
            moment = max(call.invoke, at[sighted] if sighted is not None else -1)
            keyed.append(((moment, len(filled) if call.f == "get" else (unseen or 0) - 1, 1), call))
    return [call for _, call in sorted(keyed, key=lambda item: item[0])]


def _by_columns(operations: Sequence[Operation], _model: Model, limits: Limits, _proof: bool) -> ByColumns | None:
    """Decide without making calls; None if the operations do not fit into columns or disagree on the entries."""
    columns = log_columns(operations)
    if columns is None:
        return None
    if limits.over():
        return ByColumns(not_begun(ENGINE, columns.size), columns.size)
    all_bounds = bounds(columns)
    if all_bounds is None:
        return None
    result = EngineResult("valid" if all_bounds.valid else "invalid", ENGINE)
    return ByColumns(result, columns.size, LogProof(columns, all_bounds))


LOG: Final = Engine(
    "log", ENGINE, "append-only logs whose entries are unique", "O(n log n)",
    lambda model, calls: type(model) is Log and entries_unique(calls),
    lambda calls, _model, limits, proof: decide_by_log_sweep(calls, limits, proof=proof),
    explain_log, _by_columns,
)  # fmt: skip
