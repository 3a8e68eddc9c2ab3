"""Making nodes of machines: what is sent, and what comes of the answers."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

from harness.cli.main import run_command
from harness.clusters import provision as module
from harness.clusters.provision import SCRIPT, package_versions, provision, provision_command
from harness.errors import ClusterError
from harness.remote.node import Node
from nemesis.core.ports import Command, Completed

NODES = tuple(Node(f"n{i}", f"10.0.0.{i}", f"10.0.0.{i}", 22, "debian", Path("/k"), None) for i in (1, 2))


class FakeRemote:
    """Answers every command as ``answers`` says."""

    answers: ClassVar[Mapping[str, tuple[int, str]]] = {}
    sent: ClassVar[dict[str, Command]] = {}

    def __init__(self, nodes: Any) -> None:
        assert nodes == NODES

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        FakeRemote.sent = dict(commands)
        return {name: Completed(name, *self.answer(name), 0.1) for name in commands}

    def answer(self, name: str) -> tuple[int, str, str]:
        code, said = self.answers[name]
        return code, "", said


@pytest.fixture(autouse=True)
def _remote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Remote", FakeRemote)


def test_every_node_is_sent_the_script_of_all_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "Reading package lists...\nprovision: m1 is a node: java 17, data in /data\n"
    monkeypatch.setattr(FakeRemote, "answers", {"n1": (0, said), "n2": (0, said.replace("m1", "m2"))})
    lines: list[str] = []
    provision(NODES, lines.append)
    assert lines == ["n1: m1 is a node: java 17, data in /data", "n2: m2 is a node: java 17, data in /data"]
    assert FakeRemote.sent == {node.name: provision_command(node) for node in NODES}
    command = FakeRemote.sent["n1"]
    assert command.argv == ("sh", "-s", "--", "--data", "/data")
    assert command.stdin == SCRIPT.read_text()


def test_a_node_that_cannot_be_made_is_named_with_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = "a\nb\nE: Unable to locate package xfsprogs\nprovision: apt-get install xfsprogs failed\n"
    monkeypatch.setattr(FakeRemote, "answers", {"n1": (0, "provision: ready"), "n2": (255, bad)})
    with pytest.raises(ClusterError, match=r"^cannot set up n2 as a node \(exit code 255\): b / E: .*xfsprogs failed$"):
        provision(NODES, lambda _: None)


def test_a_node_that_dies_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeRemote, "answers", {"n1": (-1, ""), "n2": (0, "")})
    with pytest.raises(ClusterError, match=r"cannot set up n1 as a node .*no output"):
        provision(NODES, lambda _: None)


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (255, 255)])
def test_for_namespaces_it_is_this_machine(monkeypatch: pytest.MonkeyPatch, code: int, ends: int) -> None:
    called: list[list[str]] = []

    def run(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        called.append(words)
        return subprocess.CompletedProcess(words, code)

    monkeypatch.setattr(subprocess, "run", run)
    assert run_command(["cluster", "provision"]) == ends
    assert called == [["sh", str(SCRIPT), "--no-data"]]


class Answering:
    """Nodes that say which packages they have."""

    def __init__(self, **said: str) -> None:
        self.said, self.names = said, tuple(said)

    def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        assert {command.argv[-1] for command in commands.values()} == {"--versions"}
        return {name: Completed(name, 0, self.said[name], "", 0.1) for name in commands}


def versions(**said: str) -> dict[str, str]:
    return package_versions(Answering(**said))  # type: ignore[arg-type]


def test_the_versions_of_packages_are_recorded_once_and_where_they_differ() -> None:
    both = "nftables 1.0.6-2\nbash 5.2.15-2\n"
    assert versions(n1=both, n2=both) == {"bash": "5.2.15-2", "nftables": "1.0.6-2"}
    assert versions(n1=both, n2=both.replace("1.0.6", "1.1.0"))["nftables"] == "1.0.6-2 (n1), 1.1.0-2 (n2)"
    assert versions(n1=both, n2="bash 5.2.15-2\n")["nftables"] == "1.0.6-2 (n1)"
    assert versions(n1="", n2="") == {}


def test_the_script_says_what_dpkg_says() -> None:
    done = subprocess.run(["sh", str(SCRIPT), "--versions"], capture_output=True, text=True, check=True)
    found = dict(line.split(" ") for line in done.stdout.splitlines())
    known = subprocess.run(["dpkg-query", "-W", "bash"], capture_output=True, text=True, check=False)
    assert found.get("bash") == (known.stdout.split()[1] if known.returncode == 0 else None)
