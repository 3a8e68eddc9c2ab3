"""``harness heal``: holds the cluster while it sweeps, and tells what it undid."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from harness import clusters, faults, remote
from harness.cli.main import run_command
from harness.errors import ClusterBusyError, ClusterError, HarnessError


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    steps: list[str] = []

    @contextmanager
    def doing(name: str) -> Iterator[str]:
        steps.append(name)
        yield name
        steps.append(f"end of {name}")

    target = SimpleNamespace(nodes=(), lock=lambda: doing("lock"))
    monkeypatch.setattr(clusters, "open_cluster", lambda spec: steps.append(spec) or target)
    monkeypatch.setattr(remote, "Remote", lambda nodes: doing("remote"))
    monkeypatch.setattr(faults, "heal_leftovers", lambda nodes: steps.append("heal") or ["n1: continued pid 4"])
    return steps


def test_what_was_undone_is_told(steps: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["heal", "--cluster", "netns:mine"]) == 0
    assert capsys.readouterr().out == "n1: continued pid 4\n"
    assert steps == ["netns:mine", "lock", "remote", "heal", "end of remote", "end of lock"]


@pytest.mark.parametrize("error", [ClusterError("not up"), ClusterBusyError("pid 4"), HarnessError("n1: exit 3")])
@pytest.mark.usefixtures("steps")
def test_what_goes_wrong_is_one_line_and_255(
    error: HarnessError, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(faults, "heal_leftovers", fail)
    assert run_command(["heal"]) == 255
    assert capsys.readouterr().err == f"harness: {error}\n"
