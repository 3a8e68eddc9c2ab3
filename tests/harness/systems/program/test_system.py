"""The clients and the probers of a system of one file, with real programs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.execution.probes import OVERDUE_S
from harness.systems import installed
from harness.systems.api import Machine, Setup, System
from harness.systems.program import system as module
from harness.systems.program.system import system_of
from harness.workloads import Invocation
from nemesis.core.ports import Command, Completed

NODES = tuple(Machine(f"n{number}", f"10.0.0.{number}") for number in (1, 2, 3))
FILE = """
[[roles]]
command = "server"
port = 70
[client]
command = "sh client.sh {peers}"
PROCESSES
[probe]
command = "sh probe.sh {node} {address}"
"""
CLIENT = """
echo start >> started
while read -r line; do id=${line#*:}; echo "{\\"id\\":${id%%,*},\\"type\\":\\"ok\\"}"; done
"""


@dataclass(frozen=True)
class NoShell:
    machine: Machine

    def run(self, command: Command) -> Completed:
        raise AssertionError(command)


def written(directory: Path, *, processes: str = "", probe: str = "exit 1", file: str = FILE) -> System:
    """``probe`` is what the probe program does after it was asked."""
    (directory / "client.sh").write_text(CLIENT)
    (directory / "probe.sh").write_text(f"read -r line\n{probe}\nexec cat\n")
    (directory / "kv.toml").write_text(file.replace("PROCESSES", processes))
    return system_of(directory / "kv.toml")


def setup_of(system: System) -> Setup:
    return Setup(version=system.versions[0], nodes=NODES, client_timeout=5.0)


def test_a_file_is_installed_while_it_is_there(tmp_path: Path) -> None:
    written(tmp_path)
    assert installed(str(tmp_path / "kv.toml")) is not None
    assert installed(str(tmp_path / "gone.toml")) is None


@pytest.mark.parametrize(("processes", "starts"), [("", 4), ('processes = "worker"', 4), ('processes = "one"', 1)])
def test_each_worker_has_a_program_or_all_share_one(tmp_path: Path, processes: str, starts: int) -> None:
    system = written(tmp_path, processes=processes)

    async def scene() -> None:
        clients = system.clients(setup_of(system), 4)
        for client in clients:
            await client.open()
        outcomes = await asyncio.gather(*(client.perform(Invocation("write", "x", 3)) for client in clients))
        for client in clients:
            await client.close()
        assert [(one.type, one.value, one.node) for one in outcomes] == [
            ("ok", 3, "n1"), ("ok", 3, "n2"), ("ok", 3, "n3"), ("ok", 3, "n1"),
        ]  # fmt: skip

    asyncio.run(scene())
    assert len((tmp_path / "started").read_text().splitlines()) == starts


def probed(system: System, times: int = 1, timeout: float = 5.0) -> list[Mapping[str, Any] | str]:
    async def scene() -> list[Mapping[str, Any] | str]:
        assert system.prober is not None
        prober = system.prober(setup_of(system), NoShell(NODES[1]))
        found: list[Mapping[str, Any] | str] = []
        for _ in range(times):
            try:
                found.append(await prober.ask(timeout))
            except (OSError, ValueError) as error:
                found.append(f"{'OSError' if isinstance(error, OSError) else 'ValueError'}: {error}")
        await prober.close()
        return found

    return asyncio.run(scene())


def test_a_probe_returns_what_the_node_says(tmp_path: Path) -> None:
    figures = """echo "{\\"id\\":1,\\"type\\":\\"ok\\",\\"value\\":{\\"role\\":\\"leader\\",\\"at\\":\\"$1 $2\\"}}" """
    assert probed(written(tmp_path, probe=figures)) == [{"role": "leader", "at": "n2 10.0.0.2"}]


def test_a_node_of_another_role_than_the_first_is_asked_as_well(tmp_path: Path) -> None:
    """Its index is that among the nodes of the first role that it has."""
    other = 'nodes = ["n1"]\n[[roles]]\nname = "other"\ncommand = "other"\nnodes = ["n2", "n3"]\n[client]'
    figures = """echo "{\\"id\\":1,\\"type\\":\\"ok\\",\\"value\\":{\\"at\\":\\"$1 $2\\"}}" """
    file = FILE.replace("[client]", other).replace("{address}", "{index}")
    assert probed(written(tmp_path, probe=figures, file=file)) == [{"at": "n2 1"}]


@pytest.mark.parametrize(
    ("probe", "error"),
    [
        ("exit 1", "OSError: it exited with code 1"),
        ("""echo '{"id":1,"type":"fail","error":"no node"}'""", "ValueError: no node"),
        ("""echo '{"id":1,"type":"ok","value":3}'""", "ValueError: an answer without figures"),
    ],
)
def test_a_probe_without_figures_says_why(tmp_path: Path, probe: str, error: str) -> None:
    assert probed(written(tmp_path, probe=probe)) == [error]


def test_a_probe_has_time_to_start_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = """sleep 0.5; echo '{"id":1,"type":"ok","value":{}}'"""
    assert probed(written(tmp_path, probe=slow), timeout=0.1) == [{}]
    assert module.PROBE_GRACE_S < OVERDUE_S  # or it would be cut off at every start, and never answer
    monkeypatch.setattr(module, "PROBE_GRACE_S", 0.0)
    assert probed(written(tmp_path, probe=slow), timeout=0.1) == ["OSError: no answer within 0.1 s"]
