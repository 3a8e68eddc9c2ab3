"""Heal a fault so that one failing node does not prevent healing the others.

A fault's own ``heal`` heals all nodes at once, as a partition requires, and stops if one of them fails.  Then it is
called again for each node alone, which heals everything that can be healed and shows which nodes fail.
"""

from __future__ import annotations

from collections.abc import Mapping

from nemesis.core.errors import FaultError
from nemesis.core.fault import Context, Fault, Targets, Witness
from nemesis.core.ports import StartError


class UnhealedError(Exception):
    """Some nodes of a fault could not be healed; all others were.  ``reasons`` maps the nodes to exceptions."""

    def __init__(self, reasons: Mapping[str, Exception]) -> None:
        self.reasons = dict(reasons)
        super().__init__("; ".join(dict.fromkeys(map(self._describe, self.reasons))))

    @property
    def by_system(self) -> bool:
        """Whether the only failures are that the system's own processes did not start again."""
        return all(isinstance(error, StartError) for error in self.reasons.values())

    @property
    def ours(self) -> Exception | None:
        """The first harness failure, which is neither a FaultError nor a StartError; None if there is none."""
        return next((e for e in self.reasons.values() if not isinstance(e, FaultError | StartError)), None)

    def _describe(self, node: str) -> str:
        text = str(self.reasons[node])
        return text if node in text else f"{node}: {text}"


def heal(fault: Fault, ctx: Context, targets: Targets) -> Witness:
    """Heal a fault on every node where that is possible.  Raises UnhealedError for the others."""
    nodes = tuple(dict.fromkeys((*targets.nodes, *targets.reserved)))
    try:
        return fault.heal(ctx, targets)
    except StartError as error:  # raised last, when all else is healed and every process was started
        raise UnhealedError(dict.fromkeys([node for node in nodes if node in error.reasons] or nodes, error)) from None
    except Exception as error:
        if len(nodes) < 2:
            raise UnhealedError(dict.fromkeys(nodes, error)) from error
    reasons: dict[str, Exception] = {}
    witnesses: dict[str, Witness] = {}
    for node in nodes:
        try:
            witnesses[node] = fault.heal(ctx, targets.only(node))
        except Exception as error:  # noqa: BLE001 (raised by node, when all others are healed)
            reasons[node] = error
    if reasons:
        raise UnhealedError(reasons)
    return {"node_by_node": witnesses}
