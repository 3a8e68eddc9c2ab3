"""Requests of DLedger's own protocol that the harness uses, in RocketMQ's frames.

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
#: The code of a heartbeat, as its header contains it.
HEARTBEAT: Final = '"code":51002'


def ask(address: Address, code: int, body: dict[str, Any]) -> dict[str, Any]:
    """Send a request and return the body of the answer.

    Raises OSError if none comes (also for a timeout), ValueError if it is malformed.
    """
    answer = remoting.ask(address, code, body)
    content = answer.json()
    if not isinstance(content, dict):
        raise ValueError(f"code {answer.code}: {answer.remark}")
    return content


def metadata(address: Address, node: str) -> dict[str, Any]:
    """Return the leader that a node knows (``leaderId``, absent if it knows none) and the members (``peers``)."""
    return ask(address, METADATA, {"group": GROUP, "remoteId": node})


def transfer_leadership(address: Address, leader: str, to: str, term: int) -> None:
    """Ask the leader to transfer its leadership.

    A leader that steps down at once may not answer.  An unanswered request is not an error here, because the probes
    show whether the other node becomes the leader.  Raises ValueError with the library's code if the leader refuses (it
    no longer leads, the term differs, the other node is too far behind), OSError if it cannot be reached.
    """
    body = {"group": GROUP, "remoteId": leader, "transferId": leader, "transfereeId": to, "term": term}
    try:
        answer = ask(address, LEADERSHIP_TRANSFER, body)
    except TimeoutError:
        return
    if answer.get("code") != SUCCESS:
        raise ValueError(f"refused with code {answer.get('code')}")
