"""Verdicts: turn each key's operations into a row of ``verdicts.parquet``."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checker.core.engine import MAX_PROVEN_OPERATIONS, PLAIN_SEARCH_CALLS
from checker.core.model import Register
from checker.core.options import CheckOptions
from checker.engines.register_lists import columns_of_list
from checker.models.registry import model_named
from checker.per_key import by_key as by_name
from checker.per_key import check_object, valid_keys
from checker.turns import in_turns
from history import KeyVerdict, Operation
from history.columns.events import key_of
from history.columns.operations import from_table
from history.columns.pairing import PLAIN_OPERATIONS
from history.readers.parquet import columns_of
from history.tables.operations import json_text
from history.tables.schemas import VERDICTS

log = logging.getLogger("pipeline.judging")

COLUMNAR: Final = 5_000
REGISTERS: Final = ("register", "cas-register")
#: Rows of small keys that are converted to operations together.
_ROWS: Final = 20_000
#: Rows of registers that are judged in one pass.
_AT_ONCE: Final = 500_000


@dataclass(frozen=True, slots=True)
class Budget:
    """The time that checking one run may take.

    ``until`` is the time on ``clock`` (seconds) by which all keys should be done.  ``share`` is the least that every
    key gets, so that one hard key cannot leave the others unjudged.
    """

    until: float
    share: float
    clock: Callable[[], float]

    @classmethod
    def of(cls, deadline_s: float, keys: int, clock: Callable[[], float] = time.time) -> Budget:
        return cls(clock() + deadline_s, deadline_s / max(keys, 1), clock)

    def left(self, keys: int) -> float:
        """Return the seconds that the next ``keys`` may take together."""
        return max(self.until - self.clock(), self.share * keys)


@dataclass(frozen=True, slots=True)
class OneKey:
    """The operations on one key ('' for an unkeyed object), in any order, as functions that read parts of them."""

    key: str
    count: int
    parts: Sequence[Callable[[], pa.Table]]


def by_key(operations: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return the operations grouped by key, in their old order within a key, and each key's first row and count."""
    key = pc.dictionary_encode(operations["key"].combine_chunks())
    # Sorting puts nulls at the end, but an unkeyed object must come first.
    ordered = operations.take(pa.array(np.roll(pc.sort_indices(key), key.null_count)))
    runs = pc.run_end_encode(ordered["key"].cast(pa.string()).combine_chunks())
    ends = np.asarray(runs.run_ends).astype(np.int64)
    counts = np.diff(ends, prepend=0)
    return ordered, pa.table({"key": pc.fill_null(runs.values, ""), "begin": ends - counts, "count": counts})


def each_key(operations: pa.Table) -> list[OneKey]:
    """Return the operations on each key."""
    calls, keys = by_key(operations)
    rows = zip(*keys.to_pydict().values(), strict=True)
    return [OneKey(key, count, [partial(calls.slice, begin, count)]) for key, begin, count in rows]


def judge(
    keys: Sequence[OneKey], model: str, budget: Budget, columnar: int = COLUMNAR, rows: float = inf
) -> tuple[pa.Table, list[str]]:
    """Return the verdicts on keys, and the keys that are too large.

    A register with at least ``columnar`` rows is checked as columns, which takes a fraction of the time and memory.  If
    the checker fails on a key, its verdict is unknown and names the failure; the verdicts on other keys stand.  A key
    is too large if it has more than ``rows`` operations, too many to hold as values, and they do not fit into columns.
    """
    options, too_large = CheckOptions(budget.left(len(keys))), set[int]()
    started = options.clock()
    few = [number for number, key in enumerate(keys) if key.count < columnar and key.count <= rows]
    found = _valid_registers(keys, few, model, options) if model in REGISTERS else {}
    left = [number for number in range(len(keys)) if number not in found]
    small = _Small(keys, [number for number in few if number not in found])

    def attempt(number: int, mine: CheckOptions) -> KeyVerdict:
        key = keys[number]
        try:
            if number in small:
                return check_object(small.operations(number), model_named(model), mine)
            if (verdict := _verdict(key, model, mine, columnar, rows)) is not None:
                return verdict
        except OSError:
            raise  # Reading a part failed, which is not a failure of the checker.
        except Exception as error:  # noqa: BLE001 (any failure of the checker affects only this key)
            return KeyVerdict.of_failure(key_of(key.key or None), key.count, error)
        too_large.add(number)
        return KeyVerdict(key.key, "unknown", "none", key.count, 0.0)

    found.update(in_turns(left, options, attempt, size=lambda number: keys[number].count, started=started, every=True))
    judged = [found[number] for number in range(len(keys)) if number not in too_large]
    return verdict_table(judged), [keys[number].key for number in sorted(too_large)]


