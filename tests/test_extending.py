"""The checklists of ``docs/extending.md``, followed to the letter in a copy of the tree."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.harness.toy_package import EXAMPLE, install
from tests.support.reports.runs import make
from tests.support.reports.shapes import Shape

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("harness", "nemesis", "checker", "pipeline", "reports", "history")
PAGE = (ROOT / "docs" / "extending.md").read_text()
HEADER = {"format": "harness-history", "version": 1, "model": "latch"}


def section(title: str) -> str:
    return re.split(r"^## ", PAGE.split(f"\n## {title}\n", 1)[1], maxsplit=1, flags=re.M)[0]


def files(title: str) -> list[tuple[str, str]]:
    """The files that a checklist shows, by their paths, which stand in the first line."""
    return re.findall(r"^```python\n# (\S+\.py)\n(.*?)^```", section(title), re.M | re.S)


def registrations(title: str) -> list[tuple[str, str]]:
    """(file, what changes in it) for each registration that a checklist shows."""
    return re.findall(r"^```diff\n--- (\S+)\n(.*?)^```", section(title), re.M | re.S)


def follow(title: str, tree: Path) -> None:
    for name, text in files(title):
        assert not (tree / name).exists(), name
        (tree / name).write_text(text)
    for name, change in registrations(title):
        edit(tree / name, change)


def edit(path: Path, change: str) -> None:
    """Put each added line behind the line that is shown above it, which stands there once."""
    lines = path.read_text().splitlines()
    above = ""
    for line in change.splitlines():
        if line.startswith("+"):
            lines.insert(lines.index(above) + 1, line[1:])
        elif line != "@@":
            assert lines.count(line[1:]) == 1, f"{path}: {line[1:]!r}"
        above = line[1:]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The packages without what was compiled of them, and the page that documents the engines."""
    for name in (*PACKAGES, "bench"):
        shutil.copytree(ROOT / name, tmp_path / "tree" / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tree" / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "checker.md", tmp_path / "tree" / "docs")
    return tmp_path / "tree"


def python(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *words], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )


