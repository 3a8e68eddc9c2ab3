"""The scene of one key in columns, for sentences about a few operations that also mention others."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import numpy as np

from checker.core.calls import Call, thaw
from checker.core.model import Model
from checker.core.scene import Scene
from checker.engines.zones_columns import LazyOperations
from history import Operation
from history.codes import ABSENT, FAIL, OK, READ, WRITE
from history.readers.columns import OperationColumns


class ColumnScene(Scene):
    """Scene of one key that searches the columns instead of a list of operations."""

    def __init__(self, columns: OperationColumns, model: Model, key: int) -> None:
        self.columns, self.number = columns, key
        super().__init__(LazyOperations(columns), model, columns.keys[key])

    def _collect(self) -> None:
        """Collect nothing: the columns are searched when a sentence needs them."""

    def rank_of(self, operation: Operation) -> int:
        # Columns may number the events without gaps; the operations keep their recorded places, in the same order.
        rows = np.flatnonzero(self.columns.key == self.number)
        place = bisect_left(rows, operation.invoke_index, key=lambda row: self.columns.operation(int(row)).invoke_index)
        return int(self.columns.invoke[rows[place]])

    def _rows(self, value: Any) -> Any:
        number = ABSENT if value is None else value
        return (self.columns.value == number) & (self.columns.key == self.number)

    def was_read(self, value: Any) -> bool:
        number, columns = ABSENT if value is None else thaw(value), self.columns
        matches = np.where(columns.kind == READ, columns.value, columns.old) == number
        return bool((matches & (columns.kind != WRITE) & (columns.outcome == OK) & (columns.key == self.number)).any())

    def went_on(self, since: Call, besides: Any) -> bool:
        columns = self.columns
        mine = columns.key == self.number
        later = (columns.ret < 0) | (columns.ret > columns.invoke[since.source])
        written = columns.value[mine & (columns.kind != READ) & later]
        shown = np.where(columns.kind == READ, columns.value, columns.old)
        read = shown[mine & (columns.kind != WRITE) & (columns.outcome == OK)]
        return bool(np.isin(written[written != (ABSENT if besides is None else thaw(besides))], read).any())

    def latest(self) -> Iterator[Operation]:
        rows = np.flatnonzero(self.columns.key == self.number)
        return (self.columns.operation(int(row)) for row in rows[::-1])

    def writers(self, value: Any) -> list[Operation]:
        columns = self.columns
        made = self._rows(thaw(value)) & (columns.kind != READ) & (columns.outcome != FAIL)
        return [columns.operation(int(row)) for row in np.flatnonzero(made)]

    def failed_write(self, value: Any) -> Any:
        columns = self.columns
        failed = self._rows(thaw(value)) & (columns.kind != READ) & (columns.outcome == FAIL)
        # A refused cas is a read whose ``old`` is the value that it did not swap in; other reads have none.
        refused = (columns.old == value) & (columns.kind == READ) & (columns.key == self.number)
        rows = np.flatnonzero(failed | (refused if value is not None else False))
        return columns.operation(int(rows[0])) if rows.size else None
