"""DLedger's own requests, as far as the harness uses them, in RocketMQ's frames.

The codes are those of ``DLedgerRequestCode``.
"""

from __future__ import annotations

from typing import Any, Final

from harness.systems import remoting
from harness.systems.remoting import Address

METADATA: Final = 50000
LEADERSHIP_TRANSFER: Final = 51005
GROUP: Final = "harness"
SUCCESS: Final = 200
#: How the header of a heartbeat names its code.
HEARTBEAT: Final = '"code":51002'


def ask(address: Address, code: int, body: dict[str, Any]) -> dict[str, Any]:
    """The body of the answer.  Raises OSError (a timeout too) when none comes, ValueError when it is malformed."""
    answer = remoting.ask(address, code, body)
    found = answer.json()
    if not isinstance(found, dict):
        raise ValueError(f"code {answer.code}: {answer.remark}")
    return found


def metadata(address: Address, node: str) -> dict[str, Any]:
    """The leader that a node knows (``leaderId``, absent while it knows none) and the members (``peers``)."""
    return ask(address, METADATA, {"group": GROUP, "remoteId": node})


def transfer_leadership(address: Address, leader: str, to: str, term: int) -> None:
    """Request a leadership transfer from the leader.

    A leader that steps down at once may not answer: a request that was accepted and not answered is no error here,
    since the probes show whether the other node came to lead.  Raises ValueError with the library's code when the
    leader refuses (it no longer leads, the term is another, the other node is too far behind), OSError when it cannot
    be reached.
    """
    body = {"group": GROUP, "remoteId": leader, "transferId": leader, "transfereeId": to, "term": term}
    try:
        answer = ask(address, LEADERSHIP_TRANSFER, body)
    except TimeoutError:
        return
    if answer.get("code") != SUCCESS:
        raise ValueError(f"refused with code {answer.get('code')}")
