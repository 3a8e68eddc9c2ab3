"""The cells one after the other, with toys for runs and cluster: retries, budget, stop, resume."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.errors import HarnessError, UsageError
from harness.suite.cell_process import Attempt
from harness.suite.cells import Cell
from harness.suite.expectation import Outcome
from harness.suite.journal import Begun, Journal, begin, read_journal, unfinished
from harness.suite.runner import SuiteRunner
from tests.support.harness.suite_toys import attempt, begun, cell

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Screen:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def begins(self, cell: Cell, attempt: int, log: Path) -> None:
        self.lines.append(f"begins {cell.name} {attempt}")

    def ended(self, cell: Cell, attempt: Attempt, *, again: bool) -> None:
        self.lines.append(f"ended {cell.name} {attempt.outcome}{' again' if again else ''}")

    def skipped(self, cell: Cell, why: str, outcome: str = "skipped") -> None:
        self.lines.append(f"skipped {cell.name}: {why}")


class World:
    """Runs end as ``ends`` says, in that order; each takes ``takes`` seconds."""

    def __init__(self, store: Path, of: Begun, ends: list[Outcome | str], takes: float = 20.0) -> None:
        self.journal = begin(store, of, NOW)
        self.store, self.ends, self.takes = store, ends, takes
        self.now, self.resets, self.launched = 100.0, 0, []  # type: ignore[var-annotated]
        self.screen = Screen()
        self.stopped, self.stops_at = False, ""

    def launch(self, one: Cell, log: Path) -> Attempt:
        assert log.parent.is_dir()
        self.launched.append(one.name)
        self.now += self.takes
        end = self.ends.pop(0)
        self.stopped = end == "interrupted" or one.name == self.stops_at
        if end == "interrupted":
            return Attempt(one.name, "not-run", 130)
        return attempt(one.name, end, seconds=self.takes)  # type: ignore[arg-type]

    def reset(self) -> tuple[str, ...]:
        self.resets += 1
        return ()

    def run(self, journal: Journal | None = None, **options: object) -> SuiteRunner:
        runner = SuiteRunner(
            journal or self.journal, self.launch, self.reset, self.screen, lambda: self.stopped,
            clock=lambda: self.now, **options,  # type: ignore[arg-type]
        )  # fmt: skip
        runner.run()
        return runner


ABC = (cell("a"), cell("b"), cell("c"))


def test_every_cell_once_and_the_cluster_is_brought_back_after_each(tmp_path: Path) -> None:
    world = World(tmp_path, begun(*ABC), ["passed", "violation", "unknown"])
    assert world.run().why_ended == ""
    assert (world.launched, world.resets) == (["a", "b", "c"], 3)
    assert [found.outcome for found in world.journal.attempts] == ["passed", "violation", "unknown"]


def test_only_failures_of_the_harness_are_tried_again_and_only_so_often(tmp_path: Path) -> None:
    ends: list[Outcome | str] = ["harness-failure", "passed", "violation", *["harness-failure"] * 3]
    world = World(tmp_path, begun(*ABC, retries=2), ends)
    world.run()
    assert world.launched == ["a", "a", "b", "c", "c", "c"]
    assert world.screen.lines[1] == "ended a harness-failure again"
    assert world.journal.attempts[-1].outcome == "harness-failure"


def test_no_retries(tmp_path: Path) -> None:
    world = World(tmp_path, begun(*ABC, retries=0), ["harness-failure", "passed", "passed"])
    world.run()
    assert world.launched == ["a", "b", "c"]


def test_a_refusal_is_not_tried_again(tmp_path: Path) -> None:
    world = World(tmp_path, begun(cell("a"), retries=3), [])
    world.launch = lambda one, log: attempt("a", "unknown", code=254)  # type: ignore[method-assign]
    world.run()
    assert len(world.journal.attempts) == 1


@pytest.mark.parametrize("end", ["violation", "missing-violation", "unknown", "harness-failure"])
def test_stop_at_the_first_that_is_not_as_expected(tmp_path: Path, end: Outcome) -> None:
    world = World(tmp_path, begun(*ABC, retries=0), ["passed", end])
    assert world.run(on_failure="stop").why_ended == "stopped after b"
    assert world.screen.lines[-1] == "skipped c: not run: stopped after b"


def test_no_cell_is_begun_that_would_end_after_the_budget(tmp_path: Path) -> None:
    """10 s of load each; the first estimate adds 30 s, the later ones what was measured: 10 s."""
    world = World(tmp_path, begun(*ABC), ["passed", "passed", "passed"])
    assert world.run(budget_s=45.0).why_ended == "the budget of 45 s is spent"
    assert world.launched == ["a", "b"]
    assert world.screen.lines[-1].startswith("skipped c: not run: the budget")


def test_a_budget_for_all_of_them(tmp_path: Path) -> None:
    world = World(tmp_path, begun(*ABC), ["passed", "passed", "passed"])
    assert world.run(budget_s=60.0).why_ended == ""


def test_skipped_cells_are_reported_and_never_run(tmp_path: Path) -> None:
    world = World(tmp_path, begun(cell("a", skip="slow"), cell("b")), ["passed"])
    world.run()
    assert world.launched == ["b"]
    assert world.screen.lines[0] == "skipped a: slow"


def test_an_interrupted_cell_is_not_written_down_and_runs_again(tmp_path: Path) -> None:
    world = World(tmp_path, begun(*ABC), ["passed", "interrupted", "passed", "passed"])
    assert world.run().why_ended == "interrupted"
    assert [found.cell for found in world.journal.attempts] == ["a"]
    journal = unfinished(tmp_path, "toy")
    assert journal is not None
    world.stopped, world.launched = False, []
    assert world.run(journal).why_ended == ""
    assert world.launched == ["b", "c"]
    assert unfinished(tmp_path, "toy") is None


def test_a_violation_of_an_interrupted_cell_is_written_down_and_settles_it(tmp_path: Path) -> None:
    world = World(tmp_path, begun(*ABC), ["passed", "violation", "passed"])
    world.stops_at = "b"
    assert world.run().why_ended == "interrupted"
    assert [found.outcome for found in world.journal.attempts] == ["passed", "violation"]
    world.stopped, world.launched = False, []
    world.run(unfinished(tmp_path, "toy"))
    assert world.launched == ["c"]


@pytest.mark.parametrize("end", ["missing-violation", "unknown"])
def test_a_planted_bug_that_was_found_beside_our_failure_stays_found(tmp_path: Path, end: Outcome) -> None:
    journal = begin(tmp_path, begun(cell("a"), cell("b"), retries=1), NOW)
    ends = [
        attempt("a", "harness-failure", verdict="invalid", proven=True, run="t/1", sentence="disk full; as expected"),
        attempt("a", end), attempt("b", "harness-failure", verdict="invalid"), attempt("b", end),
    ]  # fmt: skip
    SuiteRunner(journal, lambda _one, _log: ends.pop(0), lambda: (), Screen(), lambda: False).run()
    again = read_journal(journal.root)
    assert [found.outcome for found in again.attempts] == ["harness-failure", "passed", "harness-failure", end]
    assert again.attempts[1].sentence == f"found in t/1 (disk full; as expected), but not again: a {end}"


def test_our_own_failure_in_every_attempt_stays_ours(tmp_path: Path) -> None:
    journal = begin(tmp_path, begun(cell("a")), NOW)
    ends = [attempt("a", "harness-failure", proven=True), attempt("a", "harness-failure")]
    SuiteRunner(journal, lambda _one, _log: ends.pop(0), lambda: (), Screen(), lambda: False).run()
    assert journal.attempts[-1].outcome == "harness-failure"


def test_retries_are_counted_over_a_crash(tmp_path: Path) -> None:
    world = World(tmp_path, begun(*ABC[:2]), ["harness-failure"])
    with pytest.raises(IndexError):  # the toy's way of dying
        world.run()
    again = World(tmp_path / "other", begun(), ["harness-failure", "passed"])
    again.run(unfinished(tmp_path, "toy"))
    assert again.launched == ["a", "b"]


def test_a_cluster_that_cannot_be_brought_back_ends_the_suite_but_keeps_what_was_seen(tmp_path: Path) -> None:
    world = World(tmp_path, begun(*ABC), ["violation"])

    def reset() -> tuple[str, ...]:
        raise HarnessError("n3 is gone")

    world.reset = reset  # type: ignore[method-assign]
    with pytest.raises(HarnessError, match="n3 is gone"):
        world.run()
    assert [found.outcome for found in read_journal(world.journal.root).attempts] == ["violation"]


def test_what_was_left_behind_is_written_with_the_run_that_left_it(tmp_path: Path) -> None:
    world = World(tmp_path, begun(cell("a")), ["passed"])
    world.reset = lambda: ("n1: left by this run: nft: drop",)  # type: ignore[method-assign]
    world.run()
    assert read_journal(world.journal.root).attempts[0].notes == ("n1: left by this run: nft: drop",)


# -- the journal ------------------------------------------------------------------------------------------------------


def test_a_journal_is_read_as_it_was_written(tmp_path: Path) -> None:
    world = World(tmp_path, begun(*ABC), ["passed", "violation", "unknown"])
    world.run()
    assert read_journal(tmp_path / "suites" / "toy" / "latest").attempts == world.journal.attempts
    assert read_journal(world.journal.root).begun == world.journal.begun


def test_a_torn_last_line_is_a_cell_that_runs_again(tmp_path: Path) -> None:
    world = World(tmp_path, begun(*ABC), ["passed", "passed", "passed"])
    world.run()
    path = world.journal.root / "attempts.jsonl"
    path.write_text(path.read_text()[:-20])
    journal = unfinished(tmp_path, "toy")
    assert journal is not None
    assert [found.cell for found in journal.attempts] == ["a", "b"]
    journal.add(attempt("c"))
    assert [found.cell for found in read_journal(world.journal.root).attempts] == ["a", "b", "c"]


def test_a_journal_is_torn_within_a_character_and_holds_what_ends_lines_of_a_text(tmp_path: Path) -> None:
    journal = begin(tmp_path, begun(*ABC), NOW)
    journal.add(attempt("a", sentence="one\u2028two\x85"))
    path = journal.root / "attempts.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + '{"cell": "b\u00e9'.encode()[:-1])
    assert read_journal(journal.root).attempts == journal.attempts
    assert path.read_bytes() == whole
    path.write_bytes(json.dumps(json.loads(whole) | {"sentence": "one\u2028two"}, ensure_ascii=False).encode() + b"\n")
    assert read_journal(journal.root).attempts[0].sentence == "one\u2028two"


@pytest.mark.parametrize("spoil", ["{", "[]", '{"format": "harness-suite", "version": 99}', '{"format": "x"}'])
def test_what_is_no_journal_cannot_be_resumed(tmp_path: Path, spoil: str) -> None:
    journal = begin(tmp_path, begun(*ABC), NOW)
    (journal.root / "suite.json").write_text(spoil)
    with pytest.raises(UsageError, match=r"cannot be resumed: .*start the suite again, without --resume"):
        unfinished(tmp_path, "toy")


def test_a_line_in_the_midst_that_is_torn_is_refused(tmp_path: Path) -> None:
    journal = begin(tmp_path, begun(*ABC), NOW)
    (journal.root / "attempts.jsonl").write_text('{"cell"\n' + json.dumps({"cell": "b"}) + "\n")
    with pytest.raises(UsageError, match="cannot be resumed"):
        read_journal(journal.root)


def test_there_was_never_a_run(tmp_path: Path) -> None:
    assert unfinished(tmp_path, "toy") is None
