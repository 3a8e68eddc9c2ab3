"""Make operations from the rows of a compiled scanner: one row of integers for each event.

The columns of a row are those of ``jsonl_kernel``; a name is represented by its hash.  If something does not fit into
columns, NotColumnarError is raised, and the caller uses the row-wise reader, which also words the errors.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from history.codes import ABSENT, CAS, FAIL, INFO, OK, READ, WRITE
from history.readers.columns import OperationColumns
from history.records.events import TYPES, Event, Header, header_of
from history.records.operations import ECHOED, Operation, contradiction, is_refusal, pair

LARGEST: Final = 1 << 62
KINDS: Final = {"read": READ, "write": WRITE, "cas": CAS}
Ints = NDArray[np.int64]


class NotColumnarError(ValueError):
    """Columns cannot hold the history: it has functions other than read, write and cas, or non-integer values."""


def read_only(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a read-only view of bytes; the scanners are compiled only for such views."""
    view = data.view()
    view.flags.writeable = False
    return view


def read_bytes(path: Path) -> tuple[Header, NDArray[np.uint8], int]:
    """Read a ``history.jsonl``: return its header, all its bytes, and the number of bytes in its first line.

    Raises OSError, and FormatError for a malformed header.
    """
    with path.open("rb") as file:
        header = header_of(file.readline(), path)
        length = file.tell()
        file.seek(0)
        return header, read_only(np.fromfile(file, np.uint8)), length


