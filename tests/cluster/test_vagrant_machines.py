"""``--cluster vagrant`` with Vagrant itself; its machines are nodes of ours, because no VM can be counted on."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.cluster.machine import HARNESS, MakeCluster

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.nightly,
    pytest.mark.skipif(shutil.which("vagrant") is None, reason="vagrant is not installed"),
]

PRESENT = Path(__file__).resolve().parents[1] / "vagrant_present" / "Vagrantfile"


def harness(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HARNESS, *words], text=True, check=False, capture_output=True, timeout=600)


def test_a_run_on_what_vagrant_reports(
    make_cluster: MakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAGRANT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VAGRANT_DEFAULT_PROVIDER", "present")
    lab = tmp_path / "lab"
    lab.mkdir()
    shutil.copy(PRESENT, lab)
    cluster = make_cluster()
    cluster.up()
    reported = {
        node.name: {"host": node.ssh_host, "port": 22, "username": "root", "private_key_path": str(node.key_file)}
        for node in cluster.nodes
    }
    (lab / "machines.json").write_text(json.dumps(reported))
    up = harness("cluster", "up", "--cluster", f"vagrant:{lab}")
    assert up.returncode == 0, up.stdout + up.stderr
    kept = json.loads((lab / ".vagrant" / "harness-host-keys.json").read_text())
    assert kept == {node.name: node.host_key for node in cluster.nodes}
    run = harness(
        *("run", "--cluster", f"vagrant:{lab}", "--store", str(tmp_path / "store"), "--no-spark"),
        *("--dledger-version", "0.3.2", "--nemesis", "partition-majorities-ring"),
        *("--time-limit", "12", "--interval", "4", "--rate", "100"),
    )
    assert run.returncode == 0, run.stdout + run.stderr
    # Another machine behind the address is refused from then on.
    kept["n3"] = kept["n4"]
    (lab / ".vagrant" / "harness-host-keys.json").write_text(json.dumps(kept))
    status = harness("cluster", "status", "--cluster", f"vagrant:{lab}")
    assert status.returncode == 255
    assert "host key" in status.stdout
