"""Texts that are put and appended to: the chains against the definition, and what their counterexamples say."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from checker import ModelError, check_operations
from checker.core.calls import Call, calls_of
from checker.core.definition import is_linearization, linearizable
from checker.core.model import UNKNOWN
from checker.core.result import Limits
from checker.counterexamples.enumerate import MAX_UNREDUCED_CORE
from checker.counterexamples.kv import find_in_kv
from checker.dispatch import decide
from checker.engines.kv import ENGINE, decide_by_kv_chains
from checker.engines.kv_partial import PartOfKv
from checker.engines.kv_pieces import pieces_of
from checker.models.objects import KeyValue
from history import Operation
from history.codes import NEVER
from history.records.operations import Outcome
from tests.support.checker.oracle_strings import random_strings
from tests.support.draws import draws

NO_LIMIT = Limits(lambda: 0.0)
SEARCHES = ["search", "python-search"]


def operation(
    number: int, f: str, text: str | None, span: tuple[int, int | None], outcome: Outcome = "ok"
) -> Operation:
    value, result = (None, text) if f == "get" else (text, text)
    begin, end = span
    return Operation(
        process=number, f=f, key="k", value=value, result=result, outcome=outcome, invoked=begin, returned=end,
        invoke_index=begin, return_index=end,
    )  # fmt: skip


def reported(*rows: tuple[str, str | None, tuple[int, int | None]]) -> list[Operation]:
    return [operation(number, *row) for number, row in enumerate(rows)]


def judge_random(random: Random) -> str:
    """One history by the chains and by the definition; answers what it was."""
    history = random_strings(random, random.randint(1, 10))
    calls = calls_of(history, KeyValue())
    answer = decide_by_kv_chains(calls, NO_LIMIT)
    if answer is None:
        return "unclear"
    assert answer.verdict == ("valid" if linearizable(calls, KeyValue()) else "invalid"), history
    plain = decide_by_kv_chains(calls, NO_LIMIT, proof=False)
    assert plain is not None
    assert (plain.verdict, plain.order) == (answer.verdict, None), history
    pieces = pieces_of(calls)
    assert pieces is not None
    if answer.verdict == "valid":
        assert answer.order is not None
        assert is_linearization(answer.order, calls, KeyValue()), history
        part = [call for call in calls if random.random() < 0.7]
        assert linearizable(part, PartOfKv(part, pieces)), history
        return "valid"
    found = find_in_kv(calls, pieces, NO_LIMIT)
    for finding in found.held if found else ():
        assert not linearizable(finding.core, PartOfKv(finding.core, pieces)), history
        for call in finding.core:
            rest = [other for other in finding.core if other is not call]
            assert linearizable(rest, PartOfKv(rest, pieces)), (history, call)
    verdict = check_operations(history, "kv")
    assert verdict.verdict == "invalid"
    assert verdict.counterexamples
    return "invalid" if found else "explained by others"


def test_random_histories() -> None:
    random, samples = Random(1), draws(1_000, 3_000)
    seen = [judge_random(random) for _ in range(samples)]
    for what, least in {"valid": 1500, "invalid": 200, "unclear": 200, "explained by others": 5}.items():
        assert seen.count(what) > least * samples // 3000, what


@pytest.mark.nightly
def test_a_million_random_histories() -> None:
    random = Random(2)
    for _ in range(1_000_000):
        judge_random(random)


class Unnarrowed(KeyValue):
    """Strings of which the search does not know which ones matter."""


def few_strings(random: Random) -> list[Call]:
    """Up to nine calls on strings of two pieces; many stay in doubt, and a get may show any string."""
    calls, shown = [], ["", "a", "b", "ab", "aa", "ba"]
    for source in range(random.randint(2, 9)):
        invoke = 10 * source + random.randrange(10)
        ret = NEVER if (doubt := random.random() < 0.3) else invoke + random.randint(1, 40)
        f = random.choice(["put", "append", "append"] if doubt else ["put", "append", "get", "get"])
        value, result = (None, random.choice(shown)) if f == "get" else (random.choice("ab"), None)
        calls.append(Call(f, value, UNKNOWN if doubt else result, 97 * invoke + source, 97 * ret + source, source))
    return [replace(call, ret=NEVER) if call.result is UNKNOWN else call for call in calls]


@pytest.mark.parametrize("engine", SEARCHES)
def test_the_search_merges_strings_that_no_get_can_show(engine: str) -> None:
    random, seen = Random(5), set()
    for _ in range(draws(500, 20_000)):
        calls = few_strings(random)
        answer = decide(calls, KeyValue(), NO_LIMIT, engine=engine)
        assert answer.verdict == ("valid" if linearizable(calls, KeyValue()) else "invalid"), calls
        if answer.order is not None:
            assert is_linearization(answer.order, calls, KeyValue()), calls
        assert answer.last == decide(calls, Unnarrowed(), NO_LIMIT, engine=engine).last, calls
        seen.add(answer.verdict)
    assert seen == {"valid", "invalid"}


@pytest.mark.parametrize("verdict", ["valid", "invalid"])
def test_strings_in_doubt_are_decided_quickly(verdict: str) -> None:
    """Without merging, every order of the forty unanswered calls would be a string of its own."""
    rows = [operation(number, "append", "ab"[number % 2], (number, None), "info") for number in range(40)]
    rows += [operation(50 + number, "append", "c", (100 + number, 200 + number)) for number in range(3)]
    rows.append(operation(60, "get", "cccb" if verdict == "valid" else "ccbd", (300, 301)))
    few = Limits(lambda: 0.0, memory=1 << 20)
    assert decide(calls_of(rows, KeyValue()), KeyValue(), few, engine="search").verdict == verdict
    plain = decide(calls_of(rows, Unnarrowed()), Unnarrowed(), few, engine="search")
    assert plain.verdict == ("valid" if verdict == "valid" else "unknown")


@pytest.mark.parametrize("engine", [None, "search", "python-search"])
def test_merged_strings_are_told_apart_for_people(engine: str | None) -> None:
    """The states of the search are not those of the string: they leave out what no get returned."""
    rows = [
        operation(0, "put", "q", (0, 1)),
        operation(1, "append", "a", (2, 3)),
        operation(2, "append", "a", (4, None), "info"),
        operation(3, "get", "a", (5, 6)),
    ]
    (example,) = check_operations(rows, "kv", engine=engine).counterexamples
    assert "'qa' or 'qaa'" in example.sentence
    states = [decide(calls_of(rows, KeyValue()), KeyValue(), NO_LIMIT, engine=name).states for name in SEARCHES]
    assert states[0] == states[1] != ("None",)


def only(*rows: tuple[str, str | None, tuple[int, int | None]]) -> tuple[str, str, int]:
    """Kind, sentence and size of the only counterexample."""
    verdict = check_operations(reported(*rows), "kv")
    assert (verdict.verdict, verdict.engine) == ("invalid", ENGINE)
    (example,) = verdict.counterexamples
    return example.kind, example.sentence, len(example.operations)


PUT_A, APPEND_B = ("put", "a", (0, 1)), ("append", "b", (2, 3))


def test_an_acknowledged_append_that_was_never_got_is_lost() -> None:
    kind, sentence, size = only(PUT_A, APPEND_B, ("get", "a", (4, 5)))
    assert (kind, size) == ("lost-write", 3)
    assert '"b" was acknowledged before process 2 began its get' in sentence


def test_an_append_that_another_read_got_was_missed() -> None:
    kind, sentence, size = only(PUT_A, APPEND_B, ("get", "a", (4, 6)), ("get", "ab", (5, 7)))
    assert (kind, size) == ("stale-read", 3)
    assert 'process 2 got "a"' in sentence


def test_the_older_text_after_the_newer_one() -> None:
    kind, sentence, size = only(PUT_A, ("append", "b", (2, 9)), ("get", "ab", (3, 4)), ("get", "a", (5, 6)))
    assert (kind, size) == ("read-inversion", 2)
    assert sentence.endswith("the later answer is the older string.")


def test_a_text_from_the_future() -> None:
    kind, sentence, size = only(PUT_A, ("get", "ab", (2, 3)), ("append", "b", (4, 5)))
    assert (kind, size) == ("future-read", 2)
    assert '"b" was read before its write began' in sentence


def test_one_text_that_goes_on_in_two_ways() -> None:
    appends = ("append", "b", (2, 20)), ("append", "c", (3, 21))
    kind, sentence, size = only(PUT_A, *appends, ("get", "ab", (6, 8)), ("get", "ac", (7, 9)))
    assert (kind, size) == ("log-overwrite", 2)
    assert "one string cannot have been continued in both ways" in sentence


def test_an_append_that_is_there_twice() -> None:
    kind, sentence, size = only(PUT_A, APPEND_B, ("get", "abb", (4, 5)))
    assert (kind, size) == ("duplicate", 1)
    assert '"b" occurs more often than it was written' in sentence


def test_a_put_that_did_not_replace_the_text() -> None:
    kind, sentence, size = only(PUT_A, ("put", "b", (2, 3)), ("get", "ab", (4, 5)))
    assert (kind, size) == ("log-overwrite", 1)
    assert "nothing can come before it" in sentence


def test_a_text_out_of_nowhere_and_one_that_was_refused() -> None:
    kind, sentence, size = only(PUT_A, ("get", "ax", (2, 3)))
    assert (kind, size) == ("never-written", 1)
    assert sentence.endswith('no process ever put or appended what follows "a": a string out of nowhere.')
    history = [*reported(PUT_A, ("get", "ab", (4, 5))), operation(2, "append", "b", (2, 3), "fail")]
    (example,) = check_operations(history, "kv").counterexamples
    assert example.kind == "failed-write-read"
    assert "mapping of outcomes may be wrong" in example.sentence


def test_appends_that_stand_the_wrong_way_round() -> None:
    """No get is wrong by itself: what completed the violation is an append, and it is one violation only."""
    kind, sentence, size = only(("append", "b", (0, 1)), ("append", "a", (2, 3)), ("get", "ab", (4, 5)))
    assert (kind, size) == ("not-linearizable", 3)
    assert sentence.endswith("no order of these operations explains these answers.")


def test_violations_are_looked_for_only_as_long_as_there_is_time() -> None:
    """The deadline passes right after the verdict."""
    history = reported(PUT_A, APPEND_B, ("get", "a", (4, 5)))
    for looks in range(1, 12):
        ticks = iter([0.0] * looks + [9.0] * 1000)
        verdict = check_operations(history, "kv", deadline_s=5.0, clock=lambda ticks=ticks: next(ticks))  # type: ignore[misc]
        assert verdict.verdict in ("invalid", "unknown")
        assert verdict.counterexamples or verdict.verdict == "unknown"


@pytest.mark.parametrize("pairs", [240, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_contradiction_that_was_not_made_smaller_in_time_is_not_shown(
    pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To say of thousands of puts and gets which of them are not there takes minutes, and is no help."""
    monkeypatch.setattr("checker.counterexamples.kv.MAX_UNREDUCED_CORE", min(pairs, MAX_UNREDUCED_CORE))
    rows = [
        row
        for at in range(0, 4 * pairs, 4)
        for row in (("put", f"{at:04};", (at, at + 1)), ("get", f"{at:04};", (at + 2, at + 3)))
    ]
    calls = calls_of(reported(*rows, ("get", f"{3500 * pairs // 1000:04};", (4 * pairs, 4 * pairs + 1))), KeyValue())
    pieces = pieces_of(calls)
    assert pieces is not None
    sizes = []
    for looks in range(1, 30):
        ticks = iter([0.0] * looks + [9.0] * 10000)
        found = find_in_kv(calls, pieces, Limits(lambda ticks=ticks: next(ticks), deadline=5.0))  # type: ignore[misc]
        sizes += [len(one.core) for one in found.held] if found else []
    assert sizes
    assert max(sizes) < pairs


