"""Decide which faults may be active together.

A node is under at most one fault of nodes at a time (kill, pause, disk, …), and a majority of the members stays up
unless the plan or the nature of the fault says otherwise.  Faults of links do not lock nodes.  But two of them must not
queue packets on the same node, because packets that one queues bypass the rules of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nemesis.core.fault import LINK_FAMILIES, Context, Fault, Targets
from nemesis.core.grudges import majority


def locked(active: Iterable[tuple[Fault, Targets]]) -> frozenset[str]:
    """Return the nodes that are under a fault of nodes or reserved for one."""
    held = (targets for fault, targets in active if fault.family not in LINK_FAMILIES)
    return frozenset(node for targets in held for node in (*targets.nodes, *targets.reserved))


def objection(ctx: Context, active: Mapping[int, tuple[Fault, Targets]], fault: Fault, targets: Targets) -> str | None:
    """Return the reason why this fault must not be added to the active ones; None if it may."""
    if any(other.name == fault.name for other, _ in active.values()):
        return f"{fault.name} is already active"
    if fault.family in LINK_FAMILIES:
        held = {n for other, hit in active.values() if _queues(other) for n in hit.nodes}
        twice = sorted(held & {*targets.nodes}) if _queues(fault) else []
        return f"packets of {', '.join(twice)} are queued by another fault" if twice else None
    if both := sorted(locked(active.values()) & {*targets.nodes, *targets.reserved}):
        return f"{', '.join(both)} is under another fault"
    return _quorum_lost(ctx, active, fault, targets)


def _queues(fault: Fault) -> bool:
    return bool(getattr(fault, "queues", False))


def _quorum_lost(
    ctx: Context, active: Mapping[int, tuple[Fault, Targets]], fault: Fault, targets: Targets
) -> str | None:
    if not fault.stops or ctx.settings.beyond_quorum or fault.beyond_quorum:
        return None
    members = ctx.members
    stopped = {n for other, hit in active.values() if other.stops for n in hit.nodes} | set(targets.nodes)
    up, needed = sum(name not in stopped for name in members), majority(len(members))
    # A node that is not a member may be stopped by name at any time, because that does not affect the quorum.
    hits_member = any(name in members for name in targets.nodes)
    return f"would leave {up} of {len(members)} nodes up; {needed} are needed" if hits_member and up < needed else None
