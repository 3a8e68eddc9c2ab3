"""What decides whether the figures of two runs can be compared: the settings in their plans, and the machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

_SETTINGS: Final = (
    "cluster", "nodes", "timers", "store", "read_mode", "client_follows", "concurrency", "rate", "keys", "time_limit",
    "interval", "client_timeout",
)  # fmt: skip
"""What of a plan moves the figures, besides system version, nemesis and workload."""


def settings_of(plan: Mapping[str, Any]) -> str:
    """The settings of a plan that move its figures, as ``name=value`` joined by spaces."""
    found: dict[str, str] = {name: str(plan[name]) for name in _SETTINGS if name in plan}
    if "cluster" in found:
        found["cluster"] = found["cluster"].partition(":")[0]
    if plan.get("snapshot") and "snapshot_threshold" in plan:
        found["snapshot_threshold"] = str(plan["snapshot_threshold"])
    if plan.get("loop") == "open":
        found["loop"] = "open"
    if plan.get("schedule"):
        found["schedule"] = hashlib.sha256(json.dumps(plan["schedule"]).encode()).hexdigest()[:12]
    return " ".join(f"{name}={value}" for name, value in found.items())


def machine_of(results: Mapping[str, Any]) -> str | None:
    """The control node's processor, cores and memory, where ``results.json`` (or ``run.json``) says it."""
    environment = results.get("environment")
    machine = environment.get("machine") if isinstance(environment, Mapping) else None
    return machine if isinstance(machine, str) and machine else None


def series_name(settings: str, machine: str | None) -> str:
    """The name of a series of comparable runs of one kind."""
    return settings if machine is None else f"{settings} machine={machine}".lstrip()
