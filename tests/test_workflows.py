"""The workflows, the timer and the crontab: checked by their own tools, and by what they promise."""

from __future__ import annotations

import gc
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.cli.nightly import nightly

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
#: What the jobs of a release may do more than read.
RIGHTS = {
    "attest": {"contents": "read", "id-token": "write", "attestations": "write"},
    "publish": {"contents": "write"},
}


def tool() -> Any:
    path = ROOT / "scripts" / "workflow_steps.py"
    spec = importlib.util.spec_from_file_location("workflow_steps", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["workflow_steps"] = module
    spec.loader.exec_module(module)
    return module


def jobs(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())["jobs"]
    return found


def all_steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(path).values() for step in job["steps"]]


@pytest.fixture(scope="module")
def actionlint(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The one on the path, else the pinned one, which Go builds in seconds and keeps in its cache."""
    if found := shutil.which("actionlint"):
        return found
    if shutil.which("go") is None:
        pytest.skip("neither actionlint nor go is here")
    place = tmp_path_factory.mktemp("bin")
    environment = {"GOBIN": str(place), "GOFLAGS": "-mod=mod"}
    # Not optimized, without debugging tables: it reads a few files once.
    quickly = ("-gcflags=all=-N -l -dwarf=false", "-ldflags=-s -w")
    done = subprocess.run(
        ["env", *(f"{k}={v}" for k, v in environment.items()), "go", "install", *quickly, ACTIONLINT],
        capture_output=True, text=True, timeout=1800,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip(f"go could not install actionlint: {done.stderr.strip()[-200:]}")
    return str(place / "actionlint")


@pytest.mark.nightly
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actionlint(path: Path, actionlint: str) -> None:
    done = subprocess.run([actionlint, "-no-color", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_hash_rights_are_read_only_and_every_job_has_an_end(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"]
    for name, job in jobs(path).items():
        assert job["timeout-minutes"] > 0
        assert job.get("permissions") == (RIGHTS.get(name) if path.name == "release.yml" else None)
    for line in re.findall(r"uses: .*", path.read_text()):
        assert re.fullmatch(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_nothing_is_ever_put_into_the_text_of_a_shell_step(path: Path) -> None:
    runs = [step["run"] for step in all_steps(path) if "run" in step]
    assert runs
    assert [text for text in runs if "${{" in text] == []


def test_nothing_is_published_before_a_person_has_approved_it() -> None:
    release = jobs(ROOT / ".github" / "workflows" / "release.yml")
    assert [name for name, job in release.items() if "write" in str(job.get("permissions", ""))] == [
        "attest",
        "publish",
    ]
    assert release["publish"]["environment"] == "release"
    assert release["publish"]["needs"] == "attest"
    assert release["attest"]["needs"] == "test"
    runs = [step.get("run", "") for job in release.values() for step in job["steps"]]
    assert [text for text in runs if "gh release" in text and "--draft" not in text] == []
    assert [text for text in runs if "twine" in text] == []


@pytest.mark.parametrize(("name", "job"), [("ci.yml", "wheel"), ("release.yml", "test")])
def test_the_wheel_is_tested_on_every_python_that_is_claimed(name: str, job: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    claimed = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert jobs(ROOT / ".github" / "workflows" / name)[job]["strategy"]["matrix"] == {"python": claimed}


def test_the_night_shares_the_cells_among_jobs_none_of_which_ends_another() -> None:
    strategy = jobs(ROOT / ".github" / "workflows" / "nightly.yml")["suite"]["strategy"]
    shards = strategy["matrix"]["shard"]
    assert strategy["fail-fast"] is False
    assert shards == [f"{number}/{len(shards)}" for number in range(1, len(shards) + 1)]


def test_pages_are_always_kept_and_whole_stores_only_of_a_failure() -> None:
    kept = {
        step["name"]: step["if"]
        for step in all_steps(ROOT / ".github" / "workflows" / "nightly.yml")
        if "upload-artifact" in step.get("uses", "")
    }
    assert kept == {"Site and JUnit": "always()", "Everything that the runs left": "failure()"}


def test_the_night_draws_fresh_examples() -> None:
    steps = jobs(ROOT / ".github" / "workflows" / "nightly.yml")["random"]["steps"]
    drawn = [step for step in steps if step.get("env") == {"HYPOTHESIS_PROFILE": "nightly"}]
    assert len(drawn) == 1
    assert "pytest" in drawn[0]["run"]


@pytest.mark.slow
@pytest.mark.parametrize("profile", [None, "nightly"])
def test_random_tests_draw_anew_only_by_night(profile: str | None) -> None:
    """Two runs draw the same examples, unless they are asked for fresh ones."""
    text = (
        "import runpy; from hypothesis import given, strategies as st\n"
        f"runpy.run_path({str(ROOT / 'tests' / 'conftest.py')!r})\n"
        "drawn = []\n@given(st.integers())\ndef test(number): drawn.append(number)\ntest(); print(drawn)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "HYPOTHESIS_PROFILE"}
    environment |= {} if profile is None else {"HYPOTHESIS_PROFILE": profile}
    runs = {
        subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(runs) == (1 if profile is None else 2)


def test_no_garbage_collection_of_a_test_goes_through_what_was_collected() -> None:
    assert gc.isenabled()
    assert gc.get_freeze_count() > 10_000


@pytest.mark.parametrize("script", ["check", "test"])
def test_the_tests_keep_what_they_compile(script: str) -> None:
    """Whatever the environment asks for: each worker would compile every test anew."""
    lines = (ROOT / "scripts" / script).read_text().splitlines()
    first_use = next(at for at, line in enumerate(lines) if ".venv/bin/pytest" in line and "-x" not in line)
    assert lines.index("unset PYTHONDONTWRITEBYTECODE") < first_use


def test_each_input_reaches_the_command_line_whole(tmp_path: Path) -> None:
    """The step itself, with the command replaced by one that prints its words."""
    values = {
        "inputs.nemesis": "bridge,hammer-time; touch hacked $(touch hacked)", "inputs.duration": "20",
        "inputs.seed": "7", "inputs.version": "0.3.2", "inputs.suite": "smoke", "matrix.shard": "2/4",
    }  # fmt: skip
    assert night(tmp_path, values) == [
        "suites/smoke.toml", "--shard", "2/4", "--seed", "7", "--nemesis", values["inputs.nemesis"],
        "--time-limit", "20", "--system", "dledger@0.3.2",
    ]  # fmt: skip
    assert not (tmp_path / "hacked").exists()


def test_on_a_schedule_there_are_no_inputs(tmp_path: Path) -> None:
    words = night(tmp_path, {"matrix.shard": "1/4", "github.run_id": "123"})
    assert words == ["suites/nightly.toml", "--shard", "1/4", "--seed", "123"]


def night(tmp_path: Path, values: dict[str, str]) -> list[str]:
    (tmp_path / "scripts").mkdir()
    for name, text in (("bootstrap", "exit 0"), ("nightly", 'printf "%s\\n" "$@" >words; exit 1')):
        (tmp_path / "scripts" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "scripts" / name).chmod(0o755)
    text = tool().script(ROOT / ".github" / "workflows" / "nightly.yml", "suite", values)
    done = subprocess.run(["bash", "-c", text], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("##[passed over]") == 5
    assert "##[step] Summary" in done.stdout
    return (tmp_path / "words").read_text().splitlines()


def test_an_expression_that_is_not_understood_is_refused() -> None:
    assert tool().evaluate("${{ inputs.a || 'b' }}-${{ matrix.c }}", {"matrix.c": "d"}) == "b-d"
    with pytest.raises(ValueError, match="not understood"):
        tool().evaluate("${{ secrets.TOKEN }}", {})


def test_the_timer_is_one_that_systemd_knows(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None or not (Path("/run/systemd").is_dir() or os.geteuid() == 0):
        pytest.skip("systemd-analyze is not here, or has no directory that it may write to")
    units = []
    for path in sorted((ROOT / "suites" / "timer").glob("harness-nightly.*")):
        units.append(tmp_path / path.name)
        units[-1].write_text(path.read_text().replace("/opt/harness", str(ROOT)))
    assert [unit.suffix for unit in units] == [".service", ".timer"]
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True)
    # It names the machine's own units too.
    assert "harness-nightly" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["harness-nightly.service", "crontab"])
def test_cron_and_the_timer_call_what_people_type(name: str) -> None:
    text = (ROOT / "suites" / "timer" / name).read_text()
    line = next(line for line in text.splitlines() if "scripts/nightly " in line and not line.startswith("#"))
    words = line.split("scripts/nightly ")[1].split()
    context = nightly.make_context("nightly", words)
    assert (context.params["keep_days"], context.params["keep_gib"]) == (30.0, 20.0)
    assert (ROOT / "scripts" / "nightly").stat().st_mode & 0o111
    if name == "crontab":
        assert line.startswith("15 1 * * * cd /opt/harness && ")
