"""Pair columns of events into operations: first inside each block of the history, then at the seams between blocks.

Each completion belongs to the preceding invocation of the same process.  Events that do not pair inside a block form
its *seam*: completions whose invocation is in an earlier block, and invocations whose completion may be in a later one.
The concatenated seams of all blocks pair in the same way (:class:`Seams`).  This module rejects the same histories as
``history.pair``, which also words the errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from history.codes import INFO, OK, OUTCOMES
from history.columns.events import EVENTS, events_of
from history.columns.lines import CODED, COLUMNS, Ints
from history.errors import FormatError
from history.readers.parquet import may_differ
from history.records.events import Event, line_of_event
from history.records.operations import ECHOED, pair
from history.tables.schemas import OPERATIONS

#: The index of an event that does not pair, and a message that says what is wrong.
Problem: TypeAlias = tuple[int, str]

_NEVER: Final = -2
_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
#: The columns of ``operations.parquet``, with repeated texts dictionary-encoded.
CODED_OPERATIONS: Final = pa.schema(
    [(field.name, _TEXT if field.name in (*CODED, "outcome") else field.type) for field in OPERATIONS]
)
#: The same columns without dictionaries.
PLAIN_OPERATIONS: Final = pa.schema([(field.name, field.type) for field in OPERATIONS])


@dataclass(frozen=True, slots=True)
class Paired:
    """The operations in some events, in invocation order, and the remaining events.

    ``seam`` holds the events that do not pair.  ``entering`` holds the process and index of each process's first event
    if that is an invocation.  These processes must not have an operation open from an earlier block.
    """

    operations: pa.Table
    seam: pa.Table
    entering: Ints
    problem: Problem | None


def pair_events(events: pa.Table, *, last: bool = False) -> Paired:
    """Pair events, a table of ``lines.COLUMNS`` in file order.

    With ``last``, no events follow, so open invocations never complete: they become operations instead of part of the
    seam.
    """
    process = _small(events["process"].to_numpy())
    # Sorted by process, each completion directly follows its invocation if both are among these events.
    order = np.argsort(process, kind="stable")
    invokes = (_codes(events["type"]) == _place(events["type"], "invoke"))[order]
    begins = np.append(True, np.diff(process[order]) != 0)[: order.size]
    after_invoke = np.append(False, invokes[:-1])[: order.size] & ~begins
    ends = np.flatnonzero(~invokes & after_invoke)
    partner = np.full(order.size, -1, np.int64)
    partner[order[ends - 1]] = order[ends]
    begun = np.flatnonzero(partner >= 0)
    problems = [_first_contradiction(events, begun, partner[begun])]
    if last:
        partner[order[invokes & (partner[order] < 0)]] = _NEVER
        begun = np.flatnonzero(partner != -1)
    alone = np.ones(order.size, np.bool_)
    alone[begun] = alone[partner[partner >= 0]] = False
    index = events["index"].to_numpy()
    first = order[np.flatnonzero(begins & invokes)]
    # The invocation of a process's first event may be in an earlier block, so that event is not wrong.
    wrong = np.flatnonzero((invokes & after_invoke) | (~invokes & ~after_invoke & ~begins))
    if wrong.size:
        place = int(wrong[np.argmin(order[wrong])])
        problems.append(_complaint(events, order[[place - 1, place]]))
    return Paired(
        operations_of_rows(events, begun, partner[begun]),
        events.filter(pa.array(alone)),
        np.stack([events["process"].to_numpy()[first], index[first]]),
        min((problem for problem in problems if problem is not None), default=None),
    )


def operations_of_rows(events: pa.Table, begun: Ints, ended: Ints) -> pa.Table:
    """Make a table of CODED_OPERATIONS from the rows of invocations and completions (negative: no completion)."""
    invoked = pa.array(begun)
    answered = pa.array(ended, mask=ended < 0)
    invocation, completion = events.take(invoked), events.take(answered)
    outcome = pa.array(_outcomes(completion))
    node, other = _codes(completion["node"]), _codes(invocation["node"])
    node = np.where((node >= 0) & (node != _place(events["node"], "")), node, other).astype(np.int32)
    is_ok = pc.equal(outcome, OK)
    columns: dict[str, Any] = {
        "invoke_index": invocation["index"], "return_index": completion["index"], "process": invocation["process"],
        "f": invocation["f"], "key": invocation["key"], "value": invocation["value"],
        "result": pc.if_else(is_ok, _whole(completion["value"]), None),
        "outcome": pa.DictionaryArray.from_arrays(outcome, pa.array(OUTCOMES)),
        "invoked": invocation["time"], "returned": completion["time"],
        "node": pa.DictionaryArray.from_arrays(pa.array(node, mask=node < 0), _whole(events["node"]).dictionary),
        "error": completion["error"], "phase": invocation["phase"],
        "intended": invocation["intended"],
    }  # fmt: skip
    return pa.table(columns, schema=CODED_OPERATIONS)


class Seams:
    """Pairs the events that remained in the blocks of a history. Add the blocks in file order."""

    def __init__(self) -> None:
        self._open = COLUMNS.empty_table()
        self._operations: list[pa.Table] = []
        self.problem: Problem | None = None

    def add(self, seam: pa.Table, entering: Ints) -> None:
        """Add a block's seam.  Sets ``problem`` to the first event so far that does not pair."""
        crossing = np.flatnonzero(np.isin(entering[0], self._open["process"].to_numpy()))
        for row in crossing[np.argsort(entering[1][crossing])][:1].tolist():
            process, index = entering[:, row].tolist()
            before = self._open.filter(pc.equal(self._open["process"], process))
            self._note(_refusal([*events_of(before.cast(EVENTS)), Event(index, 0, "invoke", process, "", None)]))
        both = pa.concat_tables([self._open, seam]).unify_dictionaries().combine_chunks()
        paired = pair_events(both)
        self._note(paired.problem)
        invokes = _codes(paired.seam["type"]) == _place(paired.seam["type"], "invoke")
        for event in events_of(paired.seam.filter(pa.array(~invokes)).slice(0, 1).cast(EVENTS)):
            self._note(_refusal([event]))
        self._operations.append(paired.operations)
        self._open = paired.seam.filter(pa.array(invokes))

    def operations(self) -> pa.Table:
        """Return all operations that cross a seam or never completed, in invocation order."""
        rows = np.arange(self._open.num_rows)
        never = operations_of_rows(self._open, rows, np.full(rows.size, -1))
        joined = pa.concat_tables([*self._operations, never]).unify_dictionaries().combine_chunks()
        return joined.sort_by("invoke_index")

    def _note(self, problem: Problem | None) -> None:
        self.problem = min((known for known in (self.problem, problem) if known is not None), default=None)