class Scanned:
    """The events of one file.  A subclass defines how a line becomes an event and which errors are raised.

    ``later`` is a shape of values that are not compared here, because ``operation`` compares them.
    """

    later = -1

    def __init__(self, data: NDArray[np.uint8], rows: Ints, source: str) -> None:
        from history.readers import jsonl_kernel as kernel

        self.kernel, self.data, self.rows, self.source = kernel, data, rows, source
        self.names: dict[int, str | int | None] = {-1: None}
        self.hashes = {name: self.hash(name) for name in (*TYPES, *KINDS, *ECHOED)}

    def hash(self, name: str) -> int:
        return int(self.kernel.hash_name(np.frombuffer(name.encode(), np.uint8)))

    def event(self, row: int) -> Event:
        """Read the line of a row with the strict reader.  Raises FormatError."""
        raise NotImplementedError

    def refuse(self, why: str) -> None:
        """Raise FormatError for the first event that is wrong, or NotColumnarError if the subclass cannot find it."""
        raise NotColumnarError(why)

    def keep_value(self, row: Ints, value: Any) -> bool:
        """Store a value in its columns if they can hold it; return whether they can.

        They hold null, an integer, or a list of two or three of these.
        """
        k = self.kernel
        is_list = isinstance(value, list) and len(value) in (2, 3)
        items = [*value, None][:3] if is_list else [None, value, None]
        if not all(item is None or (type(item) is int and abs(item) < LARGEST) for item in items):
            return False
        row[[k.OLD, k.VALUE, k.SEEN]] = [ABSENT if item is None else item for item in items]
        row[k.SHAPE] = (k.PAIR if len(value) == 2 else k.TRIPLE) if is_list else k.NULL if value is None else k.INTEGER
        return True

    def key_number(self, key: Any) -> int:
        """Return the number that represents a key in its column."""
        if key is None:
            return -1
        if isinstance(key, str) and '"' not in key and "\\" not in key:
            return self.hash(key)
        number = self.hash(json.dumps(key)) | self.kernel.NUMBERED
        self.names[number] = key
        return number

    def columns(self) -> OperationColumns:
        """Pair the events into operations as columns.  Raises FormatError and NotColumnarError."""
        k = self.kernel
        rows = self.rows
        types = self.types()
        kinds = self._coded(rows[:, k.F], {self.hashes[name]: code for name, code in KINDS.items()})
        clients = np.flatnonzero(rows[:, k.PROCESS] != k.NEMESIS)
        strange = clients[kinds[clients] < 0]
        if strange.size:
            raise NotColumnarError(f"the function {self.event(int(strange[0])).f!r}")
        invoke, ret = self.pairs(clients, types)
        done = ret >= 0
        outcome = np.full(invoke.size, INFO, np.int8)
        # Indexed by type: invoke (which no completion has), ok, fail, info.
        outcome[done] = np.array([OK, OK, FAIL, INFO], np.int8)[types[ret[done]]]
        kind = kinds[invoke].astype(np.int8)
        answered = done & (kind == READ)
        value = rows[invoke, k.VALUE]
        value[answered] = rows[ret[answered], k.VALUE]
        self._check_shapes(invoke, kind, np.where(answered, ret, invoke), outcome)
        old = rows[invoke, k.OLD]
        # A refused cas becomes a read of the value it saw.
        refused = np.flatnonzero((kind == CAS) & (outcome == OK) & (rows[ret, k.SHAPE] == k.TRIPLE))
        held = rows[ret[refused], k.SEEN]
        if (held == old[refused]).any():
            raise NotColumnarError("a cas that was refused by the very value that it expected")
        kind[refused], old[refused], value[refused] = READ, value[refused], held
        unique, key = np.unique(rows[invoke, k.KEY], return_inverse=True)
        # The first operation on each key, whose line has the key's name.
        first = np.full(unique.size, invoke.size)
        np.minimum.at(first, key, np.arange(invoke.size))
        names = tuple(self.name(int(number), int(invoke[row])) for number, row in zip(unique, first, strict=True))
        return OperationColumns(
            kind, outcome, value, old, key.astype(np.int64), invoke, ret, names,
            lambda row: self.operation(int(invoke[row]), int(ret[row])),
        )  # fmt: skip

    def operation(self, invoke: int, ret: int) -> Operation:
        """Return the operation of two events; ``ret`` is -1 if it never completed."""
        events = [self.event(invoke)] + ([self.event(ret)] if ret >= 0 else [])
        return pair(events, self.source)[0]

    def name(self, number: int, row: int) -> str | int | None:
        """Return the key that ``number`` represents; ``row`` is a row that has it."""
        return self.names[number] if number in self.names else self.event(row).key

    def types(self) -> Ints:
        """Return each event's type as an index into TYPES.  Raises FormatError for an unknown type of a client."""
        k = self.kernel
        types = self._coded(self.rows[:, k.TYPE], {self.hashes[name]: code for code, name in enumerate(TYPES)})
        unknown = np.flatnonzero((types < 0) & (self.rows[:, k.PROCESS] != k.NEMESIS))
        if unknown.size:
            self.event(int(unknown[0]))
        return types

    @staticmethod
    def _coded(column: Ints, codes: dict[int, int]) -> Ints:
        coded = np.full(column.size, -1, np.int64)
        for number, code in codes.items():
            coded[column == number] = code
        return coded

    def pairs(self, clients: Ints, types: Ints) -> tuple[Ints, Ints]:
        """Pair the events; return the rows of invocations and of their completions (-1: none), by invocation."""
        k = self.kernel
        process = self.rows[clients, k.PROCESS]
        order = clients[np.argsort(process, kind="stable")]
        process = self.rows[order, k.PROCESS]
        # Sorted by process, each completion must directly follow its invocation.
        is_invoke = types[order] == 0
        same = np.zeros(order.size, np.bool_)
        same[1:] = process[1:] == process[:-1]
        after_invoke = np.zeros(order.size, np.bool_)
        after_invoke[1:] = is_invoke[:-1]
        after_invoke &= same
        if (is_invoke == after_invoke).any():
            self.refuse("the events do not pair")
        completions = np.flatnonzero(~is_invoke)
        partner = np.full(len(self.rows), -1, np.int64)
        partner[order[completions - 1]] = order[completions]
        self._check_partners(order[completions - 1], order[completions], types)
        invoke = clients[types[clients] == 0]
        return invoke, partner[invoke]

    def _check_partners(self, invoke: Ints, ret: Ints, types: Ints) -> None:
        k, rows = self.kernel, self.rows
        for column in (k.F, k.KEY):
            if not np.array_equal(rows[invoke, column], rows[ret, column]):
                self.refuse("an operation was completed that differs from the one invoked")
        echoes = np.isin(rows[ret, k.F], [self.hashes[name] for name in ECHOED if name != "append"])
        answered = echoes & (types[ret] == 1) & (rows[ret, k.SHAPE] != k.NULL)
        invoke, ret = invoke[answered], ret[answered]
        shape = rows[ret, k.SHAPE]
        shape[(shape == k.TRIPLE) & (rows[ret, k.F] == self.hashes["cas"])] = k.PAIR
        same = (shape <= k.PAIR) & (rows[invoke, k.SHAPE] == shape)
        for column in (k.OLD, k.VALUE):
            same &= rows[invoke, column] == rows[ret, column]
        same |= (shape == self.later) & (rows[invoke, k.SHAPE] == shape)
        for place in np.flatnonzero(~same).tolist():
            self.compare(int(invoke[place]), int(ret[place]))

    def compare(self, invoke: int, ret: int) -> None:
        """Raise like ``refuse`` if an ok completion's value contradicts its invocation.

        Raises NotColumnarError for a refused cas.
        """
        event = self.event(ret)
        if (why := contradiction(event.f, self.event(invoke).value, event.value)) is not None:
            self.refuse(why)
        if event.f == "cas" and is_refusal(event.value):
            raise NotColumnarError(f"a cas that was refused by {event.value[2]!r}")

    def _check_shapes(self, invoke: Ints, kind: NDArray[np.int8], valued: Ints, outcome: NDArray[np.int8]) -> None:
        """Check that each cas has a pair, and every other operation one value or null.  Raises NotColumnarError."""
        k = self.kernel
        shape = self.rows[valued, k.SHAPE]
        fits = np.where(kind == CAS, shape == k.PAIR, shape < k.PAIR)
        wrong = np.flatnonzero(~fits & ((kind != READ) | (outcome == OK)))
        if wrong.size:
            raise NotColumnarError(f"the value of event {int(invoke[wrong[0]])}")
