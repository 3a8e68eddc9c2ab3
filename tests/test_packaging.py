"""The package: what a wheel and a source distribution hold, and that they work where there is no source tree."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.systems import Setup
from harness.systems.dledger import processes

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("harness", "nemesis", "checker", "pipeline", "reports", "history")
JARS = tuple(f"dledger-register-{version}.jar" for version in ("0.4.0", "0.3.2"))
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
HISTORY = """\
{"format":"harness-history","version":1,"model":"register"}
{"index":0,"time":10,"type":"invoke","process":0,"f":"write","value":1}
{"index":1,"time":20,"type":"ok","process":0,"f":"write","value":1}
{"index":2,"time":30,"type":"invoke","process":1,"f":"read","value":null}
{"index":3,"time":40,"type":"ok","process":1,"f":"read","value":null}
"""


def sources() -> set[str]:
    """What belongs to the packages: files that are tracked, or will be."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *PACKAGES]
    done = subprocess.run(words, cwd=ROOT, text=True, check=False, capture_output=True)
    if done.returncode != 0:
        pytest.skip("no git, or no clone")
    return {line for line in done.stdout.splitlines() if (ROOT / line).is_file()}


def copy_tree(target: Path) -> Path:
    """The tree without what was built in it: setuptools would take files of an earlier build."""
    left_out = shutil.ignore_patterns(
        ".git", ".venv", "build", "store", "dist", "target", "node_modules", "__pycache__", "*.egg-info", "tests",
        ".*_cache",
    )  # fmt: skip
    return Path(shutil.copytree(ROOT, target, ignore=left_out))


