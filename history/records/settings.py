"""The settings and machine of a run, which decide whether figures of two runs can be compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

#: Names in a plan, apart from system version, nemesis and workload, that affect the figures.  In :func:`settings_of`
#: the first ones come before the system's own options and the others after.
_BEFORE: Final = ("cluster", "nodes")
_AFTER: Final = ("concurrency", "rate", "keys", "time_limit", "interval", "client_timeout")


def settings_of(plan: Mapping[str, Any]) -> str:
    """Return the settings in a plan that affect its figures, as ``name=value`` joined by spaces."""
    own = _own_options(plan)
    names = (*_BEFORE, *own, *_AFTER)
    settings: dict[str, str] = {name: str({**plan, **own}[name]) for name in names if name in plan or name in own}
    if "cluster" in settings:
        settings["cluster"] = settings["cluster"].partition(":")[0]
    if plan.get("loop") == "open":
        settings["loop"] = "open"
    if plan.get("schedule"):
        settings["schedule"] = hashlib.sha256(json.dumps(plan["schedule"]).encode()).hexdigest()[:12]
    return " ".join(f"{name}={value}" for name, value in settings.items())


def options_of(plan: Mapping[str, Any]) -> str:
    """Return the plan's system-specific options, as ``name=value`` joined by spaces; empty if there are none."""
    own = _own_options(plan).items()
    return " ".join(f"{name}={json.dumps(value) if isinstance(value, bool) else value}" for name, value in own)


def _own_options(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    options = plan.get("options")
    return options if isinstance(options, Mapping) else {}


def machine_of(results: Mapping[str, Any]) -> str | None:
    """Return the control node's processor, cores and memory from ``results.json`` or ``run.json``; None if unknown."""
    environment = results.get("environment")
    machine = environment.get("machine") if isinstance(environment, Mapping) else None
    return machine if isinstance(machine, str) and machine else None


def series_names(runs: Iterable[tuple[str, str | None]]) -> list[str]:
    """Return the name of each run's series of comparable runs, given (settings, machine) of each run."""
    return [f"{settings} machine={machine}".lstrip() if machine else settings for settings, machine in runs]
