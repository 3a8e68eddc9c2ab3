"""Compile or load the kernels before a check needs them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from checker.core.calls import Call
from checker.core.compiled_code import COMPILED
from checker.core.model import CasRegister, Model
from checker.core.result import Limits
from checker.models.objects import MultiRegister


class _Latch(Model):
    """An object that is not a register, for the part of the search that asks the model."""

    name = "latch"
    initial = False

    def step(self, state: bool, f: str, value: object, result: object) -> bool:  # noqa: ARG002
        return state or f == "set"


def warm() -> None:
    """Compile or load zones, automaton and search, which takes half a minute the first time and 0.3 s afterwards."""
    from checker.engines.automaton import timeline, timeline_columns
    from checker.kernels.cas_chains import judge_chains
    from checker.kernels.encode import gather
    from checker.kernels.many_keys import arrange_keys, judge_all, judge_keys
    from checker.kernels.multi_register import NO_ROWS
    from checker.kernels.short_keys import search_keys
    from checker.kernels.zones import judge
    from checker.search.compiled import RegisterColumns, compiled_search, search_numbers

    limits = Limits(lambda: 0.0)
    read, first = np.zeros(1, np.int8), np.zeros(1, np.int64)
    judge(read, read, first, first, first, first + 1, 1)
    gather(read, read, first, first, first, first + 1)
    columns = timeline_columns(
        np.array([True, False]), np.array([1, 1], np.int64), np.array([0, 2], np.int64), np.array([1, 3], np.int64), 2
    )
    judge_keys(arrange_keys(read, read, first, first, first, first + 1, read == 0), 0, 1, read)
    judge_all(read, read, first, first, first, first + 1, 1, 1)
    search_keys(np.array([0, 1]), read, first, first, first, first + 1, NO_ROWS, 1)
    judge_chains(read, first, first, first, first + 1, 1)
    search_numbers(RegisterColumns(read, first, first, first, first + 1, ("absent",)), limits)
    timeline(columns, np.zeros(1, np.int64), limits)
    # Long enough for the search to need more room than it starts with.
    calls = [Call("write", 1, None, 2 * place, 2 * place + 1, place) for place in range(1000)]
    compiled_search(calls, CasRegister(), limits)
    compiled_search([Call("set", None, None, 0, 1, 0)], _Latch(), limits)
    writes = [replace(call, f="txn", value=(("write", "x", call.invoke),)) for call in calls]
    compiled_search(writes, MultiRegister(), limits)
    COMPILED.mark_ready()
