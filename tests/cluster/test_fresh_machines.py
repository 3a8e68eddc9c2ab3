"""Fresh Debian roots become nodes by the script of all nodes, over SSH as a plain user with sudo, and serve a run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.clusters import links
from tests.support.cluster.fresh_machines import Machine, copy, inventory, make_image, make_key, on_cables, on_loopback

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.nightly,
    pytest.mark.skipif(shutil.which("debootstrap") is None, reason="debootstrap is not installed"),
]

HARNESS = Path(sys.executable).with_name("harness")
NAME = f"t-{os.getpid()}-fresh"


def harness(*words: str, timeout: float = 1800) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HARNESS, *words], text=True, check=False, capture_output=True, timeout=timeout)


@pytest.fixture(scope="module", params=["bookworm"])
def image(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """A root and the key to it."""
    directory = tmp_path_factory.mktemp(request.param)
    key = make_key(directory)
    make_image(directory / "image", request.param, key)
    yield directory / "image", key
    shutil.rmtree(directory)


def test_a_fresh_machine_is_no_node_until_it_is_provisioned(image: tuple[Path, Path], tmp_path: Path) -> None:
    root, key = image
    with on_loopback(root) as machine:
        cluster = f"inventory:{inventory(tmp_path / 'one.toml', key, [machine])}"
        first = harness("cluster", "provision", "--cluster", cluster)
        assert first.returncode == 0, first.stderr
        assert "n1: installing with apt-get: " in first.stdout
        assert "openjdk-17-jre-headless" in first.stdout
        again = harness("cluster", "provision", "--cluster", cluster)
        assert again.returncode == 0
        assert "installing" not in again.stdout
        assert "n1: fresh is a node: java 17, data in /data" in again.stdout


def test_five_of_them_serve_a_run(image: tuple[Path, Path], tmp_path: Path) -> None:
    root, key = image
    roots = [root.parent / f"m{number}" for number in range(1, 6)]
    for each in roots:
        copy(root, each)
    with on_cables(NAME, roots) as machines:
        results = _provision_and_run(machines, key, tmp_path)
    assert links.existing(NAME) == []
    receipts = results["receipts"]
    assert {receipt["fault"] for receipt in receipts} == {"partition-majorities-ring", "crash-random-nodes"}
    assert {receipt["state"] for receipt in receipts} == {"installed"}
    assert {check["name"]: check["verdict"] for check in results["checks"]}["linearizable"] == "valid"


def _provision_and_run(machines: list[Machine], key: Path, directory: Path) -> dict[str, list[dict[str, str]]]:
    cluster = f"inventory:{inventory(directory / 'five.toml', key, machines)}"
    done = harness("cluster", "provision", "--cluster", cluster)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("/data is a filesystem of its own") == 5
    status = harness("cluster", "status", "--cluster", cluster)
    assert status.returncode == 0, status.stdout
    done = harness(
        *("run", "--cluster", cluster, "--store", str(directory / "store"), "--seed", "11", "--no-spark"),
        *("--dledger-version", "0.3.2", "--nemesis", "partition-majorities-ring,crash-random-nodes"),
        *("--time-limit", "40", "--interval", "10"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((directory / "store" / "latest" / "results.json").read_text())
    assert isinstance(results, dict)
    return results