def test_all_violations_are_reported_and_each_once() -> None:
    """A replica that is stuck answers the same old text again and again: that is one."""
    stuck = [("get", "a", (10 + 2 * number, 11 + 2 * number)) for number in range(20)]
    verdict = check_operations(reported(PUT_A, APPEND_B, ("get", "ab", (4, 5)), *stuck, ("get", "q", (90, 91))), "kv")
    assert verdict.violations == 2
    assert [example.kind for example in verdict.counterexamples] == ["read-inversion", "never-written"]


@pytest.mark.parametrize("last", ["abc", "ab"])
def test_good_and_bad_twins_of_a_busy_text(last: str) -> None:
    """An append that was never got stands behind everything that was got, or between the last get and the next put."""
    rows = (PUT_A, ("append", "x", (2, 20)), ("append", "b", (3, 4)), ("get", "ab", (5, 6)), ("append", "c", (7, 8)))
    verdict = check_operations(
        reported(*rows, ("get", last, (9, 10)), ("put", "d", (11, 12)), ("get", "d", (13, 14))), "kv"
    )
    assert verdict.verdict == ("valid" if last == "abc" else "invalid")
    assert verdict.certificate == (8 if last == "abc" else 3)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([("append", "a", (0, 1)), ("append", "ab", (2, 3))], id="one string begins with the other"),
        pytest.param([("put", "a", (0, 1)), ("put", "a", (2, 3))], id="put twice"),
        pytest.param([("append", "", (0, 1))], id="nothing is appended"),
        pytest.param([("append", "a", (0, 9)), ("put", "a", (1, 8)), ("get", "a", (2, 3))], id="put or appended"),
    ],
)
def test_what_it_cannot_tell_goes_to_the_search(rows: list[tuple[str, str, tuple[int, int]]]) -> None:
    history = reported(*rows)
    assert check_operations(history, "kv").verdict == "valid"
    with pytest.raises(ModelError, match="the engine kv cannot decide this history of a kv"):
        check_operations(history, "kv", engine="kv")


def test_who_appended_the_same_text_twice_is_found_out() -> None:
    rows = [
        PUT_A,
        APPEND_B,
        ("get", "ab", (4, 5)),
        ("put", "c", (6, 7)),
        ("append", "b", (8, 9)),
        ("get", "cb", (10, 11)),
    ]
    assert check_operations(reported(*rows), "kv", engine="kv").verdict == "valid"
    rows[4] = ("append", "b", (12, 13))
    assert check_operations(reported(*rows), "kv", engine="kv").verdict == "invalid"


def test_the_deadline_is_kept() -> None:
    """A second look at the clock is one too late."""
    history = reported(PUT_A, APPEND_B, *(("get", "ab", (2 * number, 2 * number + 1)) for number in range(2, 5000)))
    ticks = iter(range(100))
    late = decide(calls_of(history, KeyValue()), KeyValue(), Limits(lambda: next(ticks), deadline=1))
    assert (late.verdict, late.engine) == ("unknown", ENGINE)
    assert late.reason is not None
    assert late.reason.startswith("the deadline passed: 4096 of")
