"""Check whole histories in any form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from checker.core.calls import freeze
from checker.core.model import Model, ModelError, is_register
from checker.core.options import CheckKeywords, CheckOptions
from checker.core.result import Report
from checker.foreign import take
from checker.models.registry import at_level, model_named
from checker.models.transactions import Transactions
from checker.per_key import check_keys
from checker.transactions.transaction import Transaction, operations_of_transactions
from history import Counterexample, Event, FormatError, Operation, pair
from history.readers import Foreign, OperationColumns, read_any
from history.readers.transactions import TransactionColumns, columns_of_operations
from history.readers.transactions.columns import DEFAULT_LEVEL
from history.records.events import TYPES

if TYPE_CHECKING:
    from checker.transactions.verdict import IsolationReport

_NEEDED: Final = ("process", "type", "f", "value")


def check(history: Any, model: str | Model | None = None, **options: Unpack[CheckKeywords]) -> Report:
    """Check a whole history, key by key.

    ``history`` is a list of events or operations, a pandas or Arrow table of events (columns process, type, f,
    value and optionally index, time, key, node), columns, the result of ``history.readers.read_any``, or a path.
    Without a ``model`` the check uses the one that the file names, else a register.  The model starts with the
    initial value that the file names, unless ``model`` is an instance.  ``options`` are the fields of
    ``CheckOptions``. Raises FormatError for a malformed history, ModelError for operations that the model does not
    have.
    """
    chosen = CheckOptions(**options)
    if isinstance(history, (str, Path)):
        name: Any = getattr(model, "name", None) or model
        history = read_any(Path(history), model=name)
    if isinstance(history, Foreign):
        model = model or history.model or "register"
        taken = take(history, model, None if isinstance(model, Model) else history.initial)
        model, history = taken.model, taken.history
        history = history.columns if history.columns is not None else history.operations
    model = model or "register"
    if isinstance(history, OperationColumns):
        return _columns(history, model, chosen)
    if isinstance(history, TransactionColumns):
        from checker.transactions.check import check_isolation

        verdict = check_isolation(history, _transactions(model), chosen)
        return Report(verdict.verdict, (verdict,))
    return check_keys(operations_of(history), model, chosen)


def check_transactions(history: Any, model: str = "list-append", level: str = DEFAULT_LEVEL) -> IsolationReport:
    """Check which isolation levels transactions satisfy, and whether ``level`` is among them.

    ``history`` is a list of ``Transaction``, or anything that ``check`` takes whose operations are transactions,
    all on lists (list-append) or all on registers (rw-register).  Raises FormatError for a history that cannot be
    judged, ModelError for an unknown level or model.
    """
    from checker.transactions.verdict import check_columns

    chosen = _transactions(at_level(model, level))
    if isinstance(history, (str, Path)):
        history = read_any(Path(history), model=model)
    if isinstance(history, Foreign):
        history = history.columns if history.columns is not None else history.operations
    if not isinstance(history, TransactionColumns):
        records = history if hasattr(history, "columns") or hasattr(history, "to_pylist") else list(history)
        given = isinstance(records, list) and bool(records) and isinstance(records[0], Transaction)
        operations = operations_of_transactions(records) if given else operations_of(records)
        history = columns_of_operations(operations, chosen.holds)
    return check_columns(history, chosen.level)


def _transactions(model: str | Model) -> Transactions:
    chosen = model_named(model)
    if not isinstance(chosen, Transactions):
        raise ModelError(f"these are transactions, but {chosen.name} has none")
    return chosen


def _columns(columns: OperationColumns, model: str | Model, options: CheckOptions) -> Report:
    chosen = model_named(model)
    if is_register(chosen):
        from checker.columnar import check_columns

        return check_columns(columns, chosen, options)
    return check_keys([columns.operation(row) for row in range(columns.invoke.size)], chosen, options)


def operations_of(history: Any) -> list[Operation]:
    """Convert events, operations, or a table to operations.  Raises FormatError."""
    if hasattr(history, "to_pylist"):
        history = history.to_pylist()
    elif hasattr(history, "to_dict") and hasattr(history, "columns"):
        history = history.to_dict("records")
    records: list[Any] = list(history)
    if not records or isinstance(records[0], Operation):
        return records
    if isinstance(records[0], Mapping):
        records = [_event(row, record) for row, record in enumerate(records)]
    return pair(_in_order(records))


def _in_order(events: Iterable[Event]) -> Iterable[Event]:
    last = -1
    for row, event in enumerate(events):
        if not isinstance(event, Event):
            raise FormatError("history", f"item {row}", f"expected an event, found {event!r}")
        if event.index <= last:
            raise FormatError("history", f"index {event.index}", f"events out of order: it comes after index {last}")
        last = event.index
        yield event


def _event(row: int, record: Mapping[str, Any]) -> Event:
    """Convert one row of a table of events."""

    def wrong(message: str) -> FormatError:
        return FormatError("table", f"row {row}", message)

    for name in _NEEDED:
        if name not in record:
            raise wrong(f"the column {name!r} is missing")
    if record["type"] not in TYPES:
        raise wrong(f"type must be one of {', '.join(TYPES)}; found {record['type']!r}")
    moment = record.get("time", row)
    if not isinstance(moment, (int, float)) or isinstance(moment, bool) or not math.isfinite(moment):
        raise wrong(f"time must be a number, found {moment!r}")
    process = _plain(record["process"])
    if process != "nemesis" and type(process) is not int:
        raise wrong(f"process must be an integer or 'nemesis', found {process!r}")
    if not isinstance(key := _plain(record.get("key")), str | int | None) or isinstance(key, bool):
        raise wrong(f"key must be a string or an integer, found {key!r}")
    if type(index := _plain(record.get("index", row))) is not int:
        raise wrong(f"index must be an integer, found {index!r}")
    return Event(
        index, int(moment), record["type"], process, str(record["f"]), _plain(record["value"]), key,
        _plain(record.get("node")), _plain(record.get("error")),
    )  # fmt: skip


def _plain(value: Any) -> Any:
    """Convert a cell to JSON: NaN becomes null, and a float that stands for an integer becomes one."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else value
    return value


