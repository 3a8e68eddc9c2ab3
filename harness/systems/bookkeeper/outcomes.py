"""The law: what an answer of a gateway proves, and the codes that come with it.

An add that failed is in doubt, whatever the error: recovery has kept entries whose adds had ended with ``LedgerFenced``
or a quorum timeout.  Only a handle that has already refused further adds certainly sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from harness.systems.law import LOST, Law, Rule

LAW: Final = Law(
    Rule("answered", "done; in a window of adds, some are acknowledged and each of the others is in doubt", "ok"),
    Rule("no-handle", "this gateway has no such handle: it was started after the ledger was opened", "fail"),
    Rule("sealed", "LedgerClosed from a handle that had already answered LedgerClosed or LedgerFenced", "fail"),
    Rule("never-created", "no create was acknowledged, so its id is unknown", "fail", read="ok"),
    Rule("no-ledger", "the metadata server has no such ledger", "info", tail="fail", read="ok"),
    Rule("error", "any other code", "info", tail="fail", read="fail"),
    reads=("tail", "read"),
)

LEDGER_CLOSED: Final = -11
NO_HANDLE: Final = 404
DEADLINE: Final = 408
#: The case for each code of BookKeeper or of the gateway; all other codes are ``error``.  That includes -7, by which a
#: bookie says that it has nothing of a ledger: only the metadata server's -25 says that the ledger does not exist.
CASES: Final[Mapping[int, str]] = {-25: "no-ledger", NO_HANDLE: "no-handle", DEADLINE: LOST}
NAMES: Final[Mapping[int, str]] = {
    -6: "NotEnoughBookies", -7: "NoSuchLedger", -8: "BookieHandleNotAvailable", -9: "ZKException",
    -10: "LedgerRecovery", LEDGER_CLOSED: "LedgerClosed", -12: "WriteException", -13: "NoSuchEntry",
    -17: "MetadataVersion", -21: "AddEntryQuorumTimeout", -23: "Timeout", -25: "NoSuchLedgerOnMetadataServer",
    -101: "LedgerFenced", NO_HANDLE: "no such handle", DEADLINE: "no answer in time",
}  # fmt: skip


def name_of(code: int) -> str:
    return f"{NAMES.get(code, 'code')} ({code})"


def case_of_window(value: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the law's case for the gateway's answer to a window of adds, and a summary of its errors or None."""
    codes = {int(code): number for code, number in value["codes"].items()}
    text = ", ".join(f"{number} of {len(value['ids'])}: {name_of(code)}" for code, number in codes.items()) or None
    if any(id_ is not None for id_ in value["ids"]):
        return "answered", text
    return "sealed" if value["sealed"] and set(codes) == {LEDGER_CLOSED} else "error", text
