"""The law of outcomes: what an answer proves about a transaction.

Without a COMMIT nothing commits, however the connection ends.  The answer to a COMMIT, or to a single statement, which
commits itself, leaves the outcome in doubt unless its error code proves a rollback.  On Galera a deadlock proves
nothing, because a node that is cut off while it sends a transaction to the others can give the same answer.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.systems.law import LOST, Law, Rule

LAW: Final = Law(
    Rule("committed", "COMMIT, or a single statement, was answered without an error", "ok"),
    Rule("other-value", "no row has the value that the update expects", "fail"),
    Rule("refused", "an error of the server before COMMIT was sent, or one in answer to it that proves a rollback",
         "fail"),
    Rule("cut-off", "the connection ended before COMMIT was sent", "fail"),
    Rule("doubted", "any other error of the server in answer to COMMIT", "info", read="fail"),
    Rule("read-only", "no answer to COMMIT, or an unclear one, and the transaction writes nothing", "fail"),
)  # fmt: skip
DEADLOCK: Final = 1213
#: Errors after which a single statement has changed nothing: not ready (Galera), duplicate key, lock wait timeout,
#: deadlock, read-only server, and a row that changed after the transaction's snapshot.
_PROVEN: Final = frozenset({1047, 1062, 1205, DEADLOCK, 1290, 1020})


class End(NamedTuple):
    """How a transaction failed.

    ``code`` is that of the server's error; None if the connection was lost.  ``committing``: COMMIT had been sent, or a
    single statement.  ``single``: it is such a statement.  ``writes``: it has a statement that writes.
    ``galera``: the server is a node of a Galera cluster.
    """

    code: int | None
    committing: bool
    single: bool
    writes: bool
    galera: bool = False


def case_of(end: End) -> str:
    """Return the case of the law."""
    if not end.committing:
        return "cut-off" if end.code is None else "refused"
    proven = _PROVEN if end.single else {DEADLOCK}
    if end.code in (proven - {DEADLOCK} if end.galera else proven):
        return "refused"
    if not end.writes:
        return "read-only"
    return LOST if end.code is None else "doubted"
