"""The warm cluster: nodes are looked over between cells, healed when they differ, made anew when that does not help."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from harness.clusters import ClusterStatus, Node, NodeStatus
from harness.errors import HarnessError, HostUnreachableError
from harness.plan import Plan
from harness.suite import warm
from harness.suite.warm import WarmCluster, differences, look_command

FRESH = {"n1": ("nft: none", "file: /data/harness"), "n2": ("nft: none", "file: /data/harness")}
CUT = {**FRESH, "n2": ("nft: drop", "file: /data/harness")}


class World:
    """``looks`` is what is seen, one look after the other; an exception is raised."""

    def __init__(self, looks: list[Any], *, up: bool = False, orphaned: bool = False) -> None:
        self.looks, self.was_up, self.left_behind = looks, up, orphaned
        self.steps: list[str] = []
        self.name = "toy"
        self.nodes = tuple(Node(n, "127.0.0.1", "127.0.0.1", 22, "root", Path("key"), None) for n in FRESH)

    def orphaned(self) -> bool:
        return self.left_behind

    def up(self, *, passing: bool = False) -> bool:
        self.steps.append("up")
        return self.was_up

    def down(self) -> None:
        self.steps.append("down")

    def status(self) -> ClusterStatus:
        states = [NodeStatus(node.name, node.address, "up") for node in self.nodes] if self.was_up else []
        return ClusterStatus(self.name, tuple(states))

    def lock(self) -> AbstractContextManager[None]:
        return nullcontext()


@pytest.fixture
def enter(monkeypatch: pytest.MonkeyPatch) -> Callable[[World], WarmCluster]:
    def make(world: World) -> WarmCluster:
        def look(self: WarmCluster) -> Any:
            world.steps.append("look")
            seen = world.looks.pop(0)
            if isinstance(seen, Exception):
                raise seen
            return seen

        monkeypatch.setattr(warm, "open_cluster", lambda *_, **__: world)
        monkeypatch.setattr(WarmCluster, "look", look)
        monkeypatch.setattr(WarmCluster, "heal", lambda self: world.steps.append("heal"))
        return WarmCluster(Plan(seed=1), lambda text: None).__enter__()

    return make


def test_nodes_that_are_as_they_were_are_left_alone(enter: Any) -> None:
    world = World([FRESH, FRESH])
    assert enter(world).reset() == ()
    assert world.steps == ["up", "look", "look"]


def test_what_was_left_is_reported_and_healed(enter: Any) -> None:
    world = World([FRESH, CUT, FRESH])
    cluster = enter(world)
    assert cluster.reset() == ("n2: left by this run: nft: drop", "n2: gone: nft: none")
    assert world.steps[2:] == ["look", "heal", "look"]
    assert cluster.renewed == 0


def test_what_cannot_be_healed_is_replaced(enter: Any) -> None:
    world = World([FRESH, CUT, CUT, FRESH])
    cluster = enter(world)
    notes = cluster.reset()
    assert "n2: healing did not remove: nft: drop" in notes
    assert notes[-1] == "the nodes were recreated"
    assert world.steps[-3:] == ["down", "up", "look"]
    assert cluster.renewed == 1


def test_a_node_that_does_not_answer_is_replaced(enter: Any) -> None:
    world = World([FRESH, HostUnreachableError("n1", "no SSH server answered"), FRESH])
    notes = enter(world).reset()
    assert notes == ("cannot be healed: n1: no SSH server answered", "the nodes were recreated")


def test_new_nodes_that_are_not_as_at_the_beginning_end_the_suite(enter: Any) -> None:
    with pytest.raises(HarnessError, match="cannot be reset: n2: even with new nodes: nft: drop"):
        enter(World([FRESH, CUT, CUT, CUT])).reset()


def test_a_cluster_that_was_up_is_healed_first_and_left_up(enter: Any) -> None:
    world = World([FRESH], up=True)
    enter(world).__exit__(None, None, None)
    assert world.steps == ["up", "heal", "look"]


def test_what_a_killed_run_brought_up_is_taken_down(enter: Any) -> None:
    world = World([FRESH], up=True, orphaned=True)
    enter(world).__exit__(None, None, None)
    assert world.steps == ["up", "heal", "look", "down"]


def test_what_a_killed_suite_brought_up_is_taken_down_by_the_one_that_goes_on(
    enter: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World([FRESH, FRESH], up=True)
    assert not enter(world).ours
    with WarmCluster(Plan(seed=1), lambda text: None, ours=True):
        pass
    assert world.steps[-1] == "down"


def test_one_that_was_not_is_taken_down_also_when_it_cannot_be_looked_over(enter: Any) -> None:
    world = World([HarnessError("x")])
    with pytest.raises(HarnessError, match="x"):
        enter(world)
    assert world.steps == ["up", "look", "down"]


def test_differences_name_node_and_line() -> None:
    assert differences(FRESH, FRESH, "left") == []
    assert differences(FRESH, {"n1": FRESH["n1"]}, "left") == ["n2: gone: nft: none", "n2: gone: file: /data/harness"]


def test_the_look_runs_anywhere_and_sees_files_but_no_programs(tmp_path: Path) -> None:
    (tmp_path / "harness" / "register").mkdir(parents=True)
    (tmp_path / "harness" / "programs" / "register-ab").mkdir(parents=True)
    argv = look_command(str(tmp_path)).argv
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    files = [line for line in done.stdout.splitlines() if line.startswith("file: ")]
    assert files == [f"file: {tmp_path}/harness", f"file: {tmp_path}/harness/register"]


def test_the_look_finds_a_server(tmp_path: Path) -> None:
    marks = {"HARNESS_ROLE": "n1/x", "HARNESS_HOME": f"{tmp_path}/harness"}
    with subprocess.Popen(["sh", "-c", "echo; read x"], stdin=-1, stdout=-1, env=marks) as server:
        assert server.stdout is not None
        server.stdout.readline()
        done = subprocess.run(look_command(str(tmp_path)).argv, capture_output=True, text=True, check=True)
        server.kill()
    assert [line for line in done.stdout.splitlines() if line.startswith("process: ")] == [f"process: {server.pid}"]


def test_the_look_does_not_find_itself(tmp_path: Path) -> None:
    """In a process namespace of its own there is no other process to be found."""
    alone = [
        "unshare",
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--mount-proc",
        *look_command(str(tmp_path)).argv,
    ]
    done = subprocess.run(alone, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no namespace to be had: {done.stderr.strip()}")
    assert "process: " not in done.stdout
    assert "route" in done.stdout or "address: " in done.stdout
