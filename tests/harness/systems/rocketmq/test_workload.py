"""What brokers do with the controller, and what the checks of epochs find."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checker import check_operations
from harness.generators import Completion, Invocation, Stream, simulate
from harness.systems import Setup
from harness.systems.api import Evidence, Scale
from harness.systems.rocketmq import SYSTEM
from harness.systems.rocketmq.client import LAW
from harness.systems.rocketmq.workload import epochs_check
from history import Check, Operation, RunFiles, pair, read_history
from tests.support.reports.recorded_runs import recorded_run

SETUP = Setup(version="5.3.3", options={option.name: option.default for option in SYSTEM.options})
LOCAL = replace(SETUP, options={**SETUP.options, "reads": "local"})
ONE_SET = replace(SETUP, options={**SETUP.options, "broker_sets": 1})
SCALE = Scale(keys=5, workers=6, setup=SETUP)
(WORKLOAD,) = SYSTEM.workloads
SEEDS = range(4)


class Controller:
    """A right one in memory, or one that judges every tenth alter by the state before the last change.

    Every third peek is answered by the first state of its set.
    """

    def __init__(self, *, forgets: bool = False) -> None:
        self.sets: dict[Any, list[Any]] = {}
        self._forgets = forgets
        self._count = 0

    def __call__(self, asked: Invocation, stream: Stream) -> tuple[Completion, Stream]:
        self._count += 1
        kind, value = self._answer(asked)
        delay, stream = stream.draw()
        if self._count % 17 == 0 and asked.f in ("alter", "elect"):
            kind, value = "info", asked.value
        return Completion(0.01 + delay / 10, kind, value), stream

    def _answer(self, asked: Invocation) -> tuple[Any, Any]:
        state = self.sets.setdefault(asked.key, [None, 0, [], 0])
        master, master_epoch, members, epoch = state
        if asked.f == "elect":
            if asked.value == master:
                return "ok", ["exists", *state]
            if master_epoch and asked.value not in members:
                return "fail", asked.value
            state[:] = [asked.value, master_epoch + 1, [asked.value], epoch + 1]
            return "ok", ["elected", *state]
        if asked.f != "alter":
            return "ok", [None, 0, [], 0] if asked.f == "peek" and self._count % 3 == 0 else list(state)
        old, old_epoch, expected, wanted = asked.value
        blind = self._forgets and self._count % 10 == 0
        if (old, old_epoch) != (master, master_epoch) or wanted == members or not (expected == epoch or blind):
            return "fail", asked.value
        state[2:] = [wanted, epoch + 1]
        return "ok", expected + 1


def operations(controller: Controller, seed: int, setup: Setup = SETUP) -> list[Operation]:
    scale = replace(SCALE, setup=setup)
    run = simulate(WORKLOAD.generator(scale), workers=6, answers=controller, seed=seed, most=500)
    return pair(run.events)


def judged(found: list[Operation]) -> Check:
    return epochs_check(Evidence(setup=SETUP, nodes=(), operations=found, probes=(), receipts=(), moments={}))


@pytest.mark.parametrize(("setup", "reads"), [(SETUP, {"read", "register"}), (LOCAL, {"peek"})])
@pytest.mark.parametrize("seed", SEEDS)
def test_all_kinds_are_issued_and_most_are_granted(setup: Setup, reads: set[str], seed: int) -> None:
    found = operations(Controller(), seed, setup)
    ok = [one.f for one in found if one.outcome == "ok"]
    assert set(ok) == {*WORKLOAD.kinds, *reads}
    assert ok.count("alter") > 20


def test_what_is_in_doubt_is_often_asked_again() -> None:
    found = operations(Controller(), 1)
    doubted = [one for one in found if one.outcome == "info"]
    again = [
        one for one in doubted
        if any((two.f, two.key, two.value) == (one.f, one.key, one.value) and two.process == one.process + 6
               for two in found)
    ]  # fmt: skip
    assert 0 < len(again) < len(doubted)


def test_the_last_reads_are_of_all_sets() -> None:
    final = WORKLOAD.final(SCALE)
    assert [one.key for one in final] == ["broker-0", "broker-1", "broker-2"]
    assert all(one.final and one.f in LAW.reads for one in final)


@pytest.mark.parametrize("setup", [SETUP, LOCAL])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_right_controller_passes_both_checks_and_its_twin_neither(setup: Setup, seed: int) -> None:
    good, bad = operations(Controller(), seed, setup), operations(Controller(forgets=True), seed, setup)
    for found, verdict in ((good, "valid"), (bad, "invalid")):
        assert judged(found).verdict == verdict
        keys = {one.key for one in found}
        verdicts = {check_operations([op for op in found if op.key == key], "sync-state-set").verdict for key in keys}
        assert ("invalid" in verdicts) == (verdict == "invalid")


def op(at: int, f: str, value: Any, result: Any, outcome: str = "ok", until: int | None = None) -> Operation:
    end = at + 5 if until is None else until
    return Operation(at, f, "broker-0", value, result, outcome, at, end, at, end)  # type: ignore[arg-type]


FIRST = op(0, "elect", 1, ["elected", 1, 1, [1], 1])
SECOND = op(10, "alter", [1, 1, 1, [1, 2]], 2)


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ([op(20, "read", None, [1, 1, [1, 2], 2])], None),
        ([op(20, "register", 2, [None, None, [1, 2], 2])], None),
        ([op(20, "elect", 1, ["exists", 1, 1, [1, 2], 2])], None),
        ([op(20, "alter", [1, 1, 2, [1]], None, "info"), op(30, "read", None, [1, 1, [1], 3])], None),
        ([op(8, "read", None, [1, 1, [1], 1], until=30)], None),  # it may have been answered before
        ([op(20, "peek", None, [1, 1, [1], 1]), op(30, "peek", None, [None, 0, [], 0])], None),
        ([op(20, "peek", None, [1, 1, [1, 3], 2])],
         "epoch 2 was seen as [1, 2] of master 1, epoch 1 and as [1, 3] of master 1, epoch 1"),
        ([op(20, "peek", None, [1, 1, [1], 3])],
         "epoch 3 was seen by process 20 when only 2 changes had been requested"),
        ([op(20, "alter", [1, 1, 2, [1]], None, "info"), op(30, "peek", None, [1, 1, [1], 3]),
          op(40, "read", None, [1, 1, [1, 2], 2])], "the read of process 40 was answered with epoch 2, after 3"),
        ([op(20, "read", None, [3, 1, [1, 2], 2])], "master 3 is not in [1, 2] of epoch 2"),
        ([op(11, "alter", [1, 1, 1, [1, 3]], 2, until=30)], "epoch 2 was granted to process 10 and to process 11"),
        ([op(20, "read", None, [1, 1, [1, 3], 2])],
         "epoch 2 was seen as [1, 2] of master 1, epoch 1 and as [1, 3] of master 1, epoch 1"),
        ([op(20, "read", None, [1, 1, [1], 1])], "the read of process 20 was answered with epoch 1, after 2"),
        ([op(20, "elect", 2, ["elected", 2, 0, [2], 3])],
         "process 20 was answered with epoch 0 of the master, after 1"),
        ([op(20, "read", None, [1, 1, [1], 3])],
         "epoch 3 was seen by process 20 when only 2 changes had been requested"),
        ([op(20, "alter", [1, 1, 2, [1]], None, "fail"), op(30, "read", None, [1, 1, [1], 3])],
         "epoch 3 was seen by process 30 when only 2 changes had been requested"),
    ],
)  # fmt: skip
def test_epochs(more: list[Operation], wrong: str | None) -> None:
    found = judged([FIRST, SECOND, *more])
    assert found.verdict == ("valid" if wrong is None else "invalid")
    examples = found.counterexamples
    assert (examples[0].sentence if examples else None) == (wrong and f"broker-0: {wrong}")
    words = found.words
    assert {"alter", "elect", "epoch"} <= set(words)
    assert {one.kind for one in examples} == {"wrong-epoch"} & set(words), "explained where it was found, only there"
    assert [one.suspects for one in examples[:1]] == [(max(more, key=lambda op: op.invoke_index),)] * bool(wrong)


def doubted(at: int, expects: int, outcome: str = "info") -> Operation:
    return op(at, "alter", [1, 1, expects, [1, 3]], None, outcome, until=100)


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ((doubted(20, 2), doubted(21, 3)), None),
        ((doubted(20, 2), doubted(21, 2)), 3),  # two that expect one epoch, of which one at the most is to be granted
        ((doubted(20, 2), doubted(21, 2), doubted(22, 3, "fail")), 3),
        ((doubted(20, 2), doubted(21, 2), doubted(36, 3)), 3),  # asked for after epoch 4 had been answered
        ((doubted(20, 3), doubted(21, 3)), 2),
        ((doubted(20, 2), op(21, "alter", [2, 1, 3, [1, 3]], None, "info")), 3),  # of another master
    ],
)
def test_epochs_of_one_master_come_one_by_one_from_changes_that_expect_them(
    changes: tuple[Operation, ...], missing: int | None
) -> None:
    """However many changes had been asked for."""
    read = op(30, "read", None, [1, 1, [1, 3], 4])
    found = judged([FIRST, SECOND, *changes, read, op(40, "read", None, [1, 1, [1, 3], 4])])
    examples = found.counterexamples
    said = f"broker-0: epoch 4 was seen by process 30, but no change that expects {missing} had been requested"
    assert [one.sentence for one in examples] == ([] if missing is None else [said])
    assert [one.suspects for one in examples] == ([] if missing is None else [(read,)])


def test_an_answer_with_too_low_an_epoch_says_nothing_of_right_ones_before_it() -> None:
    """By it alone epoch 3 of master 2 would be one that no change led to, and that would be dated before it."""
    low = op(30, "read", None, [2, 2, [2], 1])
    found = judged([FIRST, SECOND, op(20, "elect", 2, ["elected", 2, 2, [2], 3]), low])
    examples = found.counterexamples
    assert [(one.kind, getattr(one, "count", 0)) for one in found.findings] == [("wrong-epoch", 2)]
    assert all(one.suspects == (low,) for one in examples)


def test_an_election_between_two_epochs_explains_what_no_change_expects() -> None:
    elected = op(20, "elect", 2, None, "info", until=100)
    assert judged([FIRST, SECOND, elected, op(30, "read", None, [2, 2, [2], 3])]).verdict == "valid"


@pytest.mark.parametrize("seed", range(40))
def test_what_the_check_finds_has_no_order_by_the_model_either(seed: int) -> None:
    """Of one set and few operations, some of them wrong: the model is the oracle, and the check never stricter."""
    found = pair(simulate(
        WORKLOAD.generator(replace(SCALE, setup=ONE_SET)), workers=4, answers=Controller(forgets=seed % 4 > 0),
        seed=seed, most=60,
    ).events)  # fmt: skip
    if judged(found).verdict == "invalid":
        assert check_operations(found, "sync-state-set").verdict == "invalid"


def test_two_changes_granted_on_one_epoch_are_found_in_the_recorded_run(tmp_path: Path) -> None:
    recorded = read_history(RunFiles(recorded_run("epoch-granted-twice", tmp_path)).history)
    found = judged(pair(recorded.events))
    assert found.verdict == "invalid"
    assert "epoch 71 was seen by process 11, but no change that expects 70 had been requested" in found.seen


def test_nothing_answered_proves_nothing() -> None:
    assert judged([replace(FIRST, outcome="info", result=None)]).verdict == "unknown"
