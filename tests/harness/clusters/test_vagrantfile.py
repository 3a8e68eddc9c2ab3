"""The Vagrantfile, and how nodes are read from Vagrant, with Vagrant itself; no machine is started."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.clusters.inventory import read_inventory
from harness.clusters.provision import SCRIPT
from harness.clusters.vagrant import NODE, NODES, VagrantCluster

ROOT = Path(__file__).resolve().parents[3]
LAB = ROOT / "vagrant"
PRESENT = ROOT / "tests" / "vagrant_present" / "Vagrantfile"

needs_vagrant = pytest.mark.skipif(shutil.which("vagrant") is None, reason="vagrant is not installed")


@pytest.fixture(scope="module")
def vagrant_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vagrant-home")


@pytest.fixture
def lab(tmp_path: Path, vagrant_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the Vagrantfile with what it refers to, so that Vagrant's own files stay out of the tree."""
    monkeypatch.setenv("VAGRANT_HOME", str(vagrant_home))
    (tmp_path / "harness" / "clusters").mkdir(parents=True)
    shutil.copy(SCRIPT, tmp_path / "harness" / "clusters")
    shutil.copytree(LAB, tmp_path / "lab", ignore=shutil.ignore_patterns(".vagrant"))
    return tmp_path / "lab"


def vagrant(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["vagrant", *words], cwd=directory, text=True, check=False, capture_output=True, timeout=120)


@needs_vagrant
def test_is_valid_and_names_five_nodes_and_a_control_machine(lab: Path) -> None:
    done = vagrant(lab, "validate")
    assert (done.returncode, done.stdout) == (0, "Vagrantfile validated successfully.\n"), done.stderr
    key = lab / ".vagrant" / "control-key"
    assert key.stat().st_mode & 0o777 == 0o600
    machines = dict.fromkeys(
        line.split(",")[1] for line in vagrant(lab, "status", "--machine-readable").stdout.splitlines() if "," in line
    )
    named = [name for name in machines if name]
    assert named == ["n1", "n2", "n3", "n4", "n5", "control"]
    assert [name for name in named if NODE.fullmatch(name)] == ["n1", "n2", "n3", "n4", "n5"]


@needs_vagrant
@pytest.mark.parametrize(("good", "bad"), [("vm.hostname", "vm.hostnam"), ("provision.sh", "provide.sh")])
def test_a_misspelt_one_is_not(lab: Path, good: str, bad: str) -> None:
    file = lab / "Vagrantfile"
    file.write_text(file.read_text().replace(good, bad))
    assert vagrant(lab, "validate").returncode == 1


@needs_vagrant
def test_nodes_as_vagrant_itself_reports_them(
    tmp_path: Path, vagrant_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAGRANT_HOME", str(vagrant_home))
    shutil.copy(PRESENT, tmp_path)
    reported = {f"n{i}": {"host": f"10.0.0.{i}", "port": 22, "username": "debian"} for i in range(1, 6)}
    (tmp_path / "machines.json").write_text(json.dumps(reported))
    monkeypatch.setattr("harness.clusters.vagrant.shown_host_key", lambda node: f"ssh-ed25519 {node.name}")
    # The control machine is not up, for which Vagrant refuses to tell of all the others.
    assert vagrant(tmp_path, "ssh-config").returncode == 1
    assert vagrant(tmp_path, "ssh-config", NODES).returncode == 0
    nodes = VagrantCluster(tmp_path, print).nodes
    assert [(node.name, node.address, node.user, node.host_key) for node in nodes] == [
        (f"n{i}", f"10.0.0.{i}", "debian", f"ssh-ed25519 n{i}") for i in range(1, 6)
    ]
    assert {node.key_file.name for node in nodes} <= {"insecure_private_key", "vagrant.key.ed25519", "vagrant.key.rsa"}


def test_the_nodes_are_made_by_the_script_of_all_nodes() -> None:
    text = (LAB / "Vagrantfile").read_text()
    assert f'path: File.join(PROJECT, "{SCRIPT.relative_to(ROOT)}")' in text
    for provider in ("libvirt", "virtualbox"):
        assert f"machine.vm.provider :{provider} do" in text


def test_the_control_machine_finds_them_where_they_are() -> None:
    nodes = read_inventory(LAB / "inventory.toml", print).nodes
    assert [node.address for node in nodes] == [f"192.168.56.{10 + number}" for number in range(1, 6)]
    assert {node.user for node in nodes} == {"vagrant"}


def test_the_script_is_plain_shell() -> None:
    assert os.access(SCRIPT, os.X_OK)
    done = subprocess.run(["sh", "-n", str(SCRIPT)], text=True, check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "complaint"), [(["--dat"], "unknown option --dat"), (["--data-size"], "--data-size needs a value")]
)
def test_the_script_names_what_is_wrong(words: list[str], complaint: str) -> None:
    done = subprocess.run(["sh", str(SCRIPT), *words], text=True, check=False, capture_output=True)
    assert done.returncode == 255
    assert complaint in done.stderr
