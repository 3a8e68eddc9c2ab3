"""Calls that are open at each return, compiled, for the search that looks ahead (``checker.search.lookahead``)."""

from __future__ import annotations

import numpy as np

from history.compiled import compiled


@compiled
def open_calls(owner, is_return, ret, is_read):  # type: ignore[no-untyped-def]
    """Return the open calls at each return.

    Returns (reads, number of reads invoked before each return, open writes at each return, where those begin).  Only
    calls that return take part; ``ret`` is the rank of their return.  The writes are in the order of their returns.
    """
    reads, writes, now = np.empty(ret.size, np.int64), np.empty(4 * ret.size, np.int64), np.empty(64, np.int64)
    reads_at, writes_at = np.zeros(ret.size, np.int64), np.zeros(ret.size + 1, np.int64)
    begun = size = opened = returns = 0
    for rank in range(owner.size):
        op = owner[rank]
        if is_return[rank]:
            if size + opened > writes.size:
                writes = np.append(writes, np.empty(writes.size + 64, np.int64))
            writes[size : size + opened] = now[:opened]
            size += opened
            reads_at[returns] = begun
            returns += 1
            writes_at[returns] = size
            if opened and now[0] == op:
                opened -= 1
                now[:opened] = now[1 : opened + 1].copy()
        elif is_read[op]:
            reads[begun] = op
            begun += 1
        elif ret[op] < owner.size:
            place = opened
            while place and ret[now[place - 1]] > ret[op]:
                now[place] = now[place - 1]
                place -= 1
            now[place] = op
            opened += 1
    return reads[:begun], reads_at[:returns], writes[:size], writes_at[: returns + 1]
