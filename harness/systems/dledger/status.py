"""Ask a server for its status on its client port, for readiness checks and for probes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from harness.clients.wire import BlockingWire, Wire
from harness.systems.api import Setup, Shell

CLIENT_PORT: Final = 20912
#: The field of the status answer for each figure.
_FIELDS: Final = {
    "role": "role",
    "term": "term",
    "leader": "leader",
    "log_begin": "ledgerBegin",
    "log_end": "ledgerEnd",
    "committed": "committed",
    "applied": "applied",
    "count.snapshots_saved": "snapshotsSaved",
    "count.snapshots_loaded": "snapshotsLoaded",
    "clock_ms": "clockMs",
    "state_index": "stateIndex",
    "digest": "digest",
    "count.unapplied_oks": "unappliedOks",
    "count.apply_errors": "applyErrors",
    "count.reapplied": "reapplied",
    "count.undecodable": "undecodable",
    "fault": "fault",
    "pid": "pid",
}


def ask(address: str, request: dict[str, object]) -> dict[str, object] | None:
    """Return the answer of the server at this address, or None if there is none."""
    try:
        return BlockingWire(address, CLIENT_PORT).ask(request, timeout=3.0)
    except (OSError, ValueError, TypeError):
        return None


def listens(shell: Shell) -> bool:
    """Return whether the server answers on its client port."""
    answer = ask(shell.machine.address, {"op": "status"})
    return answer is not None and answer.get("ok") is True


def figures(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the figures in a status answer.  Raises ValueError if it is not one."""
    if answer.get("ok") is not True:
        raise ValueError(str(answer.get("message", answer))[:200])
    return {figure: answer[name] for figure, name in _FIELDS.items() if answer.get(name) is not None}


class StatusProber:
    """A prober that asks one server for its status, on a connection that stays open."""

    def __init__(self, host: str, port: int) -> None:
        self._wire = Wire(host, port)

    async def ask(self, timeout: float) -> Mapping[str, Any]:
        return figures(await self._wire.ask({"op": "status"}, timeout))

    async def close(self) -> None:
        self._wire.close()


def prober(setup: Setup, shell: Shell) -> StatusProber:  # noqa: ARG001 (every server has the same port)
    return StatusProber(shell.machine.address, CLIENT_PORT)
