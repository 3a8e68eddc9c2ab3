"""Machines without any trace of the harness: Debian roots made by debootstrap, reached only over SSH.

Each has its own root, mounts, processes, host name and (except for the first, while packages are installed) network.
``scripts/fresh-root`` makes and starts them; here they get an sshd, cables and an inventory.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.clusters import links

FRESH_ROOT = Path(__file__).resolve().parents[3] / "scripts" / "fresh-root"
USER = "tester"

_INSTALL_SSHD = "apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install {}"
_TRUST = """install -d -o tester -g tester -m 700 /home/tester/.ssh
echo "$1" >/home/tester/.ssh/authorized_keys
chown tester: /home/tester/.ssh/authorized_keys"""
_ON_LOOPBACK = 'mkdir -p /run/sshd; exec /usr/sbin/sshd -D -e -o ListenAddress=127.0.0.1 -p "$1"'
#: What one machine's disk must not share with another's, as when a cloud image is taken.
_OWN = "/etc/ssh/ssh_host_*", "/var/lib/harness"
_ON_A_CABLE = """mkdir -p /run/sshd
until ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done
ip link set lo up; ip addr add "$1" dev eth0; ip link set eth0 up
grep -q " ext4 loop," /etc/fstab && mount -a
exec /usr/sbin/sshd -D -e"""


@dataclass(frozen=True)
class Machine:
    """One root, and the address of its sshd."""

    root: Path
    host: str
    port: int = 22

    def toml(self) -> str:
        kind, key = (self.root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().split()[:2]
        return f'[[nodes]]\nhost = "{self.host}"\nport = {self.port}\nhost_key = "{kind} {key}"\n'


def inventory(file: Path, key: Path, machines: Sequence[Machine]) -> Path:
    file.write_text(f'user = "{USER}"\nkey = "{key}"\n\n' + "\n".join(machine.toml() for machine in machines))
    return file


def make_key(directory: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / "key"], check=True)
    return directory / "key"


def make_image(root: Path, suite: str, key: Path) -> None:
    """Make what a cloud provides: a Debian with an sshd, and our public key in a user's account."""
    said(FRESH_ROOT, "make", root, suite)
    inside(root, _INSTALL_SSHD.format("openssh-server"))
    inside(root, _TRUST, key.with_suffix(".pub").read_text().strip())


def said(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], text=True, check=False, capture_output=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def inside(root: Path, script: str, *arguments: str) -> str:
    return said(FRESH_ROOT, "run", "--as-root", root, "sh", "-ec", script, "sh", *arguments)


def copy(image: Path, root: Path) -> None:
    """Make another machine from the disk of the first one."""
    subprocess.run(["cp", "-a", image, root], check=True)
    for pattern in _OWN:
        for path in root.glob(pattern.lstrip("/")):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    fstab = root / "etc/fstab"
    fstab.write_text("".join(line for line in fstab.read_text().splitlines(keepends=True) if "harness" not in line))
    (root / "etc/hostname").write_text(root.name + "\n")
    said("ssh-keygen", "-A", "-f", root)


@contextmanager
def on_loopback(image: Path) -> Iterator[Machine]:
    """Return the machine with this machine's network, so that it reaches the package servers."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    with _running([FRESH_ROOT, "run", "--as-root", image, "sh", "-c", _ON_LOOPBACK, "sshd", str(port)]):
        machine = Machine(image, "127.0.0.1", port)
        _await_sshd(machine)
        yield machine


@contextmanager
def on_cables(name: str, roots: Sequence[Path]) -> Iterator[list[Machine]]:
    """Run each root as a separate machine on a bridge that leads nowhere else."""
    subnet = links.choose_subnet(name, links.taken_networks())
    machines = [Machine(root, str(subnet[10 + number])) for number, root in enumerate(roots, 1)]
    links.add_bridge(name, subnet)
    try:
        with _all_running(name, machines, subnet.prefixlen):
            for machine in machines:
                _await_sshd(machine)
            yield machines
    finally:
        links.remove(links.existing(name))


@contextmanager
def _all_running(name: str, machines: Sequence[Machine], prefix: int) -> Iterator[None]:
    if not machines:
        yield
        return
    first, number = machines[0], int(machines[0].host.rpartition(".")[2]) - 10
    shell = ["sh", "-c", _ON_A_CABLE, "sshd", f"{first.host}/{prefix}"]
    with _running([FRESH_ROOT, "run", "--offline", "--as-root", first.root, *shell]) as keeper:
        links.add_cable(name, number, _process_1(keeper.pid))
        with _all_running(name, machines[1:], prefix):
            yield


@contextmanager
def _running(words: Sequence[object]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that keeps namespaces; when it ends, everything in them ends."""
    keeper = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL)
    try:
        yield keeper
    finally:
        keeper.kill()
        keeper.wait()


def _process_1(pid: int) -> int:
    """Return the keeper's child that has its own network namespace; children that it starts earlier have ours."""
    ours = Path("/proc/self/ns/net").readlink()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with suppress(OSError):
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                if Path(f"/proc/{child}/ns/net").readlink() != ours:
                    return int(child)
        time.sleep(0.02)
    raise AssertionError("no process 1")


def _await_sshd(machine: Machine) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection((machine.host, machine.port), timeout=1) as connection:
            if connection.recv(4) == b"SSH-":
                return
        time.sleep(0.05)
    raise AssertionError(f"no sshd at {machine.host}:{machine.port}")
