"""Nodes and a system on them, without machines: rules and processes are kept in dictionaries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from harness.testing.clock import FakeClock
from history import Probe
from nemesis.core import roles
from nemesis.core.ports import Command, Completed, StartError


class UnreachableError(Exception):
    """The error that a real harness would raise for a node that cannot be reached."""


@dataclass
class FakeNodes:
    """Nodes that understand the commands of partition and process faults by their text, and others by ``answers``.

    - ``answers``: a word of a command, and a function of node and command that returns its output.
    - ``sent``: all commands.
    - ``deaf_rules``: rules are accepted but drop and count nothing.
    - ``uncounted``: rules drop packets but do not count them.
    - ``refuse``, ``refuse_heal``: nodes on which installing or removing rules fails.
    - ``quiet``: the system sends nothing.
    - ``unreachable``: nodes for which commands raise.
    - ``immortal``: nodes whose process survives a kill.
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
    clock: FakeClock | None = None
    answers: dict[str, Callable[[str, Command], str]] = field(default_factory=dict)

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
            raise UnreachableError(f"no route to {sorted(lost)}")
        return answers

    def _one(self, node: str, command: Command) -> tuple[int, str, str]:  # noqa: C901 (one line a command)
        for word, answer in self.answers.items():
            if word in command.argv:
                return 0, answer(node, command), ""
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
                return 0, self.listing(node, chain), ""
            case ("sh", "-c", _, "gone", chain):
                return 0, "standing\n" if chain in chains else "gone\n", ""
            case ("sh", "-c", _, "try", _limit, _port, *addresses):
                return 0, "".join(f"{a} began\n{a} {self.attempt(node, a)}\n" for a in addresses), ""
            case ("sh", "-c", roles.SIGNAL, _home, _role, name):
                self._signal(node, name)
                return 0, "", ""
            case ("sh", "-c", roles.STATES, _home, _role):
                return 0, "".join(f"{pid} {letter}\n" for pid, letter in self.running(node).items()), ""
        return 127, "", f"a fake node does not know {command.argv}"

    def listing(self, node: str, chain: str) -> str:
        lines = []
        for peer, number in self.rules[node].get(chain, {}).items():
            own = self.own[node, chain, peer]
            lines.append(f'  ip saddr x tcp dport 7000 counter packets {own} bytes 9 comment "before {peer}"')
            lines.append(f'  ip saddr x counter packets {number} bytes 9 drop comment "from {peer}"')
        return "\n".join(lines)

    def _drops(self, node: str, sender: str) -> bool:
        hit = [counts for counts in self.rules.get(node, {}).values() if sender in counts]
        if not self.uncounted:
            for counts in hit:
                counts[sender] += 1
        return bool(hit)

    def attempt(self, node: str, address: str) -> int:
        peer = next(name for name in self.names if self.address(name) == address)
        if self.deaf_rules:
            return 0
        return 137 if self._drops(peer, node) or self._drops(node, peer) else 0

    def running(self, node: str) -> dict[int, str]:
        """Return the state letters of a node's processes by pid, without zombies."""
        return {pid: letter for (at, pid), letter in self.states.items() if at == node and letter not in ("", "Z")}

    def _signal(self, node: str, name: str) -> None:
        for pid in self.running(node) if node not in self.immortal else ():
            self.states[node, pid] = {"KILL": "", "STOP": "T", "CONT": "S"}[name]


@dataclass
class FakeSystem:
    """A system with one process on each node.  A pid is never used twice."""

    nodes: FakeNodes
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
