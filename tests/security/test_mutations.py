"""Mutations of the plan, the state and the results of a run cost one sentence and never a traceback."""

from __future__ import annotations

import json
import shutil
from itertools import islice
from pathlib import Path

import pytest

from harness.cli.main import run_command
from history import RunFiles
from tests.support.harness.recorded_run import NODES, record
from tests.support.mutations import ODD, changed_at, mutations, places


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunFiles:
    return record(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def run(whole: RunFiles, tmp_path: Path) -> RunFiles:
    root = tmp_path / "store" / whole.root.parent.name / whole.root.name
    shutil.copytree(whole.root, root)
    return RunFiles(root)


def with_fault(run: RunFiles) -> None:
    """Add a partition to the end of the history."""
    nodes, witness = list(NODES), {"stood_ms": 1.5, "lasted_ms": 9.0, "pids_gone": {"n1": 7}, "ended": ["n1"],
                                   "damaged": {"n1": {"file": "log"}}}  # fmt: skip
    events = [json.loads(line) for line in run.history.read_text().splitlines()]
    aimed = {"nodes": nodes, "targets": {"grudge": {"n1": ["n2"]}, "reserved": ["n3"]}, "leader": "n1"}
    for kind, value in (
        ("invoke", {"action": "inject", "id": 1, **aimed, "family": "partition", "summary": "cut"}),
        ("ok", {"action": "inject", "id": 1, "witness": witness, "reason": None}),
        ("invoke", {"action": "heal", "id": 1}),
        ("ok", {"action": "heal", "id": 1, "witness": {}}),
    ):
        last = events[-1]
        events.append({"index": last["index"] + 1, "time": last["time"] + 10**7, "type": kind, "process": "nemesis",
                       "f": "bridge", "value": value})  # fmt: skip
    run.history.write_text("".join(f"{json.dumps(event)}\n" for event in events))


@pytest.mark.parametrize("every", [40, pytest.param(3, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("file", "line"), [("history.jsonl", 0), ("history.jsonl", 3), ("history.jsonl", -4),
                                            ("history.jsonl", -3), ("probes.jsonl", 1)])  # fmt: skip
def test_a_mutated_line_costs_a_sentence_and_no_traceback(
    run: RunFiles, file: str, line: int, every: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The header, an operation, both events of a fault, and a probe."""
    with_fault(run)
    path, wrong = run.root / file, list[str]()
    assert run_command(["check", "--no-spark", str(run.root)]) in (0, 2), capsys.readouterr().err
    lines = path.read_text().splitlines(keepends=True)
    whole = json.loads(lines[line])
    cases = [(place, odd) for place in places(whole) for odd in ODD]
    for place, odd in cases[::every]:
        changed = list(lines)
        changed[line] = f"{json.dumps(changed_at(whole, place, odd))}\n"
        path.write_text("".join(changed))
        for verb in (["check", "--no-spark"], ["show"]):
            code = run_command([*verb, str(run.root)])
            said = capsys.readouterr()
            if "Traceback" in said.err + said.out or "bug of the harness" in said.err:
                wrong.append(f"{verb[0]}: {place}={str(odd)[:20]}: {code}: {said.err.strip().splitlines()[-2:]}")
    assert wrong == []


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


NOTE = {"cell": "a", "expected": {"verdicts": ["valid"], "kinds": []}, "outcome": "passed", "as_expected": True}


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.nightly)])
def test_the_note_of_a_suite_beside_a_run_costs_a_sentence_and_no_traceback(
    run: RunFiles, every: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run.suite.write_text(json.dumps(NOTE))
    assert run_command(["check", "--no-spark", str(run.root)]) == 0, capsys.readouterr().err
    store, wrong = str(run.root.parents[1]), list[str]()
    cases = [json.dumps(changed_at(NOTE, place, odd)) for place in places(NOTE) for odd in ODD]
    for number, text in enumerate([*cases[::every], "{", "", "[" * 9000]):
        run.suite.write_text(text)
        warehouse = str(tmp_path / f"warehouse{number}")
        for words in (
            ["show", str(run.root)], ["ls", "--store", store], ["report", str(run.root)],
            ["ingest", "--no-spark", "--store", store, "--warehouse", warehouse],
        ):  # fmt: skip
            code = run_command(words)
            said = capsys.readouterr()
            if code not in (0, 2, 254) or "Traceback" in said.err + said.out or "bug of the harness" in said.err:
                wrong.append(f"{words[0]}: {text[:60]}: {code}: {said.err.strip().splitlines()[-2:]}")
    assert wrong == []


#: Each made a traceback: counterexamples of other types, and a check without a name.
KNOWN = [
    (("keys", 0, "counterexamples"), 7), (("keys", 0, "counterexamples", 0, "kind"), {}),
    (("keys", 0, "counterexamples", 0, "operations"), "x"), (("keys", 0, "counterexamples", 0, "operations", 0), "x"),
    (("checks", 0, "name"), None), (("checks", 0, "asked"), None),
]  # fmt: skip


@pytest.mark.parametrize("every", [400, pytest.param(20, marks=pytest.mark.nightly)])
def test_mutated_results_cost_a_sentence_and_no_traceback(
    every: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Results are read by every verb but ``check``, which writes them anew."""
    store = tmp_path / "store"
    run = record(store, last_read=7)
    assert run_command(["check", "--no-spark", str(run.root)]) == 1, capsys.readouterr().err
    whole, wrong = json.loads(run.results.read_text()), list[str]()
    cases = [*KNOWN, *[(place, odd) for place in places(whole) for odd in ODD][::every]]
    for number, (place, odd) in enumerate(cases):
        run.results.write_text(json.dumps(changed_at(whole, place, odd)))
        for words in (
            ["show", str(run.root)], ["ls", str(store)], ["diff", str(run.root), str(run.root)],
            ["export", "--format", "perfetto", "-o", str(tmp_path / "x"), str(run.root)],
            ["ingest", "--no-spark", "--store", str(tmp_path / f"other{number}"), str(run.root)],
            ["report", "--site", str(tmp_path / "site"), "--store", str(store)],
        ):  # fmt: skip
            code = run_command(words)
            said = capsys.readouterr()
            if code not in (0, 254, 255) or "Traceback" in said.err + said.out or "bug of the harness" in said.err:
                wrong.append(f"{words[0]}: {place}={str(odd)[:20]}: {code}: {said.err.strip().splitlines()[-2:]}")
    assert wrong == []
