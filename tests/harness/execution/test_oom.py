"""Processes that the kernel ended for lack of memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.execution.oom import Count, count_kills, describe
from nemesis.core.ports import Command, Completed
from tests.support.harness.said_machines import Machines


def test_nodes_of_one_machine_are_counted_once() -> None:
    machines = Machines({"n1": "a\n3\n", "n2": "a\n3\n", "n3": "b\n0\n[9] Killed process 7 (java)\n", "n4": ""})
    assert count_kills(machines) == {
        "a": Count(("n1", "n2"), 3, ""),
        "b": Count(("n3",), 0, "[9] Killed process 7 (java)"),
    }


BEFORE = {"a": Count(("n1", "n2"), 3, "old"), "b": Count(("n3",), 1, "")}
AFTER = {"a": Count(("n1", "n2"), 5, "Killed process 9 (java)"), "b": Count(("n3",), 1, "")}


@pytest.mark.parametrize(("faults", "ours"), [((), False), (("kill-leader",), False), (("memory-pressure",), True)])
def test_a_count_that_rose_is_reported_with_its_machine_and_its_victim(faults: tuple[str, ...], ours: bool) -> None:
    found = describe(BEFORE, AFTER, faults)
    assert found is not None
    assert found[1] is ours
    assert found[0].endswith("2 on the machine of n1, n2 (Killed process 9 (java))")


@pytest.mark.parametrize("after", [BEFORE, {}, {"c": Count(("n1",), 0, "")}])
def test_counts_that_did_not_rise_say_nothing(after: dict[str, Count]) -> None:
    """A machine that was started anew counts anew; one that cannot be asked is reported elsewhere."""
    assert describe(BEFORE, after, ()) is None


def test_a_machine_that_was_started_anew_and_killed_since() -> None:
    assert describe(BEFORE, {"c": Count(("n1",), 1, "")}, ()) is not None


def test_this_machine_is_understood() -> None:
    import subprocess

    class Here(Machines):
        def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
            return {
                node: Completed(node, 0, subprocess.run(c.argv, capture_output=True, text=True).stdout, "", 0.0)
                for node, c in commands.items()
            }

    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert list(count_kills(Here({"n1": "", "n2": ""}))) == [boot]
