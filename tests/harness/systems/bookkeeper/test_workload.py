"""A ledger's writer, reader and recoverers in virtual time, against ledgers in memory, right and wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from harness.generators import Completion, Invocation, Simulated, Stream, simulate
from harness.systems.api import Evidence, Scale
from harness.systems.bookkeeper import SYSTEM
from harness.systems.bookkeeper.promises import ledgers_keep_their_promises
from history import Check, Operation
from history.records.operations import pair
from tests.support.harness.gateway import setup_of

(WORKLOAD,) = SYSTEM.workloads


class Ledgers:
    """Ledgers in memory that keep all promises, but for what ``bug`` says."""

    def __init__(self, bug: str = "") -> None:
        self._bug = bug
        self._entries: defaultdict[Any, list[int]] = defaultdict(list)
        self._ended: dict[Any, int] = {}

    def __call__(self, one: Invocation, stream: Stream) -> tuple[Completion, Stream]:
        draw, stream = stream.draw()
        after = 0.002 + 0.02 * draw
        if draw < 0.02 and one.f != "read":
            return Completion(after, "fail" if one.f == "tail" else "info"), stream
        return getattr(self, f"_{one.f}")(one, after), stream

    def _create(self, one: Invocation, after: float) -> Completion:
        return Completion(after, value=int(str(one.key)[1:]))

    def _window(self, one: Invocation, after: float) -> Completion:
        first, count = one.value
        entries = self._entries[one.key]
        if one.key in self._ended and self._bug != "unfenced":
            return Completion(after, "info")
        begin = len(entries)
        entries += range(first, first + count)
        return Completion(after, value=list(range(begin, begin + count)))

    def _end(self, one: Invocation, after: float) -> Completion:
        last = self._ended.setdefault(one.key, len(self._entries[one.key]) - 1)
        if self._bug == "forgetful" and last > 2:
            self._ended[one.key] = last = last - 1
        return Completion(after, value={"last": last, "length": 10 * (last + 1)})

    _recover = _close = _end

    def _tail(self, one: Invocation, after: float) -> Completion:
        entries = self._entries[one.key][one.value :]
        lac = len(self._entries[one.key]) - 1
        return Completion(after, value={"lac": lac, "first": one.value, "entries": entries})

    def _read(self, one: Invocation, after: float) -> Completion:
        last = self._end(one, after).value["last"]  # type: ignore[index]  # made above
        entries = self._entries[one.key][: last + 1]
        size = 10 * len(entries)
        return Completion(
            after, value={"last": last, "closed": last, "length": size, "bytes": size, "entries": entries}
        )


def run(bug: str = "", workers: int = 10, most: int = 1500, **options: Any) -> tuple[Simulated, Check]:
    ledgers = Ledgers(bug)
    scale = Scale(keys=3, workers=workers, setup=setup_of(**options))
    main = simulate(WORKLOAD.generator(scale), workers=workers, answers=ledgers, seed=5, most=most)
    used = tuple(dict.fromkeys(one.key for one in main.issued if one.key is not None))
    last = WORKLOAD.final(Scale(keys=3, workers=workers, setup=setup_of(**options), used=used))
    operations = pair(main.events)
    at, index = max(event.time for event in main.events) + 1, len(main.events)
    for number, one in enumerate(last):
        answer, _ = ledgers(one, Stream(Random(number)))
        operations.append(_final(one, answer, at + number, index + 2 * number))
    evidence = Evidence(
        setup=setup_of(), nodes=("n1",), operations=operations, probes=(), receipts=(), moments={}, recovered=()
    )
    return main, ledgers_keep_their_promises(evidence)


def _final(one: Invocation, answer: Completion, at: int, index: int) -> Any:
    return Operation(10_000 + index, one.f, one.key, None, answer.value, "ok", at, at, index, index + 1, "n1")


def by_key(main: Simulated) -> dict[Any, list[Invocation]]:
    found: defaultdict[Any, list[Invocation]] = defaultdict(list)
    for one in main.issued:
        found[one.key].append(one)
    return found


def test_right_ledgers_are_valid() -> None:
    main, check = run()
    assert check.verdict == "valid", check.seen
    assert set(WORKLOAD.kinds) | {"create", "close"} == {one.f for one in main.issued}
    assert len(by_key(main)) > 5


@pytest.mark.parametrize(
    ("bug", "kinds"),
    [("unfenced", {"acknowledged-beyond-end", "lost-add"}), ("forgetful", {"ends-differ", "lost-add"})],
)
def test_wrong_ones_are_found_out(bug: str, kinds: set[str]) -> None:
    _, check = run(bug)
    assert check.verdict == "invalid"
    assert check.counterexamples[0].kind in kinds


def test_the_same_seed_makes_the_same_storms() -> None:
    assert run()[0] == run()[0]


def test_each_ledger_has_one_writer_and_one_reader_and_payloads_of_its_own() -> None:
    payloads: set[int] = set()
    for key, mine in by_key(run()[0]).items():
        writers = {one.worker for one in mine if one.f in ("create", "window", "close")}
        readers = {one.worker for one in mine if one.f == "tail"}
        recoverers = {one.worker for one in mine if one.f == "recover"}
        assert len(writers) == 1, key
        assert len(readers) <= 1
        assert len(recoverers) <= 3
        assert not recoverers & (writers | readers)
        for one in (one for one in mine if one.f == "window"):
            window = set(range(one.value[0], sum(one.value)))
            assert 1 <= len(window) <= 64
            assert not payloads & window
            payloads |= window


def test_recoverers_come_while_entries_are_added() -> None:
    main = run()[0]
    overtaken = 0
    for mine in by_key(main).values():
        order = [one.f for one in mine]
        if "recover" in order and "window" in order:
            assert order.index("window") < order.index("recover")
            overtaken += "window" in order[order.index("recover") :]
    assert overtaken > 3


@pytest.mark.parametrize(("options", "bound"), [({"window": 4}, 4), ({"window": 1}, 1)])
def test_a_window_is_bounded(options: dict[str, Any], bound: int) -> None:
    assert max(one.value[1] for one in run(**options)[0].issued if one.f == "window") <= bound


def late(main: Simulated) -> dict[Any, Invocation]:
    """The windows that were asked for more than half a second after the first recovery of their ledger."""
    found = {}
    for key, mine in by_key(main).items():
        recovered = min((one.time for one in mine if one.f == "recover"), default=None)
        for one in mine:
            if recovered is not None and one.f == "window" and one.time > recovered + 5 * 10**8:
                assert key not in found, "one window each"
                found[key] = one
    return found


def test_a_late_writer_adds_once_more_and_a_fence_refuses_it() -> None:
    main, check = run(late_writers=1)
    assert check.verdict == "valid", check.seen
    found = late(main)
    assert len(found) > 3
    for key, one in found.items():
        before = [other for other in by_key(main)[key] if other.f == "window" and other is not one]
        assert {one.worker} == {other.worker for other in before}, "it has the handle"
        assert one.value[0] == sum(before[-1].value), "payloads are counted up"
        assert one.key not in {other.key for other in main.issued if other.f == "close"}


def test_what_a_late_writer_adds_to_a_bookie_that_forgot_the_fence_is_found() -> None:
    main, check = run("unfenced", late_writers=1)
    assert late(main)
    assert check.verdict == "invalid"
    assert "acknowledged-beyond-end" in {one.kind for one in check.findings}


def test_a_writer_that_met_the_fence_is_not_late() -> None:
    """Its handle is of no use any more; and without the option none is."""
    main = run(late_writers=1)[0]
    refused = {event.key for event in main.events if event.f == "window" and event.type == "info"}
    asked_late = late(main)
    for key in refused & set(asked_late):
        first = next(
            event for event in main.events if event.key == key and event.type == "info" and event.f == "window"
        )
        assert first.time > asked_late[key].time
    assert not late(run()[0])


def test_most_recoverers_come_early() -> None:
    after = [
        next(one.time for one in mine if one.f == "recover") - next(one.time for one in mine if one.f == "window")
        for mine in by_key(run(recoverers=1)[0]).values()
        if {"recover", "window"} <= {one.f for one in mine}
    ]
    assert sum(one < 10**8 for one in after) > len(after) / 3
    assert any(one > 2 * 10**8 for one in after)


def test_one_recoverer() -> None:
    for mine in by_key(run(recoverers=1)[0]).values():
        assert len({one.worker for one in mine if one.f == "recover"}) <= 1


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 7])
def test_few_workers_play_several_parts(workers: int) -> None:
    main, check = run(workers=workers, most=300)
    assert check.verdict == "valid", check.seen
    assert {"window", "tail", "recover"} <= {one.f for one in main.issued}


def test_a_recovery_that_fails_is_tried_again_and_given_up() -> None:
    def never(one: Invocation, stream: Stream) -> tuple[Completion, Stream]:
        if one.f == "recover":
            return Completion(0.01, "info"), stream
        return Ledgers()(one, stream) if one.f != "window" else (Completion(0.01, "info"), stream)

    answers: Callable[[Invocation, Stream], tuple[Completion, Stream]] = never
    scale = Scale(keys=3, workers=5, setup=setup_of())
    issued = simulate(WORKLOAD.generator(scale), workers=5, answers=answers, seed=1, most=800).issued
    first = [one for one in issued if one.key == "l0"]
    tries = [one for one in first if one.f == "recover"]
    assert len(tries) == 4 * len({one.worker for one in tries})
    assert any(one.key == "l1" for one in issued), "the next ledger comes"


def test_what_was_not_read_at_the_end_is_unknown() -> None:
    scale = Scale(keys=3, workers=5, setup=setup_of())
    operations = pair(simulate(WORKLOAD.generator(scale), workers=5, answers=Ledgers(), seed=1, most=100).events)
    evidence = Evidence(setup=setup_of(), nodes=(), operations=operations, probes=(), receipts=(), moments={})
    check = ledgers_keep_their_promises(evidence)
    assert check.verdict == "unknown"
    assert "not read at the end: l0" in check.seen
