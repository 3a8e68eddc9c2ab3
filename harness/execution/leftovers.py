"""Undo the faults that an earlier, killed run left on nodes."""

from __future__ import annotations

from dataclasses import dataclass

from harness.errors import HarnessError
from harness.execution.fault_view import NodesWithData
from nemesis.sweep import heal_everything


@dataclass(frozen=True, slots=True)
class Healed:
    """The result of a sweep: a line for each thing undone, and a line for each node on which it failed."""

    undone: list[str]
    failed: list[str]

    def check(self) -> None:
        """Raise HarnessError if anything of an earlier run is still in place."""
        if self.failed:
            raise HarnessError(f"the faults of an earlier run could not be removed: {'; '.join(self.failed)}")


def heal_leftovers(nodes: NodesWithData) -> Healed:
    """Undo every fault with our tag on every reachable node."""
    swept = heal_everything(nodes, nodes.data_dirs)
    failed = [why if why.startswith(f"{node}:") else f"{node}: {why}" for node, why in swept.failed.items()]
    return Healed(swept.lines(), failed)
