"""The same catalogue of faults on systems that are not ours: another package's, and one of a file with its programs.

Each right system stands every fault that can work on it, and each broken twin is found by the fault made for it.
"""

from __future__ import annotations

import pytest

from harness.clusters.netns import NetnsCluster
from nemesis.faults.registry import FAULTS
from tests.support.cluster.machine import MakeCluster
from tests.support.harness.toy_package import EXAMPLE, ROOT, Installed, install

pytestmark = [pytest.mark.cluster, pytest.mark.nightly]

#: What a system is, by the options that name it.
SYSTEMS = {"toy-register": ("toy-register",), "file": (str(ROOT / "examples/kv/kv.toml"), "--client", "./client.py")}
#: They destroy what was acknowledged, and neither system promises to notice.
BY_DESIGN = {"file-truncate", "file-bitflip"}
#: What neither can take: they have no such request, no snapshots, and report no clock.
REFUSED = {"leader-transfer", "isolate-until-snapshot", "clock-skew", "clock-jump", "clock-strobe"}
#: As the tutorial finds them.
TUTORIAL = ("--interval", "6", "--rate", "200")
TWINS = [
    ("toy-register", "kill-all", ("--planted-bug", "unlogged", "--unsafe-test-mode")),
    ("toy-register", "crash-all", ("--planted-bug", "unsynced", "--unsafe-test-mode")),
    ("toy-register", "partition-random-node@n1", ("--planted-bug", "stale", "--unsafe-test-mode")),
    ("file", "partition-leader-minority", ("--replication", "async", *TUTORIAL)),
    ("file", "partition-leader-minority", ("--planted-bug", "backup-reads", "--unsafe-test-mode", *TUTORIAL)),
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(EXAMPLE, tmp_path_factory.mktemp("catalogue"))


def run(installed: Installed, cluster: NetnsCluster, system: str, nemesis: str, *more: str) -> tuple[int, str]:
    words = ("--nemesis", nemesis, "--interval", "5", "--time-limit", "14", "--rate", "100", "--seed", "7", *more)
    where = ("--cluster", f"netns:{cluster.name}", "--no-spark", "--beyond-quorum")
    done = installed.harness("run", "--system", *SYSTEMS[system], *where, *words)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("fault", sorted(set(FAULTS) - BY_DESIGN))
def test_a_right_system_stands_the_fault(
    installed: Installed, make_cluster: MakeCluster, system: str, fault: str
) -> None:
    """Valid, or unknown where no client was served under it; a fault that it cannot take is refused with the reason."""
    code, said = run(installed, make_cluster(), system, fault)
    refused = f"{fault} cannot work on this cluster"
    if fault in REFUSED:
        assert (code, refused in said) == (254, True), said
    elif refused in said:
        pytest.skip(said.strip().splitlines()[-1])
    else:
        assert code in (0, 2), said
        assert "linearizable: yes" in said, said


@pytest.mark.parametrize(("system", "fault", "twin"), TWINS)
def test_a_broken_twin_is_found(
    installed: Installed, make_cluster: MakeCluster, system: str, fault: str, twin: tuple[str, ...]
) -> None:
    code, said = run(installed, make_cluster(), system, fault, *twin)
    assert (code, "✕ linearizable" in said) == (1, True), said
