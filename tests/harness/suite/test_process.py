"""One cell as a process: whatever becomes of it, the suite never takes our failure for the system's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.judge.known_defects import Defect
from harness.suite import cell_process
from harness.suite.cell_process import Attempt, proof_of_cut_run, run_cell, words_of
from harness.suite.cells import Cell
from harness.suite.expectation import Expectation
from tests.support.harness.recorded_run import PLAN, record
from tests.support.harness.suite_toys import EXAMPLE, cell, leave_run

ENVIRONMENT = {"system": "DLedger 0.4.0", "jar_sha256": "ab12", "nodes": {"n1": "10.0.0.1"}}
VALID: dict[str, Any] = {"verdict": "valid", "sentence": "linearizable: yes", "checks": [], "keys": [],
                         "environment": ENVIRONMENT}  # fmt: skip
STALE = {"type": "Contradiction", "check": "linearizable", "kind": EXAMPLE["kind"], "count": 1}
INVALID = {**VALID, "verdict": "invalid", "sentence": "linearizable: no", "keys": [{"counterexamples": [EXAMPLE]}],
           "checks": [{"name": "linearizable", "verdict": "invalid", "findings": [STALE]}]}  # fmt: skip

Go = Callable[..., Attempt]


@pytest.fixture
def go(tmp_path: Path) -> Go:
    """Run a cell whose process leaves ``results`` in a run of its own and ends with ``code``."""

    def run(code: int = 0, results: Any = None, of: Cell | None = None, more: str = "", **options: Any) -> Attempt:
        one = of or cell("a")
        folder = tmp_path / one.plan.test / f"now-{one.plan.seed}"
        program = (
            f"import pathlib, sys, os, signal, time\nroot = pathlib.Path({str(folder)!r}); root.mkdir(parents=True)\n"
            f"(root / 'plan.json').write_text({json.dumps(one.plan.to_json())!r})\n"
            + (f"(root / 'results.json').write_text({json.dumps(results)!r})\n" if results is not None else "")
            + f"print('last words')\nsys.stdout.flush()\n{more}\nsys.exit({code})"
        )
        look = options.get("look", lambda: False)
        return run_cell(one, tmp_path, tmp_path / "log", look, [sys.executable, "-c", program])

    return run


def plain(check: str, kind: str) -> dict[str, str]:
    return {"type": "Finding", "check": check, "kind": kind}


def test_a_valid_run_passes_and_is_found(go: Go) -> None:
    found = go(0, VALID)
    assert (found.outcome, found.verdict, found.environment["jar_sha256"]) == ("passed", "valid", "ab12")
    assert set(found.environment) == {"system", "jar_sha256"}
    assert found.run == "register-no-fault-0.4.0/now-1"
    assert not found.retryable


def test_a_violation_has_its_kinds(go: Go) -> None:
    found = go(1, INVALID)
    assert (found.outcome, found.kinds, found.sentence) == ("violation", ("stale-read",), "linearizable: no")


def test_an_expected_violation_passes_and_a_missing_one_does_not(go: Go, tmp_path: Path) -> None:
    planted_bug = Expectation(("invalid",), ("stale-read",))
    assert go(1, INVALID, cell("a", 1, planted_bug)).outcome == "passed"
    found = go(0, VALID, cell("b", 2, planted_bug))
    assert found.outcome == "missing-violation"
    assert "expected violation did not appear: invalid (stale-read)" in found.sentence


def test_a_planted_bug_that_only_other_checks_could_have_met_is_missing(go: Go) -> None:
    """Its kinds name what may come beside it, such as no recovery, which has many causes."""
    expected = Expectation(("invalid",), ("two-leaders", "no-recovery"))
    planted = cell("a", 1, expected, version="0.3.2", planted_bug="vote-twice", unsafe_test_mode=True)
    stuck = {"name": "recovery", "verdict": "invalid", "findings": [plain("recovery", "no-recovery")]}
    found = go(1, {**INVALID, "checks": [stuck], "keys": []}, planted)
    assert (found.outcome, found.retryable) == ("missing-violation", False)
    assert "no check that looks for the planted bug failed" in found.sentence
    two = {"name": "election-safety", "verdict": "invalid", "findings": [plain("election-safety", "two-leaders")]}
    other = replace(planted, plan=replace(planted.plan, seed=2))
    assert go(1, {**INVALID, "checks": [stuck, two], "keys": []}, other).outcome == "passed"


@pytest.mark.parametrize(
    ("code", "results", "more", "said"),
    [
        (255, None, "", "last words"),
        (255, {**VALID, "harness_failure": "disk full"}, "", "disk full"),
        (0, {**VALID, "harness_failure": "disk full"}, "", "disk full"),
        (0, None, "", "left no results"),
        (1, VALID, "", "exited with 1 although its results say valid"),
        (77, VALID, "", "last words"),
        (0, None, "os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL; last words"),
        (0, None, "os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
    ],
)
def test_what_broke_down_is_ours_and_may_be_tried_again(go: Go, code: int, results: Any, more: str, said: str) -> None:
    found = go(code, results, more=more)
    assert found.outcome == "harness-failure"
    assert said in found.sentence
    assert found.retryable


@pytest.mark.parametrize(
    ("code", "results", "more", "said"),
    [
        (1, {**INVALID, "harness_failure": "n2 did not answer"}, "", "linearizable: no; n2 did not answer"),
        (255, {**INVALID, "harness_failure": "n2 did not answer"}, "", "n2 did not answer"),
        (0, INVALID, "", "exited with 0 although its results say invalid"),
        (0, INVALID, "os.kill(os.getpid(), signal.SIGKILL)", "linearizable: no; killed by SIGKILL"),
        (254, INVALID, "", "linearizable: no; last words"),
        (130, {**INVALID, "harness_failure": "disk full"}, "", "linearizable: no; disk full; interrupted"),
    ],
)
def test_a_proven_violation_is_never_tried_away(go: Go, code: int, results: Any, more: str, said: str) -> None:
    found = go(code, results, more=more)
    assert (found.outcome, found.code, found.retryable) == ("violation", 1, False)
    assert said in found.sentence


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "last_read", "outcome", "verdict"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", 1, "violation", "invalid"),
        ("sys.exit(255)", 2, "harness-failure", "valid"),
    ],
)
def test_a_run_whose_judging_died_is_judged_before_it_is_tried_again(
    tmp_path: Path, end: str, last_read: int, outcome: str, verdict: str
) -> None:
    store = tmp_path / "store"
    recorded = record(tmp_path / "other", last_read=last_read)
    program = (
        "import os, shutil, signal, sys\n"
        f"shutil.copytree({str(recorded.root)!r}, {str(store / PLAN.test / recorded.root.name)!r})\n"
        f"print('Spark is gone', flush=True)\n{end}"
    )
    one = Cell("a", PLAN, Expectation())
    found = run_cell(one, store, tmp_path / "log", lambda: False, [sys.executable, "-c", program])
    assert (found.outcome, found.verdict) == (outcome, verdict), (tmp_path / "log").read_text()
    assert found.retryable is (outcome == "harness-failure")
    assert "Spark is gone" in found.sentence


def test_a_known_violation_beside_our_own_failure_is_tried_again(go: Go) -> None:
    """It is no news, so the cell may still show that it holds without our failure."""
    planted = Expectation(("invalid",), ("stale-read",))
    found = go(1, {**INVALID, "harness_failure": "n2 did not answer"}, cell("a", 1, planted))
    assert (found.outcome, found.retryable, found.kinds) == ("harness-failure", True, ("stale-read",))
    assert (found.proven, found.sentence) == (True, "n2 did not answer; as expected")


def test_beside_our_own_failure_other_checks_prove_no_planted_bug(go: Go) -> None:
    beside = {**VALID, "verdict": "invalid", "checks": [{"name": "recovery", "verdict": "invalid"}]}
    planted = Expectation(("invalid",), ("recovery", "no-recovery"))
    found = go(255, {**beside, "harness_failure": "disk full"}, cell("a", 1, planted, planted_bug="stale-reads"))
    assert (found.outcome, found.proven, found.sentence) == ("harness-failure", False, "disk full")


@pytest.mark.parametrize(
    ("others", "outcome", "said"),
    [
        ((), "violation", "stale-read without the marks of cut"),
        (("committed-entries-deleted",), "passed", "as expected"),
        (("two-leaders",), "violation", "without the marks of cut"),
    ],
)
def test_what_clients_saw_is_known_only_beside_the_proof_of_the_defect(
    go: Go, others: tuple[str, ...], outcome: str, said: str
) -> None:
    cut = Defect(
        "cut", ("committed-entries-deleted", "stale-read"), "TRUNCATE", only_with=("committed-entries-deleted",)
    )
    one = cell("a", 1, Expectation(("valid", "invalid"), known=(cut,)))
    begun = json.dumps({"format": "harness-history", "version": 1, "started": "2026-11-25T10:00:00+00:00"}) + "\n"
    written = (
        "(root / 'nodes/n1').mkdir(parents=True); (root / 'nodes/n1/register.log').write_text('TRUNCATE'); "
        f"(root / 'history.jsonl').write_text({begun!r})"
    )
    checks = [{"name": "nodes", "verdict": "invalid", "findings": [plain("nodes", kind)]} for kind in others]
    found = go(1, {**INVALID, "checks": [*INVALID["checks"], *checks]}, one, written)
    assert (found.outcome, found.code) == (outcome, 1)
    assert said in found.sentence


@pytest.mark.parametrize(("more", "outcome"), [(False, "passed"), (True, "unknown")])
def test_behind_a_known_defect_all_violations_must_have_been_looked_for(go: Go, more: bool, outcome: str) -> None:
    checks = [{"name": "linearizable", "verdict": "invalid", "findings": [{**STALE, "count": 256, "more": more}]}]
    known = Defect("old", ("stale-read",), only_with=("stale-read",))
    found = go(1, {**INVALID, "checks": checks, "keys": []}, cell("a", 1, Expectation(("invalid",), known=(known,))))
    assert (found.outcome, "other violations of linearizable" in found.sentence) == (outcome, more)


def test_a_known_kind_hides_no_other_of_the_same_check(go: Go) -> None:
    kinds = [plain("ledgers", kind) for kind in ("lost-add", "hole")]
    ledgers = {"name": "ledgers", "verdict": "invalid", "findings": kinds}
    found = go(1, {**INVALID, "keys": [], "checks": [ledgers]}, cell("a", 1, Expectation(("invalid",), ("lost-add",))))
    assert (found.outcome, found.kinds) == ("violation", ("lost-add", "hole"))
    assert found.sentence.startswith("hole ")


def test_a_violation_whose_marks_cannot_be_read_is_not_known(go: Go) -> None:
    """The run left no history, by which the lines after the heal would be dated; the suite goes on all the same."""
    late = Defect("late", ("stale-read",), "line", after_heal_s=1)
    found = go(1, INVALID, cell("a", 1, Expectation(("valid", "invalid"), known=(late,))))
    assert (found.outcome, found.retryable) == ("violation", False)
    assert "cannot be read: " in found.sentence


def test_a_planted_bug_may_be_expected_to_leave_a_run_unknown(go: Go) -> None:
    expected = Expectation(("invalid", "unknown"), ("stale-read",))
    planted = cell("a", 1, expected, version="0.3.2", planted_bug="vote-twice", unsafe_test_mode=True)
    assert go(2, {**VALID, "verdict": "unknown"}, planted).outcome == "passed"


def test_a_run_that_hangs_after_its_violation_was_proven(go: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_process, "longest_s", lambda plan: 0.5)
    monkeypatch.setattr(cell_process, "ORDERLY_END_S", 0.5)
    found = go(0, INVALID, more="signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)")
    assert (found.outcome, found.retryable) == ("violation", False)
    assert "did not end within" in found.sentence


def test_a_fault_that_is_refused_on_this_machine_proved_nothing_and_is_not_tried_again(go: Go) -> None:
    found = go(254)
    assert (found.outcome, found.retryable) == ("unknown", False)
    assert found.sentence == "refused here: last words"


def test_it_was_asked_to_end(go: Go, tmp_path: Path) -> None:
    polite = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(130)); print('ready', flush=True); time.sleep(60)"

    def look() -> bool:
        return "ready" in (tmp_path / "log").read_text()

    found = go(0, None, more=polite, look=look)
    assert found.interrupted
    assert (found.outcome, found.retryable) == ("not-run", False)


def test_an_interrupted_run_that_proved_a_violation_keeps_it(go: Go) -> None:
    found = go(130, INVALID)
    assert (found.outcome, found.code, found.retryable) == ("violation", 1, False)
    assert found.sentence == "linearizable: no; interrupted"
    planted = Expectation(("invalid",), ("stale-read",))
    known = go(130, INVALID, cell("b", 2, planted))
    assert (known.outcome, known.code, known.retryable) == ("passed", 1, False)
    assert known.sentence == "as expected; linearizable: no; interrupted"


@pytest.mark.parametrize(
    ("results", "since", "outcome"),
    [
        (INVALID, "20260101T000000.000", "violation"),
        (INVALID, "20260101T000000.001", None),
        (VALID, "20260101T000000.000", None),
        ({}, "20260101T000000.000", None),
    ],
)
def test_what_was_found_when_the_suite_was_killed_stays_found(
    tmp_path: Path, results: dict[str, Any], since: str, outcome: str | None
) -> None:
    one, log = cell("a"), tmp_path / "log"
    run = leave_run(tmp_path, one.plan, **results)
    found = proof_of_cut_run(one, tmp_path, since, (), log, lambda: False)
    assert (None if found is None else found.outcome) == outcome
    known = Attempt("a", "harness-failure", 255, run=str(run.relative_to(tmp_path)))
    assert proof_of_cut_run(one, tmp_path, since, [known], log, lambda: False) is None
    other = cell("a", 1, nodes=3)
    assert proof_of_cut_run(other, tmp_path, since, (), log, lambda: False) is None


@pytest.mark.slow
def test_a_run_that_was_not_judged_is_judged_when_its_suite_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "store"
    since = record(store, last_read=1).root.name.partition("Z")[0]
    found = proof_of_cut_run(Cell("a", PLAN, Expectation()), store, since, (), tmp_path / "log", lambda: False)
    assert found is not None, (tmp_path / "log").read_text()
    assert (found.outcome, found.verdict) == ("violation", "invalid")


def test_a_run_that_hangs_is_ended_even_if_it_does_not_listen(go: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_process, "longest_s", lambda plan: 0.5)
    monkeypatch.setattr(cell_process, "ORDERLY_END_S", 0.5)
    deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)"
    found = go(0, None, more=deaf)
    assert found.outcome == "harness-failure"
    assert "did not end within" in found.sentence
    assert found.retryable


def test_the_run_of_another_plan_with_the_same_seed_is_not_taken_for_ours(tmp_path: Path) -> None:
    ours, other = cell("a"), cell("a", cluster="netns:other")
    folder = tmp_path / ours.plan.test / "now-1"
    program = (
        f"import pathlib; root = pathlib.Path({str(folder)!r}); root.mkdir(parents=True)\n"
        f"(root / 'plan.json').write_text({json.dumps(other.plan.to_json())!r})\n"
        f"(root / 'results.json').write_text({json.dumps(VALID)!r})"
    )
    found = run_cell(ours, tmp_path, tmp_path / "log", lambda: False, [sys.executable, "-c", program])
    assert (found.outcome, found.run) == ("harness-failure", "")


def test_a_cell_is_run_by_the_command_that_its_plan_prints(tmp_path: Path) -> None:
    one = cell("a", 5, nemesis=("bridge",), cluster="netns:x")
    words = words_of(one, tmp_path)
    assert words[:4] == [sys.executable, "-P", "-m", "harness"]
    assert " ".join(words[5:]) == one.plan.command().removeprefix("harness ") + f" --store {tmp_path} --keep-cluster"


def test_a_script_is_named_in_place_of_its_faults(tmp_path: Path) -> None:
    one = replace(cell("a", nemesis=("bridge",), schedule=({"fault": "bridge"},)), script="/suites/x.toml")
    words = words_of(one, tmp_path)
    assert words[words.index("--schedule") + 1] == "/suites/x.toml"
    assert "--nemesis" not in words
    assert " ".join(words[5:]) == one.command.removeprefix("harness ") + f" --store {tmp_path} --keep-cluster"


def test_the_module_is_a_program() -> None:
    said = subprocess.run([sys.executable, "-m", "harness", "--help"], capture_output=True, text=True, check=True)
    assert "suite" in said.stdout


def test_a_cell_does_not_outlive_the_suite(tmp_path: Path) -> None:
    """SIGKILL of the suite asks the run to end in order."""
    mark = tmp_path / "ended"
    inner = (
        "import signal, sys, time, pathlib\n"
        f"signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path({str(mark)!r}).write_text('x'), sys.exit(130)))\n"
        f"pathlib.Path({str(tmp_path / 'ready')!r}).write_text('x')\ntime.sleep(60)"
    )
    outer = (
        "import sys; from pathlib import Path\n"
        "from harness.suite.cell_process import run_cell\nfrom tests.support.harness.suite_toys import cell\n"
        f"root = Path({str(tmp_path)!r})\n"
        f"run_cell(cell('a'), root, root / 'log', lambda: False, [sys.executable, '-c', {inner!r}])"
    )
    suite = subprocess.Popen([sys.executable, "-c", outer], cwd=Path(__file__).parents[3])
    wait_for(tmp_path / "ready")
    os.kill(suite.pid, 9)
    suite.wait()
    wait_for(mark)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
