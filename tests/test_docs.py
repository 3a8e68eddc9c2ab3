"""The documentation says what is true: links, commands, examples, fields of files, names of tests."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import json
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from bench.checker import engines_page
from harness.cli.json_output import run_document
from harness.cli.main import harness
from harness.clusters.inventory import parse_nodes
from harness.plan import Plan
from harness.runstate import RunState
from harness.schemas import with_options
from harness.systems.program.skeleton import write_skeleton
from history import Check, Counterexample, Event, Header, KeyVerdict, Operation, Probe, Receipt, Results, RunFiles
from history.records.layout import NamedFile
from history.tables.schemas import FAULTS
from tests.support.harness import good_run

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*PAGES, ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


# -- links -----------------------------------------------------------------------------------------------------------


def test_the_site_builds_and_no_link_is_broken(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(words, cwd=ROOT, text=True, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
    built = {path.relative_to(tmp_path / "site").with_suffix(".md") for path in (tmp_path / "site").rglob("*.html")}
    assert {path.relative_to(DOCS) for path in PAGES} <= built


@pytest.mark.slow
def test_a_broken_link_is_found(tmp_path: Path) -> None:
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(DOCS, tmp_path / "docs")
    page = tmp_path / "docs" / "index.md"
    page.write_text(page.read_text() + "\n[nowhere](nowhere.md)\n")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    assert subprocess.run(words, cwd=tmp_path, check=False, capture_output=True).returncode != 0


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"], ids=name)
def test_links_out_of_the_root_lead_somewhere(page: Path) -> None:
    targets = [target for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()) if "://" not in target]
    for target in targets:
        assert (ROOT / target).exists(), target


def test_the_readme_says_how_to_begin() -> None:
    text = (ROOT / "README.md").read_text()
    assert "./scripts/run --nemesis partition-majorities-ring" in text
    assert "./scripts/test" in text


# -- commands --------------------------------------------------------------------------------------------------------

#: What stands before the words of a harness command on a line.
STARTS = ("harness", ".venv/bin/harness", "scripts/run", "./scripts/run", "scripts/nightly", "./scripts/nightly")
PLACEHOLDER = re.compile(r"^(RUN|FILE|HISTORY|DIR|…|\.\.\.)$")


def commands(text: str) -> Iterator[str]:
    """Commands in blocks and in code spans, without their comments."""
    blocks = [line.strip() for line in re.findall(r"^ {4,}\S.*$", text, re.M)]
    fenced = [
        line.strip() for block in re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S) for line in block.splitlines()
    ]
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]
    for line in [*blocks, *fenced, *spans]:
        for part in re.split(r" && |; ", re.sub(r"\s{2,}#.*$", "", line)):
            words = part.removeprefix("sudo ")
            if words.startswith(tuple(f"{start} " for start in STARTS)):
                yield words


def parsed(line: str) -> click.Context | None:
    """The command's context when its options exist and fit; None when the line shows only a verb's shape."""
    words = shlex.split(line)
    if words[0].endswith("scripts/run"):
        words[:1] = ["harness", "run"]
    elif words[0].endswith("scripts/nightly"):
        words[:1] = ["harness", "nightly"]
    context: click.Context = click.Context(harness, info_name="harness")
    command: click.Command = harness
    words = words[1:]
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        assert found is not None, f"{line}: no verb {words[0]}"
        command, words = found, words[1:]
        context = click.Context(command, parent=context, info_name=found.name)
    if any(PLACEHOLDER.match(word) for word in words) or "…" in line:
        words = [word for word in words if word.startswith("--")]
        known = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
        assert {word.partition("=")[0] for word in words} <= known | {"--help", "--version"}, line
        return None
    if isinstance(command, click.Group) or not words or {"--help", "--version"} & set(words):
        return None
    return command.make_context(str(command.name), words, parent=context.parent)


@pytest.mark.parametrize("page", TEXTS, ids=name)
def test_every_command_is_one(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tutorial's own system lies where it says."""
    write_skeleton(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    for line in commands(page.read_text()):
        try:
            parsed(line)
        except click.ClickException as error:
            pytest.fail(f"{line}: {error.format_message()}")


def test_commands_are_found_and_wrong_ones_refused() -> None:
    text = "Do `harness run --tim-limit 3`:\n\n    sudo harness chek RUN        # comment\n"
    assert set(commands(text)) == {"harness run --tim-limit 3", "harness chek RUN"}
    with pytest.raises(click.ClickException):
        parsed("harness run --tim-limit 3")
    with pytest.raises(AssertionError, match="no verb chek"):
        parsed("harness chek RUN")
    with pytest.raises(AssertionError):
        parsed("harness run --no-such …")
    assert sum(1 for page in TEXTS for _ in commands(page.read_text())) > 40


def test_scripts_and_files_that_pages_name_are_there() -> None:
    folders = "scripts|suites|tests|bench|harness|checker|nemesis|pipeline|reports|history|vagrant"
    pattern = re.compile(rf"(?<![\w/.-])(?:{folders})/[\w./-]+\w")
    for page in TEXTS:
        text = page.read_text()
        shown_here = re.findall(r"^```python\n# (\S+\.py)$", text, re.M)
        for found in pattern.findall(text):
            if "jars" in found or "…" in found or found in shown_here:
                continue
            assert (ROOT / found).exists() or list(ROOT.glob(f"{found}*")), f"{name(page)}: {found}"


def test_every_benchmark_is_named() -> None:
    reported = (DOCS / "benchmarks.md").read_text()
    for script in (ROOT / "bench").rglob("*.py"):
        if "__main__" in script.read_text():
            module = str(script.relative_to(ROOT).with_suffix("")).replace("/", ".")
            assert name(script) in reported or module in reported, script


# -- Python ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in page.read_text()], ids=name)
def test_python_does_what_it_says(page: Path, tmp_path: Path) -> None:
    outcome = doctest.testfile(str(page), module_relative=False, globs={"tmp_path": tmp_path})
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_fenced_code_can_be_read(page: Path) -> None:
    for language, code in re.findall(r"^ *```(\w+)\n(.*?)^ *```", page.read_text(), re.M | re.S):
        if language == "python" and ">>>" not in code:
            ast.parse(code)
        if language == "json":
            json.loads(code)
        if language == "toml":
            tomllib.loads(textwrap.dedent(code))


def test_the_inventory_that_is_shown_is_one() -> None:
    block = next(block for block in re.findall(r"```toml\n(.*?)```", (DOCS / "clusters.md").read_text(), re.S))
    first, second = parse_nodes(tomllib.loads(block), Path("hosts.toml"))
    assert (first.ssh_host, first.address, first.host_key) == ("203.0.113.11", "10.0.0.11", "ssh-ed25519 AAAAC3…")
    assert (second.name, second.user) == ("n2", "debian")


# -- fields ----------------------------------------------------------------------------------------------------------

RESULTS = (DOCS / "results.md").read_text()
CHECKS = (DOCS / "checks.md").read_text()


def documented(heading: str, page: str = RESULTS) -> set[str]:
    """The names in the first column of the tables under a heading."""
    section = re.split(r"^#+ ", page.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.M)[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return {field for row in rows for field in re.findall(r"`([^`]+)`", row.split(" | ")[0])}


def fields(of: type[Any]) -> set[str]:
    return {field.name for field in dataclasses.fields(of)}


def test_the_fields_of_every_file_are_described(tmp_path: Path) -> None:
    state = RunState(tmp_path / "run.json")
    state.save()
    results = Results("valid", "", (), (), {}, (), ())
    assert documented("plan.json") == {*Plan(seed=1).to_json(), "replay_command"}
    header = Header(extra={"nodes": [], "members": [], "initial": 5})
    assert documented("history.jsonl") == {*header.to_json(), *Event.__struct_fields__}
    assert documented("probes.jsonl") == fields(Probe)
    assert documented("run.json") == set(json.loads((tmp_path / "run.json").read_text()))
    assert documented("results.json") == set(results.to_json())
    assert documented("A key") == fields(KeyVerdict)
    assert documented("A counterexample") == fields(Counterexample)
    assert documented("An operation") == fields(Operation)
    assert documented("A receipt") == fields(Receipt)
    assert documented("A window") == {*FAULTS.names, "kinds", "caught_up", "behind", "silent"}


def test_the_table_of_options_is_that_of_the_plan() -> None:
    assert with_options(RESULTS) == RESULTS, "python -m harness.schemas"


def test_the_fields_of_a_document_are_described(tmp_path: Path) -> None:
    assert documented("A run, judged or interrupted") == {*run_document(RunFiles(tmp_path)), "spark"}


def test_the_checks_are_described() -> None:
    seen = {kind: set[str]() for kind in ("check", "gate")}
    for check in good_run.judged(good_run.good()).checks:
        seen[check.kind].add(check.name)
    assert documented("A check") == fields(Check)
    assert documented("Checks", CHECKS) == seen["check"]
    assert documented("Gates", CHECKS) == seen["gate"]


def test_the_files_of_a_run_are_described() -> None:
    files = RunFiles(Path("run"))
    there = {getattr(files, key) for key in vars(RunFiles) if isinstance(vars(RunFiles)[key], NamedFile)}
    assert {word.rstrip("/") for word in documented("Files")} == {str(path.relative_to("run")) for path in there}


# -- rules and their tests -------------------------------------------------------------------------------------------

LAW = (DOCS / "error-semantics.md").read_text()


@cache
def names_of_tests(path: Path) -> set[str]:
    text = path.read_text()
    if path.suffix == ".java":
        return set(re.findall(r"void (\w+)\(", text))
    return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}


def test_every_rule_names_tests_that_exist() -> None:
    named = re.findall(r"`([\w./-]+)::(\w+)`", LAW)
    assert len(named) > 40
    for file, test in named:
        assert (ROOT / file).is_file(), file
        assert test in names_of_tests(ROOT / file), f"{file} has no {test}"
    for paragraph in re.findall(r"^\*\*Rule .*?(?=\n\n)", LAW, re.M | re.S):
        assert "::" in paragraph, f"without a test: {paragraph[:60]}"


def test_the_table_of_answers_names_a_test_in_each_row() -> None:
    table = LAW.split("## Answers of the register", 1)[1].split("\n\n")[1]
    rows = table.splitlines()[2:]
    assert len(rows) >= 10
    for row in rows:
        assert "::" in row.rsplit("| ", 1)[-1], row


def test_the_table_of_the_engines_is_the_registry() -> None:
    text = (ROOT / "docs" / "checker.md").read_text()
    assert text == engines_page.page(text), "run: python -m bench.checker.engines_page"
