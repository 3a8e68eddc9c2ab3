"""What brokers report about themselves.  Positions are bytes of the commit log, which are the same on all nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from harness.systems.api import Machine
from harness.systems.dledger.remoting import GROUP, METADATA, SUCCESS
from harness.systems.remoting import Answer, Connection
from harness.systems.rocketmq_brokers.messages import EPOCHS, HA_STATUS, PORT, RUNTIME
from harness.systems.rocketmq_brokers.queues import BOOTED
from history import Probe

RAFT_PORT: Final = 40911
#: Figures of a broker in the HA system: the last epoch in its log (not a term, because a slave that cuts its log goes
#: back), the end of its log, and the number of slaves that a master considers in sync.
EPOCH: Final = "epoch"
END: Final = "log_bytes"
IN_SYNC: Final = "in_sync_slaves"


class DLedgerProber:
    """A prober for a broker on DLedger: the leader it knows, the end of its committed log, and the end of its queues.

    The end of the commit log that such a broker reports is the committed one, and queues are built up to it.
    """

    def __init__(self, node: Machine) -> None:
        self._name = node.name
        self._raft = Connection((node.address, RAFT_PORT))
        self._broker = Connection((node.address, PORT))

    async def ask(self, timeout: float) -> Mapping[str, Any]:
        metadata = await self._raft.ask(METADATA, {"group": GROUP, "remoteId": self._name}, timeout=timeout)
        return on_dledger(self._name, metadata, await self._broker.ask(RUNTIME, timeout=timeout))

    async def close(self) -> None:
        self._raft.close()
        self._broker.close()


def on_dledger(name: str, metadata: Answer, runtime: Answer) -> dict[str, Any]:
    """Return the figures in both answers.  Raises ValueError if they have none."""
    known = metadata.json()
    if not isinstance(known, dict) or known.get("code") != SUCCESS:
        raise ValueError(f"code {metadata.code}: {metadata.remark}")
    leader = known.get("leaderId")
    end, behind, booted = _positions(runtime)
    role = "leader" if leader == name else "follower" if leader else "unknown"
    return {"role": role, "leader": leader, "committed": end, "applied": end - behind, BOOTED: booted}


class HaProber:
    """A prober for a broker of the HA system: its role, last epoch, end of the log, and how far its queues are built.

    A broker reports how far its queues are behind the confirmed offset, but not that offset.  So ``applied`` is too
    high by the part of the log that is not confirmed.
    """

    def __init__(self, node: Machine) -> None:
        self._broker = Connection((node.address, PORT))

    async def ask(self, timeout: float) -> Mapping[str, Any]:
        answers = [await self._broker.ask(code, timeout=timeout) for code in (HA_STATUS, EPOCHS, RUNTIME)]
        return of_ha(*answers)

    async def close(self) -> None:
        self._broker.close()


def of_ha(status: Answer, epochs: Answer, runtime: Answer) -> dict[str, Any]:
    """Return the figures in the answers.  Raises ValueError if they have none."""
    stated, known = status.json(), epochs.json()
    if not isinstance(stated, dict) or not isinstance(known, dict) or type(stated.get("master")) is not bool:
        raise ValueError(f"codes {status.code}, {epochs.code}: {status.remark} {epochs.remark}")
    epoch = max((int(one["epoch"]) for one in known.get("epochList") or ()), default=-1)
    end, behind, booted = _positions(runtime)
    figures = {"role": "leader" if stated["master"] else "follower", "applied": end - behind}
    synced = {IN_SYNC: int(stated.get("inSyncSlaveNums", 0))} if stated["master"] else {}
    return {**figures, EPOCH: epoch, END: end, BOOTED: booted, **synced}


def _positions(runtime: Answer) -> tuple[int, int, int]:
    """Return the end of the commit log, how far the queues are behind it, and when the process started."""
    body = runtime.json()
    table = body.get("table") if isinstance(body, dict) else None
    if not isinstance(table, dict):
        raise ValueError(f"code {runtime.code}: {runtime.remark}")
    end, behind, booted = (int(table.get(name, "")) for name in _FIGURES)
    return end, max(0, behind), booted


_FIGURES: Final = ("commitLogMaxOffset", "dispatchBehindBytes", "bootTimestamp")


def one_master(probes: Sequence[Probe], nodes: Sequence[str], since: int) -> bool:
    """Return whether a single node leads, and all nodes have queues up to the end of its log when it first led.

    Only probes since then count.  A deposed leader's log may be longer: the part that nobody confirmed is cut off.
    """
    answers = [probe for probe in probes if probe.time >= since and probe.answered and END in probe.own]
    last = {probe.node: probe for probe in answers}
    masters = [node for node, probe in last.items() if probe.role == "leader"]
    if len(masters) != 1:
        return False
    wanted = next(int(probe.own[END]) for probe in answers if (probe.node, probe.role) == (masters[0], "leader"))
    return all(node in last and last[node].applied >= wanted for node in nodes)
