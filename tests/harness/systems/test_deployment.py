"""Any system on its nodes: scripts run for real, here, in a directory; readiness by what the system says."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP
from typing import Any

import pytest

from harness.errors import HarnessError, NotReadyError, RemoteError
from harness.systems import deployment
from harness.systems.api import Machine, Role, Setup, Shell, Surface, System
from harness.systems.artifacts import LocalFiles, on_node
from harness.systems.deployment import Deployment
from harness.systems.law import Law
from nemesis.core.facts import survey_command
from nemesis.core.ports import Command, Completed
from nemesis.core.roles import Signal, signal, states
from tests.support.nemesis import titled_server

#: Stays what it is when it runs, with its arguments on its command line.
SERVER = """#!/bin/sh
echo "serving as $*"
while :; do sleep 0.2; done
"""


@dataclass
class LocalNodes:
    """Runs every command on this machine, behind a prefix."""

    prefix: tuple[str, ...] = ()
    sent: list[tuple[str, Command]] = field(default_factory=list)
    uploads: list[str] = field(default_factory=list)

    def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        self.sent += commands.items()
        return {node: self.run_one(node, command) for node, command in commands.items()}

    def run_one(self, node: str, command: Command) -> Completed:
        done = subprocess.run(
            (*self.prefix, *command.argv), input=command.stdin, capture_output=True, text=True, timeout=command.timeout
        )
        return Completed(node, done.returncode, done.stdout, done.stderr, 0.0)

    def upload(self, node: str, local: Path, remote: str) -> None:
        self.uploads.append(remote)
        Path(remote).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(local, remote)

    def download_tree(self, node: str, remote: str, local: Path) -> None:
        shutil.copytree(remote, local, dirs_exist_ok=True)


@dataclass
class Toy:
    """What the system under test answers."""

    ready: Callable[[Shell], bool] = lambda shell: True
    leads: Callable[[Setup], str | None] = lambda setup: "n1"
    roles: tuple[Role, ...] = ()
    hit: str = ""
    members: tuple[str, ...] = ()

    def system(self, program: Path) -> System:
        files = LocalFiles("toy", (program,), "write it")

        def roles(setup: Setup) -> list[Role]:
            node = setup.nodes[0]
            own = Role(
                node=node.name, command=(f"{on_node(node, files)}/server", "--role", "one"), data=("store",),
                files={"conf/toy.conf": "colour=red\n"}, keep=("store/*/term",), ready=lambda shell: self.ready(shell),
            )  # fmt: skip
            return [own, *self.roles]

        return System(
            name="toy", summary="a toy", versions=("1",), roles=roles, artifacts=lambda setup: [files],
            clients=lambda setup, number: [], workloads=(),
            surface=lambda setup: Surface(peer_ports=(1,), client_port=2, role=self.hit, members=self.members),
            law=Law(), leads=lambda setup: self.leads(setup),
        )  # fmt: skip


@dataclass
class Scene:
    toy: Toy
    system: Deployment
    nodes: LocalNodes
    home: Path
    program: Path

    def pid(self) -> int | None:
        return self.system.pids(["n1"])["n1"]

    def signal(self, name: Signal) -> None:
        done = self.nodes.run_one("n1", signal(str(self.home), "server", name))
        assert done.code == 0, done

    def states(self) -> dict[int, str]:
        """The processes of the role, by pid."""
        done = self.nodes.run_one("n1", states(str(self.home), "server"))
        assert done.code == 0, done
        return {int(pid): letter for pid, letter in map(str.split, done.stdout.splitlines())}

    def eventually(self, look: Callable[[], object]) -> None:
        deadline = time.monotonic() + 60
        while not look():
            assert time.monotonic() < deadline, look
            time.sleep(0.01)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A system of one node whose data directory is below ``tmp_path`` and whose program is a shell script."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program = tmp_path / "server"
    program.write_text(SERVER)
    program.chmod(0o755)
    toy, nodes = Toy(), LocalNodes()
    setup = Setup(version="1", nodes=(Machine("n1", "127.0.0.1", str(tmp_path / "data")),))
    system = Deployment(toy.system(program), setup, nodes, time.monotonic, ready_timeout=5.0)
    system.install()
    scene = Scene(toy, system, nodes, tmp_path / "data" / "harness", program)
    yield scene
    scene.system.kill(["n1"])


# -- programs ----------------------------------------------------------------------------------------------------------


def test_a_program_is_copied_where_the_node_sees_our_disk_and_sent_where_it_does_not(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place,) = (scene.home / "programs").iterdir()
    assert (place / "server").read_text() == SERVER
    assert scene.nodes.uploads == []
    shutil.rmtree(place)
    run = scene.nodes.run_one

    def elsewhere(node: str, command: Command) -> Completed:
        is_copy = command.argv[3:4] == ("copy",)
        return Completed(node, 0, "missing\n", "", 0.0) if is_copy else run(node, command)

    monkeypatch.setattr(scene.nodes, "run_one", elsewhere)
    scene.system.install()
    assert scene.nodes.uploads == [f"{place}.part/server"]
    assert (place / "server").read_text() == SERVER


def test_another_content_has_another_place(scene: Scene) -> None:
    scene.program.write_text(SERVER + "# newer\n")
    scene.system.install()
    assert len(list((scene.home / "programs").iterdir())) == 2


# -- the life of a process -------------------------------------------------------------------------------------------


def test_start_is_seen_and_repeated_without_effect_and_kill_ends_it(scene: Scene) -> None:
    assert scene.pid() is None
    scene.system.start(["n1"])
    scene.eventually(scene.pid)
    first = scene.pid()
    assert first is not None
    scene.system.start(["n1"])
    time.sleep(0.05)
    assert scene.pid() == first
    scene.system.kill(["n1"])
    assert not Path(f"/proc/{first}/cmdline").exists() or not Path(f"/proc/{first}/cmdline").read_bytes()
    assert scene.pid() is None
    scene.system.kill(["n1"])


def test_the_process_leads_a_group_and_a_session_of_its_own(scene: Scene) -> None:
    """A signal to our own group must never reach it, and its children must die with it."""
    scene.system.start(["n1"])
    scene.eventually(scene.pid)
    pid = scene.pid()
    assert pid is not None
    assert (os.getpgid(pid), os.getsid(pid)) == (pid, pid)


#: Where the hierarchy of control groups cannot be seen, as on a machine that has none.
WITHOUT_GROUPS = ("unshare", "--mount", "sh", "-c", 'umount -al -t cgroup2; exec "$@"', "without-groups")


def hide_groups(scene: Scene) -> None:
    if os.geteuid() == 0:  # others can write to no groups anyway
        scene.nodes.prefix = WITHOUT_GROUPS


def require_groups(scene: Scene) -> None:
    done = scene.nodes.run_one("n1", survey_command())
    if "can groups" not in done.stdout.splitlines():
        pytest.skip("control groups cannot be written here")


def serve_titled(scene: Scene, *flags: str) -> tuple[int, ...]:
    """Start a server that hides (see ``titled_server``); the pids of its first process and its two workers."""
    program = Path(titled_server.__file__)
    flags_text = " ".join(flags)
    scene.program.write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$HARNESS_HOME" {flags_text}\n')
    scene.system.install()
    scene.system.start(["n1"])
    scene.eventually((scene.home / "pids").exists)
    return tuple(map(int, (scene.home / "pids").read_text().split()))


@contextmanager
def asking(scene: Scene) -> Iterator[Callable[[float], str]]:
    """Ask the server; the function returns what it has answered within that many seconds, nothing if it has not."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.bind("")  # the kernel gives it a name
        client.sendto(b"?", str(scene.home / "socket"))

        def answer(within_s: float) -> str:
            ready, _, _ = select.select([client], [], [], within_s)
            return client.recv(99).decode() if ready else ""

        yield answer


