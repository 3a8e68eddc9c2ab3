"""``harness heal``: holds the cluster while it sweeps, and says what it undid."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from harness import clusters
from harness.cli.main import run_command
from harness.errors import ClusterBusyError, ClusterError, HarnessError
from harness.execution import leftovers
from harness.execution.leftovers import Healed
from harness.remote import nodes as remote


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    steps: list[str] = []

    @contextmanager
    def doing(name: str) -> Iterator[str]:
        steps.append(name)
        yield name
        steps.append(f"end of {name}")

    target = SimpleNamespace(nodes=(), orphaned=lambda: False, lock=lambda: doing("lock"))

    def open_cluster(spec: str) -> SimpleNamespace:
        steps.append(spec)
        return target

    def heal_leftovers(nodes: object) -> Healed:
        steps.append("heal")
        return Healed(["n1: continued pid 4"], [])

    monkeypatch.setattr(clusters, "open_cluster", open_cluster)
    monkeypatch.setattr(remote, "Remote", lambda nodes: doing("remote"))
    monkeypatch.setattr(leftovers, "heal_leftovers", heal_leftovers)
    return steps


def test_what_was_undone_is_reported(steps: list[str], capsys: pytest.CaptureFixture[str]) -> None:
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

    monkeypatch.setattr(leftovers, "heal_leftovers", fail)
    assert run_command(["heal"]) == 255
    assert capsys.readouterr().err == f"harness: {error}\n"


@pytest.mark.parametrize(
    ("healed", "code", "out", "err"),
    [
        (Healed([], []), 0, "nothing to heal\n", ""),
        (Healed(["n1: x"], ["n2: no route"]), 255, "n1: x\n", "could not be removed: n2: no route\n"),
        (
            Healed([], ["n2: exit 1: error: /data stays shut down"]),
            255,
            "",
            "n2: exit 1: error: /data stays shut down\n",
        ),
    ],
)
@pytest.mark.usefixtures("steps")
def test_what_could_not_be_undone_is_a_failure_and_what_could_is_reported(
    healed: Healed, code: int, out: str, err: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(leftovers, "heal_leftovers", lambda nodes: healed)
    assert run_command(["heal"]) == code
    said = capsys.readouterr()
    assert said.out == out
    assert said.err.endswith(err)
