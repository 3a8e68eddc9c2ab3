"""ZooKeeper servers on this machine, one for each loopback address, started as their roles specify."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from harness.systems import Machine, Setup
from harness.systems.api import OptionValue
from harness.systems.artifacts import cached, on_node
from harness.systems.zookeeper import SYSTEM, Prober


class Servers:
    """An ensemble whose files are below ``root``."""

    def __init__(self, root: Path, version: str, number: int) -> None:
        machines = tuple(Machine(f"n{n}", f"127.0.77.{n}", str(root / f"n{n}")) for n in range(1, number + 1))
        options: dict[str, OptionValue] = {"peeks": "plain", "commit_log": 500}
        self.setup = Setup(version=version, options=options, nodes=machines, client_timeout=4.0)
        self.roles = {role.node: role for role in SYSTEM.roles(self.setup)}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        (jars,) = SYSTEM.artifacts(self.setup)
        files = cached(jars, print)
        for node in machines:
            place = Path(on_node(node, jars))
            place.parent.mkdir(parents=True)
            place.symlink_to(files)

    def start(self, names: Iterable[str]) -> None:
        for name in names:
            role, home = self.roles[name], Path(self.setup.node(name).home)
            for path, text in role.files.items():
                (home / path).parent.mkdir(parents=True, exist_ok=True)
                (home / path).write_text(text)
            with (home / "console.log").open("ab") as log:
                self._running[name] = subprocess.Popen(role.command, cwd=home, stdout=log, stderr=log)

    def kill(self, names: Iterable[str]) -> None:
        for name in names:
            process = self._running.pop(name)
            process.kill()
            process.wait()

    def pause(self, name: str) -> None:
        os.kill(self._running[name].pid, signal.SIGSTOP)

    def resume(self, name: str) -> None:
        os.kill(self._running[name].pid, signal.SIGCONT)

    def until_it_serves(self, within_s: float = 90.0) -> None:
        deadline = time.monotonic() + within_s
        while SYSTEM.leads(self.setup) is None:
            if time.monotonic() > deadline:
                raise TimeoutError("the ensemble does not serve")
            time.sleep(0.2)

    async def leader(self) -> str | None:
        for name in self._running:
            try:
                if (await Prober(self.setup.node(name).address).ask(3.0))["role"] == "leader":
                    return name
            except (OSError, ValueError):
                continue
        return None

    def close(self) -> None:
        self.kill(list(self._running))