def harness(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return python(tree, "-m", "harness", *words)


def engine_of(tree: Path, history: Path) -> tuple[str, str]:
    """The verdict on a latch, and the engine that came to it."""
    done = harness(tree, "check", str(history), "--model", "latch", "--json")
    assert done.returncode in (0, 1), done.stderr
    (key,) = json.loads(done.stdout)["keys"]
    return key["verdict"], key["engine"]


def history_of(path: Path, *operations: tuple[str, bool | None]) -> Path:
    """One process, one operation after the other."""
    lines = [json.dumps(HEADER)]
    for number, (f, result) in enumerate(operations):
        for index, kind in enumerate(("invoke", "ok")):
            place = 2 * number + index
            event = {"index": place, "time": 10 * place, "type": kind, "process": 0, "f": f}
            lines.append(json.dumps({**event, "value": result if kind == "ok" else None}))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_each_is_one_file_and_one_registration() -> None:
    for title in ("A nemesis", "A model", "An engine", "A chart"):
        assert (len(files(title)), len(registrations(title))) == (1, 1), title


@pytest.mark.slow
def test_a_system(tmp_path: Path) -> None:
    """The example of docs/systems.md is found once it is installed."""
    installed = install(EXAMPLE, tmp_path / "there")
    assert "toy-register" not in harness(ROOT, "list", "systems").stdout
    assert "toy-register" in installed.harness("list", "systems").stdout
    shown = installed.harness("list", "systems", "toy-register").stdout
    assert all(word in shown for word in ("unlogged", "retried", "survives the loss of power"))
    planned = installed.harness(
        "run", "--system", "toy-register@1.0", "--planted-bug", "stale", "--unsafe-test-mode", "--dry-run"
    )
    assert planned.returncode == 0, planned.stderr
    artifact = "import toy_register; print(toy_register.SERVER.key)"
    assert python(ROOT, "-c", f"import sys; sys.path.insert(0, {str(installed.site)!r}); {artifact}").returncode == 0


def test_an_edit_needs_its_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a\nb\na\n")
    edit(tmp_path / "file", " b\n+c\n+d\n")
    assert (tmp_path / "file").read_text() == "a\nb\nc\nd\na\n"
    with pytest.raises(AssertionError):
        edit(tmp_path / "file", " a\n+x\n")


@pytest.mark.slow
def test_a_nemesis(tree: Path) -> None:
    before = harness(tree, "list", "faults").stdout
    follow("A nemesis", tree)
    after = harness(tree, "list", "faults").stdout
    assert "lowest-priority" not in before
    assert re.search(r"^ +lowest-priority +niceness 19", after, re.M)


@pytest.mark.skipif(os.geteuid() != 0, reason="lifting a process's priority again needs root")
def test_the_nemesis_does_what_it_says(tree: Path) -> None:
    """On this machine's own processes: it takes effect, it is healed, and without effect it is indeterminate."""
    follow("A nemesis", tree)
    program = """
import os, subprocess, time
from types import SimpleNamespace
from nemesis.core.errors import FaultError
from nemesis.core.fault import Context, Targets
from nemesis.core.ports import Completed
from nemesis.faults.registry import find

class Here:
    names = ("n1",)
    def run(self, commands):
        done = {n: subprocess.run(c.argv, capture_output=True, text=True) for n, c in commands.items()}
        return {n: Completed(n, d.returncode, d.stdout, d.stderr, 0.0) for n, d in done.items()}

os.nice(-os.nice(0))  # the user who runs these tests may have put them behind others
server = subprocess.Popen(["sleep", "60"])
clock = SimpleNamespace(now=time.monotonic_ns)
ctx, fault = Context(Here(), None, clock, None), find("lowest-priority")
targets = Targets(("n1",), detail={"pids": {"n1": server.pid}})
try:
    fault.witness(ctx, targets)
except FaultError as error:
    print(error)
fault.inject(ctx, targets)
print(fault.witness(ctx, targets), fault.heal(ctx, targets), fault.heal(ctx, targets))
server.kill()
server.wait()
print(fault.heal(ctx, targets))
"""
    done = python(tree, "-c", program)
    assert done.stdout.splitlines() == [
        "threads at another niceness than 19: {'n1': ['0']}",
        "{'niceness': {'n1': ['19']}} {'niceness_now': {'n1': ['0']}} {'niceness_now': {'n1': ['0']}}",
        "{'niceness_now': {'n1': []}}",
    ], done.stderr


@pytest.mark.slow
def test_a_model_and_an_engine_for_it(tree: Path, tmp_path: Path) -> None:
    good = history_of(tmp_path / "good.jsonl", ("read", False), ("set", None), ("read", True))
    bad = history_of(tmp_path / "bad.jsonl", ("set", None), ("read", False))
    unknown = harness(tree, "check", str(good), "--model", "latch")
    assert (unknown.returncode, "there is no model 'latch'" in unknown.stderr) == (254, True)

    follow("A model", tree)
    assert [engine_of(tree, path) for path in (good, bad)] == [
        ("valid", "just-in-time search"), ("invalid", "just-in-time search"),
    ]  # fmt: skip

    follow("An engine", tree)
    assert [engine_of(tree, path) for path in (good, bad)] == [("valid", "latch moments"), ("invalid", "latch moments")]
    assert "found it open after that (" in harness(tree, "check", str(bad), "--model", "latch").stdout
    assert python(tree, "-m", "bench.checker.engines_page").returncode == 0
    assert "| `latch` | latch moments | latches" in (tree / "docs" / "checker.md").read_text()
    assert_agrees_with_the_reference(tree)


def assert_agrees_with_the_reference(tree: Path) -> None:
    program = """
import random
from checker import check
from history import Operation

rng, seen = random.Random(7), {"valid": 0, "invalid": 0}
for _ in range(300):
    operations, places = [], rng.sample(range(14), 14)
    for number in range(rng.randint(1, 7)):
        begun, ended = sorted((places.pop(), places.pop()))
        f = rng.choice(("set", "read", "read"))
        pending = f == "set" and rng.random() < 0.3
        operations.append(Operation(
            process=number, f=f, key=None, value=None, result=None if f == "set" else rng.random() < 0.5,
            outcome="info" if pending else "ok", invoked=begun, returned=None if pending else ended,
            invoke_index=begun, return_index=None if pending else ended,
        ))
    ours, reference = (check(operations, "latch", engine=name).verdict for name in ("latch", "wgl"))
    assert ours == reference, operations
    seen[ours] += 1
print(min(seen.values()) > 30)
"""
    done = python(tree, "-c", program)
    assert done.stdout == "True\n", done.stdout + done.stderr


@pytest.mark.slow
def test_a_chart(tree: Path, tmp_path: Path) -> None:
    run = make(tmp_path / "run", Shape(operations=2400))
    follow("A chart", tree)
    program = "import sys, pathlib, history, reports\n"
    program += "print(reports.write_all(history.RunFiles(pathlib.Path(sys.argv[1])), plots=True).warnings)"
    done = python(tree, "-c", program, str(run.root))
    assert done.stdout == "[]\n", done.stdout + done.stderr
    assert b"</svg>" in (run.plots / "open-operations.svg").read_bytes()
    assert 'href="./plots/open-operations.svg"' in run.report.read_text()
