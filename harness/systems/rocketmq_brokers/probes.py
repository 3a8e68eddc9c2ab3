"""What brokers say of themselves.  Positions are bytes of the commit log, which are the same on all nodes."""

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
#: Of a broker of the HA system: the last epoch in its log (no term: a slave that cuts its log goes back), how far its
#: log goes, and how many slaves a master takes for in sync.
EPOCH: Final = "epoch"
END: Final = "log_bytes"
IN_SYNC: Final = "in_sync_slaves"


class DLedgerProber:
    """Asks a broker on DLedger for the leader that it knows, and how far its log is committed and its queues are built.

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
    """The figures in both answers.  Raises ValueError when they hold none."""
    known = metadata.json()
    if not isinstance(known, dict) or known.get("code") != SUCCESS:
        raise ValueError(f"code {metadata.code}: {metadata.remark}")
    leader = known.get("leaderId")
    end, behind, booted = _positions(runtime)
    role = "leader" if leader == name else "follower" if leader else "unknown"
    return {"role": role, "leader": leader, "committed": end, "applied": end - behind, BOOTED: booted}


class HaProber:
    """Asks a broker of the HA system for its role, the last epoch, and how far its log goes and queues are built.

    A broker tells how far its queues are behind the confirmed offset, and not that offset: ``applied`` is too high by
    what its log holds beyond it.
    """

    def __init__(self, node: Machine) -> None:
        self._broker = Connection((node.address, PORT))

    async def ask(self, timeout: float) -> Mapping[str, Any]:
        answers = [await self._broker.ask(code, timeout=timeout) for code in (HA_STATUS, EPOCHS, RUNTIME)]
        return of_ha(*answers)

    async def close(self) -> None:
        self._broker.close()


def of_ha(status: Answer, epochs: Answer, runtime: Answer) -> dict[str, Any]:
    """The figures in the answers.  Raises ValueError when they hold none."""
    stated, known = status.json(), epochs.json()
    if not isinstance(stated, dict) or not isinstance(known, dict) or type(stated.get("master")) is not bool:
        raise ValueError(f"codes {status.code}, {epochs.code}: {status.remark} {epochs.remark}")
    epoch = max((int(one["epoch"]) for one in known.get("epochList") or ()), default=-1)
    end, behind, booted = _positions(runtime)
    figures = {"role": "leader" if stated["master"] else "follower", "applied": end - behind}
    synced = {IN_SYNC: int(stated.get("inSyncSlaveNums", 0))} if stated["master"] else {}
    return {**figures, EPOCH: epoch, END: end, BOOTED: booted, **synced}


def _positions(runtime: Answer) -> tuple[int, int, int]:
    """The end of the commit log, how far the queues are behind it, and when the process began."""
    body = runtime.json()
    table = body.get("table") if isinstance(body, dict) else None
    if not isinstance(table, dict):
        raise ValueError(f"code {runtime.code}: {runtime.remark}")
    end, behind, booted = (int(table.get(name, "")) for name in _FIGURES)
    return end, max(0, behind), booted


_FIGURES: Final = ("commitLogMaxOffset", "dispatchBehindBytes", "bootTimestamp")


def one_master(probes: Sequence[Probe], nodes: Sequence[str], since: int) -> bool:
    """Whether one node leads since then, and these have queues up to where its log went when it first led.

    A deposed leader's log may be longer: what nobody confirmed is cut off.
    """
    answers = [probe for probe in probes if probe.time >= since and probe.answered and END in probe.own]
    last = {probe.node: probe for probe in answers}
    masters = [node for node, probe in last.items() if probe.role == "leader"]
    if len(masters) != 1:
        return False
    wanted = next(int(probe.own[END]) for probe in answers if (probe.node, probe.role) == (masters[0], "leader"))
    return all(node in last and last[node].applied >= wanted for node in nodes)
