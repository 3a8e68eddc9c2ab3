"""``harness run --dry-run``: the resolved plan, where its values come from, and the schedule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import click
from click.core import ParameterSource
from msgspec.structs import asdict

from harness.execution.faults import Faults
from harness.execution.schedules import member_names, node_names, planned_setup
from harness.plan import Plan
from harness.systems.declared import require_able
from harness.terminal.tables import fitted, wrapped
from nemesis.core.targets import certain
from nemesis.faults.registry import hits_all
from nemesis.schedule.steps import Step

#: Fields of a plan's record that the table of options leaves out, because they are metadata or are shown elsewhere.
_LEFT_OUT: Final = frozenset({"format", "version_of_format", "test", "label", "command", "schedule", "options"})
_ALL: Final = "all: faults that cannot work on the cluster are left out once it is up"


def dry_run(plan: Plan, ctx: click.Context) -> str:
    """Return the resolved plan and its schedule as text.  Raises UsageError for faults that cannot be scheduled."""
    record = _record(plan, ctx)
    values = {name: value for name, value in record.items() if name not in _LEFT_OUT} | plan.options
    origins = origins_of(ctx)
    rows = [(f"  {name.replace('_', '-')}", _word(value), origins.get(name, "")) for name, value in values.items()]
    steps = _steps(plan)
    members = member_names(plan)
    schedule = [("  none",)] if not steps else [_row(plan, step, members) for step in steps]
    note = f"  ({_ALL})" if "all" in plan.nemesis else ""
    drawn_from = [wrapped(f"members (faults choose among these): {' '.join(members)}")] if members and steps else []
    return "\n".join(
        [record["command"], "", "plan:", fitted(rows), "", *drawn_from,
         wrapped(f"schedule, from the start of the main phase:{note}"), fitted(schedule)]
    )  # fmt: skip


def document(plan: Plan, ctx: click.Context) -> dict[str, Any]:
    """Return the plan for ``--json``.

    The schedule has the form of a plan.json.  ``members`` is null if the members are still unknown.
    """
    steps = [asdict(step) for step in _steps(plan)]
    members = list(member_names(plan)) or None
    return {"plan": _record(plan, ctx), "origins": origins_of(ctx), "members": members, "schedule": steps}


def _record(plan: Plan, ctx: click.Context) -> dict[str, Any]:
    """Return the plan's record.  Its command names the script, because no plan.json holds the schedule yet."""
    return {**plan.to_json(), "command": plan.command(str(ctx.params.get("schedule") or "plan.json"))}


def _steps(plan: Plan) -> list[Step]:
    require_able(plan.under_test, planned_setup(plan))
    return Faults(plan).schedule


def origins_of(ctx: click.Context) -> dict[str, str]:
    """Map each parameter whose value is not the default to the source of its value."""
    planned = ctx.meta.get("planned", ())
    origins = {}
    for param in ctx.command.get_params(ctx):
        name = str(param.name)
        match ctx.get_parameter_source(name):
            case ParameterSource.COMMANDLINE:
                origins[name] = "command line"
            case ParameterSource.ENVIRONMENT:
                origins[name] = f"{ctx.auto_envvar_prefix}_{name.upper()}"
            case ParameterSource.DEFAULT_MAP:
                origins[name] = "--plan" if name in planned else "harness.toml"
            case _:
                pass
    return origins


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return ",".join(f"{name}={_word(part)}" for name, part in value.items())
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _row(plan: Plan, step: Step, members: tuple[str, ...]) -> tuple[str, ...]:
    return f"  {step.at_s:.1f} s", step.action, step.fault, "; ".join(_conditions(plan, step, members))


def _conditions(plan: Plan, step: Step, members: tuple[str, ...]) -> Iterator[str]:
    if step.targets:
        words = str(step.targets.get("choose") or "")
        sure = certain(words, node_names(plan), members) if words and members else ()
        yield " ".join(sure) or words or _word(step.targets.get("nodes") or "")
    elif step.action == "inject" and hits_all(step.fault):
        yield " ".join(members) or "all members"
    if step.when is not None:
        yield f"when {step.when}, within {step.within_s:g} s"
    if step.for_s is not None:
        yield f"for {step.for_s:g} s"
