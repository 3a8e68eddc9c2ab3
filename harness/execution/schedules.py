"""Make schedules from a script, a scripted run's plan or a recorded run, and find the nodes that they may name."""

from __future__ import annotations

import math
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from msgspec.structs import asdict

from harness.clusters import is_netns, netns_names, open_cluster
from harness.errors import HarnessError, UsageError
from harness.plan import Plan
from harness.systems.api import Machine, Setup
from harness.systems.deployment import members_of
from history import Receipt
from nemesis.core.errors import ScheduleError
from nemesis.schedule.script import read_script, replay
from nemesis.schedule.steps import Step, steps_of


def node_names(plan: Plan) -> tuple[str, ...]:
    """Return the names of the plan's nodes.

    Raises UsageError, or ClusterError if the cluster must be up to show them.
    """
    if is_netns(plan.cluster):
        return netns_names(plan.nodes)
    return tuple(node.name for node in open_cluster(plan.cluster).nodes)


def planned_setup(plan: Plan) -> Setup:
    """Return the setup of the plan's nodes, at made-up addresses.

    It has no nodes if only the running cluster can show them.
    """
    try:
        names = node_names(plan)
    except HarnessError:
        names = ()
    return plan.setup([Machine(name, f"192.0.2.{number}") for number, name in enumerate(names, 1)])


def member_names(plan: Plan) -> tuple[str, ...]:
    """Return the members of the plan's system by its roles; empty if only the running cluster can show them."""
    try:
        return members_of(plan.under_test, planned_setup(plan))
    except HarnessError:
        return ()


def scripted(plan: Plan, path: Path) -> Plan:
    """Return the plan with the schedule of a script, or of the ``plan.json`` of a scripted run.

    Raises UsageError that names the file and the fault.
    """
    names = node_names(plan)
    try:
        steps = _written_steps(path, plan.time_limit) or read_script(path, plan.time_limit, names)
        return _with_schedule(plan, steps)
    except ScheduleError as error:
        raise UsageError(f"--schedule: {error}") from None
    except OSError as error:
        raise UsageError(f"--schedule {path}: {error.strerror}") from None


def _written_steps(path: Path, time_limit: float) -> list[Step]:
    """Return the schedule in a ``plan.json``; empty for any other file.

    Raises UsageError, ScheduleError or OSError.
    """
    if not path.read_bytes().removeprefix(BOM_UTF8).lstrip().startswith(b"{"):
        return []
    schedule = Plan.read(path).schedule
    if not schedule:
        raise UsageError(f"--schedule {path}: that plan contains no schedule; give it as --plan")
    return steps_of(schedule, time_limit)


def replayed(plan: Plan, receipts: Sequence[Receipt], main_ns: int) -> Plan:
    """Return the plan of a recorded run with its faults at their recorded times.

    If the harness was stalled, a fault may have been recorded after the time limit.  The replay then lasts until that
    fault.  Raises UsageError if the run had no faults.
    """
    steps = replay(receipts, main_ns)
    if not steps:
        raise UsageError("that run installed no fault, so there is nothing to replay; `harness run` repeats it")
    last_s = max(step.at_s + step.within_s + (step.for_s or 0.0) for step in steps)
    return _with_schedule(replace(plan, time_limit=max(plan.time_limit, float(math.ceil(last_s)))), steps)


def _with_schedule(plan: Plan, steps: Sequence[Step]) -> Plan:
    names = tuple(dict.fromkeys(step.fault for step in steps))
    return replace(plan, nemesis=names, schedule=tuple(asdict(step) for step in steps))