@pytest.mark.parametrize("kind", ["in a group", "an orphan in a group", "without groups"])
def test_a_server_that_hides_is_found_paused_and_killed_whole(scene: Scene, kind: str) -> None:
    """PostgreSQL's first process alone stood still while its workers served; Redis was said to have ended."""
    (require_groups if "in a group" in kind else hide_groups)(scene)
    pids = serve_titled(scene, *(["orphan"] if "orphan" in kind else []))
    assert Path(f"/proc/{pids[0]}/environ").read_bytes().strip(b"\0") == b""
    assert ("/harness-" in Path(f"/proc/{pids[0]}/cgroup").read_text()) == ("in a group" in kind)
    assert scene.pid() == pids[0]
    assert scene.system.ended() == {}
    assert set(scene.states()) == set(pids)

    os.kill(pids[0], SIGSTOP)  # what a pause of the first process alone is worth
    with asking(scene) as answer:
        assert answer(10.0) in map(str, pids[1:])
    os.kill(pids[0], SIGCONT)

    scene.signal("STOP")
    assert scene.states() == dict.fromkeys(pids, "T")
    with asking(scene) as answer:
        assert answer(0.05) == ""
        scene.signal("CONT")
        assert answer(10.0) in map(str, pids[1:])
    assert "T" not in scene.states().values()
    scene.signal("KILL")
    assert scene.states() == {}
    assert scene.pid() is None
    assert scene.system.ended() == {"n1": ["server"]}


