"""``harness run``: options to a plan, refused before anything is touched, and the worst of several runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import run_command
from harness.errors import StoreError, UsageError
from harness.execution import run as run_module
from harness.exits import worst_code
from harness.plan import Plan, option_of
from harness.systems import DEFAULT, find_system
from history import RunFiles


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert list(tmp_path.iterdir()) == [], "something was touched"


class Recorder:
    """Stands for ``harness.execution.run.Run``: ends with the next of ``codes``."""

    results = None
    codes: list[int]
    plans: list[Plan]
    options: list[tuple[Path, Any]]

    def __init__(self, plan: Plan, store: Path, progress: object, **options: Any) -> None:
        self.plans.append(plan)
        self.options.append((store, options))

    def execute(self) -> tuple[int, RunFiles]:
        return self.codes.pop(0), RunFiles(Path("store/t") / str(len(self.plans)))


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> type[Recorder]:
    Recorder.codes, Recorder.plans, Recorder.options = [0], [], []
    monkeypatch.setattr(run_module, "Run", Recorder)
    return Recorder


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--concurrency 0", "--concurrency must be a whole number from 1 to 1000, not 0"),
        ("--rate nan", "--rate must be a number above 0 and at most 10000, not nan"),
        ("--time-limit 0", "--time-limit must be a number above 0"),
        ("--nemesis kill-leader --time-limit 5", "use at least 20"),
        ("--nemesis kill-leeder", "there is no nemesis 'kill-leeder'; did you mean kill-leader"),
        ("--nemesis kill-leader,paws-one", "there is no nemesis 'paws-one'"),
        ("--nemesis kill-leader+", "a fault's name is missing"),
        ("--nemesis kill-leader@", "'' does not choose nodes"),
        ("--nemesis kill-leader@n9", "'n9' does not choose nodes"),
        ("--nemesis all --time-limit 5", "use at least 20"),
        ("--nemesis kill-leader --weights kill-leader", "'kill-leader' must have the form name=number"),
        ("--nemesis kill-leader --weights bridge=2", "--weights: bridge is not a turn of --nemesis kill-leader"),
        ("--nemesis kill-leader --tracks 2", "--tracks 2 is more than the number of turns in --nemesis (1)"),
        ("--nemesis packet-loss --fault-options los=1", "--fault-options: there is no key 'los'; did you mean loss?"),
        (
            "--nemesis packet-loss --fault-options loss=2",
            "--fault-options: loss must be a number from 0.001 to 1, not 2",
        ),
        ("--schedule none.toml", "--schedule none.toml: No such file"),
        ("--plan none.toml", "--plan none.toml: No such file"),
        ("--snapshot --dledger-version 0.3.2", "--snapshot needs --dledger-version 0.4.0"),
        ("--system zookeeper --dledger-version 0.3.2", "--dledger-version 0.3.2 belongs to dledger: leave it out, or"),
        ("--planted-bug stale-reads", "add --unsafe-test-mode"),
        ("--planted-bug late-reads", "'late-reads' is not one of"),
        ("--system zookeeper --planted-bug x", "zookeeper has no planted bugs: leave it out instead of giving 'x'"),
        ("--test-count 0", "--test-count must be from 1 to 10000, not 0"),
        ("--test-count 10001", "--test-count must be from 1 to 10000, not 10001"),
        ("--seed -1", "--seed must be a whole number from 0"),
        ("--cluster cloud", "--cluster cloud: expected netns"),
        ("--cluster inventory:none.toml", "none.toml"),
        ("--nodes 0", "--nodes must be a whole number from 1 to 99, not 0"),
        ("--nodes 200", "--nodes must be a whole number from 1 to 99, not 200"),
        ("--nemesis ,", "--nemesis: a fault's name is missing in ','"),
        ("--nemesis a,,b", "--nemesis: a fault's name is missing in 'a,,b'"),
        ("--nemesis kill-leader@leder", "--nemesis: 'leder' does not choose nodes: did you mean leader?"),
        ("--cluster netns:", "--cluster netns:: the part after the colon is missing"),
        ("--timers slow", "'slow' is not one of 'fast', 'stock'"),
    ],
)
def test_what_cannot_be_run_is_254_in_one_line_before_anything_is_touched(
    arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["run", *arguments.split()]) == 254
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_without_options_it_is_the_default_plan_with_a_drawn_seed(recorder: type[Recorder]) -> None:
    assert run_command(["run"]) == 0
    recorder.codes.append(0)
    assert run_command(["run"]) == 0
    one, other = recorder.plans
    assert one == Plan(seed=one.seed)
    assert one.seed != other.seed
    assert recorder.options[0] == (Path("store"), {"keep_cluster": False})


def test_names_of_faults_may_have_blanks_around_them(recorder: type[Recorder]) -> None:
    assert run_command(["run", "-n", " kill-one , pause-one+kill-one "]) == 0
    assert recorder.plans[0].nemesis == ("kill-one", "pause-one+kill-one")


def test_all_stays_a_word_of_the_plan(recorder: type[Recorder]) -> None:
    """What can work is known only on the cluster."""
    assert run_command(["run", "-n", "all,kill-one@leader"]) == 0
    assert recorder.plans[0].nemesis == ("all", "kill-one@leader")


def test_a_series_counts_its_seeds_on(recorder: type[Recorder]) -> None:
    recorder.codes = [0, 0, 0]
    assert run_command(["run", "--seed", "5", "--test-count", "3", "--store", "here", "--keep-cluster"]) == 0
    assert [plan.seed for plan in recorder.plans] == [5, 6, 7]
    assert recorder.options[0] == (Path("here"), {"keep_cluster": True})


@pytest.mark.parametrize(
    ("codes", "worst"),
    [([0, 2, 0], 2), ([2, 1, 0], 1), ([1, 255, 2], 1), ([0, 0, 0], 0), ([255, 2, 2], 255)],
)
def test_the_worst_of_a_series_wins(recorder: type[Recorder], codes: list[int], worst: int) -> None:
    recorder.codes = list(codes)
    assert run_command(["run", "--test-count", "3"]) == worst
    assert recorder.codes == []


@pytest.mark.parametrize("code", [-9, 77])
def test_a_code_that_is_no_verdict_counts_as_ours_and_never_raises(code: int) -> None:
    assert worst_code([code]) == 255
    assert worst_code([0, code, 2]) == 255
    assert worst_code([1, code]) == worst_code([1, 255])
    assert worst_code([code, 130]) == 130


def test_what_a_series_found_stays_found_when_a_later_run_cannot_begin(
    recorder: type[Recorder], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(self: Recorder) -> tuple[int, None]:
        if len(self.plans) == 2:
            raise StoreError("cannot write to the store")
        return 0, None

    monkeypatch.setattr(recorder, "execute", full)
    assert run_command(["run", "--test-count", "3"]) == worst_code([0, 255])
    assert "harness failure: cannot write to the store\n" in capsys.readouterr().err
    assert len(recorder.plans) == 2


def test_a_series_of_which_none_can_begin_is_254(
    recorder: type[Recorder], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(self: Recorder) -> tuple[int, None]:
        raise UsageError("--cluster netns needs root")

    monkeypatch.setattr(recorder, "execute", refused)
    assert run_command(["run", "--test-count", "3"]) == 254
    assert capsys.readouterr().err == "harness: --cluster netns needs root\n"
    assert len(recorder.plans) == 1


def test_an_interrupted_run_ends_the_series(recorder: type[Recorder]) -> None:
    recorder.codes = [1, 130, 0]
    assert run_command(["run", "--test-count", "3"]) == 130
    assert recorder.codes == [0]


def test_help_shows_every_option_of_the_plan_with_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", "--help"]) == 0
    short = capsys.readouterr().out
    assert run_command(["run", "--help-all"]) == 0
    said = " ".join((whole := capsys.readouterr().out).split())
    assert set(short.splitlines()) < set(whole.splitlines())
    assert len(short.splitlines()) < 50
    defaults = {field.name: field.default for field in fields(Plan) if field.name != "options"}
    defaults |= {option.name: option.default for option in find_system(DEFAULT).options}
    for name, default in defaults.items():
        assert f"{option_of(name)} " in said or f"{option_of(name)} /" in said
        if type(default) in (str, int, float) and default != "":
            assert f"[default: {default}]" in said, name


def test_as_json_there_is_a_line_for_each_run_and_nothing_else(
    recorder: type[Recorder], capsys: pytest.CaptureFixture[str]
) -> None:
    recorder.codes = [2, 255]
    assert run_command(["run", "--test-count", "2", "--json"]) == 255
    reported = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["run"], one["exit_code"], one["verdict"]) for one in reported] == [
        ("store/t/1", 2, None),
        ("store/t/2", 255, None),
    ]
