"""Every way out of the command line has one of the documented codes; 1 and 2 are verdicts and nothing else."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from types import SimpleNamespace

import click
import pytest

from harness.cli import main as main_module
from harness.cli.main import SECTIONS, VERBS, run_command
from harness.clusters import ClusterStatus, NodeStatus
from harness.errors import CheckError, ClusterBusyError, RemoteTimeout, UsageError


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs ``harness doctor`` with a body that raises or returns what the test says."""

    def run(ending: object) -> int:
        @click.command("doctor")
        @click.pass_context
        def doctor(ctx: click.Context) -> object:
            if isinstance(ending, BaseException):
                raise ending
            if callable(ending):
                return ending(ctx)
            return ending

        monkeypatch.setattr(main_module.Verbs, "get_command", lambda self, ctx, name: doctor)
        return run_command(["doctor"])

    return run


@pytest.mark.parametrize("code", [0, 1, 2, 130, 255])
def test_the_code_of_a_verb_is_passed_on(verb: Callable[..., int], code: int) -> None:
    assert verb(code) == code


def test_a_verb_that_says_nothing_ended_well(verb: Callable[..., int]) -> None:
    assert verb(None) == 0


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (UsageError("--keys must be at least 1"), 254, "harness: --keys must be at least 1\n"),
        (click.UsageError("No such option '--x'."), 254, "harness: No such option '--x'; see harness doctor --help\n"),
        (click.BadParameter("not a number"), 254, "harness: Invalid value: not a number; see harness doctor --help\n"),
        (CheckError("line 3: bad"), 255, "harness: line 3: bad\n"),
        (ClusterBusyError("pid 4 holds it"), 255, "harness: pid 4 holds it\n"),
        (RemoteTimeout("n2", "too slow"), 255, "harness: n2: too slow\n"),
        (click.ClickException("no"), 255, "Error: no\n"),
        (OSError(28, "No space left on device"), 255, "harness: [Errno 28] No space left on device\n"),
        (SystemExit(1), 255, ""),
        (KeyboardInterrupt(), 130, ""),
        (click.Abort(), 130, ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_error_has_its_code_and_is_one_line(
    verb: Callable[..., int], error: BaseException, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verb(error) == code
    assert capsys.readouterr().err.strip("\n") == line.strip("\n")


def test_a_bug_of_ours_is_no_verdict(verb: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert verb(ZeroDivisionError("a bug")) == 255
    said = capsys.readouterr().err
    assert "ZeroDivisionError: a bug" in said
    assert "not a finding about the system" in said


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 64.0 MiB"),
        ImportError("libXau.so.6: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
        OSError(12, "Cannot allocate memory"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_too_little_memory_is_no_bug(
    verb: Callable[..., int], error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verb(error) == 255
    said = capsys.readouterr().err
    assert str(error) in said
    assert "bug" not in said
    assert said.count("\n") == 1


def test_clicks_own_exit_is_passed_on(verb: Callable[..., int]) -> None:
    assert verb(lambda ctx: ctx.exit(0)) == 0


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["rum"], "No such command 'rum'"),
        (["run", "--concurency", "3"], "'--concurrency'"),
        (["run", "--rate", "fast"], "'--rate': 'fast' is not a valid float"),
        (["run", "--workload", "queue"], "'--workload': 'queue' is not one of 'register', 'cas-register'"),
        (["run", "--seed"], "'--seed' requires an argument"),
        (["run", "leftover"], "unexpected extra argument"),
        (["check"], "Missing argument 'RUN|FILE...'"),
        (["cluster", "sideways"], "No such command 'sideways'"),
        (["export", "latest"], "Missing option '--format'. Choose from: perfetto, csv, parquet"),
    ],
)
def test_a_mistyped_command_line_is_254_in_one_line(
    arguments: list[str], near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(arguments) == 254
    said = capsys.readouterr().err
    assert near in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(("arguments", "heading"), [([], "Run and judge:"), (["cluster"], "Commands:")])
def test_nothing_asked_shows_what_there_is(
    arguments: list[str], heading: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(arguments) == 254
    assert heading in capsys.readouterr().err


@pytest.mark.parametrize("verb_name", list(VERBS))
def test_every_verb_has_its_help(verb_name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([verb_name, "--help"]) == 0
    assert f"Usage: harness {verb_name}" in capsys.readouterr().out


def test_the_help_fits_one_screen_with_a_whole_summary_for_each_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    for verbs in SECTIONS.values():
        for verb, (_, summary) in verbs.items():
            assert any(line.split() == [verb, *summary.split()] for line in lines)


def test_help_names_the_exit_codes_and_version_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["-h"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert [word for word in ("254 usage", "130 interrupted", *VERBS) if word not in said] == []
    assert run_command(["--version"]) == 0


def test_list_nemeses_names_every_fault_with_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    from nemesis.faults.registry import FAULTS

    assert run_command(["list", "faults"]) == 0
    lines = capsys.readouterr().out.splitlines()
    families = [line for line in lines if not line.startswith(" ")]
    assert families == [f"{family}:" for family in sorted({fault.family for fault in FAULTS.values()})]
    named = {line.split()[0]: line for line in lines if line.startswith(" ")}
    assert set(named) == set(FAULTS)
    assert all(fault.summary in named[name] for name, fault in FAULTS.items())


def test_list_nemeses_as_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    from nemesis.faults.registry import FAULTS

    assert run_command(["list", "faults", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)["faults"]
    assert {fault["name"]: (fault["family"], fault["summary"]) for fault in output} == {
        name: (fault.family, fault.summary) for name, fault in FAULTS.items()
    }


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [60, 80])
def test_a_list_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stdout", screen)
    assert run_command(["list", "faults"]) == 0
    lines = screen.getvalue().splitlines()
    assert columns - 10 < max(map(len, lines)) <= columns


STATUS = ClusterStatus("x", (NodeStatus("n1", "10.0.0.1", "up"), NodeStatus("n2", "10.0.0.2", "down", "no answer")))


@pytest.mark.parametrize(("status", "code"), [(STATUS, 255), (ClusterStatus("x", STATUS.nodes[:1], "pid 4"), 0)])
def test_the_state_of_a_cluster_as_a_document(
    status: ClusterStatus, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    toy = SimpleNamespace(name="x", status=lambda: status)
    monkeypatch.setattr("harness.cli.cluster.open_cluster", lambda spec, say: say("looking") or toy)
    assert run_command(["cluster", "status", "--json"]) == code
    output = capsys.readouterr()
    assert json.loads(output.out) == {
        "cluster": "x",
        "up": code == 0,
        "nodes": [asdict(node) for node in status.nodes],
        "holder": status.holder,
        "notes": [],
    }
    assert output.err == "looking\n"
