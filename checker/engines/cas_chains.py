"""Decide CAS registers whose new values are unique by chains of CAS operations, in O(n log n).

Every value is produced once, so at most one successful CAS can replace it, and the values form chains v1 -> v2 -> … ->
vm that are current one right after the other.  With op_i the operation that produced v_i,

    L_i = max(invocation of op_i, invocations of reads of v_(i-1), L_(i-1))   earliest moment at which v_i can begin
    U_i = min(return of op_i, returns of reads of v_i, U_(i+1))               latest moment at which v_i can begin

and L_i < U_i is necessary.  A chain then plays the part that a single value plays for a plain register (see ``zones``):
f = U_1, s = max(L_m, invocations of reads of v_m).  A pending operation counts only if its value was read, or was
replaced by an operation that counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from checker.core.calls import Call, made_by
from checker.core.engine import ANY_SIZE, PLAIN_SEARCH_CALLS, Engine
from checker.core.intervals import IntArray
from checker.core.model import ANY, Model, is_register
from checker.core.result import EngineResult, Limits
from checker.engines.zones import crossing
from history.codes import NEVER

ENGINE: Final = "cas chains"


def new_values_unique(calls: Sequence[Call], initial: Any) -> bool:
    """Return whether chains apply: each value is produced at most once, and the initial one never."""
    made = {initial}
    for call in calls:
        if call.f != "read":
            new = made_by(call)
            if new in made:
                return False
            made.add(new)
    return True


@dataclass(slots=True)
class _Value:
    """Operations on one value: the one that made it, those that replaced it, and its reads."""

    maker: Call | None = None
    takers: list[Call] = field(default_factory=list)
    first_read: int = NEVER
    last_read: int = -1


@dataclass(frozen=True, slots=True)
class _Links:
    values: dict[Any, _Value]
    initial: Any


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Bounds of a chain: its f and s, and L of each of its values."""

    first: int
    last: int
    earliest: list[int]


@dataclass(frozen=True, slots=True)
class _Clash:
    """Contradiction within a chain: this invocation must not come after that return."""

    invocation: int
    earlier: int


def decide_by_chains(calls: Sequence[Call], model: Model, limits: Limits, *, proof: bool = True) -> EngineResult:
    """Decide whether a cas register whose new values are unique is linearizable.

    With ``proof``, a valid result has an order.
    """
    links = _Links(_collect(calls, limits), model.initial)
    starts = _start_values(links)
    bad = _bad_value(links)
    chains = [] if bad is not None else [_chain(links, root) for root in starts]
    if bad is None and sum(len(chain) for chain in chains) < len(links.values):
        bad = max(call.invoke for call in calls)
    if bad is not None:
        return EngineResult("invalid", ENGINE, violations=1)
    bounds = [_bounds(links, chain) for chain in chains]
    sound = [bound for bound in bounds if isinstance(bound, _Bounds)]
    if len(sound) < len(bounds):
        return EngineResult("invalid", ENGINE, violations=1)
    first, last = (np.array([getattr(bound, end) for bound in sound], np.int64) for end in ("first", "last"))
    outer, _ = crossing(first, last)
    if outer.size:
        return EngineResult("invalid", ENGINE, violations=int(np.unique(outer).size))
    return EngineResult(
        "valid", ENGINE, order=_order(calls, chains, sound, _free_moments(first, last)) if proof else None
    )


def suspects(calls: Sequence[Call], model: Model, limits: Limits) -> list[Call]:
    """Return the two to four calls of an invalid history whose bounds contradict each other first.

    The list is empty if something else is wrong: a value was never made, or was replaced twice.  Raises OutOfTimeError.
    """
    links = _Links(_collect(calls, limits), model.initial)
    if _bad_value(links) is not None:
        return []
    bounds = [_bounds(links, _chain(links, root)) for root in _start_values(links)]
    clashes = [(clash.invocation, {clash.invocation}, {clash.earlier}) for clash in bounds if isinstance(clash, _Clash)]
    sound = [bound for bound in bounds if isinstance(bound, _Bounds)]
    first, last = (np.array([getattr(bound, end) for bound in sound], np.int64) for end in ("first", "last"))
    for pair in zip(*(some.tolist() for some in crossing(first, last)), strict=True):
        begun, ended = ({getattr(sound[place], end) for place in pair} for end in ("last", "first"))
        clashes.append((max(begun), begun, ended))
    _, begun, ended = min(clashes, key=lambda contradiction: contradiction[0], default=(0, set[int](), set[int]()))
    return [call for call in calls if call.invoke in begun or call.ret in ended]


def _collect(calls: Sequence[Call], limits: Limits) -> dict[Any, _Value]:
    """Collect the operations on each value that counts."""
    everything: dict[Any, _Value] = {}
    waiting: dict[Any, Call] = {}
    wanted: list[Any] = []
    for call in limits.paced(calls, ENGINE):
        if call.f == "read":
            value = everything.setdefault(call.result, _Value())
            value.first_read, value.last_read = min(value.first_read, call.ret), max(value.last_read, call.invoke)
            wanted.append(call.result)
        elif call.pending:
            waiting[made_by(call)] = call
        else:
            wanted += _include(call, everything)
    while wanted:
        value = wanted.pop()
        if value in waiting:
            wanted += _include(waiting.pop(value), everything)
    return everything


def _include(call: Call, values: dict[Any, _Value]) -> list[Any]:
    """Add an operation to its values; return the value that it replaced, if any."""
    new = made_by(call)
    values.setdefault(new, _Value()).maker = call
    if call.f == "write":
        return []
    values.setdefault(call.value[0], _Value()).takers.append(call)
    return [call.value[0]]


