"""Searches as engines, which decide nearly any model.

The compiled search also works on columns, without an object for each call.  It judges operations in columns if no other
engine applies and only the verdict is requested.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from checker.core.calls import Call, freeze, freeze_all
from checker.core.compiled_code import COMPILED
from checker.core.engine import BY_NAME_ONLY, PLAIN_SEARCH_CALLS, ByColumns, Engine, JudgedKeys
from checker.core.intervals import intervals_of
from checker.core.model import UNKNOWN, Model, ModelError, Register
from checker.core.result import EngineResult, Limits, not_begun
from checker.engines.multisets import is_bag, takes_over_time
from checker.engines.short_keys import search_short_keys
from checker.engines.zones_columns import ValueNames
from checker.search.compiled import RegisterColumns, compiled_search, decide_columns, search_numbers
from checker.search.encoding import Numbers, numbers_of, numbers_of_lists
from checker.search.jit import ENGINE, Shapes, search
from checker.search.transition_table import TransitionTable
from checker.search.wgl import ENGINE as WGL_TITLE
from checker.search.wgl import wgl
from history import Operation
from history.readers.columns import OperationColumns


def judge_keys(
    columns: OperationColumns, wanted: NDArray[np.bool_], model: Register, _limits: Limits
) -> JudgedKeys | None:
    """Decide many short keys in one compiled pass, whatever time that takes: it grows with their length alone."""
    found = search_short_keys(columns, wanted, model)
    return None if found is None else JudgedKeys(found.valid, found.invalid, found.counts)


def decide_register(calls: Any, limits: Limits) -> EngineResult | None:
    """Decide whether one register in gathered columns is linearizable; None if the search does not apply."""
    fields = (calls.kind, calls.value, calls.old, calls.invoke, calls.ret)
    return search_numbers(RegisterColumns(*fields, ValueNames(calls.names)), limits)


def decide_operations(
    operations: Sequence[Operation], model: Model, limits: Limits, proof: bool = False
) -> ByColumns | None:
    """Decide with the compiled search whether operations are linearizable, without a proof.

    Returns None if the search over calls has to decide.  This concerns short histories before compiled code is loaded,
    registers (where a refused cas may be a call of its own), operations that the model does not know (calls report what
    is wrong with them), and every check that asks for a ``proof``.
    """
    few = 0 if COMPILED.ready else PLAIN_SEARCH_CALLS
    if proof or model.one_value or len(operations) <= few:
        return None
    part = [op for op in operations if op.outcome == "ok" or (op.outcome != "fail" and op.f not in model.reads)]
    count = len(part)
    if model.only_values:
        part = _useful(part, model)
    if len(part) <= few:
        return None
    if limits.over():
        return ByColumns(not_begun(ENGINE, count), count)
    spans = intervals_of(part)
    if spans is None or (spans[0][1:] <= spans[0][:-1]).any() or (numbers := _numbers(part, model)) is None:
        return None
    result = decide_columns(numbers, *spans, limits)
    return None if result is None else ByColumns(result, count)


def _useful(part: list[Operation], model: Model) -> list[Operation]:
    """Drop pending operations whose effects no answer needs, as ``useful`` does for calls."""
    pending = [operation for operation in part if operation.outcome != "ok"]
    if not pending:
        return part
    needed: set[Any] = set()
    try:
        for operation in part:
            if operation.outcome == "ok":
                needed.update(model.asked(operation.f, freeze(operation.value), freeze(operation.result)))
        dropped = set()
        for op in pending:
            value = freeze(op.value)
            model.admit(op.f, value, UNKNOWN)
            if needed.isdisjoint(model.made(op.f, value, UNKNOWN)):
                dropped.add(id(op))
    except (ModelError, RecursionError, TypeError, ValueError):
        return part  # the search over calls reports what is wrong with these
    return [operation for operation in part if id(operation) not in dropped]


def _numbers(part: Sequence[Operation], model: Model) -> Numbers | None:
    """Return the operations as integers; None if the model does not know one of them."""
    value: list[Any] = [operation.value for operation in part]
    result: list[Any] = [operation.result if operation.outcome == "ok" else UNKNOWN for operation in part]
    shapes = Shapes([operation.f for operation in part], value, result)
    if (numbers := numbers_of_lists(shapes, model)) is not None:
        return numbers
    try:
        numbers = numbers_of(Shapes(shapes.f, freeze_all(value), freeze_all(result)), model)
        for shape in numbers.transitions.examples if isinstance(numbers, TransitionTable) else ():
            model.admit(*shape)
    except (ModelError, RecursionError):
        return None
    return numbers


def _applies(model: Model, calls: Sequence[Call]) -> bool:
    """Accept any model, except queues whose items leave at moments that no step of the model shows."""
    return not is_bag(model) or not takes_over_time(calls)


SEARCH: Final = Engine(
    "search", ENGINE, "any model, except queues without an order that have drains or calls in doubt",
    "exponential in concurrency only", _applies,
    lambda calls, model, limits, proof: (
        compiled_search(calls, model, limits, proof=proof) or search(calls, model, limits)
    ),
    by_columns=decide_operations, by_keys=judge_keys, by_register=decide_register, compiled=True,
)  # fmt: skip
PYTHON_SEARCH: Final = Engine(
    "python-search", ENGINE, "the same models, in plain Python; takes over when the compiled search runs out of room",
    "the same", _applies, lambda calls, model, limits, _proof: search(calls, model, limits), unasked=BY_NAME_ONLY,
)  # fmt: skip
WGL: Final = Engine(
    "wgl", WGL_TITLE, "the same models, as a reference", "exponential",
    _applies, lambda calls, model, limits, _proof: wgl(calls, model, limits), unasked=BY_NAME_ONLY,
)  # fmt: skip
