"""Commands and files over SSH, against a server on the loopback."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import paramiko.pipe
import pytest

from harness.clusters.record import make_key
from harness.errors import (
    HostUnreachableError,
    RemoteError,
    RemoteTimeout,
    StoreError,
    UsageError,
)
from harness.remote.nodes import Remote, command_line
from nemesis.core.ports import Command, Completed
from tests.support.harness.toy_sshd import ToySshd, toy_sshd


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[ToySshd]:
    with toy_sshd(tmp_path / "sshd") as server:
        yield server


@pytest.fixture
def remote(sshd: ToySshd) -> Iterator[Remote]:
    with Remote([sshd.node()]) as connected:
        yield connected


def ask(remote: Remote, *argv: str, stdin: str = "", timeout: float = 10.0) -> Completed:
    return remote.run({"n1": Command(argv, stdin, timeout)})["n1"]


def sh(remote: Remote, script: str, *, stdin: str = "", timeout: float = 10.0) -> Completed:
    return ask(remote, "sh", "-c", script, stdin=stdin, timeout=timeout)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


class TestCommandLine:
    def test_is_quoted_and_dies_on_the_node_by_itself(self) -> None:
        line = command_line(Command(("echo", "it's", "$HOME; rm -rf /", ""), timeout=2.5), "root")
        assert line == """exec timeout -k 1 2.500 echo 'it'"'"'s' '$HOME; rm -rf /' ''"""

    def test_goes_through_sudo_for_another_user(self) -> None:
        assert command_line(Command(("true",)), "vagrant") == "exec sudo -n -- timeout -k 1 10.000 true"

    @pytest.mark.parametrize("timeout", [0, -1, float("nan")])
    def test_refuses_a_deadline_that_timeout_would_take_for_none(self, timeout: float) -> None:
        with pytest.raises(ValueError, match="above 0"):
            command_line(Command(("true",), timeout=timeout), "root")


class TestRun:
    def test_reports_code_and_both_outputs(self, remote: Remote) -> None:
        done = sh(remote, "echo out; echo err >&2; exit 7")
        assert (done.node, done.code, done.stdout, done.stderr) == ("n1", 7, "out\n", "err\n")
        assert 0 < done.seconds < 10

    def test_hands_words_on_as_they_are(self, remote: Remote) -> None:
        assert ask(remote, "printf", "%s|", "a b", "$HOME", "'", "\n", "").stdout == "a b|$HOME|'|\n||"

    def test_a_signal_is_minus_one(self, remote: Remote) -> None:
        assert sh(remote, "kill -9 $$").code == -1

    def test_a_command_that_is_not_there_is_an_answer(self, remote: Remote) -> None:
        assert ask(remote, "no-such-command").code == 127

    def test_feeds_the_input_and_closes_it(self, remote: Remote) -> None:
        assert ask(remote, "cat", stdin="line\n").stdout == "line\n"
        assert ask(remote, "cat").stdout == ""

    @pytest.mark.slow
    def test_much_input_and_output_at_once_do_not_block_each_other(self, remote: Remote) -> None:
        text = "0123456789abcde\n" * (5 << 16)
        done = ask(remote, "awk", '{ print; print > "/dev/stderr" }', stdin=text, timeout=60)
        assert done.stdout == text
        assert done.stderr == text

    def test_a_wake_up_that_goes_missing_ends_nothing(self, remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(paramiko.pipe.OrPipe, "set", lambda _: None)
        # More than the window holds, so that the command waits for a reader.
        assert len(ask(remote, "head", "-c", "6000000", "/dev/zero", timeout=20).stdout) == 6_000_000

    def test_bad_bytes_do_not_hurt(self, remote: Remote) -> None:
        assert sh(remote, r"printf '\377x'").stdout == "\ufffdx"

    def test_input_that_is_not_read_does_not_block(self, remote: Remote) -> None:
        assert ask(remote, "true", stdin="x" * (8 << 20)).code == 0

    def test_too_much_output_is_refused(self, sshd: ToySshd) -> None:
        with Remote([sshd.node()], output_limit=1000) as remote:
            with pytest.raises(RemoteError, match="n1: `head -c 2000 /dev/zero` wrote more than 1000 bytes"):
                ask(remote, "head", "-c", "2000", "/dev/zero")
            assert ask(remote, "echo", "still there").stdout == "still there\n"

    def test_an_unknown_node_is_a_mistake_of_the_caller(self, remote: Remote) -> None:
        with pytest.raises(KeyError):
            remote.run({"n9": Command(("true",))})


class TestDeadline:
    def test_a_command_that_outlives_it_is_killed_on_the_node(self, remote: Remote, tmp_path: Path) -> None:
        pid = tmp_path / "pid"
        began = time.monotonic()
        with pytest.raises(RemoteTimeout, match=r"n1: `sh -c .*` did not end within 0.3 s and was killed"):
            sh(remote, f"echo $$ > {pid}; sleep 60; true", timeout=0.3)
        assert time.monotonic() - began < 20
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)

    def test_one_that_ignores_the_polite_signal_too(self, remote: Remote) -> None:
        began = time.monotonic()
        with pytest.raises(RemoteTimeout):
            sh(remote, "trap '' TERM; while :; do sleep 0.1; done", timeout=0.3)
        assert time.monotonic() - began < 20

    def test_an_own_exit_code_124_in_time_is_an_answer(self, remote: Remote) -> None:
        assert sh(remote, "exit 124").code == 124

    @pytest.mark.slow
    def test_output_that_something_keeps_open_is_named(self, remote: Remote) -> None:
        # It leaves its group, so that `timeout` does not find it.
        with pytest.raises(RemoteTimeout, match=r"n1: `sh -c .*`"):
            sh(remote, "setsid sleep 3.5 & exit 3", timeout=0.2)

    def test_what_was_started_apart_lives_on(self, remote: Remote) -> None:
        done = sh(remote, "setsid sleep 30 >/dev/null 2>&1 </dev/null & echo $!", timeout=5)
        os.kill(int(done.stdout), 9)


class TestConnection:
    def test_one_serves_all_commands(self, remote: Remote, sshd: ToySshd) -> None:
        for _ in range(5):
            ask(remote, "true")
        assert sshd.connections == 1

    def test_is_made_again_after_it_dropped(self, remote: Remote, sshd: ToySshd) -> None:
        ask(remote, "true")
        sshd.drop()
        assert ask(remote, "echo", "again").stdout == "again\n"
        assert sshd.connections == 2
        assert len(sshd.lines) == 2

    def test_a_command_that_may_have_run_is_not_sent_again(self, remote: Remote, sshd: ToySshd) -> None:
        sshd.drop_on_exec = True
        with pytest.raises(RemoteError, match=r"n1: .*during `touch x`, which may or may not have run"):
            ask(remote, "touch", "x")
        assert len(sshd.lines) == 1

    def test_a_drop_under_a_running_command_is_reported(self, remote: Remote, sshd: ToySshd) -> None:
        def cut() -> None:
            while not sshd.lines:
                time.sleep(0.01)
            sshd.drop()

        thread = threading.Thread(target=cut)
        thread.start()
        with pytest.raises(RemoteError, match="which may or may not have run"):
            ask(remote, "sleep", "1")
        thread.join()

    def test_at_most_six_commands_run_on_one(self, remote: Remote, sshd: ToySshd) -> None:
        threads = [threading.Thread(target=sh, args=(remote, "sleep 0.2")) for _ in range(15)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sshd.most_sessions == 6
        assert len(sshd.lines) == 15
        assert sshd.connections == 1

    def test_nothing_is_left_open(self, sshd: ToySshd) -> None:
        before = descriptors()
        for _ in range(3):
            with Remote([sshd.node()]) as remote:
                ask(remote, "true")
                sshd.drop()
                ask(remote, "true")
        deadline = time.monotonic() + 60
        while descriptors() > before and time.monotonic() < deadline:
            time.sleep(0.01)
        assert descriptors() <= before


class TestTrust:
    def test_nothing_listens(self, sshd: ToySshd) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        with (
            Remote([sshd.node(ssh_port=port)]) as remote,
            pytest.raises(HostUnreachableError, match="cannot be reached"),
        ):
            ask(remote, "true")

    def test_another_process_listens(self, sshd: ToySshd) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            node = sshd.node(ssh_port=server.getsockname()[1])
            with (
                Remote([node], connect_timeout=0.3) as remote,
                pytest.raises(HostUnreachableError, match="not like an SSH"),
            ):
                ask(remote, "true")

    def test_another_host_key_than_the_one_on_record(self, sshd: ToySshd, tmp_path: Path) -> None:
        make_key(tmp_path / "other")
        node = sshd.node(host_key=(tmp_path / "other.pub").read_text())
        with (
            Remote([node]) as remote,
            pytest.raises(RemoteError, match=r"shows the host key SHA256:.*on record is SHA256:"),
        ):
            ask(remote, "true")
        assert sshd.lines == []

    def test_a_host_key_of_another_kind(self, sshd: ToySshd) -> None:
        node = sshd.node(host_key="ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBAAA")
        with Remote([node]) as remote, pytest.raises(RemoteError, match="no host key of a known type"):
            ask(remote, "true")

    def test_no_host_key_on_record(self, sshd: ToySshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        with Remote([sshd.node(host_key=None)]) as remote, pytest.raises(RemoteError, match="ssh-keyscan -p"):
            ask(remote, "true")

    def test_what_is_said_to_be_typed_is_quoted(
        self, sshd: ToySshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path / "a b"))
        node = replace(sshd.node(host_key=None), ssh_host="$(reboot)")
        with Remote([node]) as remote, pytest.raises(RemoteError) as caught:
            ask(remote, "true")
        assert f"-- '$(reboot)' >> '{tmp_path}/a b/.ssh/known_hosts'" in str(caught.value)

    def test_a_host_key_in_known_hosts(self, sshd: ToySshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / ".ssh").mkdir()
        node = sshd.node(host_key=None)
        (tmp_path / ".ssh" / "known_hosts").write_text(f"[127.0.0.1]:{node.ssh_port} {sshd.node().host_key}\n")
        with Remote([node]) as remote:
            assert ask(remote, "true").code == 0

    def test_a_host_key_that_is_none(self, sshd: ToySshd) -> None:
        with Remote([sshd.node(host_key="nonsense")]) as remote, pytest.raises(RemoteError, match="not of the form"):
            ask(remote, "true")

    def test_a_key_that_the_node_does_not_know(self, sshd: ToySshd, tmp_path: Path) -> None:
        make_key(tmp_path / "other")
        with (
            Remote([sshd.node(key_file=tmp_path / "other")]) as remote,
            pytest.raises(RemoteError, match=r"refuses the key .*other for user root; add .*other.pub"),
        ):
            ask(remote, "true")

    @pytest.mark.parametrize(("content", "complaint"), [(None, "cannot be read"), ("nonsense", "not a usable")])
    def test_a_key_file_of_no_use(self, sshd: ToySshd, tmp_path: Path, content: str | None, complaint: str) -> None:
        if content is not None:
            (tmp_path / "key").write_text(content)
        node = sshd.node(key_file=tmp_path / "key")
        with Remote([node]) as remote, pytest.raises(RemoteError, match=complaint):
            ask(remote, "true")


class TestManyNodes:
    def test_are_asked_in_parallel_and_distinguished(self, tmp_path: Path) -> None:
        with toy_sshd(tmp_path / "a", "n1") as one, toy_sshd(tmp_path / "b", "n2") as two:
            with Remote([one.node(), two.node(address="10.0.0.2")]) as remote:
                assert remote.names == ("n1", "n2")
                assert remote.address("n2") == "10.0.0.2"
                # Each waits for the other: one after the other they would wait until their deadlines.
                meet = "touch {0}; until [ -e {1} ]; do sleep 0.02; done; echo {0}"
                met = {"n1": meet.format("n1", "n2"), "n2": meet.format("n2", "n1")}
                done = remote.run(
                    {name: Command(("sh", "-c", f"cd {tmp_path}; {text}"), timeout=30.0) for name, text in met.items()}
                )
            assert {name: end.stdout for name, end in done.items()} == {"n1": "n1\n", "n2": "n2\n"}

    def test_all_that_fail_are_named(self, tmp_path: Path) -> None:
        with toy_sshd(tmp_path / "a", "n1") as one, toy_sshd(tmp_path / "b", "n2") as two:
            nodes = [one.node(ssh_port=1), two.node(ssh_port=1), one.node(name="n3")]
            with Remote(nodes) as remote, pytest.raises(HostUnreachableError, match=r"^n1: .*also failed: n2\)$"):
                remote.run(dict.fromkeys(remote.names, Command(("true",))))


class TestFiles:
    def test_upload_checks_keeps_the_mode_and_makes_directories(self, remote: Remote, tmp_path: Path) -> None:
        source, target = tmp_path / "source", tmp_path / "deep" / "it's here" / "target"
        source.write_bytes(os.urandom(3 << 20))
        source.chmod(0o750)
        remote.upload("n1", source, str(target))
        assert target.read_bytes() == source.read_bytes()
        assert target.stat().st_mode & 0o777 == 0o750
        assert [path.name for path in target.parent.iterdir()] == ["target"]

    def test_upload_is_left_out_when_the_file_is_there(self, remote: Remote, sshd: ToySshd, tmp_path: Path) -> None:
        source, target = tmp_path / "source", tmp_path / "target"
        source.write_text("one")
        remote.upload("n1", source, str(target))
        before = target.stat().st_ino
        remote.upload("n1", source, str(target))
        assert target.stat().st_ino == before
        assert len(sshd.lines) == 3
        source.write_text("two")
        remote.upload("n1", source, str(target))
        assert target.read_text() == "two"

    def test_upload_where_it_cannot_go(self, remote: Remote, tmp_path: Path) -> None:
        (tmp_path / "source").write_text("x")
        (tmp_path / "file").write_text("x")
        with pytest.raises(RemoteError, match=r"n1: .*was not written \(exit code 1\): .*"):
            remote.upload("n1", tmp_path / "source", str(tmp_path / "file" / "target"))

    def test_upload_of_nothing(self, remote: Remote, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="cannot be read"):
            remote.upload("n1", tmp_path / "missing", "/tmp/x")

    def test_upload_to_all(self, tmp_path: Path) -> None:
        (tmp_path / "source").write_text("x")
        with toy_sshd(tmp_path / "a", "n1") as one, toy_sshd(tmp_path / "b", "n2") as two:
            with Remote([one.node(), two.node()]) as remote:
                for node in remote.names:
                    remote.upload(node, tmp_path / "source", str(tmp_path / "target"))
            assert len(one.lines) + len(two.lines) >= 3
        assert (tmp_path / "target").read_text() == "x"

    def test_download_to_where_nothing_can_be_written(self, remote: Remote, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        with pytest.raises(StoreError, match="cannot be written"):
            remote.download_tree("n1", str(tmp_path), tmp_path / "file" / "target")

    def test_download_tree_takes_files_only_and_keeps_holes(self, remote: Remote, tmp_path: Path) -> None:
        source, target = tmp_path / "source", tmp_path / "target"
        (source / "deep").mkdir(parents=True)
        (source / "deep" / "log").write_text("line\n")
        with (source / "sparse").open("wb") as file:
            file.truncate(64 << 20)
            file.seek(32 << 20)
            file.write(b"x")
        (source / "link").symlink_to("/etc/passwd")
        remote.download_tree("n1", str(source), target)
        assert (target / "deep" / "log").read_text() == "line\n"
        assert (target / "sparse").stat().st_size == 64 << 20
        assert (target / "sparse").stat().st_blocks * 512 < 1 << 20
        assert sorted(path.name for path in target.iterdir()) == ["deep", "sparse"]

    def test_download_tree_of_what_is_not_there(self, remote: Remote, tmp_path: Path) -> None:
        with pytest.raises(RemoteError, match="cannot be read"):
            remote.download_tree("n1", str(tmp_path / "missing"), tmp_path / "target")
