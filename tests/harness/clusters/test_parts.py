"""The parts of a cluster of namespaces that need no root: names, subnets, notes, processes, locks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.clusters import capabilities, links, processes
from harness.clusters.control_groups import remove_orphans
from harness.clusters.locks import FileLock
from harness.clusters.mounts import loops_below, mounted_below
from harness.clusters.node_start import edit_root, inherited, sshd_config, sshd_version
from harness.clusters.processes import Process
from harness.clusters.record import ClusterRecord, StateDir, write_whole
from harness.errors import ClusterBusyError, ClusterError
from tests.support.machine import SYSTEM_PATH

NAMES = st.from_regex(r"[a-z0-9][a-z0-9-]{0,30}", fullmatch=True)
RECORD = ClusterRecord("lab", "10.1.2.0/24", "overlay", "ext4", ("n1", "n2"))


class TestLinks:
    @given(NAMES, st.integers(1, 99))
    def test_names_fit_and_start_alike(self, cluster: str, number: int) -> None:
        for name in (links.bridge(cluster), links.cable(cluster, number)):
            assert len(name) <= 15
            assert name.startswith(links.stem(cluster))

    def test_clusters_have_names_of_their_own(self) -> None:
        assert links.stem("a") != links.stem("b")
        addresses = {links.hardware_address(cluster, number) for cluster in "ab" for number in range(99)}
        assert len(addresses) == 198

    @given(NAMES)
    @settings(max_examples=3)
    def test_candidates_are_private_and_different(self, cluster: str) -> None:
        found = list(links.candidates(cluster))
        private = [IPv4Network("10.0.0.0/8"), IPv4Network("172.16.0.0/12")]
        assert len(set(found)) == len(found) == 512 + 4096
        assert all(any(subnet.subnet_of(network) for network in private) for subnet in found)

    def test_a_taken_subnet_is_left_out(self) -> None:
        first = links.choose_subnet("lab", [])
        assert links.choose_subnet("lab", [first.supernet(new_prefix=20)]) != first
        assert links.choose_subnet("lab", [IPv4Network("10.0.0.0/8")]).subnet_of(IPv4Network("172.16.0.0/12"))

    def test_none_is_free(self) -> None:
        with pytest.raises(ClusterError, match=r"no free subnet .* inventory:FILE"):
            links.choose_subnet("lab", [IPv4Network("10.0.0.0/8"), IPv4Network("172.16.0.0/12")])

    def test_what_the_machine_uses_counts(self) -> None:
        assert IPv4Network("127.0.0.0/8") in links.taken_networks()
        assert all(network.prefixlen > 0 for network in links.taken_networks())


class TestProcesses:
    @pytest.mark.parametrize(
        ("arguments", "node"),
        [
            (["harness-node:lab:n1", "--net", "--pid"], "n1"),
            (["/bin/sh", "/x/harness/clusters/node-init.sh", "harness-node:lab:n2", "lab"], "n2"),
            (["/usr/sbin/sshd", "-D", "-e", "-f", "/etc/harness/lab/n3/sshd_config"], "n3"),
            (["sshd: /usr/sbin/sshd -D -e -f /etc/harness/lab/n3/sshd_config [listener] 0 of 100-200 startups"], "n3"),
            (["harness-node:lab2:n1"], None),
            (["harness-node:la:n1"], None),
            (["grep", "harness-node:lab:n1"], None),
            (["vim", "/etc/harness/lab/n3/sshd_config"], None),
            (["sh", "-c", "echo harness-node:lab:n1"], None),
            (["sshd: root@notty"], None),
            ([""], None),
            ([], None),
        ],
    )
    def test_are_known_by_their_command_line(self, arguments: list[str], node: str | None) -> None:
        assert processes.node_of(arguments, "lab") == node

    def test_a_process_is_its_number_and_its_start(self) -> None:
        me = processes.identify(os.getpid())
        assert me is not None
        assert processes.started_at(os.getpid()) == me.started
        assert not processes.is_node(me, "lab", "n1")
        assert processes.identify(2**22 + 1) is None

    def test_only_a_process_of_the_node_is_killed(self) -> None:
        with subprocess.Popen(["harness-node:lab:n1", "60"], executable="/bin/sleep") as ours:
            process = processes.identify(ours.pid)
            assert process is not None
            assert ("n1", process) in processes.find("lab")
            assert processes.find("other") == []
            assert processes.kill("lab", [("n2", process)], 1.0) == []
            assert processes.kill("lab", [("n1", Process(process.pid, process.started + 1))], 1.0) == []
            assert ours.poll() is None
            assert processes.kill("lab", [("n1", process)], 60.0) == []
            assert processes.identify(ours.pid) is None

    def test_the_child_of_a_keeper_is_the_nodes_whatever_it_is_called(self) -> None:
        words = ["harness-node:lab:n1", "--fork", "sleep", "60"]
        with subprocess.Popen(words, executable="/usr/bin/unshare") as keeper:
            deadline = time.monotonic() + 60
            while len(found := processes.find("lab")) < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            assert {node for node, _ in found} == {"n1"}
            assert processes.kill("lab", found, 60.0) == []
            keeper.wait()
        assert processes.find("lab") == []

    def test_a_zombie_is_gone(self) -> None:
        child = subprocess.Popen(["true"])
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert processes.identify(child.pid) is None
        child.wait()


def test_what_a_node_must_not_inherit() -> None:
    reading, writing = os.pipe()
    os.dup2(writing, writing + 100)  # what dup2 makes is inherited
    try:
        assert writing + 100 in inherited()
        assert reading not in inherited()
        assert not {0, 1, 2, 3} & set(inherited())
    finally:
        os.close(reading)
        os.close(writing)
        os.close(writing + 100)


class TestRecord:
    def test_comes_back_as_it_was(self, tmp_path: Path) -> None:
        state = StateDir(tmp_path / "lab")
        state.write_record(RECORD)
        assert state.read_record() == RECORD
        assert (tmp_path / "lab").stat().st_mode & 0o777 == 0o700
        assert RECORD.address("n2") == "10.1.2.12"

    @pytest.mark.parametrize(
        "text", ["", "{", "[]", "null", '{"name": "lab"}', '{"nodes": 3}', '{"x": 1, "nodes": []}']
    )
    def test_half_a_record_is_none(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "cluster.json").write_text(text)
        assert StateDir(tmp_path).read_record() is None
        (tmp_path / "nodes" / "n1").mkdir(parents=True)
        (tmp_path / "nodes" / "n1" / "process.json").write_text(text)
        assert StateDir(tmp_path).read_process("n1") is None

    def test_who_will_take_the_nodes_down(self, tmp_path: Path) -> None:
        state = StateDir(tmp_path)
        assert state.read_passing() is None
        state.write_passing(Process(4711, 99))
        assert state.read_passing() == Process(4711, 99)
        state.write_passing(None)
        state.write_passing(None)
        assert state.read_passing() is None

    def test_keys_for_us_and_for_people(self, tmp_path: Path) -> None:
        state = StateDir(tmp_path)
        state.make_keys(RECORD)
        one, two = state.as_nodes(RECORD)
        assert (tmp_path / "known_hosts").read_text() == f"10.1.2.11 {one.host_key}\n10.1.2.12 {two.host_key}\n"
        assert one.host_key != two.host_key
        assert state.client_key.stat().st_mode & 0o777 == 0o600
        done = subprocess.run(
            ["ssh-keygen", "-y", "-f", str(state.client_key)], capture_output=True, text=True, check=True
        )
        assert done.stdout.split()[:2] == (tmp_path / "client_key.pub").read_text().split()[:2]

    def test_a_file_is_there_as_a_whole(self, tmp_path: Path) -> None:
        (tmp_path / "file.part").write_text("left over")
        write_whole(tmp_path / "file", "text", mode=0o600)
        assert [path.name for path in tmp_path.iterdir()] == ["file"]
        assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


class TestLock:
    def test_is_released_by_its_holders_death(self, tmp_path: Path) -> None:
        code = (
            "import sys, time; from pathlib import Path; from harness.clusters.locks import FileLock\n"
            "with FileLock(Path(sys.argv[1]), 'x').held(): print('held', flush=True); time.sleep(60)"
        )
        lock = FileLock(tmp_path / "lock", "cluster lab")
        words = [sys.executable, "-c", code, str(tmp_path / "lock")]
        root = Path(__file__).parents[3]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=root) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "held\n"
            assert f"pid {other.pid} (`" in str(lock.holder())
            with pytest.raises(ClusterBusyError, match=rf"cluster lab is in use by pid {other.pid} \(`.*`\) since 20"):
                lock.held().__enter__()
            other.kill()
        assert lock.holder() is None
        with lock.held(), lock.held():
            assert f"pid {os.getpid()} " in str(lock.holder())
        assert lock.holder() is None

    def test_a_holder_that_has_not_said_its_name_yet(self, tmp_path: Path) -> None:
        lock = FileLock(tmp_path / "lock", "x")
        with lock.held():
            (tmp_path / "lock").write_text("")
            assert lock.holder() == f"pid {os.getpid()}"

    def test_children_do_not_hold_it(self, tmp_path: Path) -> None:
        lock = FileLock(tmp_path / "lock", "x")
        with lock.held():
            child = subprocess.Popen(["sleep", "60"], close_fds=False)
        with FileLock(tmp_path / "lock", "x").held():
            pass
        child.kill()
        child.wait()

    def test_a_place_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(ClusterError, match="cannot create"), FileLock(tmp_path / "file" / "lock", "x").held():
            pass


class TestMachine:
    def test_missing_programs_are_named_by_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(capabilities, "which", lambda name: None if name in ("sshd", "ip") else f"/bin/{name}")
        with pytest.raises(ClusterError, match="apt-get install iproute2 openssh-server, or run scripts/bootstrap"):
            capabilities.require_programs()

    def test_a_full_disk_is_reported_before_anything_is_made(self, tmp_path: Path) -> None:
        with pytest.raises(ClusterError, match="free some space there"):
            capabilities.require_disk(tmp_path, 10**9)

    def test_the_next_best(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(capabilities, "which", lambda name: None if name == "mkfs.ext4" else f"/sbin/{name}")
        monkeypatch.setattr(capabilities, "knows_filesystem", lambda _: True)
        monkeypatch.setattr(capabilities, "has_loop_devices", lambda: True)
        assert capabilities.provide().data == "xfs"
        monkeypatch.setattr(capabilities, "has_loop_devices", lambda: False)
        assert capabilities.provide().data == "tmpfs"

    def test_nothing_is_below_an_empty_directory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", SYSTEM_PATH)  # losetup is not in every user's
        assert mounted_below(tmp_path) == []
        assert loops_below(tmp_path) == []
        assert mounted_below(Path("/proc"))[-1] == Path("/proc")

    def test_an_account_is_unlocked_and_given_a_shell(self, tmp_path: Path) -> None:
        (tmp_path / "shadow").write_text("root:!:1::\nx:!:1::\n")
        edit_root(tmp_path / "shadow", tmp_path / "new", {1: "*"}, 0o600)
        assert (tmp_path / "new").read_text() == "root:*:1::\nx:!:1::\n"

    def test_a_new_sshd_is_configured_not_to_shut_us_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for version, reported in (((9, 2), False), ((10, 0), True)):
            monkeypatch.setattr("harness.clusters.node_start.sshd_version", lambda version=version: version)
            assert ("PerSourcePenalties no" in sshd_config("/etc/x")) is reported

    @pytest.mark.parametrize(
        ("said", "version"),
        [
            ("OpenSSH_9.2, OpenSSL 3.0.19", (9, 2)),
            ("unknown option -- V\nOpenSSH_8.9p1 Ubuntu-3ubuntu0.10, OpenSSL 3.0.2", (8, 9)),
            ("OpenSSH_10.0p2 Debian-7", (10, 0)),
            ("", (0, 0)),
        ],
    )
    def test_how_sshd_reports_its_version(
        self, monkeypatch: pytest.MonkeyPatch, said: str, version: tuple[int, int]
    ) -> None:
        sshd_version.cache_clear()
        monkeypatch.setattr(subprocess, "run", lambda words, **_: subprocess.CompletedProcess(words, 1, "", said))
        assert sshd_version() == version
        sshd_version.cache_clear()


def test_the_record_is_plain_json(tmp_path: Path) -> None:
    StateDir(tmp_path).write_record(RECORD)
    assert json.loads((tmp_path / "cluster.json").read_text())["subnet"] == "10.1.2.0/24"


# -- control groups ----------------------------------------------------------------------------------------------------


def test_only_groups_of_nodes_that_are_gone_are_removed(tmp_path: Path) -> None:
    names = (
        "cpu/harness-11:data:harness@server@cpu", "cpu/harness-22:data:harness@server@cpu",
        "harness-33:data:harness@server", "cpu/harness-44:data:harness@server@cpu/full", "cpu/other-11",
    )  # fmt: skip
    for name in names:
        (tmp_path / "cgroup" / name).mkdir(parents=True)
    for pid, namespace in (("1", "22"), ("9", "99")):
        (tmp_path / "proc" / pid / "ns").mkdir(parents=True)
        (tmp_path / "proc" / pid / "ns" / "pid").symlink_to(f"pid:[{namespace}]")
    removed = remove_orphans((), tmp_path / "cgroup", tmp_path / "proc", patience_s=0.05)
    assert {path.name for path in removed} == {"harness-11:data:harness@server@cpu", "harness-33:data:harness@server"}
    left = {str(path.relative_to(tmp_path / "cgroup")) for path in (tmp_path / "cgroup").glob("*/*")}
    assert left == {"cpu/harness-22:data:harness@server@cpu", "cpu/harness-44:data:harness@server@cpu", "cpu/other-11"}
    assert remove_orphans((), tmp_path / "cgroup", tmp_path / "proc", patience_s=0.05) == []
    (gone,) = remove_orphans(("22",), tmp_path / "cgroup", tmp_path / "proc", patience_s=0.05)
    assert gone.name == "harness-22:data:harness@server@cpu"