def test_kill_ends_what_outlived_the_process_that_was_started(scene: Scene) -> None:
    require_groups(scene)
    pids = serve_titled(scene)
    os.kill(pids[0], SIGKILL)
    scene.eventually(lambda: set(scene.states()) == set(pids[1:]))
    assert scene.system.ended() == {"n1": ["server"]}
    scene.system.kill(["n1"])
    assert scene.states() == {}
    (scene.home / "pids").unlink()
    assert serve_titled(scene) != pids


def test_a_role_is_hit_alone(scene: Scene) -> None:
    scene.toy.roles = (role("server2", "sleep", "60"),)
    scene.system.start(["n1"])
    scene.eventually(lambda: scene.system.ended() == {})
    scene.signal("KILL")
    assert scene.system.ended() == {"n1": ["server"]}


@pytest.mark.parametrize("groups", [True, False])
def test_what_runs_on_this_machine_for_another_home_is_left_alone(scene: Scene, groups: bool) -> None:
    (require_groups if groups else hide_groups)(scene)
    other = replace(scene.system.setup.nodes[0], data_dir=f"{scene.home.parent}-2")
    deployment = Deployment(
        scene.system.system, replace(scene.system.setup, nodes=(other,)), scene.nodes, time.monotonic
    )
    deployment.install()
    try:
        deployment.start(["n1"])
        scene.system.start(["n1"])
        scene.eventually(lambda: scene.pid() and deployment.pids(["n1"])["n1"])
        scene.system.kill(["n1"])
        assert deployment.pids(["n1"])["n1"]
    finally:
        deployment.kill(["n1"])
    assert deployment.pids(["n1"]) == {"n1": None}


def test_a_program_that_goes_to_the_background_is_refused_and_is_ended_all_the_same(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployment, "LOOK_AGAIN_S", 0.2)
    scene.program.write_text("#!/bin/sh\nsetsid sleep 60 &\necho $! > daemon\n")
    scene.system.install()
    scene.toy.ready = lambda shell: (scene.home / "daemon").exists()
    with pytest.raises(NotReadyError, match=r"server on n1 is ready, but the process (?s:.*)stay in the foreground"):
        scene.system.start(["n1"])
    daemon = int((scene.home / "daemon").read_text())
    assert scene.system.ended() == {"n1": ["server"]}
    scene.system.kill(["n1"])
    assert not _alive(daemon)


def test_the_process_and_nothing_else_gets_the_environment_it_is_given(scene: Scene) -> None:
    """What libfaketime needs reaches the server, also when it is started again; the shells before it go without."""

    def variables() -> str:
        pid = scene.pid()
        return Path(f"/proc/{pid}/environ").read_text().replace("\0", "\n") if pid else ""

    scene.system.start(["n1"])
    scene.eventually(lambda: "PATH=" in variables())
    assert "HARNESS_TEST" not in variables()
    scene.system.kill(["n1"])
    scene.system.set_environments({"n1": {"HARNESS_TEST": "a b"}})
    for _ in range(2):
        scene.system.start(["n1"])
        scene.eventually(lambda: "\nHARNESS_TEST=a b\n" in "\n" + variables())
        scene.system.kill(["n1"])
    assert (scene.home / "conf" / "toy.conf").read_text() == "colour=red\n"


def test_what_it_prints_is_in_its_console_log(scene: Scene) -> None:
    scene.system.start(["n1"])
    scene.eventually(lambda: "serving as --role one" in (scene.home / "log" / "server-console.log").read_text())


