"""Commands over real SSH servers, and an inventory that points at them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from harness.clusters import open_cluster
from harness.clusters.netns import NetnsCluster
from harness.clusters.record import make_key
from harness.errors import (
    HostUnreachableError,
    RemoteError,
    RemoteTimeout,
)
from harness.remote.nodes import Remote
from nemesis.core.ports import Command
from tests.support.cluster.dead_nodes import kill_node, start_node
from tests.support.cluster.machine import HARNESS
from tests.support.cluster.nemesis_world import real_cluster

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[NetnsCluster]:
    """One for all: a test that kills a node starts it again."""
    with real_cluster("t-remote", 2) as made:
        yield made


@pytest.fixture
def remote(cluster: NetnsCluster) -> Iterator[Remote]:
    with Remote(cluster.nodes, connect_timeout=6.0) as connected:
        yield connected


def sh(remote: Remote, script: str, timeout: float = 10.0) -> str:
    return remote.run({"n1": Command(("sh", "-c", script), timeout=timeout)})["n1"].stdout.strip()


class TestRemote:
    def test_connects_again_after_its_sshd_was_killed(self, remote: Remote) -> None:
        assert sh(remote, "echo one") == "one"
        with suppress(RemoteError):
            sh(remote, "pkill -KILL -f 'sshd: root@'")
        assert sh(remote, "echo two") == "two"

    def test_connects_again_after_the_node_came_back(self, cluster: NetnsCluster, remote: Remote) -> None:
        assert sh(remote, "echo one") == "one"
        kill_node(cluster, "n1")
        with pytest.raises(RemoteError):
            sh(remote, "echo two")
        start_node(cluster, "n1")
        assert sh(remote, "echo three") == "three"

    def test_a_frozen_sshd_does_not_hold_us_for_ever(self, remote: Remote, cluster: NetnsCluster) -> None:
        sh(remote, "true")
        inside = ["nsenter", "-t", str(cluster.init_of("n1")), "-p", "-m"]
        subprocess.run([*inside, "pkill", "-STOP", "-f", "sshd: root@"], check=True)
        began = time.monotonic()
        # The old connection opens no session in time, a new one does.
        assert sh(remote, "echo on", timeout=5.0) == "on"
        assert time.monotonic() - began < 60

    def test_freezing_under_a_command_ends_it_at_its_deadline(self, remote: Remote, cluster: NetnsCluster) -> None:
        sh(remote, "true")
        freeze = "sleep 0.2; kill -STOP $(pgrep -f 'sshd: root@'); sleep 1"
        began = time.monotonic()
        with pytest.raises(RemoteTimeout):
            sh(remote, freeze, timeout=2.0)
        assert time.monotonic() - began < 60

    def test_a_late_command_is_dead_on_the_node(self, remote: Remote) -> None:
        with pytest.raises(RemoteTimeout, match=r"n1: `sh -c .*did not end within 0\.5 s and was killed"):
            sh(remote, "sleep 864; true", timeout=0.5)
        assert sh(remote, "pgrep -fc 'slee[p] 864'") == "0"

    def test_output_that_is_kept_open_is_named(self, remote: Remote) -> None:
        with pytest.raises(RemoteTimeout, match="exited with code 3"):
            sh(remote, "setsid sleep 20 & exit 3", timeout=2.0)

    def test_a_node_that_is_gone(self, cluster: NetnsCluster) -> None:
        away = replace(cluster.nodes[0], ssh_host=cluster.nodes[0].ssh_host.rpartition(".")[0] + ".99")
        began = time.monotonic()
        with (
            Remote([away], connect_timeout=1.0) as remote,
            pytest.raises(HostUnreachableError, match="cannot be reached"),
        ):
            sh(remote, "true")
        assert time.monotonic() - began < 15

    def test_each_node_has_a_host_key_of_its_own(self, cluster: NetnsCluster) -> None:
        one, two = cluster.nodes
        with Remote([replace(one, ssh_host=two.ssh_host)]) as remote, pytest.raises(RemoteError, match="on record is"):
            sh(remote, "true")

    def test_a_wrong_key(self, cluster: NetnsCluster, tmp_path: Path) -> None:
        make_key(tmp_path / "other")
        node = replace(cluster.nodes[0], key_file=tmp_path / "other")
        with Remote([node]) as remote, pytest.raises(RemoteError, match="refuses the key"):
            sh(remote, "true")

    def test_files_go_both_ways(self, remote: Remote, tmp_path: Path) -> None:
        (tmp_path / "up").write_bytes(bytes(range(256)) * 40000)
        for node in remote.names:
            remote.upload(node, tmp_path / "up", "/opt/harness/up")
        sh(remote, "mkdir -p /data/tree/deep && cp /opt/harness/up /data/tree/deep/ && truncate -s 1G /data/tree/hole")
        remote.download_tree("n1", "/data/tree", tmp_path / "tree")
        assert (tmp_path / "tree" / "deep" / "up").read_bytes() == (tmp_path / "up").read_bytes()
        assert (tmp_path / "tree" / "hole").stat().st_size == 1 << 30

    def test_a_plain_ssh_gets_in_as_well(self, cluster: NetnsCluster) -> None:
        config = f"/var/lib/harness/clusters/{cluster.name}/ssh_config"
        done = subprocess.run(["ssh", "-F", config, "n2", "hostname"], capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("n2\n", "")


class TestInventory:
    """Ends as the command line ends: one line, and the mend in it."""

    def write(self, file: Path, cluster: NetnsCluster, **changes: str) -> Path:
        tables = []
        for node in cluster.nodes:
            fields = {"host": node.ssh_host, "host_key": node.host_key, "key": str(node.key_file), **changes}
            tables.append("[[nodes]]\n" + "".join(f'{name} = "{value}"\n' for name, value in fields.items()))
        file.write_text("\n".join(tables))
        return file

    def harness(self, verb: str, file: Path) -> subprocess.CompletedProcess[str]:
        words = [str(HARNESS), "cluster", verb, "--cluster", f"inventory:{file}"]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    def test_runs_the_same_way(self, cluster: NetnsCluster, tmp_path: Path) -> None:
        file = self.write(tmp_path / "lab.toml", cluster)
        for verb in ("up", "status", "down"):
            done = self.harness(verb, file)
            assert (done.returncode, done.stderr) == (0, "")
        machines = open_cluster(f"inventory:{file}")
        assert machines.up() is True
        with machines.lock(), Remote(machines.nodes) as remote:
            done_on = remote.run(dict.fromkeys(remote.names, Command(("hostname",))))
        assert {node: done.stdout for node, done in done_on.items()} == {"n1": "n1\n", "n2": "n2\n"}

    def test_unreachable_host(self, cluster: NetnsCluster, tmp_path: Path) -> None:
        file = self.write(tmp_path / "lab.toml", cluster)
        kill_node(cluster, "n2")
        try:
            done, status = self.harness("up", file), self.harness("status", file)
        finally:
            start_node(cluster, "n2")
        assert done.returncode == 255
        assert done.stderr.startswith("harness: n2: ")
        assert "cannot be reached" in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert status.returncode == 255

    def test_wrong_key(self, cluster: NetnsCluster, tmp_path: Path) -> None:
        make_key(tmp_path / "other")
        done = self.harness("up", self.write(tmp_path / "lab.toml", cluster, key=str(tmp_path / "other")))
        assert done.returncode == 255
        assert "harness: n1: " in done.stderr
        assert "authorized_keys" in done.stderr
        assert len(done.stderr.splitlines()) == 1

    def test_wrong_host_key(self, cluster: NetnsCluster, tmp_path: Path) -> None:
        make_key(tmp_path / "other")
        host_key = (tmp_path / "other.pub").read_text().strip()
        done = self.harness("up", self.write(tmp_path / "lab.toml", cluster, host_key=host_key))
        assert done.returncode == 255
        assert "shows the host key SHA256:" in done.stderr
        assert len(done.stderr.splitlines()) == 1