def _valid_registers(
    keys: Sequence[OneKey], few: Sequence[int], model: str, options: CheckOptions
) -> dict[int, KeyVerdict]:
    """Return the verdicts on registers of ``few`` operations that a few passes over all of them find valid."""
    found, register = dict[int, KeyVerdict](), model_named(model)
    assert isinstance(register, Register)
    fit = [number for number in few if keys[number].count <= MAX_PROVEN_OPERATIONS]
    for some in _chunks(keys, fit, _AT_ONCE) if len(fit) > 1 else ():
        names = _names(keys, some)
        table = _joined(keys[number] for number in some)
        try:
            columns = columns_of([lambda: table], table.num_rows, "operations")  # noqa: B023 (used at once)
            if columns is None:
                listed = columns_of_list(list(from_table(table.cast(PLAIN_OPERATIONS))), register)
                columns = None if listed is None else listed.columns
            valid = {} if columns is None else valid_keys(columns, register, options)
        except Exception:
            log.exception("many keys could not be judged at once; each is judged by itself")
        else:
            found.update((names[columns.keys[place]], verdict) for place, verdict in valid.items() if columns)
    return found


class _Small:
    """Operations on keys that have few of them, converted for many adjacent keys at a time."""

    def __init__(self, keys: Sequence[OneKey], few: Sequence[int]) -> None:
        numbers = [number for number in few if keys[number].count <= PLAIN_SEARCH_CALLS]
        self._keys, self._numbers, self._held = keys, frozenset(numbers), dict[int, list[Operation]]()
        #: Keys are asked for in this order at first; later ones are hard, and far apart.
        self._ahead = {some[0]: some for some in _chunks(keys, numbers, _ROWS)}

    def __contains__(self, number: int) -> bool:
        return number in self._numbers

    def operations(self, number: int) -> list[Operation]:
        if number in self._held:
            return self._held[number]
        some = self._ahead.pop(number, [number])
        try:
            operations = self._converted(some)
        except OSError:
            raise
        except Exception:  # noqa: BLE001 (another key may be malformed, which must not affect this one)
            return self._converted([number])
        names = _names(self._keys, some)
        self._held = {names[name]: mine for name, mine in by_name(operations).items()}
        return self._held[number]

    def _converted(self, numbers: Sequence[int]) -> list[Operation]:
        return list(from_table(_joined(self._keys[number] for number in numbers).cast(PLAIN_OPERATIONS)))


def _chunks(keys: Sequence[OneKey], numbers: Sequence[int], rows: int) -> Iterator[list[int]]:
    """Yield the numbers of keys in pieces of about as many rows."""
    chunk, size = list[int](), 0
    for number in numbers:
        chunk.append(number)
        size += keys[number].count
        if size >= rows:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _names(keys: Sequence[OneKey], numbers: Iterable[int]) -> dict[str | int | None, int]:
    return {key_of(keys[number].key or None): number for number in numbers}


def _joined(keys: Iterable[OneKey]) -> pa.Table:
    return pa.concat_tables([part() for one in keys for part in one.parts]).combine_chunks()


def _verdict(key: OneKey, model: str, options: CheckOptions, columnar: int, rows: float) -> KeyVerdict | None:
    if key.count >= columnar and model in REGISTERS:
        columns = columns_of(key.parts, key.count, "operations")
        if columns is not None:
            from checker.columnar import check_columns

            return check_columns(columns, model, options).keys[0]
    if key.count > rows:
        return None
    group = pa.concat_tables([part().cast(PLAIN_OPERATIONS) for part in key.parts])
    return check_object(list(from_table(group)), model_named(model), options)


def verdict_table(verdicts: list[KeyVerdict]) -> pa.Table:
    """Return verdicts as rows of ``verdicts.parquet``."""
    rows = [
        {
            "key": None if verdict.key is None else json_text(verdict.key),
            "verdict": verdict.verdict,
            "engine": verdict.engine,
            "operations": verdict.operations,
            "violations": verdict.violations,
            "seconds": verdict.seconds,
            "details": json.dumps(verdict.to_json()),
        }
        for verdict in verdicts
    ]
    return pa.Table.from_pylist(rows, schema=VERDICTS)


def verdicts_of(table: pa.Table) -> list[KeyVerdict]:
    """Return the verdicts in a table: unkeyed first, then numbers, then names."""
    details = [KeyVerdict.from_json(json.loads(text)) for text in table["details"].to_pylist()]
    return sorted(details, key=_place)


def _place(verdict: KeyVerdict) -> tuple[int, int, str]:
    key = verdict.key
    if isinstance(key, int):
        return (1, key, "")
    return (0, 0, "") if key is None else (2, 0, str(key))
