"""Refute registers by a read of a value that was never written, which needs no search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from checker.core.calls import Call, asked_by, made_by
from checker.core.engine import Engine, only
from checker.core.intervals import IntArray
from checker.core.model import ANY, Model, is_register
from checker.core.result import EngineResult
from checker.engines.zones_columns import dense_ids
from history.codes import ABSENT, READ
from history.readers.columns import OperationColumns
from history.records.verdicts import MAX_EXPLAINED

ENGINE: Final = "values"
#: Kind of a read whose value was written by no operation that may have had an effect.
NEVER_WRITTEN: Final = "never-written"
_OF_REGISTERS: Final = only("read", "write", "cas")


def refute(calls: Sequence[Call], model: Model) -> EngineResult | None:
    """Refute a register by one read (or CAS) of each value that was never written; None if there is none."""
    written = {made_by(call) for call in calls if call.f != "read"}
    strays: dict[Any, Call] = {}
    asking = (call for call in calls if call.f == "read" or (call.f == "cas" and not call.pending))
    for call in sorted(asking, key=lambda call: call.ret):
        value = asked_by(call)
        if value not in written and value != model.initial:
            strays.setdefault(value, call)
    return each_alone([*strays.values()]) if strays else None


def each_alone(calls: Sequence[Call]) -> EngineResult:
    """Return an invalid result with each of these calls as a core of its own."""
    first = sorted(calls, key=lambda call: call.ret)
    cores = tuple((call,) for call in first[:MAX_EXPLAINED])
    beyond = tuple((NEVER_WRITTEN, call.source) for call in first[MAX_EXPLAINED:])
    return EngineResult("invalid", ENGINE, cores=cores, violations=len(first), last=first[0].ret, beyond=beyond)


def never_written(columns: OperationColumns, rows: IntArray) -> IntArray:
    """Find, in columns, the first read to return each value that was never written."""
    distinct, value = dense_ids(columns.value[rows])
    reads = columns.kind[rows] == READ
    written = np.zeros(distinct.size, np.bool_)
    written[value[~reads]] = True
    written |= distinct == ABSENT
    strange: IntArray = rows[reads & ~written[value]]
    if not strange.size:
        return strange
    strange = strange[np.argsort(columns.ret[strange])]
    _, first = np.unique(columns.value[strange], return_index=True)
    earliest: IntArray = strange[np.sort(first)]
    return earliest


VALUES: Final = Engine(
    "values", ENGINE, "registers, only to find values that were read but never written", "O(n)",
    lambda model, calls: is_register(model) and model.initial is not ANY and _OF_REGISTERS(calls),
    lambda calls, model, _limits, _proof: refute(calls, model),
)  # fmt: skip
