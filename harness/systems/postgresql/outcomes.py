"""The law of outcomes: what an answer proves about a transaction.

Without a COMMIT, a transaction cannot have committed, even if its connection was lost. After a COMMIT, it may have
committed unless the answer says otherwise.  A statement outside a transaction block commits by itself.  If a
transaction failed earlier, ``COMMIT`` is answered with the command tag ``ROLLBACK``, which is not an error.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.systems.law import LOST, Law, Rule

LAW: Final = Law(
    Rule("committed", "COMMIT answered with COMMIT, or a single statement that was answered", "ok"),
    Rule("rolled-back", "COMMIT answered with ROLLBACK", "fail"),
    Rule("other-value", "no row has the value that the update expects", "fail"),
    Rule("refused", "an ERROR before COMMIT was sent, or an answer to it that proves a rollback", "fail"),
    Rule("cut-off", "FATAL, or the connection ended, before COMMIT was sent", "fail"),
    Rule("doubted", "40003, PANIC, an internal error or an unknown one in answer to COMMIT", "info", read="fail"),
    Rule("read-only", "no answer, and the transaction writes nothing", "fail"),
)  # fmt: skip
#: Errors that are raised before the transaction has committed, by code or by class of codes: serialization failures,
#: deadlocks, violated constraints, lack of resources, and cancelled or impossible statements.
_PROVEN: Final = ("22", "23", "25", "40001", "40002", "40P01", "42", "53", "54", "55", "57014")


class End(NamedTuple):
    """How a transaction ended: the ``tag`` of its last answer, or the severity and code of its error.

    ``committing`` says that it was asked to commit, and ``writes`` that one of its statements writes.  All others are
    None if no answer came.
    """

    committing: bool
    writes: bool
    tag: str | None = None
    severity: str | None = None
    code: str | None = None


def case_of(end: End) -> str:
    """Return the law's case for the end of a transaction."""
    if end.tag is not None:
        return "rolled-back" if end.tag == "ROLLBACK" else "committed"
    if end.severity == "ERROR" and (not end.committing or (end.code or "").startswith(_PROVEN)):
        return "refused"
    if not end.committing:
        return "cut-off"
    if not end.writes:
        return "read-only"
    return "doubted" if end.severity in ("ERROR", "PANIC") else LOST
