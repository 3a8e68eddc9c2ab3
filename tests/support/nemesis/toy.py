"""A toy world for the nemesis: nodes that keep rules and processes in dictionaries, and a clock that is told."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from history import Event, Probe
from nemesis.core.facts import Facts
from nemesis.core.fault import Context
from nemesis.core.ports import Command, Completed
from nemesis.faults import processes


class ToyClock:
    """Jumps ahead when it is waited on; ``stop_at`` (seconds) sets the event of the wait that would pass it."""

    def __init__(self, stop_at: float | None = None) -> None:
        self.time = 5_000_000_000
        self.stop_at = None if stop_at is None else self.time + int(stop_at * 1e9)

    def now(self) -> int:
        return self.time

    def wait(self, seconds: float, stop: threading.Event) -> bool:
        if not stop.is_set():
            self.time += max(0, int(seconds * 1e9))
            if self.stop_at is not None and self.time >= self.stop_at:
                self.time = self.stop_at
                stop.set()
        return stop.is_set()


class SshError(Exception):
    """What a harness would raise when a node cannot be reached."""


@dataclass
class ToyNodes:
    """Understands the commands of the partition and process faults, by their text.

    ``deaf_rules``: rules are accepted but drop and count nothing.  ``refuse``: nodes on which installing fails.
    ``quiet``: the system sends nothing.  ``unreachable``: nodes that raise.  ``immortal``: nodes whose process survives
    a kill.
    """

    names: tuple[str, ...] = ("n1", "n2", "n3", "n4", "n5")
    deaf_rules: bool = False
    uncounted: bool = False
    refuse: set[str] = field(default_factory=set)
    refuse_heal: set[str] = field(default_factory=set)
    unreachable: set[str] = field(default_factory=set)
    quiet: bool = False
    immortal: set[str] = field(default_factory=set)
    rules: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)
    own: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    states: dict[tuple[str, int], str] = field(default_factory=dict)
    sent: list[tuple[str, Command]] = field(default_factory=list)
    clock: ToyClock | None = None

    def address(self, node: str) -> str:
        return f"10.0.0.{self.names.index(node) + 1}"

    def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        if self.clock:
            self.clock.time += 3_000_000
        answers = {}
        for node, command in commands.items():
            self.sent.append((node, command))
            if node not in self.unreachable:
                code, out, err = self._one(node, command)
                answers[node] = Completed(node, code, out, err, 0.003)
        if lost := set(commands) & self.unreachable:
            raise SshError(f"no route to {sorted(lost)}")
        return answers

    def _one(self, node: str, command: Command) -> tuple[int, str, str]:  # noqa: C901 (one line a command)
        chains = self.rules.setdefault(node, {})
        match command.argv:
            case ("nft", "-f", "-"):
                if gone := re.findall(r"delete chain inet harness (\w+)", command.stdin):
                    if node in self.refuse_heal:
                        return 1, "", "Error: Device or resource busy\n"
                    return 0, str(chains.pop(gone[0], "")), ""
                if node in self.refuse:
                    return 1, "", "Error: Operation not permitted\n"
                for chain in re.findall(r"flush chain inet harness (\w+)", command.stdin):
                    chains[chain] = Counter(dict.fromkeys(re.findall(r'"from (\w+)"', command.stdin), 0))
                return 0, "", ""
            case ("sh", "-c", _, "counters", chain):
                if not (self.quiet or self.uncounted or self.deaf_rules):
                    for peer in chains.get(chain, ()):
                        chains[chain][peer] += 1
                        self.own[node, chain, peer] += 1
                return 0, self._listing(node, chain), ""
            case ("sh", "-c", _, "gone", chain):
                return 0, "standing\n" if chain in chains else "gone\n", ""
            case ("sh", "-c", _, "try", _limit, _port, *addresses):
                return 0, "".join(f"{a} began\n{a} {self._try(node, a)}\n" for a in addresses), ""
            case ("sh", "-c", processes._SIGNAL, pid, name):
                self._signal(node, int(pid), name)
                return 0, "", ""
            case ("sh", "-c", processes._STATE, pid):
                return 0, self.states.get((node, int(pid)), "") + "\n", ""
        return 127, "", f"the toy does not know {command.argv}"

    def _listing(self, node: str, chain: str) -> str:
        lines = []
        for peer, number in self.rules[node].get(chain, {}).items():
            own = self.own[node, chain, peer]
            lines.append(f'  ip saddr x tcp dport 20911 counter packets {own} bytes 9 comment "before {peer}"')
            lines.append(f'  ip saddr x counter packets {number} bytes 9 drop comment "from {peer}"')
        return "\n".join(lines)

    def _drops(self, node: str, sender: str) -> bool:
        hit = [counts for counts in self.rules.get(node, {}).values() if sender in counts]
        if not self.uncounted:
            for counts in hit:
                counts[sender] += 1
        return bool(hit)

    def _try(self, node: str, address: str) -> int:
        peer = next(name for name in self.names if self.address(name) == address)
        if self.deaf_rules:
            return 0
        return 137 if self._drops(peer, node) or self._drops(node, peer) else 0

    def _signal(self, node: str, pid: int, name: str) -> None:
        if (node, pid) in self.states and node not in self.immortal:
            new = {"KILL": "", "STOP": "T", "CONT": "S"}[name]
            self.states[node, pid] = new


@dataclass
class ToySystem:
    """One process a node; pids are never used twice."""

    nodes: ToyNodes
    leader: str | None = "n1"
    term: int = 1
    dead_on_start: set[str] = field(default_factory=set)
    last: dict[str, int] = field(default_factory=dict)
    said: dict[str, Probe] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._next = 100
        for name in self.nodes.names:
            self._spawn(name)

    def _spawn(self, name: str) -> None:
        self._next += 1
        self.last[name] = self._next
        self.nodes.states[name, self._next] = "S"

    def pids(self, nodes: Iterable[str]) -> dict[str, int | None]:
        return {n: self.last[n] if self.nodes.states[n, self.last[n]] else None for n in nodes}

    def start(self, nodes: Iterable[str]) -> None:
        from nemesis.core.ports import StartError

        nodes = list(nodes)
        if dead := set(nodes) & self.dead_on_start:
            raise StartError(dict.fromkeys(dead, "it died at once"))
        for name, pid in self.pids(nodes).items():
            if pid is None:
                self._spawn(name)

    def probes(self) -> Mapping[str, Probe]:
        up = self.pids(self.nodes.names)
        return {
            name: self.said.get(name)
            or Probe(0, name, "leader" if name == self.leader else "follower", self.term, self.leader)
            if up[name]
            else Probe(0, name, error="connection refused")
            for name in self.nodes.names
        }


class Recorder:
    """Keeps what a runner records, as events."""

    def __init__(self, clock: ToyClock, nodes: ToyNodes | None = None) -> None:
        self.clock = clock
        self.nodes = nodes
        self.events: list[Event] = []
        self.sent_before: list[int] = []
        self.broken = False

    def __call__(self, kind: Any, f: str, value: dict[str, Any], /) -> None:
        if self.broken:
            raise OSError(28, "No space left on device")
        self.events.append(Event(len(self.events), self.clock.now(), kind, "nemesis", f, value))
        self.sent_before.append(len(self.nodes.sent) if self.nodes else 0)


def facts(names: Iterable[str], nodes: ToyNodes, *can: str) -> Facts:
    able = frozenset({"bash", "timeout", "can:nft", "can:iptables", "can:nft-loss", *can})
    return Facts({name: (nodes.address(name),) for name in names}, dict.fromkeys(names, able))


def world(n: int = 5, **quirks: Any) -> tuple[Context, ToyNodes, ToySystem, ToyClock]:
    clock = ToyClock(quirks.pop("stop_at", None))
    nodes = ToyNodes(tuple(f"n{i}" for i in range(1, n + 1)), clock=clock, **quirks)
    system = ToySystem(nodes)
    return Context(nodes, system, clock, facts(nodes.names, nodes)), nodes, system, clock