def _first_contradiction(events: pa.Table, begun: Ints, ended: Ints) -> Problem | None:
    """Return the problem of the first completion that does not belong to its invocation; None if all do."""
    wrong = np.zeros(begun.size, np.bool_)
    for name in ("f", "key"):
        codes = _codes(events[name])
        wrong |= codes[begun] != codes[ended]
    echoed = [_place(events["f"], name) for name in ECHOED]
    answers = np.isin(_codes(events["f"])[ended], echoed)
    answers &= _codes(events["type"])[ended] == _place(events["type"], "ok")
    rows = np.flatnonzero(answers)
    requested, answered = (_whole(events["value"]).take(pa.array(places[rows])) for places in (begun, ended))
    cas = pa.array(_codes(events["f"])[ended[rows]] == _place(events["f"], "cas"))
    wrong[rows[np.asarray(pc.and_(may_differ(cas, requested, answered), pc.not_equal(answered, "null")))]] = True
    places = np.flatnonzero(wrong)
    for place in places[np.argsort(ended[places])].tolist():
        if (problem := _complaint(events, np.array([begun[place], ended[place]]))) is not None:
            return problem
    return None


def _complaint(events: pa.Table, rows: Ints) -> Problem | None:
    """Return the problem that ``history.pair`` finds in two successive events of one process."""
    first, second = events_of(events.take(pa.array(rows)).cast(EVENTS))
    if first.type != "invoke":
        return _refusal([second])
    return _refusal([first, second])


def _refusal(events: list[Event]) -> Problem | None:
    try:
        pair(events, "", line_of_event)
    except FormatError as error:
        return events[-1].index, error.message
    return None


def _outcomes(completions: pa.Table) -> NDArray[np.int32]:
    """Return outcome codes from the types of completions; info where there is no completion."""
    names = _whole(completions["type"]).dictionary.to_pylist()
    codes = [OUTCOMES.index(name) if name in OUTCOMES else INFO for name in names]
    return np.array([*codes, INFO], np.int32)[_codes(completions["type"])]


def _codes(column: pa.ChunkedArray) -> NDArray[np.int32]:
    """Return the codes of a dictionary-encoded column, with -1 for null."""
    codes: NDArray[np.int32] = pc.fill_null(_whole(column).indices, -1).to_numpy(zero_copy_only=False)
    return codes


def _place(column: pa.ChunkedArray, text: str) -> int:
    """Return the code of a string in a dictionary-encoded column; -2 if it does not occur."""
    place = int(pc.index(_whole(column).dictionary, text).as_py())
    return place if place >= 0 else -2


def _whole(column: Any) -> Any:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _small(numbers: Ints) -> NDArray[Any]:
    """Return the numbers as 16-bit integers if they fit, because these sort much faster."""
    if numbers.size and numbers.min() >= -(1 << 15) and numbers.max() < 1 << 15:
        return numbers.astype(np.int16)
    return numbers
