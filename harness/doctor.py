"""Examine what this machine supports, by trying things out if that is harmless."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from harness.clusters.capabilities import SYSTEM_PATH, has_loop_devices, knows_filesystem, which
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.execution.fault_view import NodesWithData, Target

#: needed: the default cluster cannot run without it; wanted: without it, something is replaced or left out.
Weight: TypeAlias = Literal["needed", "wanted"]

DISK_GIB: Final = 5.0
MEMORY_GIB: Final = 3.0
JAVA_MAJOR: Final = 17


@dataclass(frozen=True, slots=True)
class Examined:
    """One row of the table. ``value`` is what was found; ``mend`` is the remedy, empty if none is needed."""

    name: str
    good: bool
    weight: Weight
    value: str
    mend: str = ""


def examine() -> tuple[Examined, ...]:
    """Examine this machine, including the disk of the working directory.  Takes about a second and changes nothing."""
    return (
        _finding(
            "root", os.geteuid() == 0, "needed", f"uid {os.geteuid()}", "run with sudo, or --cluster inventory:FILE"
        ),
        _program("ip", "needed", "iproute2"),
        _program("sshd", "needed", "openssh-server"),
        _kernel("overlay", knows_filesystem("overlay"), "modprobe overlay"),
        _kernel("loop", has_loop_devices(), "modprobe loop"),
        _tried("nft", "needed", "nftables", "nft", "add", "table", "inet", "harness"),
        _tried("iptables", "wanted", "iptables", "iptables", "-S"),
        _tried("netem", "wanted", "", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"),
        _program("xfs_io", "wanted", "xfsprogs"),
        faketime(),
        java(),
        _program("mvn", "wanted", "maven"),
        _amount("disk", shutil.disk_usage(Path()).free / 2**30, DISK_GIB, "GiB free"),
        _amount("memory", _available_memory() / 2**30, MEMORY_GIB, "GiB available"),
        _amount("cores", float(len(os.sched_getaffinity(0))), 2.0, "cores"),
    )


def java(run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run) -> Examined:
    """Check the version of the Java that nodes start."""
    mend = f"apt-get install openjdk-{JAVA_MAJOR}-jdk-headless, or run scripts/bootstrap"
    try:
        output = run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    except FileNotFoundError:
        return Examined("java", good=False, weight="needed", value="not found", mend=mend)
    match = re.search(r'version "(?:1\.)?(\d+)[^"]*"', output)
    good = match is not None and int(match[1]) >= JAVA_MAJOR
    return _finding("java", good, "needed", match[0] if match else output[:60].strip(), mend)


def faketime(directory: Path = Path("/usr/lib")) -> Examined:
    """Look for the library that fakes clocks where nodes look for it."""
    library = next(directory.glob("*/faketime/libfaketimeMT.so.1"), None)
    mend = "apt-get install libfaketime, or run scripts/bootstrap"
    return _finding("faketime", library is not None, "wanted", str(library or "not found"), mend)


def _finding(name: str, good: bool, weight: Weight, value: str, mend: str) -> Examined:
    return Examined(name, good, weight, value, "" if good else mend)


def _program(name: str, weight: Weight, package: str) -> Examined:
    path = which(name)
    return _finding(name, path is not None, weight, path or "not found", f"apt-get install {package}")


def _kernel(name: str, good: bool, mend: str) -> Examined:
    return _finding(name, good, "wanted", "in the kernel" if good else "not in the kernel", mend)


def _tried(name: str, weight: Weight, package: str, *words: str) -> Examined:
    """Try a command in a throwaway network namespace."""
    if which(words[0]) is None:
        return _finding(name, False, weight, "not found", f"apt-get install {package or 'iproute2'}")  # noqa: FBT003
    if os.geteuid() != 0:
        return _finding(name, False, weight, "found, not tried", "run doctor as root")  # noqa: FBT003
    done = subprocess.run(
        ["unshare", "--net", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}"},
    )
    message = (done.stderr.strip().splitlines() or [""])[0]
    mend = "use a kernel that has it" if not package else f"apt-get install {package}, or a kernel that has it"
    return _finding(name, done.returncode == 0, weight, "works" if done.returncode == 0 else message[:60], mend)


def _amount(name: str, amount: float, wanted: float, unit: str) -> Examined:
    return _finding(name, amount >= wanted, "wanted", f"{amount:.4g} {unit}", f"{wanted:g} {unit} recommended")


def _available_memory() -> int:
    """Return the available memory in bytes."""
    match = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    return int(match[1]) << 10 if match else 0


# -- faults ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FaultFinding:
    """A fault, and why it cannot be used on the examined nodes, if it cannot."""

    name: str
    family: str
    summary: str
    reason: str | None

    @property
    def available(self) -> bool:
        return self.reason is None


@dataclass(frozen=True, slots=True)
class FaultTable:
    """All faults of a cluster; ``untried`` says why none was tried, if none was."""

    cluster: str
    faults: tuple[FaultFinding, ...] = ()
    untried: str | None = None


def examine_faults(spec: str) -> FaultTable:
    """Run the precheck of every fault on the nodes of a cluster.

    A cluster that is down is brought up for this and taken down again.  Snapshots and libfaketime count as available,
    because a run provides them on request.  Never raises just because the machine lacks something.
    """
    from harness.clusters import open_cluster
    from harness.plan import Plan
    from harness.remote.nodes import Remote
    from harness.systems.deployment import Deployment, machines

    try:
        cluster = open_cluster(spec, say=lambda _line: None)
        with cluster.lock():
            was_up = cluster.status().is_up and not cluster.orphaned()
            try:
                cluster.up(passing=True)
                with Remote(cluster.nodes) as remote:
                    plan = Plan(seed=0)
                    system = Deployment(plan.under_test, plan.setup(machines(cluster.nodes)), remote, time.monotonic)
                    return FaultTable(spec, ask_faults(remote, system))
            finally:
                if not was_up:
                    cluster.down()
    except HarnessError as error:
        return FaultTable(spec, untried=str(error))


def ask_faults(nodes: NodesWithData, system: Target) -> tuple[FaultFinding, ...]:
    """Run the prechecks of all faults and return the findings, sorted by family and name."""
    from harness.execution.fault_view import RunClock, settings_of, view_of
    from nemesis.core.facts import survey
    from nemesis.core.fault import Context
    from nemesis.faults.registry import FAULTS, prechecks

    settings = replace(settings_of(system, nodes.data_dirs), snapshots=True, faketime=True)
    reasons = prechecks(Context(nodes, view_of(system, dict), RunClock(lambda: 0), survey(nodes), settings))
    findings = (FaultFinding(name, FAULTS[name].family, FAULTS[name].summary, why) for name, why in reasons.items())
    return tuple(sorted(findings, key=lambda fault: (fault.family, fault.name)))