def test_a_pid_that_belongs_to_another_process_now_is_left_alone(scene: Scene) -> None:
    other = subprocess.Popen(["sleep", "30"])
    try:
        (scene.home / "run").mkdir()
        (scene.home / "run" / "server.pid").write_text(f"{other.pid} 1\n")
        assert scene.pid() is None
        scene.system.kill(["n1"])
        assert other.poll() is None
        scene.system.start(["n1"])
        scene.eventually(scene.pid)
        assert scene.pid() != other.pid
    finally:
        other.kill()
        other.wait()


def test_wipe_removes_data_and_logs_of_any_system_and_keeps_the_programs(scene: Scene) -> None:
    for below in ("store/data", "of another/file", "log/register.log", "run/server.pid"):
        (scene.home / below).parent.mkdir(parents=True, exist_ok=True)
        (scene.home / below).touch()
    scene.system.wipe()
    assert sorted(path.name for path in scene.home.iterdir()) == ["log", "programs"]
    assert list((scene.home / "log").iterdir()) == []


def test_a_command_that_fails_names_node_and_step(scene: Scene) -> None:
    shutil.rmtree(scene.home)
    scene.home.touch()
    with pytest.raises(RemoteError, match=r"n1: mkdir exited with 1: .*mkdir"):
        scene.system.install()


def test_collected_are_logs_the_list_of_files_kept_files_and_the_store(scene: Scene, tmp_path: Path) -> None:
    store = scene.home / "store" / "one"
    store.mkdir(parents=True)
    (store / "term").write_text("term 4")
    (scene.home / "log" / "register.log").write_text("a line")
    assert scene.system.collect(tmp_path / "evidence") == []
    found = {path.name: path for path in (tmp_path / "evidence" / "n1").iterdir()}
    assert set(found) >= {"register.log", "files.txt", "term", "store.tar.gz"}
    assert found["register.log"].read_text() == "a line"
    assert found["term"].read_text() == "term 4"
    assert "term" in found["files.txt"].read_text()
    listed = subprocess.run(["tar", "-tzf", found["store.tar.gz"]], capture_output=True, text=True, check=True)
    assert "store/one/term" in listed.stdout


def test_what_cannot_be_collected_is_reported_and_never_raised(scene: Scene, tmp_path: Path) -> None:
    def gone(*_: object) -> None:
        raise RemoteError("n1", "no SSH server answered")

    scene.nodes.download_tree = gone  # type: ignore[method-assign,assignment]
    (line,) = scene.system.collect(tmp_path / "evidence")
    assert "no SSH server answered" in line


# -- readiness -------------------------------------------------------------------------------------------------------


def test_start_returns_when_every_process_is_ready(scene: Scene) -> None:
    answers = iter([False, False, True])
    scene.toy.ready = lambda shell: next(answers)
    scene.system.start(["n1"])
    assert next(answers, None) is None


def test_no_leader_in_time_is_not_ready(scene: Scene) -> None:
    scene.system.start(["n1"])
    ticks = count(0.0, 0.5)
    scene.system._clock = lambda: next(ticks)
    scene.toy.leads = lambda setup: None
    with pytest.raises(NotReadyError) as caught:
        scene.system.await_leader()
    assert "the cluster did not begin to serve within 5 s" in str(caught.value)
    assert "serving as" in str(caught.value)


def test_a_server_that_dies_at_start_shows_the_end_of_its_log(scene: Scene) -> None:
    scene.program.write_text("#!/bin/sh\n[ -e failed ] && exec sleep 60\ntouch failed\necho Exception: boom\n")
    scene.system.install()
    scene.toy.ready = lambda shell: False
    with pytest.raises(NotReadyError, match=r"the server on n1 exited while starting; (?s:.*)Exception: boom"):
        scene.system.start(["n1"])
    assert scene.system.died_starting == {"n1"}
    scene.toy.ready = lambda shell: True  # the program goes on at its second start
    scene.system.start(["n1"])
    assert scene.system.died_starting == set()


# -- several roles -----------------------------------------------------------------------------------------------------


def role(name: str, *command: str, **more: Any) -> Role:
    return Role(node="n1", name=name, command=command, **more)


