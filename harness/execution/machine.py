"""The facts about the machines of a run that its results record."""

from __future__ import annotations

import math
import os
import platform
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.clusters.provision import package_versions

if TYPE_CHECKING:
    from harness.plan import Plan
    from harness.remote.nodes import Remote
    from harness.systems.deployment import Deployment


def environment(plan: Plan, system: Deployment, remote: Remote) -> dict[str, Any]:
    """The system under test, the control node, and the nodes."""
    name = plan.under_test.title or plan.under_test.name
    return {
        "system": f"{name} {plan.version}",
        **system.describe(),
        "machine": machine(),
        "kernel": platform.release(),
        "python": sys.version.split()[0],
        "packages": package_versions(remote),
        "nodes": {name: remote.address(name) for name in remote.names},
        "roles": system.processes,
    }


def machine() -> str:
    """Processor, cores and memory of the control node: figures are compared within one kind of machine."""
    found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = memory_gib(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return f"{found[1].strip() if found else platform.machine()}, {os.cpu_count()} cores, {memory} GiB"


def memory_gib(usable: int) -> int:
    """The next of 1, 2, 3, 4, 6, 8, 12, 16, 24, … GiB, of so many usable bytes.

    A kernel keeps some per cent of the memory for itself, never the same from release to release: where 16 GiB are
    15.5, rounding to the nearest would give a machine two names.  From its size downwards the next step is far.
    """
    power = 1 << max(0, math.ceil(math.log2(usable / 2**30)))
    return power * 3 // 4 if power >= 4 and usable <= power * 3 // 4 * 2**30 else power
