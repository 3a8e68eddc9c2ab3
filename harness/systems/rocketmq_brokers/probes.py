"""Reports of brokers and controllers. Positions are bytes of the commit log, which are the same on all nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from harness.clients.wire import NoAnswerError
from harness.systems.api import Machine, Setup
from harness.systems.dledger.remoting import GROUP, METADATA, SUCCESS
from harness.systems.remoting import Answer, Connection
from harness.systems.rocketmq.requests import OK, REPLICA_INFO, state_in
from harness.systems.rocketmq.requests import PORT as CONTROLLER_PORT
from harness.systems.rocketmq_brokers.brokers import NAME
from harness.systems.rocketmq_brokers.ha import controllers
from harness.systems.rocketmq_brokers.messages import EPOCHS, HA_STATUS, PORT, RUNTIME
from harness.systems.rocketmq_brokers.queues import BOOTED
from history import Probe

RAFT_PORT: Final = 40911
#: Figures of a broker in the HA system: the last epoch in its log (not a term, because a slave that cuts its log goes
#: back), the end of its log, and the number of slaves that a master considers in sync.
EPOCH: Final = "epoch"
END: Final = "log_bytes"
IN_SYNC: Final = "in_sync_slaves"
#: The number that its controller gave a broker (0 for a master), and the epochs in its log with their starts, as
#: ``1:0 4:636337``.
NUMBER: Final = "broker_id"
STARTS: Final = "epoch_starts"
#: Prefix of a slave's name in the figure of a master for the end of the log that this slave has acknowledged.
ACKNOWLEDGED: Final = "acknowledged_by_"
#: Figures of a controller that leads: the brokers in sync as ``1 2 3``, how many of them are slaves, the epoch of that
#: set, the number and the node of the master, and its epoch.  Up to 5.1.0, brokers have no numbers there, and the names
#: of their nodes stand for them.
SET: Final = "set"
SET_SLAVES: Final = "set_slaves"
SET_EPOCH: Final = "set_epoch"
MASTER: Final = "set_master"
MASTER_NODE: Final = "master_node"
MASTER_EPOCH: Final = "master_epoch"
#: The newest epochs of a broker that fit into a figure.
_EPOCHS: Final = 8
#: The set and its epoch in the answer of a controller up to 5.1.0, which knows brokers by their addresses.
_ADDRESSES: Final = re.compile(rb'"syncStateSet":\[((?:"[^"]*",?)+)\],"syncStateSetEpoch":(\d+)')


class DLedgerProber:
    """A prober for a broker on DLedger: the leader it knows, the end of its committed log, and the end of its queues.

    Such a broker reports the committed end of its commit log, and queues are built up to it.
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
    """A prober for a node of the HA system, that is, for its broker and, if it leads, its controller.

    A broker reports how far its queues are behind the confirmed offset, but not that offset.  So ``applied`` is too
    high by the part of the log that is not confirmed.
    """

    def __init__(self, node: Machine, setup: Setup) -> None:
        self._names = {machine.address: machine.name for machine in setup.nodes}
        self._broker = Connection((node.address, PORT))
        here = any(controller.name == node.name for controller in controllers(setup))
        self._controller = Connection((node.address, CONTROLLER_PORT)) if here else None

    async def ask(self, timeout: float) -> Mapping[str, Any]:
        status, epochs, runtime = [
            await self._broker.ask(code, timeout=timeout) for code in (HA_STATUS, EPOCHS, RUNTIME)
        ]
        return {**of_ha(status, epochs, runtime, self._names), **await self._of_controller(timeout)}

    async def _of_controller(self, timeout: float) -> Mapping[str, Any]:
        """Return what the controller says.  Its silence does not hide the broker's answers."""
        if self._controller is None:
            return {}
        try:
            answer = await self._controller.ask(REPLICA_INFO, ext={"brokerName": NAME}, timeout=timeout)
            return of_controller(answer, self._names)
        except (NoAnswerError, ValueError):
            return {}

    async def close(self) -> None:
        self._broker.close()
        if self._controller is not None:
            self._controller.close()


def of_ha(status: Answer, epochs: Answer, runtime: Answer, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the figures in a broker's answers; ``names`` are the nodes by address.

    Raises ValueError if there are none.
    """
    stated, known = status.json(), epochs.json()
    if not isinstance(stated, dict) or not isinstance(known, dict) or type(stated.get("master")) is not bool:
        raise ValueError(f"codes {status.code}, {epochs.code}: {status.remark} {epochs.remark}")
    starts = sorted((int(entry["epoch"]), int(entry["startOffset"])) for entry in known.get("epochList") or ())
    end, behind, booted = _positions(runtime)
    figures = {
        "role": "leader" if stated["master"] else "follower",
        "applied": end - behind,
        EPOCH: starts[-1][0] if starts else -1,
        END: end,
        BOOTED: booted,
        NUMBER: known.get("brokerId"),
        STARTS: " ".join(f"{epoch}:{start}" for epoch, start in starts[-_EPOCHS:]) or None,
    }
    if not stated["master"]:
        return figures
    slaves = {
        names.get(str(slave.get("addr")).rpartition(":")[0]): int(slave["slaveAckOffset"])
        for slave in stated.get("haConnectionInfo") or ()
    }
    acknowledged = {f"{ACKNOWLEDGED}{name}": end for name, end in slaves.items() if name is not None}
    return {**figures, IN_SYNC: int(stated.get("inSyncSlaveNums", 0)), **acknowledged}


def of_controller(answer: Answer, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the figures in a controller's answer, or none if it does not lead; ``names`` are the nodes by address.

    Raises ValueError for an answer without them.
    """
    if answer.code != OK:
        return {}
    node = names.get(answer.ext.get("masterAddress", "").rpartition(":")[0])
    if (told := _ADDRESSES.search(answer.body)) is not None:
        addresses = re.findall(r'"([^"]*):\d+"', told[1].decode())
        members = sorted(names.get(address, address) for address in addresses)
        master, master_epoch, epoch = node, int(answer.ext.get("masterEpoch", "")), int(told[2])
    else:
        master, master_epoch, members, epoch = state_in(answer)
    return {SET: " ".join(map(str, members)), SET_SLAVES: len(members) - 1, SET_EPOCH: epoch, MASTER: master,
            MASTER_NODE: node, MASTER_EPOCH: master_epoch}  # fmt: skip


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
    """Return whether one node leads, and all nodes have its log and queues up to the log's end when it first led.

    Only probes since then count.  A deposed leader's log may be longer, until it is connected and cuts what nobody
    confirmed.  So a slave must have acknowledged that end to the master, or its log must be growing: a slave may get
    the log from another one.
    """
    answers = [probe for probe in probes if probe.time >= since and probe.answered and END in probe.own]
    last = {probe.node: probe for probe in answers}
    masters = [node for node, probe in last.items() if probe.role == "leader"]
    if len(masters) != 1:
        return False
    (master,) = masters
    wanted = next(int(probe.own[END]) for probe in answers if (probe.node, probe.role) == (master, "leader"))
    began: dict[str, int] = {}
    for probe in answers:
        if probe.role == "follower":
            began.setdefault(probe.node, int(probe.own[END]))

    def caught_up(node: str) -> bool:
        if node not in last or last[node].applied < wanted:
            return False
        acknowledged = int(last[master].own.get(f"{ACKNOWLEDGED}{node}", -1)) >= wanted
        return node == master or acknowledged or int(last[node].own[END]) > began[node]

    return all(map(caught_up, nodes))