def with_makers(example: Counterexample, operations: Iterable[Operation], *, has_gaps: bool = False) -> Counterexample:
    """Add to the counterexample of a log or a set the appends or adds of the elements in its answers.

    A counterexample concerns only some elements; without their writers it would not be a history of its own.  The lists
    of a log that ``has_gaps`` (see ``Model``) give the index of each entry, so no entries before those are needed.
    """
    kept = {operation.invoke_index: operation for operation in example.operations}
    elements: set[Any] = set()
    length = 0
    for o in example.operations:
        if o.outcome == "ok" and o.f in ("list", "read"):
            elements.update(freeze(item[1] if has_gaps else item) for item in o.result or ())
            length = max(length, len(o.result or ()))
        elif o.outcome == "ok" and o.f == "append":
            length = max(length, o.result + 1)
        elif o.outcome == "ok" and o.f == "get" and o.result is not None:
            length = max(length, o.value + 1)
            elements.add(freeze(o.result))
    for o in operations:
        if o.key != example.operations[0].key or o.outcome == "fail" or o.f not in ("append", "add"):
            continue
        early = not has_gaps and o.f == "append" and (o.outcome == "info" or o.result < length)
        if early or freeze(o.value) in elements:
            kept.setdefault(o.invoke_index, o)
    return replace(example, operations=tuple(kept[place] for place in sorted(kept)))


def as_events(example: Counterexample) -> list[Event]:
    """Convert a counterexample to a history of its own, with new indexes and the same times and processes.

    An operation that was never answered ends as ``info`` if its process continues.
    """
    moments: list[tuple[int, bool, int, Operation]] = []
    for o in example.operations:
        moments.append((o.invoke_index, True, o.invoked, o))
        following = (p for p in example.operations if p.process == o.process and p.invoke_index > o.invoke_index)
        if o.outcome != "info" and o.return_index is not None:
            moments.append((o.return_index, False, o.invoked if o.returned is None else o.returned, o))
        elif goes_on := min(following, key=lambda p: p.invoke_index, default=None):
            moments.append((goes_on.invoke_index, False, goes_on.invoked, o))
    events = []
    for index, (_, invoked, moment, o) in enumerate(sorted(moments, key=lambda moment: moment[:2])):
        echoed = o.outcome != "ok" or (freeze(o.result) is None and o.f in ("write", "cas", "add", "enqueue"))
        value = o.value if invoked or echoed else o.result
        events.append(Event(index, moment, "invoke" if invoked else o.outcome, o.process, o.f, value, o.key, o.node))
    return events
