"""A register as a system under test: the first node holds the data, the others pass requests on to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.clients.wire import NoAnswerError, Wire
from harness.systems.api import Machine, PlantedBug, Role, Setup, Shell, Surface, System, Workload
from harness.systems.artifacts import LocalFiles, on_node
from harness.systems.law import Law, Outcome, Rule
from harness.systems.ready import listening
from harness.workloads import Invocation, RegisterWorkload

PORT = 20911
SERVER = LocalFiles("toy-register", (Path(__file__).with_name("server.py"),), "is missing: install the package again")
LAW = Law(
    Rule("done", "it is done, and on the disk", "ok"),
    Rule("refused", "the node that was asked did not reach the holder", "fail"),
    Rule("doubted", "it was passed on, and no answer came", "info", read="fail"),
)


class RegisterClient:
    """One worker's connection to its node."""

    def __init__(self, node: Machine, timeout: float) -> None:
        self._node, self._timeout = node, timeout
        self._wire = Wire(node.address, PORT)

    @property
    def home(self) -> str:
        return self._node.name

    async def open(self) -> None:
        """Do nothing: the first operation connects."""

    async def perform(self, invocation: Invocation) -> Outcome:
        request = {"op": invocation.f, "key": invocation.key, "value": invocation.value}
        try:
            answer = await self._wire.ask(request, self._timeout)
        except NoAnswerError as error:
            return LAW.outcome(error.case, invocation, self.home, str(error))
        if answer["ok"]:
            return LAW.outcome("done", invocation, self.home, value=answer["value"])
        case = "refused" if answer["certain"] else "doubted"
        return LAW.outcome(case, invocation, self.home, answer["error"])

    async def close(self) -> None:
        self._wire.close()


class RegisterProber:
    """A prober that asks a node for its role, and for how far the holder's log is."""

    def __init__(self, node: Machine) -> None:
        self._wire = Wire(node.address, PORT)

    async def ask(self, timeout: float) -> Mapping[str, Any]:
        answer = await self._wire.ask({"op": "status"}, timeout)
        if not answer["ok"]:
            raise ValueError(answer["error"])
        figures: Mapping[str, Any] = answer["value"]
        return figures

    async def close(self) -> None:
        self._wire.close()


def roles(setup: Setup) -> list[Role]:
    """Return a server for each node; all but the first know the first one's address."""
    return [
        Role(
            node=node.name,
            command=("/usr/bin/python3", f"{on_node(node, SERVER)}/server.py",
                     "self" if node is setup.nodes[0] else setup.nodes[0].address,
                     setup.planted_bug or "none", f"{node.home}/store/log"),
            ready=listening(PORT),
        )
        for node in setup.nodes
    ]  # fmt: skip


def clients(setup: Setup, number: int) -> Sequence[RegisterClient]:
    """Return the clients, spread over the nodes in turn."""
    return [RegisterClient(setup.nodes[n % len(setup.nodes)], setup.client_timeout) for n in range(number)]


def prober(_setup: Setup, shell: Shell) -> RegisterProber:
    """Return the prober of one node."""
    return RegisterProber(shell.machine)


SYSTEM = System(
    name="toy-register",
    summary="a register that is correct by simplicity, and its broken twins",
    versions=("1.0",),
    artifacts=lambda _setup: [SERVER],
    roles=roles,
    surface=lambda _setup: Surface(peer_ports=(PORT,), client_port=PORT),
    clients=clients,
    prober=prober,
    law=LAW,
    every_node_serves=True,  # each passes requests on to the node that holds the register
    workloads=(
        Workload(
            name="register",
            summary="reads and writes of a few registers; every value is written once",
            generator=lambda scale: RegisterWorkload(scale.keys).generator(),
            final=lambda scale: RegisterWorkload(scale.keys).final_reads(),
            model="register",
            written_once=True,
        ),
    ),
    planted_bugs=(
        PlantedBug(name="unlogged", help="writes are acknowledged before they reach the log's file"),
        PlantedBug(name="unsynced", help="the log is written and not synced"),
        PlantedBug(name="stale", help="when the holder cannot be reached, reads are answered from what was last seen"),
        PlantedBug(name="retried", help="a request that takes long is sent again, and the holder carries both out"),
    ),
    promises=("reads and writes are linearizable, and what was acknowledged survives the loss of power",),
)
