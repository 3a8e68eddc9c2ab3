"""Nodes as namespaces: what they are, how they come and go, and what is left when things go wrong."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.clusters import capabilities, links
from harness.clusters.netns import NetnsCluster
from harness.errors import ClusterBusyError, ClusterError
from tests.support.cluster.dead_nodes import kill_node, start_node
from tests.support.cluster.machine import HARNESS, MakeCluster, on_all, outputs

pytestmark = pytest.mark.cluster


KILLED = """
import os, signal, sys
from harness.clusters.netns import NetnsCluster
NetnsCluster(sys.argv[1], nodes=1).up(passing=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
KEPT = """
import subprocess, sys
from harness.clusters.netns import NetnsCluster
NetnsCluster(sys.argv[1], nodes=1).up(passing=True)
run = f"from harness.clusters.netns import NetnsCluster; NetnsCluster({sys.argv[1]!r}, nodes=1).up()"
print("up; kept by a run of its own:", subprocess.run([sys.executable, "-c", run]).returncode, flush=True)
sys.stdin.read()
"""


class TestWhatTheyKeep:
    def test_who_waits_for_the_end_of_our_pipe_does_not_wait_for_the_nodes(self, make_cluster: MakeCluster) -> None:
        reading, writing = os.pipe()
        try:
            os.dup2(writing, writing + 100)  # what dup2 makes is inherited
            make_cluster(nodes=1).up()
        finally:
            os.close(writing)
            os.close(writing + 100)
        with os.fdopen(reading, "rb") as pipe:
            assert select.select([pipe], [], [], 60.0)[0]
            assert pipe.read() == b""


class TestWhoseTheyAre:
    def test_what_a_killed_process_made_in_passing_is_known_for_that(self, make_cluster: MakeCluster) -> None:
        cluster = make_cluster(nodes=1)
        subprocess.run([sys.executable, "-c", KILLED, cluster.name], check=False)
        assert cluster.status().is_up
        assert cluster.orphaned()
        assert cluster.up(passing=True) is True
        assert not cluster.orphaned()  # they are ours now

    def test_who_asks_for_nodes_that_were_left_keeps_them(self, make_cluster: MakeCluster) -> None:
        cluster = make_cluster(nodes=1)
        subprocess.run([sys.executable, "-c", KILLED, cluster.name], check=False)
        assert cluster.up() is True
        assert not cluster.orphaned()
        cluster.up(passing=True)
        assert not cluster.orphaned()

    def test_while_a_suite_lives_only_its_own_runs_use_its_nodes(self, make_cluster: MakeCluster) -> None:
        cluster, other = make_cluster(nodes=1), [sys.executable, "-c", KEPT]
        with subprocess.Popen(
            [*other, cluster.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as suite:
            assert suite.stdout is not None
            assert suite.stdout.readline() == "up; kept by a run of its own: 0\n"
            for stranger in (cluster, NetnsCluster(cluster.name, nodes=2)):
                with pytest.raises(ClusterBusyError, match=f"brought up by pid {suite.pid} "):
                    stranger.up()
            assert cluster.status().is_up
        assert cluster.up() is True

    def test_what_is_to_stay_is_not_taken_over_in_passing(self, make_cluster: MakeCluster) -> None:
        cluster = make_cluster(nodes=1)
        cluster.up()
        subprocess.run([sys.executable, "-c", KILLED, cluster.name], check=False)
        assert not cluster.orphaned()


class TestNodes:
    def test_each_is_a_machine_of_its_own(self, make_cluster: MakeCluster) -> None:
        cluster = make_cluster()
        began = time.monotonic()
        assert cluster.up() is False
        # Under a second on a quiet machine.
        assert time.monotonic() - began < 60
        assert [node.name for node in cluster.nodes] == ["n1", "n2", "n3", "n4", "n5"]
        assert outputs(cluster, "hostname") == {node.name: node.name for node in cluster.nodes}
        for kind in ("net", "pid", "mnt", "uts", "ipc"):
            seen = {
                str(Path(f"/proc/self/ns/{kind}").readlink()),
                *outputs(cluster, f"readlink /proc/self/ns/{kind}").values(),
            }
            assert len(seen) == 6, kind
        addresses = outputs(cluster, "ip -4 -o addr show dev eth0 | awk '{print $4}'")
        assert addresses == {node.name: f"{node.address}/24" for node in cluster.nodes}
        assert set(outputs(cluster, "cat /proc/1/cmdline | cut -c1-20").values()) == {"sshd: /usr/sbin/sshd"}

    def test_reach_each_other_by_name(self, make_cluster: MakeCluster) -> None:
        cluster = make_cluster()
        cluster.up()
        script = "for n in n1 n2 n3 n4 n5; do exec 3<>/dev/tcp/$n/22 && read -r -u 3 hello && echo ${hello%%-*}; done"
        for done in on_all(cluster, "bash", "-c", script).values():
            assert done.stdout.split() == ["SSH"] * 5

    def test_standard_streams_can_be_opened_by_name(self, make_cluster: MakeCluster) -> None:
        """As nft does that of its rules, in some releases."""
        cluster = make_cluster()
        cluster.up()
        said = outputs(cluster, "echo in | cat /dev/stdin; echo out >/dev/stdout; ls /dev/stderr")
        assert {text.split() == ["in", "out", "/dev/stderr"] for text in said.values()} == {True}

    def test_have_data_and_root_of_their_own(self, make_cluster: MakeCluster) -> None:
        cluster = make_cluster()
        cluster.up()
        devices = outputs(cluster, "stat -f -c %T /data; grep ' /data ' /proc/mounts | cut -d' ' -f1")
        assert {text.split()[0] for text in devices.values()} == {"ext2/ext3"}
        assert len({text.split()[1] for text in devices.values()}) == 5
        outputs(cluster, "hostname | tee /etc/mine /data/mine /opt/mine")
        for path in ("/etc/mine", "/data/mine", "/opt/mine"):
            assert outputs(cluster, f"cat {path}") == {node.name: node.name for node in cluster.nodes}
            assert not Path(path).exists()
        assert set(outputs(cluster, "ls -A /var/lib/harness/clusters").values()) == {""}

    def test_read_no_start_files(self, make_cluster: MakeCluster) -> None:
        cluster = make_cluster(nodes=1)
        cluster.up()
        outputs(cluster, "echo 'echo noise; sleep 9' | tee /root/.bashrc /root/.profile /root/.bash_profile")
        (done,) = on_all(cluster, "true").values()
        assert (done.stdout, done.code) == ("", 0)
        assert done.seconds < 9

    def test_without_overlay_and_loop_devices(self, make_cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(capabilities, "knows_filesystem", lambda kind: kind != "overlay")
        monkeypatch.setattr(capabilities, "has_loop_devices", lambda: False)
        said: list[str] = []
        cluster = make_cluster(nodes=2, say=said.append)
        cluster.up()
        assert len(said) == 2
        assert "modprobe overlay" in said[0]
        assert "modprobe loop" in said[1]
        assert set(
            outputs(cluster, "touch /etc/x /data/x /tmp/x /var/lib/x && java -version 2>&1 | head -c 7").values()
        ) == {"openjdk"}
        assert set(outputs(cluster, "touch /usr/x 2>/dev/null; echo $?").values()) == {"1"}

    def test_on_xfs(self, make_cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(capabilities, "knows_filesystem", lambda kind: kind != "ext4")
        cluster = make_cluster(nodes=2)
        cluster.up()
        assert set(outputs(cluster, "stat -f -c %T /data").values()) == {"xfs"}


class TestUpAndDown:
    def test_healthy_nodes_are_kept(self, make_cluster: MakeCluster) -> None:
        said: list[str] = []
        cluster = make_cluster(say=said.append)
        cluster.up()
        before = [cluster.init_of(node.name) for node in cluster.nodes]
        assert cluster.up() is True
        assert [cluster.init_of(node.name) for node in cluster.nodes] == before
        assert said == [f"cluster {cluster.name} is already up and healthy: 5 nodes kept"]

    def test_a_dead_node_has_all_made_anew(self, make_cluster: MakeCluster) -> None:
        said: list[str] = []
        cluster = make_cluster(say=said.append)
        cluster.up()
        kill_node(cluster, "n3")
        assert [node.state for node in cluster.status().nodes] == ["up", "up", "down", "up", "up"]
        assert cluster.up() is False
        assert "4 of 5 nodes alive" in said[0]
        assert {node.state for node in cluster.status().nodes} == {"up"}

    def test_another_number_of_nodes_has_all_made_anew(self, make_cluster: MakeCluster) -> None:
        make_cluster(nodes=2).up()
        cluster = make_cluster(nodes=3)
        cluster.up()
        assert len(cluster.nodes) == 3

    def test_down_is_for_any_state(self, make_cluster: MakeCluster) -> None:
        cluster = make_cluster(nodes=2)
        cluster.down()
        cluster.up()
        cluster.down()
        cluster.down()
        assert cluster.status().nodes == ()
        with pytest.raises(ClusterError, match="is not up; run: harness cluster up --cluster netns:"):
            _ = cluster.nodes

    @pytest.mark.parametrize("content", [None, '{"name": "t', "[]", "{}"])
    def test_down_needs_no_notes(self, make_cluster: MakeCluster, content: str | None) -> None:
        cluster = make_cluster(nodes=2)
        cluster.up()
        state = Path("/var/lib/harness/clusters") / cluster.name
        for notes in (state / "cluster.json", state / "nodes" / "n1" / "process.json"):
            notes.unlink() if content is None else notes.write_text(content)
        assert cluster.status().notes[0].startswith("leftovers without a record")

    def test_two_clusters_do_not_know_each_other(self, make_cluster: MakeCluster) -> None:
        one, two = make_cluster("a", nodes=2), make_cluster("b", nodes=2)
        one.up()
        two.up()
        assert {node.address for node in one.nodes}.isdisjoint(node.address for node in two.nodes)
        two.down()
        assert outputs(one, "hostname") == {"n1": "n1", "n2": "n2"}

    def test_a_foreign_process_is_not_hit(self, make_cluster: MakeCluster) -> None:
        cluster = make_cluster(nodes=1)
        cluster.up()
        with subprocess.Popen(["sleep", "900"]) as stranger:
            notes = Path("/var/lib/harness/clusters") / cluster.name / "nodes" / "n1" / "process.json"
            notes.write_text(json.dumps({"pid": stranger.pid, "started": 1}))
            assert cluster.status().nodes[0].state == "down"
            cluster.down()
            assert stranger.poll() is None
            stranger.kill()


class TestSingleNodes:
    def test_a_killed_node_takes_its_processes_with_it_and_keeps_its_disks(self, make_cluster: MakeCluster) -> None:
        cluster = make_cluster(nodes=2)
        cluster.up()
        marker = f"86{os.getpid()}"
        outputs(
            cluster,
            "echo kept | tee /data/kept /opt/kept; sync -f /data /opt; "
            f"setsid sleep {marker} >/dev/null 2>&1 </dev/null &",
        )
        assert subprocess.run(["pgrep", "-fc", f"sleep {marker}"], capture_output=True, check=True).stdout == b"2\n"
        kill_node(cluster, "n1")
        assert subprocess.run(["pgrep", "-fc", f"sleep {marker}"], capture_output=True, check=True).stdout == b"1\n"
        start_node(cluster, "n1")
        assert outputs(cluster, "cat /data/kept /opt/kept") == {"n1": "kept\nkept", "n2": "kept\nkept"}
        with pytest.raises(ClusterError):
            cluster.init_of("n3")

    def test_a_power_cut_loses_what_was_not_synced(self, make_cluster: MakeCluster) -> None:
        cluster = make_cluster(nodes=1)
        cluster.up()
        script = "echo a >/data/synced; sync /data/synced /data; echo b >/data/lost; echo c >>/data/synced"
        outputs(cluster, script)
        data = f"/proc/{cluster.init_of('n1')}/root/data"
        subprocess.run(["xfs_io", "-x", "-c", "shutdown", data], check=True)
        kill_node(cluster, "n1")
        start_node(cluster, "n1")
        assert outputs(cluster, "cat /data/synced; ls /data") == {"n1": "a\nlost+found\nsynced"}


def parts(cluster: NetnsCluster) -> int:
    """How much of a cluster is there: its bridge and cables, and nodes whose process is known.  11 of five nodes."""
    nodes = Path("/var/lib/harness/clusters") / cluster.name / "nodes"
    return len(links.existing(cluster.name)) + len(list(nodes.glob("*/process.json")))


class TestKilledHarness:
    """Killed when so much is there: after a fixed time a slow machine has not begun yet, and a quick one is done."""

    @pytest.mark.parametrize("there", [0, 1, 2, 4, 6, 7, 9, 11])
    def test_in_the_middle_of_up(self, make_cluster: MakeCluster, there: int) -> None:
        cluster = make_cluster()
        words = [str(HARNESS), "cluster", "up", "--cluster", f"netns:{cluster.name}"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while parts(cluster) < there and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
        if there % 2:
            cluster.up()
            assert {node.state for node in cluster.status().nodes} == {"up"}
        cluster.down()

    @pytest.mark.parametrize("there", [10, 8, 6, 5])
    def test_in_the_middle_of_down(self, make_cluster: MakeCluster, there: int) -> None:
        """What is left is removed by the next one."""
        cluster = make_cluster()
        cluster.up()
        words = [str(HARNESS), "cluster", "down", "--cluster", f"netns:{cluster.name}"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while parts(cluster) > there and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)

    def test_while_it_uses_the_nodes(self, make_cluster: MakeCluster) -> None:
        cluster = make_cluster(nodes=2)
        with holder(cluster.name) as process:
            pids = [cluster.init_of(node.name) for node in cluster.nodes]
            with pytest.raises(ClusterBusyError):
                cluster.up()
            process.kill()
            process.wait()
        assert cluster.status().holder is None
        cluster.up()
        assert [cluster.init_of(node.name) for node in cluster.nodes] == pids


class TestLock:
    def test_says_who_holds_it(self, make_cluster: MakeCluster) -> None:
        cluster = make_cluster(nodes=2)
        with holder(cluster.name) as process:
            words = [str(HARNESS), "cluster", "down", "--cluster", f"netns:{cluster.name}"]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            assert done.returncode == 255
            assert f"cluster {cluster.name} is in use by pid {process.pid} (`" in done.stderr
            assert len(done.stderr.splitlines()) == 1
            assert f"pid {process.pid}" in str(cluster.status().holder)
            process.kill()

    def test_lives_through_down_and_up(self, make_cluster: MakeCluster) -> None:
        cluster = make_cluster(nodes=1)
        rival = make_cluster(nodes=1)
        with cluster.lock():
            cluster.up()
            cluster.down()
            with pytest.raises(ClusterBusyError), rival.lock():
                pass
            cluster.up()
        with rival.lock():
            pass


def holder(name: str) -> subprocess.Popen[str]:
    """A process that has brought a cluster up and holds it until it is killed."""
    code = (
        "import sys, time; from harness.clusters.netns import NetnsCluster; c = NetnsCluster(sys.argv[1], nodes=2)\n"
        "with c.lock(): c.up(); print('held', flush=True); time.sleep(900)"
    )
    process = subprocess.Popen(
        [str(HARNESS.with_name("python")), "-c", code, name], stdout=subprocess.PIPE, text=True, cwd=HARNESS.parents[2]
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


class TestWhatTheyMay:
    def test_a_node_has_no_capability_that_reaches_beyond_it_and_sees_no_home(self, make_cluster: MakeCluster) -> None:
        cluster = make_cluster(nodes=1)
        cluster.up()
        script = (
            "sed -n 's/^Cap...:\t//p' /proc/self/status; stat -f -c %T /root /home; "
            "find /root /home -mindepth 1; touch /root/x"
        )
        *masks, root, home = outputs(cluster, script)["n1"].split()
        named = {"sys_module": 16, "sys_rawio": 17, "sys_boot": 22, "sys_time": 25, "syslog": 34, "bpf": 39}
        for mask in masks:
            assert [name for name, bit in named.items() if int(mask, 16) >> bit & 1] == []
        assert int(masks[2], 16) >> 21 & 1, "faults mount and unmount"
        assert (root, home) == ("tmpfs", "tmpfs")
