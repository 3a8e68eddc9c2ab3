"""One bad node keeps no other from being healed: every fault of the catalogue, every set of unreachable nodes."""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, combinations

import pytest

from harness.testing import FakeClock, FakeNodes, FakeSystem, UnreachableError, facts
from history import Probe
from nemesis.core.errors import FaultError
from nemesis.core.fault import Context, Fault, Targets
from nemesis.core.healing import UnhealedError, heal
from nemesis.core.ports import Command, Completed, StartError, run_each
from nemesis.faults import disks, power
from nemesis.faults.registry import FAULTS, find

NAMES = ("n1", "n2", "n3", "n4", "n5")


@dataclass
class Obedient(FakeNodes):
    """Does what it is asked to, and keeps by node what that was."""

    done: dict[str, set[object]] = field(default_factory=lambda: defaultdict(set))

    def _one(self, node: str, command: Command) -> tuple[int, str, str]:
        self.done[node].add((command.argv, "delete" in command.stdin))
        answers = {power._WRITE: "refused", disks._TRY: "written", power._REMOUNT: "remounted\nwitness lost"}
        if known := answers.keys() & set(command.argv):
            return 0, answers[known.pop()], ""
        code, out, err = super()._one(node, command)
        if code != 127:
            return code, out, err
        return 0, "" if any("grep -l" in word for word in command.argv) else "gone\n", ""


@dataclass
class Remotely(FakeSystem):
    """Asks its nodes: one that cannot be reached is an error, after all others were served."""

    def pids(self, nodes: Iterable[str]) -> dict[str, int | None]:
        return super().pids(self._reached(nodes))

    def start(self, nodes: Iterable[str]) -> None:
        assert isinstance(self.nodes, Obedient)
        names = list(nodes)
        reached = [name for name in names if name not in self.nodes.unreachable]
        super().start(reached)
        for name in reached:
            self.nodes.done[name].add("started")
        self._reached(names)

    def probes(self) -> Mapping[str, Probe]:
        up = super().pids(self.nodes.names)
        return {
            name: Probe(0, name, "leader" if name == self.leader else "follower", 1, self.leader, clock_ms=1)
            if up[name] and name not in self.nodes.unreachable
            else Probe(0, name, error="connection refused")
            for name in self.nodes.names
        }

    def promote(self, dead: str) -> str:
        return next(name for name in self.nodes.names if name != dead)

    def _reached(self, nodes: Iterable[str]) -> list[str]:
        names = list(nodes)
        if lost := set(names) & self.nodes.unreachable:
            raise UnreachableError(f"no route to {sorted(lost)}")
        return names


class LongSteps(FakeClock):
    """Passes ten seconds with each wait: what the toy never does is looked for six times a minute, not 1,200."""

    def wait(self, seconds: float, stop: threading.Event) -> bool:
        return super().wait(max(seconds, 10.0), stop)


def stricken(fault: Fault) -> tuple[Context, Obedient, Targets]:
    """A world in which the fault stands."""
    clock = LongSteps()
    nodes = Obedient(NAMES, clock=clock)
    ctx = Context(nodes, Remotely(nodes), clock, facts(NAMES, nodes))
    targets = fault.plan(ctx, random.Random(3))
    with suppress(FaultError, AttributeError):  # a toy has no elections and no transfers
        fault.inject(ctx, targets)
    nodes.done.clear()
    return ctx, nodes, targets


def subsets(names: Iterable[str]) -> Iterator[frozenset[str]]:
    all_of_them = tuple(names)
    sizes = range(len(all_of_them) + 1)
    return map(frozenset, chain.from_iterable(combinations(all_of_them, size) for size in sizes))


@pytest.mark.parametrize("name", sorted(set(FAULTS) - {"kill-one-process"}))  # a toy is one process
def test_the_unhealed_are_a_subset_of_the_unreachable(name: str) -> None:
    fault = find(name)
    ctx, nodes, targets = stricken(fault)
    heal(fault, ctx, targets)
    wanted = dict(nodes.done)
    hit = {*targets.nodes, *targets.reserved}
    assert set(wanted) <= hit
    assert wanted or name == "leader-transfer"
    for lost in subsets(hit):
        ctx, nodes, targets = stricken(fault)
        nodes.unreachable = set(lost)
        unhealed: set[str] = set()
        try:
            heal(fault, ctx, targets)
        except UnhealedError as error:
            unhealed = set(error.reasons)
        assert unhealed == (lost & set(wanted)), (lost, unhealed)
        for node in hit - lost:
            assert wanted.get(node, set()) <= nodes.done[node], (lost, node)
        nodes.unreachable = set()
        heal(fault, ctx, targets)  # … and the rest later


class Stuck:
    """Heals all but the nodes in ``errors``."""

    name = "stuck"

    def __init__(self, **errors: Exception) -> None:
        self.errors = errors
        self.healed: list[tuple[str, ...]] = []

    def heal(self, ctx: Context, targets: Targets) -> dict[str, object]:
        for node in targets.nodes:
            if node in self.errors:
                raise self.errors[node]
        self.healed.append(targets.nodes)
        return {"fine": True}


def reasons(fault: Stuck) -> UnhealedError:
    with pytest.raises(UnhealedError) as caught:
        heal(fault, None, Targets(("n1", "n2", "n3")))  # type: ignore[arg-type]
    return caught.value


def test_who_could_not_be_healed_is_reported_by_node() -> None:
    fault = Stuck(n2=FaultError("umount: target is busy"))
    error = reasons(fault)
    assert str(error) == "n2: umount: target is busy"
    assert (error.by_system, error.ours) == (False, None)
    assert fault.healed == [("n1",), ("n3",)]


def test_a_process_that_does_not_start_is_the_systems() -> None:
    error = reasons(Stuck(n3=StartError({"n3": "it died at once"})))
    assert set(error.reasons) == {"n3"}
    assert error.by_system
    assert error.ours is None


def test_both_at_once_are_distinguished() -> None:
    error = reasons(Stuck(n1=UnreachableError("no route to n1"), n3=StartError({"n3": "it died at once"})))
    assert set(error.reasons) == {"n1", "n3"}
    assert not error.by_system
    assert isinstance(error.ours, UnreachableError)
    assert str(error) == "no route to n1; n3: it died at once"


def test_a_healing_that_is_repeated_cuts_no_link_anew() -> None:
    """A swizzle restores link by link: what was restored by the first attempt stays so in the second."""
    fault = find("swizzle")
    ctx, nodes, targets = stricken(fault)
    nodes.rules = {node: {} for node in NAMES}
    heal(fault, ctx, targets)
    installed = [command for node, command in nodes.sent if command.argv[0] == "nft" and "drop" in command.stdin]
    before = len(installed)
    heal(fault, replace(ctx), targets)
    assert len([c for _, c in nodes.sent if c.argv[0] == "nft" and "drop" in c.stdin]) == before


def test_the_answers_of_the_others_are_kept() -> None:
    nodes = FakeNodes(unreachable={"n2"})
    answers, errors = run_each(nodes, dict.fromkeys(NAMES, Command(("sh", "-c", "", "counters", "x"))))
    assert set(answers) == set(NAMES) - {"n2"}
    assert {node: type(error) for node, error in errors.items()} == {"n2": UnreachableError}
    assert all(isinstance(answer, Completed) for answer in answers.values())