def test_roles_start_stage_by_stage_and_a_task_is_run_once(scene: Scene) -> None:
    scene.toy.roles = (
        role("second", "sh", "-c", "cat store/formatted > store/seen; exec sleep 60", stage=1),
        role("format", "sh", "-c", "mkdir -p store; echo x >> store/formatted", stage=1, task=True),
    )
    scene.system.start(["n1"])
    seen = scene.home / "store" / "seen"
    scene.eventually(lambda: seen.exists() and seen.read_text() == "x\n")
    scene.system.kill(["n1"])
    scene.system.start(["n1"])
    assert (scene.home / "store" / "formatted").read_text() == "x\n"
    scene.system.kill(["n1"])
    assert not any(_alive(int(path.read_text().split()[0])) for path in (scene.home / "run").glob("*.pid"))


def test_a_task_that_fails_ends_the_start_with_its_words(scene: Scene) -> None:
    scene.toy.roles = (role("format", "sh", "-c", "echo no such store; exit 3", task=True),)
    with pytest.raises(NotReadyError, match=r"format failed on n1(?s:.*)no such store"):
        scene.system.start(["n1"])


def test_the_first_role_of_a_node_is_the_one_that_faults_hit(scene: Scene) -> None:
    scene.toy.roles = (role("helper", "sleep", "60"),)
    scene.system.start(["n1"])
    scene.eventually(scene.pid)
    assert scene.pid() == int((scene.home / "run" / "server.pid").read_text().split()[0])


def test_a_node_on_which_nothing_runs_is_named_and_not_probed(scene: Scene, tmp_path: Path) -> None:
    def prober(_setup: Setup, _shell: Shell) -> Any:
        return object()

    scene.toy.roles = (role("helper", "sleep", "60"), role("format", "true", task=True))
    nodes = (*scene.system.setup.nodes, Machine("n2", "127.0.0.2", str(tmp_path / "n2")))
    system = replace(scene.system.system, prober=prober)
    deployment = Deployment(system, replace(scene.system.setup, nodes=nodes), scene.nodes, time.monotonic)
    assert deployment.processes == {"n1": ["server", "helper"], "n2": []}
    assert list(deployment.probers()) == ["n1"]
    assert deployment.serving == ("n1",)


def test_the_roles_that_ended_are_named(scene: Scene) -> None:
    scene.toy.roles = (role("helper", "sleep", "60"), role("format", "true", task=True))
    scene.system.start(["n1"])
    assert scene.system.ended() == {}
    os.kill(int((scene.home / "run" / "helper.pid").read_text().split()[0]), 9)
    scene.eventually(scene.system.ended)
    assert scene.system.ended() == {"n1": ["helper"]}


def test_members_are_the_nodes_of_the_roles_that_store_or_all_on_which_something_runs(
    scene: Scene, tmp_path: Path
) -> None:
    toy, setup = scene.toy, scene.system.setup
    more = [Machine(name, "127.0.0.2", str(tmp_path / name)) for name in ("n2", "n3", "n4")]
    store, format_n4 = role("storage", "sleep", "60"), role("format", "true", task=True)
    toy.roles = (replace(store, node="n2"), replace(store, node="n3"), replace(format_n4, node="n4"))
    nodes = (*setup.nodes, *more)
    deployment = Deployment(scene.system.system, replace(setup, nodes=nodes), scene.nodes, time.monotonic)
    assert list(deployment.members) == ["n1", "n2", "n3"]  # nothing but a task runs on n4
    toy.members = ("storage",)
    assert list(deployment.members) == ["n2", "n3"]
    toy.members = ("voter",)
    with pytest.raises(HarnessError, match="toy names voter as members"):
        _ = deployment.members


def test_a_role_can_be_aimed_at_and_no_process_of_several_loses_power_alone(scene: Scene) -> None:
    assert scene.system.surface.refused == {}
    scene.toy.roles, scene.toy.hit = (role("helper", "sleep", "60"),), "helper"
    scene.system = Deployment(scene.system.system, scene.system.setup, scene.nodes, time.monotonic, 3.0)
    scene.system.start(["n1"])
    scene.eventually(lambda: (scene.home / "run" / "helper.pid").exists())
    scene.eventually(scene.pid)
    assert scene.pid() == int((scene.home / "run" / "helper.pid").read_text().split()[0])
    refused = scene.system.surface.refused
    assert set(refused) == {"crash-random-nodes", "crash-all", "disk-error"}
    assert refused["crash-all"] == "a power cut ends all processes of a node, and n1 has 2 of them"


def _alive(pid: int) -> bool:
    """Whether a process runs; one that is not yet reaped has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False
