"""Facts about the machines of a run, for its results."""

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
    """Describe the system under test, the control node and the nodes."""
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
    """Return processor, cores and memory of the control node; only figures from equal machines are compared."""
    match = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = memory_gib(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return f"{match[1].strip() if match else platform.machine()}, {os.cpu_count()} cores, {memory} GiB"


def memory_gib(usable: int) -> int:
    """Round a number of usable bytes up to 1, 2, 3, 4, 6, 8, 12, 16, 24, … GiB.

    A kernel keeps a few per cent of the memory for itself, and the amount varies between releases.  Of 16 GiB, 15.5 may
    be usable, so rounding to the nearest GiB would give one machine two names.  The steps are far enough apart to avoid
    that.
    """
    power = 1 << max(0, math.ceil(math.log2(usable / 2**30)))
    return power * 3 // 4 if power >= 4 and usable <= power * 3 // 4 * 2**30 else power
