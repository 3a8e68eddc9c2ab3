"""Transactions on several registers, decided by their dependencies where each value of a register is written once.

All dependencies hold in every linearization, so a cycle refutes the history.  If there is none, the order of the values
may still be unknown.  So the engine looks for an order of the transactions, which is a proof: it keeps real time, and
each read in it finds the value that it returned.  If none is found, the next engine decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from types import ModuleType
from typing import Any, Final

import numpy as np

from checker.core.calls import Call
from checker.core.engine import ByColumns, Engine
from checker.core.intervals import IntArray, intervals_of, keeps_time
from checker.core.model import UNKNOWN, Model
from checker.core.result import LATE, EngineResult, Limits, not_begun
from checker.engines.searches import decide_operations as search_operations
from checker.search.jit import Shapes, shapes_of
from checker.search.multi_register import WRITING, column, steps_of
from checker.transactions.graph import Graph, Nodes
from checker.transactions.rw_register import RwRegisterGraph
from history import Operation
from history.codes import ABSENT, INFO, OK, READ, WRITE
from history.readers.scanned import LARGEST
from history.readers.transactions import TransactionColumns

ENGINE: Final = "order of dependencies"
#: The search for an order takes at most about this many steps for each node of the graph.
_STEPS: Final = 10
#: Steps that the search takes in a second at least, compiled or in plain Python.
_PACE: Final = 500_000
_OTHER: Final = "a transaction has steps other than reads and writes of plain values"
_TWICE: Final = "a value is written to a register twice"
_UNORDERED: Final = "no contradiction and no order was found"


def _decided(shapes: Shapes, invoke: IntArray, ret: IntArray, limits: Limits) -> tuple[EngineResult, list[int]]:
    """Return the result, and for a valid one the rows in order.  The transactions are in the order of invocations."""

    def unknown(reason: str) -> tuple[EngineResult, list[int]]:
        return EngineResult("unknown", ENGINE, reason=reason), []

    if limits.over():
        return not_begun(ENGINE, invoke.size), []
    if _repeats(shapes.value):
        return unknown(_TWICE)
    columns = _columns(shapes, invoke, ret)
    if columns is None:
        return unknown(_OTHER)
    known = RwRegisterGraph(columns)
    invalid = EngineResult("invalid", ENGINE, violations=1, more=True)
    if known.counts or _is_circular(known.graph):
        return invalid, []
    order, implied = _order(known, limits)
    if keeps_time(order, invoke, ret):
        return EngineResult("valid", ENGINE), order.tolist()
    if _is_circular(known.graph.with_edges(*implied)):
        return invalid, []
    return unknown(LATE if limits.over() else _UNORDERED)


def _repeats(requests: Sequence[Any]) -> bool:
    """Return whether a value is written twice; the first few transactions usually show it, before any conversion."""
    written: set[tuple[Any, Any]] = set()
    try:
        for steps in requests:
            for f, key, value in steps:
                if f in WRITING:
                    if (key, value) in written:
                        return True
                    written.add((key, value))
    except (TypeError, ValueError):
        pass  # the conversion to columns refuses steps of another shape
    return False


def _is_circular(graph: Graph) -> bool:
    return bool((graph.components(np.ones(9, np.bool_), np.zeros(graph.nodes.size, np.int32)) >= 0).any())


def _columns(shapes: Shapes, invoke: IntArray, ret: IntArray) -> TransactionColumns | None:
    """Return transactions as columns; None if they have another shape, values that are not plain, or write null."""
    steps = steps_of(shapes)
    if steps is None:
        return None
    keys: defaultdict[Any, int] = defaultdict(count().__next__)
    values: defaultdict[Any, int] = defaultdict(count(LARGEST).__next__, {None: ABSENT})
    kind = np.where(steps.writes, WRITE, READ).astype(np.int8)
    key, value = column(keys, steps.parts[1::3], np.int32), column(values, steps.parts[2::3], np.int64)
    if (value[kind == WRITE] == ABSENT).any():
        return None
    # Linearizability knows no processes, so each transaction has its own.
    return TransactionColumns(
        "rw-register", np.arange(invoke.size), invoke, ret, np.where(steps.pending, INFO, OK).astype(np.int8),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(steps.lengths)]), kind, key, value,
        np.zeros(key.size, np.int64), np.zeros(key.size, np.int32), np.zeros(0, np.int64), list(keys),
        list(values)[1:], lambda row: shapes.value[row], str,
    )  # fmt: skip


def _order(known: RwRegisterGraph, limits: Limits) -> tuple[IntArray, tuple[Nodes, Nodes]]:
    """Return an order of the transactions in which each read finds what it returned; an empty one if none was found.

    Also returns further dependencies that hold in every such order: sources and targets.
    """
    columns, steps, graph = known.columns, known.steps, known.graph
    # By transaction and key: the version that it reads, and the one that it makes.
    begin = np.flatnonzero((steps.previous < 0) & known.committed[steps.owner])
    read, wrote = known.read_first[begin], known.wrote[begin]
    needs = np.where(read >= 0, known.version[read], -1).astype(np.int32)
    makes = np.where(wrote >= 0, known.version[wrote], -1).astype(np.int32)
    touch = np.searchsorted(steps.owner[begin], np.arange(len(columns) + 1)).astype(np.int32)
    key, absent = columns.key[begin], np.arange(len(columns.keys), dtype=np.int32)
    rows = steps.owner[begin].astype(np.int32)
    writer = np.full(known.version_step.size, -1, np.int32)
    writer[makes[makes >= 0]] = rows[makes >= 0]
    loops, reads = steps.loops, needs >= 0
    read_from, readers = _grouped(loops, needs[reads], rows[reads], writer.size)
    latest = loops.deadlines(graph.start, graph.targets, columns.ret)
    most = _STEPS * graph.nodes.size
    if limits.deadline is not None:
        most = min(most, int((limits.deadline - limits.clock()) * _PACE))
    order, *implied = loops.serial_order(
        graph.start, graph.targets, *_grouped(loops, graph.targets, graph.sources, graph.nodes.size),
        np.argsort(latest, kind="stable").astype(np.int32), len(columns), touch, key, needs, makes, read_from, readers,
        writer, absent.copy(), most,
    )  # fmt: skip
    order = order[order < len(columns)]
    order = order[known.committed[order]]
    legal = loops.is_legal(order, touch, key, needs, makes, absent)
    return order.astype(np.int64) if legal else np.zeros(0, np.int64), (implied[0], implied[1])


def _grouped(loops: ModuleType, group: Nodes, members: Nodes, groups: int) -> tuple[Nodes, Nodes]:
    """Return where each group begins, and the members by group."""
    begin, sorted_members, _ = loops.adjacency(group, members, np.zeros(group.size, np.int8), groups)
    return begin, sorted_members


def _decide(calls: Sequence[Call], _model: Model, limits: Limits, _proof: bool) -> EngineResult:
    invoke, ret = (np.array([getattr(call, name) for call in calls], np.int64) for name in ("invoke", "ret"))
    result, order = _decided(shapes_of(calls), invoke, ret, limits)
    return replace(result, order=[calls[row] for row in order]) if result.verdict == "valid" else result


def _decide_operations(
    operations: Sequence[Operation], model: Model, limits: Limits, proof: bool = False
) -> ByColumns | None:
    """Decide without a proof, and leave to the search what the dependencies do not decide."""
    if proof:
        return None
    part = [operation for operation in operations if operation.outcome != "fail"]
    spans = intervals_of(part)
    if spans is None or (spans[0][1:] <= spans[0][:-1]).any():
        return None
    value: list[Any] = [operation.value for operation in part]
    result: list[Any] = [operation.result if operation.outcome == "ok" else UNKNOWN for operation in part]
    decided, _ = _decided(Shapes([operation.f for operation in part], value, result), *spans, limits)
    if decided.verdict != "unknown" or limits.over():
        return ByColumns(decided, len(part))
    searched = search_operations(operations, model, limits)
    return None if searched is None else replace(searched, result=searched.result.after(decided))


TRANSACTIONS: Final = Engine(
    "dependencies", ENGINE, "multi-registers in which each value of a register is written once",
    "O(n log n), if values can be ordered without much search", lambda model, _: model.encoding == "rows",
    _decide, by_columns=_decide_operations, partial=True,
)  # fmt: skip
