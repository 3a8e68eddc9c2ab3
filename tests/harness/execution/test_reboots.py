"""Nodes that were rebooted or went away while a run went on."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from harness.execution.reboots import boots, lost
from nemesis.core.ports import Command, Completed
from tests.support.harness.said_machines import Machines

BEFORE = {"n1": "a\n5\n", "n2": "a\n6\n", "n3": "b\n1\n"}


def test_nodes_that_are_as_they_were_say_nothing() -> None:
    nodes = Machines({**BEFORE})
    assert lost(nodes, boots(nodes)) == []


def test_another_boot_or_another_process_1_is_a_reboot_and_a_silent_node_hides_no_other() -> None:
    found = lost(Machines({"n1": None, "n2": "a\n7\n", "n3": "c\n1\n"}), BEFORE)
    assert [line.split(" during")[0] for line in found] == [
        "not reached at the end of the run: n1: no SSH server answered", "n2 was rebooted", "n3 was rebooted",
    ]  # fmt: skip


class Starved(Machines):
    def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        return {node: Completed(node, 124, "", "sh: Cannot fork", 0.0) for node in commands}


def test_a_node_that_cannot_be_looked_at_was_not_rebooted() -> None:
    """A system that takes all processes of its node does not excuse itself by that."""
    assert lost(Starved({**BEFORE}), BEFORE) == []
    assert boots(Starved({**BEFORE})) == {}
    assert lost(Machines({**BEFORE}), boots(Starved({**BEFORE}))) == []


class Here(Machines):
    def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        return {
            node: Completed(node, 0, subprocess.run(c.argv, capture_output=True, text=True).stdout, "", 0.0)
            for node, c in commands.items()
        }


def test_this_machine_is_understood() -> None:
    machine, started = boots(Here({"n1": ""}))["n1"].splitlines()
    assert len(machine) == 36
    assert started.isdigit()
