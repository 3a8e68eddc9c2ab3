"""What ``vagrant ssh-config`` says, as recorded from its providers."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.clusters.vagrant import VagrantCluster, parse_ssh_config, peer_addresses
from harness.errors import ClusterError

#: Vagrant 2.3.4 with vagrant-libvirt 0.11.2: as printed, with other paths.
LIBVIRT = """\
Host n2
  HostName 192.168.121.12
  User vagrant
  Port 22
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking no
  PasswordAuthentication no
  IdentityFile "/home/a/my lab/.vagrant/machines/n2/libvirt/private_key"
  IdentitiesOnly yes
  LogLevel FATAL

Host n10
  HostName 192.168.121.110
  User vagrant
  Port 22
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking no
  PasswordAuthentication no
  IdentityFile /home/a/lab/.vagrant/machines/n10/libvirt/private_key
  IdentityFile /home/a/other
  IdentitiesOnly yes
  LogLevel FATAL

Host n1
  HostName 192.168.121.11
  User vagrant
  Port 22
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking no
  PasswordAuthentication no
  IdentityFile /home/a/lab/.vagrant/machines/n1/libvirt/private_key
  IdentitiesOnly yes
  LogLevel FATAL

Host control
  HostName 192.168.121.10
  User vagrant
  Port 22
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking no
  PasswordAuthentication no
  IdentityFile /home/a/lab/.vagrant/machines/control/libvirt/private_key
  IdentitiesOnly yes
  LogLevel FATAL

"""

#: VirtualBox forwards a port of this machine to each; Vagrant 2.4 adds the last two lines, and quotes every path.
VIRTUALBOX = """\
Host n1
  HostName 127.0.0.1
  User vagrant
  Port 2222
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking no
  PasswordAuthentication no
  IdentityFile /home/a/lab/.vagrant/machines/n1/virtualbox/private_key
  IdentitiesOnly yes
  LogLevel FATAL
  PubkeyAcceptedKeyTypes +ssh-rsa
  HostKeyAlgorithms +ssh-rsa

Host n2
  HostName 127.0.0.1
  User vagrant
  Port 2200
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking no
  PasswordAuthentication no
  IdentityFile "/home/a/lab/.vagrant/machines/n2/virtualbox/private_key"
  IdentitiesOnly yes
  LogLevel FATAL
  PubkeyAcceptedKeyTypes +ssh-rsa
  HostKeyAlgorithms +ssh-rsa

"""


def test_takes_the_nodes_in_their_order() -> None:
    nodes = parse_ssh_config(LIBVIRT)
    assert [node.name for node in nodes] == ["n1", "n2", "n10"]
    assert (nodes[0].ssh_host, nodes[0].ssh_port, nodes[0].user) == ("192.168.121.11", 22, "vagrant")
    assert nodes[1].key_file == Path("/home/a/my lab/.vagrant/machines/n2/libvirt/private_key")
    assert nodes[1].address == "192.168.121.12"
    assert nodes[2].key_file == Path("/home/a/lab/.vagrant/machines/n10/libvirt/private_key")
    assert {node.host_key for node in nodes} == {None}


def test_forwarded_ports() -> None:
    nodes = parse_ssh_config(VIRTUALBOX)
    assert [(node.name, node.ssh_host, node.ssh_port) for node in nodes] == [
        ("n1", "127.0.0.1", 2222), ("n2", "127.0.0.1", 2200),
    ]  # fmt: skip
    assert nodes[1].key_file == Path("/home/a/lab/.vagrant/machines/n2/virtualbox/private_key")


@pytest.mark.parametrize("text", ["", "Host control\n  HostName 10.0.0.1\n", "nonsense"])
def test_no_nodes(text: str) -> None:
    with pytest.raises(ClusterError, match="names no machine n1"):
        parse_ssh_config(text)


@pytest.mark.parametrize("lost", ["HostName", "User", "Port", "IdentityFile"])
def test_half_a_node(lost: str) -> None:
    lines = [line for line in LIBVIRT.splitlines() if lost not in line]
    with pytest.raises(ClusterError, match=f"has no valid '{lost}'"):
        parse_ssh_config("\n".join(lines))


def test_peers_are_where_no_other_machine_is() -> None:
    seen = {"n1": ["10.0.2.15", "192.168.56.11", "fd00::1"], "n2": ["10.0.2.15", "192.168.56.12"]}
    assert peer_addresses(seen) == {"n1": "192.168.56.11", "n2": "192.168.56.12"}
    with pytest.raises(ClusterError, match="n1, n2: "):
        peer_addresses({"n1": ["10.0.2.15"], "n2": ["10.0.2.15"]})


class TestCluster:
    def make(self, directory: Path) -> VagrantCluster:
        (directory / "Vagrantfile").touch()
        return VagrantCluster(directory, print)

    def test_machines_that_are_not_up(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def run(words: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
            complaint = "The provider for this Vagrant-managed machine is reporting that it\nis not yet ready for SSH."
            return subprocess.CompletedProcess(words, 1, "", complaint)

        monkeypatch.setattr(subprocess, "run", run)
        cluster = self.make(tmp_path)
        with pytest.raises(ClusterError, match=r"`vagrant ssh-config .*` failed: The provider for this"):
            _ = cluster.nodes
        assert cluster.status().nodes == ()

    def test_vagrant_that_is_not_there(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(ClusterError, match="vagrant is not installed"):
            _ = self.make(tmp_path).nodes

    def test_the_host_keys_of_the_first_time_are_kept(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        shown = iter(["ssh-ed25519 A", "ssh-ed25519 B", "ssh-ed25519 C"])
        monkeypatch.setattr("harness.clusters.vagrant.shown_host_key", lambda _: next(shown))
        two = "\n".join(f"Host n{i}\n HostName 10.0.0.{i}\n User u\n Port 22\n IdentityFile /k" for i in (1, 2))
        monkeypatch.setattr(subprocess, "run", lambda words, **_: subprocess.CompletedProcess(words, 0, two, ""))
        for _ in range(2):
            assert [node.host_key for node in self.make(tmp_path).nodes] == ["ssh-ed25519 A", "ssh-ed25519 B"]
