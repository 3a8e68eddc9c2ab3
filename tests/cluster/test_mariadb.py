"""MariaDB as it is run from the command line, with the setting that keeps its level and without it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("aiomysql", reason="needs the extra mariadb")

from tests.support.cluster.machine import HARNESS, MakeCluster

pytestmark = [
    pytest.mark.cluster, pytest.mark.nightly,
    pytest.mark.skipif(not shutil.which("mariadbd"), reason="needs the package mariadb-server"),
]  # fmt: skip


@pytest.mark.parametrize(("setting", "code"), [("on", 0), ("off", 1)])
@pytest.mark.parametrize("galera", ["off", "on"])
def test_only_snapshot_isolation_keeps_repeatable_read(
    make_cluster: MakeCluster, tmp_path: Path, setting: str, code: int, galera: str
) -> None:
    nodes = "3" if galera == "on" else "1"
    if galera == "on" and not Path("/usr/lib/galera/libgalera_smm.so").exists():
        pytest.skip("needs the package galera-4")
    on = ("--nodes", nodes, "--cluster", f"netns:{make_cluster(nodes=int(nodes)).name}", "--store", str(tmp_path))
    words = ("--system", "mariadb", "--workload", "list-append", "--rate", "300", "--time-limit", "10", "--seed", "5")
    chosen = ("--no-spark", "-o", f"snapshot_isolation={setting}", "-o", f"galera={galera}")
    done = subprocess.run([HARNESS, "run", *words, *on, *chosen], capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    results = json.loads((tmp_path / "latest" / "results.json").read_text())
    (check,) = (one for one in results["checks"] if one["name"] == "isolation")
    assert check["verdict"] == ("valid" if setting == "on" else "invalid")
    assert "10.11." in results["environment"]["mariadb"]
