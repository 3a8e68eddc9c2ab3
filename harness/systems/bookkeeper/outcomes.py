"""The law: what an answer of a gateway proves, and the codes that it comes with.

An add that failed is in doubt, whatever it failed with: recovery kept entries whose adds had ended as ``LedgerFenced``
or by a timeout of their quorum.  Only a handle that has said once that it takes no more sends nothing any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from harness.systems.law import LOST, Law, Rule

LAW: Final = Law(
    Rule("answered", "done; of a window of adds: some are acknowledged, each of the others is in doubt", "ok"),
    Rule("no-handle", "this gateway has no such handle: it was started after the ledger was opened", "fail"),
    Rule("sealed", "LedgerClosed, of a handle that had answered LedgerClosed or LedgerFenced before", "fail"),
    Rule("never-created", "no create was acknowledged, so its id is not known", "fail", read="ok"),
    Rule("no-ledger", "the metadata server has no such ledger", "info", tail="fail", read="ok"),
    Rule("error", "any other code", "info", tail="fail", read="fail"),
    reads=("tail", "read"),
)

LEDGER_CLOSED: Final = -11
NO_HANDLE: Final = 404
DEADLINE: Final = 408
#: What a code of BookKeeper's, or of the gateway's own, proves; all others are ``error``.  One of them is -7, by which
#: a bookie says that it holds nothing of a ledger: that is no word of the metadata server's, which says -25.
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
    """The case of a window of adds by the gateway's answer, and what the adds without an acknowledgement ended with."""
    codes = {int(code): number for code, number in value["codes"].items()}
    text = ", ".join(f"{number} of {len(value['ids'])}: {name_of(code)}" for code, number in codes.items()) or None
    if any(one is not None for one in value["ids"]):
        return "answered", text
    return "sealed" if value["sealed"] and set(codes) == {LEDGER_CLOSED} else "error", text