def _start_values(links: _Links) -> list[Any]:
    """Return the values that chains start with: the initial one, and those that were written."""
    starts = [links.initial]
    links.values.setdefault(links.initial, _Value())
    starts += [value for value, of in links.values.items() if of.maker is not None and of.maker.f == "write"]
    return starts


def _bad_value(links: _Links) -> Any:
    """Return a value that was never made or was replaced twice, as a tuple; None if there is none."""
    for value, of in links.values.items():
        if (of.maker is None and value != links.initial) or len(of.takers) > 1:
            return (value,)
    return None


def _chain(links: _Links, root: Any) -> list[Any]:
    chain = [root]
    while takers := links.values[chain[-1]].takers:
        chain.append(takers[0].value[1])
    return chain


def _bounds(links: _Links, chain: list[Any]) -> _Bounds | _Clash:
    """Return the bounds of a chain, or the clash that rules them out.  The initial value was made at -1."""
    earliest, before = [], -1
    reach = -1
    for value in chain:
        of = links.values[value]
        reach = max(reach, before, of.maker.invoke if of.maker else -1)
        earliest.append(reach)
        before = of.last_read
    last = max(reach, before)
    latest = NEVER
    for value, low in zip(reversed(chain), reversed(earliest), strict=True):
        of = links.values[value]
        latest = min(latest, of.maker.ret if of.maker else -1, of.first_read)
        if low > latest:
            return _Clash(low, latest)
    return _Bounds(latest, last, earliest)


def chain_zones(
    starts: IntArray, begun: IntArray, ended: IntArray, first_read: IntArray, last_read: IntArray
) -> tuple[IntArray, IntArray] | None:
    """Return the zones of the chains as columns (f, s), or None if a chain contradicts itself.

    The arguments have for each value the invocation and return of the call that made it, the first return and the
    last invocation of its reads.  The values of a chain are adjacent and begin at the chain's place in ``starts``.
    """
    size = begun.size
    ends, number = np.append(starts[1:], size) - 1, np.zeros(size, np.int64)
    number[starts[1:]] = 1
    # Shift the chains apart by more than any rank, so that one accumulation serves all of them.
    top = max(int(begun.max()), int(last_read.max()), 0) + 2
    shift = np.cumsum(number) * (2 * top)
    before = np.append(-1, last_read[:-1])
    before[starts] = -1
    low = np.maximum.accumulate(np.maximum(begun, before) + shift) - shift
    high = np.minimum(np.minimum(ended, first_read), top) + shift
    high = np.minimum.accumulate(high[::-1])[::-1] - shift
    if (low > high).any():
        return None
    first = high[starts]
    return np.where(first == top, NEVER, first), np.maximum(low[ends], last_read[ends])


def _free_moments(first: IntArray, last: IntArray) -> IntArray:
    """Find a free moment for each chain that is done by f: s, or the end of the chain that covers s."""
    lasting = np.flatnonzero(first < last)
    lasting = lasting[np.argsort(first[lasting])]
    # They do not intersect, so among those that began before s only the newest can still be current.
    ends = np.concatenate([[-1], last[lasting]])
    moments: IntArray = np.maximum(last, ends[np.searchsorted(first[lasting], last)])
    return moments


def _order(calls: Sequence[Call], chains: Sequence[list[Any]], bounds: Sequence[_Bounds], free: IntArray) -> list[Call]:
    """Return a linearization: a chain with f < s takes [f, s], any other a moment that no such interval covers.

    On [f, s] the value v_i is made at max(f, L_i), which is at most U_i.  A read of it takes effect there or, if
    that is later, at its own invocation, which is at most L_(i+1).
    """
    stands: dict[Any, tuple[int, bool, int, int]] = {}
    for number, (chain, bound) in enumerate(zip(chains, bounds, strict=True)):
        lasts = bound.first < bound.last
        for place, (value, low) in enumerate(zip(chain, bound.earliest, strict=True)):
            moment = max(bound.first, low) if lasts else int(free[number])
            stands[value] = (moment, not lasts, number, place)
    keyed: list[tuple[tuple[int, bool, int, int, bool, int], Call]] = []
    for call in calls:
        is_read = call.f == "read"
        value = call.result if is_read else made_by(call)
        if value in stands:  # others are pending, and no call needs what they may have done
            moment, squeezed, number, place = stands[value]
            at = max(moment, call.invoke) if is_read and not squeezed else moment
            keyed.append(((at, squeezed, number, place, is_read, call.invoke), call))
    return [call for _, call in sorted(keyed, key=lambda item: item[0])]


def decide_register(calls: Any, _limits: Limits) -> EngineResult | None:
    """Decide whether one register in gathered columns is linearizable; None if a value is produced twice."""
    from checker.kernels import cas_chains as kernel

    state = kernel.judge_chains(calls.kind, calls.value, calls.old, calls.invoke, calls.ret, len(calls.names))
    if state == kernel.REPEATED:
        return None
    return EngineResult("valid", ENGINE) if state == kernel.VALID else EngineResult("invalid", ENGINE, violations=1)


#: Up to this many calls, the search makes better counterexamples.
CHAINS: Final = Engine(
    "chains", ENGINE, "cas registers whose new values are unique", "O(n log n)",
    lambda model, calls: is_register(model) and model.initial is not ANY and new_values_unique(calls, model.initial),
    lambda calls, model, limits, proof: decide_by_chains(calls, model, limits, proof=proof),
    by_register=decide_register, unasked=ANY_SIZE[PLAIN_SEARCH_CALLS + 1 :],
)  # fmt: skip
