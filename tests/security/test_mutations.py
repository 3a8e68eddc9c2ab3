"""Mutations of the plan and the state of a run: refused or judged, each in one sentence, never with a traceback."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import run_command
from history import RunFiles
from tests.support.harness.recorded_run import record

#: What stands in place of a value: every type of JSON, and texts that are legal and odd.
ODD: list[Any] = [
    None, True, -1, 1e308, 10**40, "", "\ud800", "\x1b[2J", "../../etc/passwd", "x" * 5000, [], [None], {}, {"": None},
    [[[]]], {"a": {"b": []}},
]  # fmt: skip


def mutations(whole: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each field without and with other values, by turns so that each field meets several and each value many."""
    turn = 0
    for name in whole:
        without = copy.deepcopy(whole)
        del without[name]
        yield f"without {name}", without
        for _ in range(3):
            changed = copy.deepcopy(whole)
            changed[name] = ODD[turn % len(ODD)]
            yield f"{name}={str(ODD[turn % len(ODD)])[:12]!r}", changed
            turn += 1
    for odd in ODD:
        yield f"all {str(odd)[:12]!r}", odd
    yield "more", {**whole, "\ud800": "\ud800", "new": {"deep": [1]}}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunFiles:
    return record(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def run(whole: RunFiles, tmp_path: Path) -> RunFiles:
    root = tmp_path / "store" / whole.root.parent.name / whole.root.name
    shutil.copytree(whole.root, root)
    return RunFiles(root)


@pytest.mark.parametrize("every", [15, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("file", ["plan.json", "run.json"])
def test_a_mutated_file_costs_a_sentence_and_no_traceback(
    run: RunFiles, file: str, every: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run.root / file
    original = path.read_bytes()
    wrong, count = list[str](), 0
    for name, changed in islice(mutations(json.loads(original)), 0, None, every):
        path.write_text(json.dumps(changed))
        for verb in (["check", "--no-spark"], ["show"]):
            code = run_command([*verb, str(run.root)])
            said = capsys.readouterr()
            count += 1
            if "Traceback" in said.err + said.out or "bug of the harness" in said.err:
                wrong.append(f"{verb[0]}: {name}: {code}: {said.err.strip().splitlines()[-2:]}")
        run.results.unlink(missing_ok=True)
    leftovers = [one.name for one in run.root.iterdir() if one.name.startswith(".") or one.suffix in (".part", ".tmp")]
    assert leftovers == []
    assert wrong == []
    assert count >= 100 / every
