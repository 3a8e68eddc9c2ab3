"""Compare the number of operations in a history with what the harness counted: a history may have been cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from history.codes import OK
from reports.load.run import Run
from reports.style.format import number

#: A share of the operations begun; of whole histories it is 1, and some percent less where the harness stood still.
_MIN_KEPT: Final = 0.5


def cut_of(run: Run) -> str:
    """Say that a history holds far fewer operations than the harness counted while it ran; empty if it does not.

    Counts and charts are of the history as it is, but gates may have been judged by the whole of it.
    """
    pace, moments = run.state.get("pace"), run.state.get("moments")
    if not isinstance(pace, Mapping) or not isinstance(moments, Mapping):
        return ""
    rate, start, end = pace.get("invoked_per_s"), moments.get("main"), moments.get("main-end")
    if not isinstance(rate, int | float) or not isinstance(start, int) or not isinstance(end, int):
        return ""
    begun = rate * (end - start) / 1e9
    phase = run.operations.phase
    held = int(np.count_nonzero(phase.codes == phase.code("main")))
    if held >= _MIN_KEPT * begun:
        return ""
    return (
        f"The history was cut: it holds {number(held)} of about {number(round(begun))} operations that were begun in "
        "the main phase. What a check or gate saw may be of the whole history; counts, tables and charts are of what "
        f"is left.{_not_left(run)}"
    )


def _not_left(run: Run) -> str:
    """Say which kinds of operation, and which faults, have no ok operation any more: nothing left can test them."""
    operations = run.operations
    phase, ok = operations.phase, operations.which(OK)
    main = ok & (phase.codes == phase.code("main"))
    of_kind = {kind: operations.f.codes == operations.f.code(kind) for kind in operations.f.names}
    load = phase.codes != phase.code("final")
    bare = [kind for kind, mine in of_kind.items() if (load & mine).any() and not (main & mine).any()]
    parts = [f"ok operations of the kind {' or '.join(bare)} in the main phase"] if bare else []
    begun, ended = operations.invoked, operations.returned
    faults = [
        f"#{one.id} {one.fault}"
        for one in run.receipts
        if one.state == "installed"
        and one.stood is not None
        and not (ok & (begun >= one.stood) & (ended <= (one.heal_started or run.end))).any()
    ]
    parts += [f"any ok operation under {', '.join(faults)}"] if faults else []
    return f" What is left does not hold {', nor '.join(parts)}: it tests nothing of that." if parts else ""
