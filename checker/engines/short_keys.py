"""Decide many short registers in one compiled pass, by a number of steps and not by time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from checker.core.compiled_code import COMPILED
from checker.core.engine import PLAIN_SEARCH_CALLS
from checker.core.intervals import IntArray
from checker.core.model import Register
from checker.engines.zones_columns import dense_ids, ranked_by_key, takes_part
from history.codes import ABSENT, CAS, NEVER, OK
from history.readers.columns import OperationColumns

#: Steps of the search by call.  Those of 400,000 calls that need all of them take two seconds.
STEPS: Final = 64
#: Plain Python decides fewer calls before the compiled search is loaded.
_MIN_TO_LOAD: Final = 20_000


@dataclass(frozen=True, slots=True)
class ShortKeys:
    """Keys that the search found ``valid`` or ``invalid``, the number of calls on each, and the orders.

    ``order`` has the rows of all valid keys, key by key.
    """

    valid: NDArray[np.bool_]
    invalid: NDArray[np.bool_]
    counts: IntArray
    order: IntArray


def search_short_keys(columns: OperationColumns, wanted: NDArray[np.bool_], model: Register) -> ShortKeys | None:
    """Search the ``wanted`` keys that are short; None if there are too few for compiled code to pay off.

    Keys with operations that the model does not have are left to the engines for one key, which say so.
    """
    if not wanted.any():
        return None
    keys, part = len(columns.keys), takes_part(columns)
    counts = np.bincount(columns.key[part], minlength=keys)
    short = wanted & (counts <= PLAIN_SEARCH_CALLS)
    if not model.has_cas:
        short[columns.key[part & (columns.kind == CAS)]] = False
    rows = np.flatnonzero(part & short[columns.key])
    if keys < 2 or not rows.size or (not COMPILED.ready and rows.size < _MIN_TO_LOAD):
        return None
    from checker.kernels.multi_register import NO_ROWS
    from checker.kernels.search_state import EXHAUSTED, FOUND
    from checker.kernels.short_keys import search_keys

    ends = np.where(columns.outcome[rows] == OK, columns.ret[rows], NEVER)
    invoke, ret, starts, _ = ranked_by_key(columns.key[rows], keys, columns.invoke[rows], ends)
    by_key = np.argsort(invoke)
    rows, invoke, ret = rows[by_key], invoke[by_key], ret[by_key]
    key = columns.key[rows]
    before = starts[key] + 1
    # The first one gives the absent value the id 0.
    ids = dense_ids(np.concatenate([[ABSENT], columns.value[rows], columns.old[rows]]))[1]
    begins = np.searchsorted(key, np.arange(keys + 1))
    states, lengths, orders = search_keys(
        begins, columns.kind[rows], ids[1 : 1 + rows.size].copy(), ids[1 + rows.size :].copy(), invoke - before,
        np.where(ret == NEVER, NEVER, ret - before), NO_ROWS, STEPS,
    )  # fmt: skip
    COMPILED.mark_ready()
    used = np.arange(rows.size) < (begins[:-1] + lengths)[key]
    order = rows[orders[used & (states == FOUND)[key]]]
    return ShortKeys(short & (states == FOUND), short & (states == EXHAUSTED), counts, order)
