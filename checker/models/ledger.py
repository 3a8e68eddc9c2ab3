"""A log in which others use some indexes: indexes grow but need not be consecutive.

``append`` value, not null -> index; ``get`` index -> value, or null if there is no client entry; ``list`` -> all
entries as [index, value], in order.  The logs of consensus libraries are like this, because they contain entries of
their own.

A history is linearizable if and only if it is linearizable as a ``log`` that counts only the indexes known to hold a
client's entry: an unknown index constrains nothing, and between two known ones there may be any number.  If a list
skips a known index, its entry there is None, which no log contains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from checker.core.calls import freeze
from checker.core.model import ILLEGAL, UNKNOWN, Model, ModelError, State
from checker.models.objects import Log, is_index
from history import Operation
from history.records.text import counted


class Ledger(Model):
    """An append-only log whose indexes grow and may have gaps; the answer to an append is the index.

    The state is the entries in order, each with its index, its value, and the indexes that it cannot have.  The
    index of a pending append is None until a read shows it.
    """

    name = "ledger"
    is_general = False
    noun = "log"
    initial: State = ()
    reads: frozenset[str] = frozenset()
    #: An index that only a refuted answer named leaves a hole in the log, and none in the ledger.
    artefacts = frozenset({"log-hole"})
    has_gaps = True

    def admit(self, f: str, value: Any, result: Any) -> None:
        if f == "append":
            wrong = value is None or (result is not UNKNOWN and not is_index(result))
        elif f == "get":
            wrong = not is_index(value)
        elif f == "list":
            wrong = result is not UNKNOWN and not _are_entries(result)
        else:
            raise ModelError(f"a ledger has no operation {f!r}")
        if wrong:
            raise ModelError(f"{f} of {value!r} on a ledger cannot be answered by {result!r}")

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f == "append":
            last = max((index for index, _, _ in state if index is not None), default=-1)
            index = None if result is UNKNOWN else result
            return ILLEGAL if index is not None and index <= last else (*state, (index, value, frozenset()))
        if result is UNKNOWN:
            return state
        if f == "get":
            return _seen(state, value, result)
        if len(result) != len(state):
            return ILLEGAL
        for index, item in result:
            if state is not ILLEGAL:
                state = _seen(state, index, item)
        return state

    def respond(self, state: State, f: str, value: Any) -> Any:
        if f == "append":
            return len(state)
        if f == "get":
            return next((item for index, item, _ in state if index == value), None)
        return tuple((index, item) for index, item, _ in state)

    def judged_as(self, operations: Sequence[Operation]) -> tuple[Model, Sequence[Operation]]:
        """Judge it as a log of the known entries."""
        return Log(), _dense(operations)

    def witnesses(self, core: Sequence[Operation], operations: Iterable[Operation]) -> list[Operation]:
        """Return, for each get that found no entry, the operation that shows a client's entry at that index."""
        known = {index for operation in core if operation.outcome == "ok" for index in _known(operation)}
        wanted = {get.value for get in core if get.f == "get" and get.outcome == "ok" and get.result is None} - known
        shown: dict[int, Operation] = {}
        for operation in operations if wanted else ():
            if operation.outcome == "ok":
                shown |= dict.fromkeys(wanted.intersection(_known(operation)) - shown.keys(), operation)
        return list({operation.invoke_index: operation for operation in shown.values()}.values())

    def describe(self, state: State) -> str:
        return f"a log of {counted(len(state), 'entry', 'entries')} of clients"


def _seen(state: Any, index: int, item: Any) -> State:
    """Return the state once this entry is known at that index; None as the item: no client's entry."""
    if item is None:
        if any(known == index for known, _, _ in state):
            return ILLEGAL
        return tuple((known, kept, out if known is not None else out | {index}) for known, kept, out in state)
    for place, (known, kept, out) in enumerate(state):
        if kept == item:
            if known is not None:
                return state if known == index else ILLEGAL
            before = max((other for other, _, _ in state[:place] if other is not None), default=-1)
            after = min((other for other, _, _ in state[place:] if other is not None), default=index + 1)
            fits = before < index < after and index not in out
            return (*state[:place], (index, item, out), *state[place + 1 :]) if fits else ILLEGAL
    return ILLEGAL


def _dense(operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations on a ``log`` that contains exactly the known entries.

    Raises ModelError for operations that a ledger does not have, and for a value appended twice.
    """
    model = Ledger()
    ok = [operation for operation in operations if operation.outcome == "ok"]
    for operation in ok:
        model.admit(operation.f, freeze(operation.value), freeze(operation.result))
    appended = [freeze(operation.value) for operation in operations if operation.f == "append"]
    if None in appended:
        raise ModelError("a ledger cannot hold null, which is the answer at an index without a client's entry")
    if len(set(appended)) < len(appended):
        raise ModelError("a ledger needs unique values, but one was appended twice")
    known = sorted({index for operation in ok for index in _known(operation)})
    place = {index: place for place, index in enumerate(known)}
    return [moved for operation in operations if (moved := _moved(operation, place)) is not None]


def _known(operation: Operation) -> Iterable[int]:
    """Return the indexes at which, by this operation, there is a client's entry."""
    if operation.f == "append":
        return (operation.result,)
    if operation.f == "get":
        return () if operation.result is None else (operation.value,)
    return (index for index, _ in operation.result)


def _moved(operation: Operation, place: dict[int, int]) -> Operation | None:
    if operation.outcome != "ok":
        return operation
    if operation.f == "append":
        return replace(operation, result=place[operation.result])
    if operation.f == "get":
        return replace(operation, value=place[operation.value]) if operation.value in place else None
    items: list[Any] = [None] * (1 + max((place[index] for index, _ in operation.result), default=-1))
    for index, item in operation.result:
        items[place[index]] = item
    return replace(operation, result=items)


def _are_entries(result: Any) -> bool:
    return (
        isinstance(result, tuple)
        and all(
            isinstance(entry, tuple) and len(entry) == 2 and is_index(entry[0]) and entry[1] is not None
            for entry in result
        )
        and all(before < after for (before, _), (after, _) in pairwise(result))
    )
