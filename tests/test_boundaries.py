"""Who may import whom, and what else the tree promises of itself."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAY_IMPORT = {
    "history": set(),
    "checker": {"history"},
    "nemesis": {"history"},
    "reports": {"history"},
    "pipeline": {"history", "checker"},
    "harness": {"history", "checker", "nemesis", "pipeline", "reports"},
}
MODULES = sorted(path for package in MAY_IMPORT for path in (ROOT / package).rglob("*.py"))
LONGEST = 400
# Those still to be split; none is, and none may join them.
TOO_LONG: set[str] = set()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> set[str]:
    """The modules that a file names in its imports, at its top, in its functions and for type checkers alike."""
    named: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide who imports whom"
            named.add(node.module or "")
    return named


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_what_the_design_permits(package: str) -> None:
    forbidden = set(MAY_IMPORT) - MAY_IMPORT[package] - {package}
    found = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in (ROOT / package).rglob("*.py")
        for name in imports(path)
        if name.split(".")[0] in forbidden | {"tests", "bench"}
    }
    assert found == set()


def test_only_the_command_line_knows_click() -> None:
    knowing = {path for path in MODULES if any(name.split(".")[0] == "click" for name in imports(path))}
    assert {path for path in knowing if ROOT / "harness" / "cli" not in path.parents} == set()


def test_nothing_of_ours_imports_spark_before_it_is_asked_for_a_session() -> None:
    names = ", ".join([*MAY_IMPORT, "harness.execution.run", "harness.cli.main"])
    program = f"import sys, {names}; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0


def test_no_module_is_too_long_to_be_read_at_once() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST and name not in TOO_LONG} == {}


def test_every_module_says_what_it_is_about() -> None:
    silent = [path for path in MODULES if tree(path).body and not ast.get_docstring(tree(path))]
    assert [str(path.relative_to(ROOT)) for path in silent] == []
