"""The form in which callers of the library pass transactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from history import FormatError, Operation
from history.records.operations import TXN, Outcome

#: The title in results of what decides transactions.
ENGINE: Final = "dependency graph"


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction of a client.

    ``steps`` are ``["append", key, value]`` and ``["r", key, list]``, or ``["w", key, value]`` and ``["r", key,
    value]``; reads of a transaction that is not ok may have None.  ``outcome`` is ok if it committed, fail if it
    certainly did not, and info if that is unknown.  ``invoked`` and ``returned`` are times on one clock, in any unit.
    Without them, real time is not judged, and the transactions of a ``process`` are in the order of the list.
    """

    process: int
    steps: Sequence[Sequence[Any]]
    outcome: Outcome = "ok"
    invoked: float | None = None
    returned: float | None = None


def operations_of_transactions(transactions: Sequence[Transaction]) -> list[Operation]:
    """Convert transactions to operations, in the order of their invocations.

    At equal times, invocations come before returns, so that neither transaction precedes the other.  Raises
    FormatError if only some transactions have times.
    """
    timed = [transaction.invoked is not None for transaction in transactions]
    if any(timed) and not all(timed):
        raise FormatError("transactions", f"item {timed.index(False)}", "it has no invocation time, but others do")
    events: list[tuple[float, int, int]] = []
    for number, transaction in enumerate(transactions):
        events.append((number if transaction.invoked is None else transaction.invoked, 0, number))
        if transaction.outcome != "info" and transaction.invoked is not None and transaction.returned is not None:
            if transaction.returned < transaction.invoked:
                raise FormatError("transactions", f"item {number}", "it returned before it was invoked")
            events.append((transaction.returned, 1, number))
    begins, ends = dict[int, int](), dict[int, int]()
    for place, (_, ending, number) in enumerate(sorted(events)):
        (ends if ending else begins)[number] = place
    return [_operation(transactions[number], begin, ends.get(number)) for number, begin in begins.items()]


def _operation(transaction: Transaction, begin: int, end: int | None) -> Operation:
    steps = [list(step) for step in transaction.steps]
    result = steps if transaction.outcome == "ok" else None
    return Operation(
        transaction.process, TXN, None, steps, result, transaction.outcome,
        int(transaction.invoked or 0), None if transaction.returned is None else int(transaction.returned), begin, end,
    )  # fmt: skip