def build(tree: Path, *words: str, umask: int = 0o022, **environment: str) -> subprocess.CompletedProcess[str]:
    command, names = [sys.executable, "-m", "build", *words, str(tree)], {**os.environ, **environment}
    return subprocess.run(command, text=True, check=False, capture_output=True, env=names, cwd=tree.parent, umask=umask)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel without the jars, so that nothing but Python is needed."""
    tree = copy_tree(tmp_path_factory.mktemp("wheel") / "tree")
    done = build(tree, "--wheel", "--no-isolation", HARNESS_WITHOUT_JARS="1")
    assert done.returncode == 0, done.stdout + done.stderr
    return next((tree / "dist").glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    info = f"dledger_harness-{VERSION}.dist-info/"
    example = {f"harness/systems/program/example/{path.name}" for path in (ROOT / "examples" / "kv").iterdir()}
    files = {str(path.relative_to(ROOT)) for path in [*ROOT.glob("suites/**/*.toml"), *ROOT.glob("schemas/*.json")]}
    named = {f"harness/files/{name}" for name in files}
    assert {name for name in names if not name.startswith(info)} == sources() | example | named
    assert {f"{info}licenses/LICENSE", f"{info}licenses/THIRD_PARTY_NOTICES.md"} <= names


@pytest.mark.slow
def test_the_installed_package_works_without_the_tree(wheel: Path, tmp_path: Path) -> None:
    words = ["-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(tmp_path / "site"), str(wheel)]
    subprocess.run([sys.executable, *words], check=True)
    (tmp_path / "history.jsonl").write_text(HISTORY)

    def harness(*words: str) -> subprocess.CompletedProcess[str]:
        start = "import harness; from harness.cli.main import main; print(harness.__file__, flush=True); main()"
        return subprocess.run(
            [sys.executable, "-P", "-c", start, *words],
            text=True, check=False, capture_output=True, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        )  # fmt: skip

    version = harness("--version")
    assert version.stdout.splitlines() == [
        str(tmp_path / "site" / "harness" / "__init__.py"), f"harness, version {VERSION}",
    ]  # fmt: skip
    checked = harness("check", "history.jsonl")
    assert checked.returncode == 1, checked.stderr
    assert "lost-write" in checked.stdout
    listed = harness("list", "suites")
    assert {"  smoke", "  lost-writes"} <= {line[: line.find("  ", 2)] for line in listed.stdout.splitlines()}
    assert "cells of smoke" in harness("suite", "smoke", "--dry-run").stdout
    # It was built without the jars: a run is refused before anything is touched, with the mend; that of a plain user is
    # refused before that is looked at.
    refused = harness("run", "--cluster", "netns:never")
    assert refused.returncode == 254
    built = "was not built; run scripts/bootstrap, or install a wheel that holds it"
    assert (built if os.geteuid() == 0 else "netns needs root: run the same command with sudo") in refused.stderr


def git(tree: Path, *words: str) -> None:
    dates = {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
    who = ["-c", "user.name=Author", "-c", "user.email=author@example.org"]
    subprocess.run(["git", *who, *words], cwd=tree, check=True, capture_output=True, env={**os.environ, **dates})


@pytest.mark.nightly
def test_two_builds_of_a_commit_are_the_same_bytes(tmp_path: Path) -> None:
    """Whenever and under whatever umask the tree was checked out, and the wheel was built."""
    digests = set()
    for name, umask in (("one", 0o022), ("two", 0o077)):
        tree = copy_tree(tmp_path / name)
        git(tree, "init", "-q")
        git(tree, "add", "--all")
        git(tree, "commit", "-q", "-m", "all")
        for path in tree.rglob("*"):
            os.utime(path, (umask * 10**7, umask * 10**7))
            path.chmod(path.stat().st_mode & ~umask)
        done = build(tree, "--wheel", "--no-isolation", umask=umask, HARNESS_WITHOUT_JARS="1")
        assert done.returncode == 0, done.stdout + done.stderr
        (made,) = (tree / "dist").iterdir()
        digests.add((made.name, hashlib.sha256(made.read_bytes()).hexdigest()))
        with zipfile.ZipFile(made) as archive:
            assert {entry.date_time for entry in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}
    assert len(digests) == 1


def test_the_jar_of_the_package_comes_before_the_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, tree = tmp_path / "package", tmp_path / "tree"
    monkeypatch.setattr(processes, "JAR_DIRECTORIES", (package, tree))
    (jar,) = processes.artifacts(Setup(version="0.4.0"))
    with pytest.raises(UsageError, match="run scripts/bootstrap"):
        assert jar.key
    for directory in (tree, package):
        directory.mkdir()
        (directory / JARS[0]).touch()
        (jar,) = processes.artifacts(Setup(version="0.4.0"))
        assert jar.paths == (directory / JARS[0],)


@pytest.mark.slow
def test_without_maven_the_build_says_what_is_missing(tmp_path: Path) -> None:
    tree = copy_tree(tmp_path / "tree")
    farm = tmp_path / "bin"
    farm.mkdir()
    done = build(tree, "--wheel", "--no-isolation", PATH=str(farm))
    assert done.returncode != 0
    assert "apt-get install maven openjdk-17-jdk-headless" in done.stdout + done.stderr


def test_the_version_stands_in_one_place() -> None:
    assert f"## {VERSION}" in (ROOT / "CHANGELOG.md").read_text()
    done = subprocess.run(
        ["git", "grep", "-lF", f'"{VERSION}"', "--", *PACKAGES], cwd=ROOT, text=True, check=False, capture_output=True
    )
    assert done.stdout == ""


@pytest.mark.nightly
@pytest.mark.cluster
@pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven is not installed")
def test_from_the_source_distribution_to_a_run(tmp_path: Path) -> None:
    """As a stranger does it: build both in isolation, install into a new environment, run from elsewhere."""
    tree = copy_tree(tmp_path / "tree")
    done = build(tree)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    with tarfile.open(next((tree / "dist").glob("*.tar.gz"))) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert sources() <= packed
    assert {"dledger_register/pom.xml", "vagrant/Vagrantfile", "mkdocs.yml", "LICENSE", "scripts/bootstrap"} <= packed
    assert not any(name.endswith((".jar", ".class")) for name in packed)
    wheel = next((tree / "dist").glob("*.whl"))
    with zipfile.ZipFile(wheel) as whole:
        assert {f"harness/systems/jars/{jar}" for jar in JARS} <= set(whole.namelist())
    venv.create(tmp_path / "venv", with_pip=True)
    lock = [str(tmp_path / "venv/bin/pip"), "install", "-q", "-c", str(_constraints(tmp_path))]
    subprocess.run([*lock, f"{wheel}[run,plots]"], check=True)
    harness = str(tmp_path / "venv" / "bin" / "harness")
    where = tmp_path / "elsewhere"
    where.mkdir()
    name = f"netns:t-{os.getpid()}-wheel"
    run = [harness, "run", "--cluster", name, "--dledger-version", "0.3.2", "--no-spark"]
    ended = subprocess.run(
        [*run, "--nemesis", "partition-majorities-ring", "--time-limit", "12", "--interval", "4"],
        cwd=where, text=True, check=False, capture_output=True,
    )  # fmt: skip
    subprocess.run([harness, "cluster", "down", "--cluster", name], check=True, capture_output=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert json.loads((where / "store/latest/results.json").read_text())["verdict"] == "valid"
    assert (where / "store/latest/report.html").is_file()


def _constraints(directory: Path) -> Path:
    """The locked versions without their hashes: a wheel of our own has none in the lock."""
    lines = (ROOT / "requirements" / "lock.txt").read_text().splitlines()
    pinned = [line.split()[0] for line in lines if line[:1].isalnum() and "==" in line]
    (directory / "constraints.txt").write_text("\n".join(pinned) + "\n")
    return directory / "constraints.txt"


def test_a_wheel_is_built_by_the_setuptools_that_is_locked() -> None:
    (wanted,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert re.search(rf"^{re.escape(wanted)} ", (ROOT / "requirements" / "lock.txt").read_text(), re.MULTILINE)
