"""Cas registers by columns: chains where new values are unique, else the compiled search, without an object a call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checker.answer import Answer, Limits
from checker.chains import ENGINE as CHAINS
from checker.compiled_search import NumberedCalls, Words, search_numbers
from checker.zones import IntArray


@dataclass(frozen=True, slots=True)
class CasColumns:
    """Calls on one register that starts with value id 0, one row a call, in the order of the invocations.

    ``kind`` 0 read, 1 write, 2 cas; ``value`` and ``old`` are ids, named by ``names`` (``old`` matters for a cas only);
    ``invoke`` and ``ret`` dense ranks, ``NEVER`` for pending calls.
    """

    kind: NDArray[np.int8]
    value: IntArray
    old: IntArray
    invoke: IntArray
    ret: IntArray
    names: Words

    @property
    def values(self) -> int:
        return len(self.names)


def decide_cas(columns: CasColumns, limits: Limits) -> Answer | None:
    """By chains if they apply, else by the compiled search; None where neither can."""
    from checker import chains_kernel as kernel

    fields = (columns.kind, columns.value, columns.old, columns.invoke, columns.ret)
    found = kernel.judge_chains(*fields, columns.values)
    if found == kernel.REPEATED:
        return search_numbers(NumberedCalls(*fields, columns.names), limits)
    return Answer("valid", CHAINS) if found == kernel.VALID else Answer("invalid", CHAINS, violations=1)
