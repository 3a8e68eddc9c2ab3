"""The optional parts: what each brings, and what is said where one is missing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from history import HISTORY_FORMAT, HISTORY_VERSION
from history.extras import EXTRAS, missing_extra, modules_of, require

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGES = ("harness", "nemesis", "checker", "pipeline", "reports", "history")
OPTIONAL = {module for extra in EXTRAS.values() for module in extra.modules}
OWN = PROJECT["name"]


def name_of(requirement: str) -> str:
    found = re.match(r"[\w-]+", requirement)
    assert found is not None
    return found[0]


def includes(requirements: list[str]) -> set[str]:
    """The extras of our own that are named among these."""
    return {name for text in requirements if text.startswith(OWN) for name in text[len(OWN) + 1 : -1].split(",")}


def test_the_table_of_the_extras_is_that_of_the_package() -> None:
    declared = PROJECT["optional-dependencies"]
    assert set(declared) == {*EXTRAS, "all"}
    for name, extra in EXTRAS.items():
        assert {name_of(text) for text in declared[name]} - {OWN} == set(extra.modules), name
        assert includes(declared[name]) == set(extra.includes), name
    whole = includes(declared["all"])
    assert {module for name in whole for module in modules_of(name)} == OPTIONAL


@pytest.mark.slow
def test_every_import_is_declared() -> None:
    known = {*sys.stdlib_module_names, *PACKAGES, *OPTIONAL, *map(name_of, PROJECT["dependencies"])}
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
        if name.partition(".")[0] not in known
    }
    assert found == set()


def test_the_checker_alone_is_small() -> None:
    """What pip installs for it, with the server's jars (25 MB) and byte code: 150 MB at most."""
    todo, seen = [name_of(text) for text in PROJECT["dependencies"]], set[str]()
    size = 0
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        found = metadata.distribution(name)
        paths = [Path(str(found.locate_file(file))) for file in found.files or ()]
        size += sum(path.stat().st_size for path in paths if path.is_file())
        todo += [
            name_of(text) for text in found.requires or () if "extra ==" not in text and "sys_platform" not in text
        ]
    assert {"click", "numpy"} <= seen
    assert size < 115e6, f"{size / 1e6:.0f} MB: {sorted(seen)}"


def harness(*words: str, cwd: Path, without: set[str]) -> subprocess.CompletedProcess[str]:
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        f"for name in {sorted(without)!r}: sys.modules[name] = None\n"
        "from harness.cli.main import main; main()"
    )
    return subprocess.run([sys.executable, "-c", program, *words], cwd=cwd, capture_output=True, text=True, check=False)


def history(path: Path, operations: int) -> str:
    """A register that one process writes and reads, with values that repeat: no linear engine takes it."""
    lines = [f'{{"format":"{HISTORY_FORMAT}","version":{HISTORY_VERSION},"model":"register"}}']
    for number in range(operations):
        f, value = ("write", number // 2 % 3) if number % 2 == 0 else ("read", None)
        for index, kind in enumerate(("invoke", "ok")):
            given = number // 2 % 3 if kind == "ok" else "null" if value is None else value
            lines.append(
                f'{{"index":{2 * number + index},"time":{20 * number + 10 * index},"type":"{kind}","process":0,'
                f'"f":"{f}","value":{given}}}'
            )
    path.write_text("\n".join(lines) + "\n")
    return path.name


@pytest.mark.slow
def test_the_checker_needs_no_extra_and_says_where_it_does(tmp_path: Path) -> None:
    small = harness("check", history(tmp_path / "small.jsonl", 40), cwd=tmp_path, without=OPTIONAL)
    assert small.returncode == 0, small.stderr
    large = harness("check", history(tmp_path / "large.jsonl", 500), cwd=tmp_path, without=OPTIONAL)
    assert large.returncode == 254
    assert "numba is not installed: pip install 'dledger-harness[fast]'" in large.stderr
    assert len(large.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["report"], "report"),
        (["serve"], "report"),
        (["show"], "report"),
        (["ingest"], "report"),
        (["ask", "gap"], "report"),
        (["list", "faults"], "run"),
        (["run", "--no-spark"], "run"),
        (["replay", "latest"], "run"),
        (["suite", "any.toml"], "run"),
        (["nightly", "any.toml"], "run"),
        (["cluster", "up"], "run"),
        (["heal"], "run"),
        (["doctor"], "run"),
    ],
)
def test_a_verb_names_the_extra_that_it_needs(words: list[str], extra: str, tmp_path: Path) -> None:
    done = harness(*words, cwd=tmp_path, without=OPTIONAL)
    assert (done.returncode, len(done.stderr.splitlines())) == (254, 1), done.stderr
    assert done.stderr.endswith(f" is not installed: pip install 'dledger-harness[{extra}]'\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_system_that_lacks_its_client_hides_no_other(tmp_path: Path) -> None:
    listed = harness("list", "systems", cwd=tmp_path, without={"kazoo"})
    assert listed.returncode == 0
    assert listed.stdout.startswith("dledger ")
    assert "pip install 'dledger-harness[zookeeper]'" in listed.stderr
    for words in (["list", "workloads"], ["run", "--dry-run", "--no-spark"], ["suite", "smoke", "--dry-run"]):
        done = harness(*words, cwd=tmp_path, without={"kazoo"})
        assert done.returncode == 0, done.stderr
    alone = harness("run", "--system", "zookeeper", "--dry-run", "--no-spark", cwd=tmp_path, without={"kazoo"})
    assert (alone.returncode, alone.stderr.count("\n")) == (254, 1)
    assert "pip install 'dledger-harness[zookeeper]'" in alone.stderr


def test_a_run_without_spark_says_so_before_it_begins(tmp_path: Path) -> None:
    done = harness("run", cwd=tmp_path, without={"pyspark"})
    assert done.returncode == 254
    assert done.stderr.endswith(
        "pip install 'dledger-harness[spark]', or leave it out: --no-spark, or spark = false in a file\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_part_of_an_extra_is_a_bug_of_ours() -> None:
    assert missing_extra(ModuleNotFoundError("No module named 'checkr'", name="checkr")) is None
    assert "[report]" in str(missing_extra(ModuleNotFoundError("", name="pyarrow.parquet")))
    require(*EXTRAS)
