"""What became of every element of a set: each class, and what was not read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.workloads import Sets, elements_check
from history import Check, Operation
from history.records.events import Phase
from history.records.finding import Elements, Loss
from history.records.operations import Outcome


def op(
    at: int, f: str, value: Any = None, result: Any = None, *, outcome: Outcome = "ok", key: str = "set-0",
    phase: Phase = "main",
) -> Operation:  # fmt: skip
    return Operation(at, f, key, value, result, outcome, 2 * at, 2 * at + 1, 2 * at, 2 * at + 1, phase=phase)


ADDED = [op(0, "add", 1), op(1, "add", 2), op(2, "add", 3, outcome="info"), op(3, "add", 4, outcome="fail")]


def elements(check: Check) -> Elements:
    return next(one for one in check.findings if isinstance(one, Elements))


def final(*held: int, at: int = 10) -> Operation:
    return op(at, "read", None, list(held), phase="final")


@pytest.mark.parametrize(
    ("held", "verdict", "counts"),
    [
        ([1, 2], "valid", {"ok": 2}),
        ([1, 2, 3], "valid", {"ok": 3, "recovered": 1}),
        ([1], "invalid", {"ok": 1, "lost": 1}),
        ([1, 2, 4], "invalid", {"ok": 2, "unexpected": 1}),
        ([1, 2, 9], "invalid", {"ok": 2, "unexpected": 1}),
        ([1, 2, 2], "invalid", {"ok": 2, "duplicated": 1}),
    ],
)
def test_every_element_has_its_class(held: list[int], verdict: str, counts: dict[str, int]) -> None:
    check = elements_check([*ADDED, final(*held)])
    assert check.verdict == verdict
    none = dict.fromkeys(("ok", "lost", "unexpected", "recovered", "duplicated"), 0)
    assert {name: getattr(elements(check), name) for name in none} == none | counts


def test_the_last_read_decides_and_what_was_added_after_it_does_not_count() -> None:
    assert elements_check([*ADDED, final(1), final(1, 2, at=11)]).verdict == "valid"
    assert elements_check([*ADDED, final(1, 2, at=11), op(12, "add", 8)]).verdict == "valid"
    assert elements(elements_check([*ADDED, final(1, 2), final(1, at=11)])).named == {"lost": (2,)}


def test_of_several_nodes_the_one_that_lacks_the_most_is_shown() -> None:
    of = [replace(final(1, at=at), node=node) for node, at in (("n1", 11), ("n2", 13), ("n1", 15))]
    whole = [replace(one, node="n3", result=[1, 2], invoke_index=30, return_index=31) for one in of[:1]]
    check = elements_check([*ADDED, *of, *whole])
    assert (check.verdict, elements(check).named) == ("invalid", {"lost": (2,)})
    better = replace(of[2], result=[1, 2])
    assert elements_check([*ADDED, of[0], better, *whole]).verdict == "valid"
    (example,) = elements_check([*ADDED, *of[:2], better, *whole]).counterexamples
    assert " on n2 does not hold 1 element: 2" in example.sentence


def read_of(node: str, at: int, *elements: int, phase: Phase = "main", key: str = "set-0") -> Operation:
    return replace(op(at, "read", None, list(elements), phase=phase, key=key), node=node)


def test_what_each_node_lacks_is_counted_for_itself_and_shown_where_no_other_shows_it() -> None:
    """n1 lost 2 at 7, n2 lost 1 and 3 at 9, n3 what n2 lost and nothing else; n4 is whole."""
    added = [op(at, "add", at) for at in (1, 2, 3)]
    early = [read_of("n2", 4, 1, 2, 3), read_of("n1", 5), read_of("n1", 6, 1, 2, 3), read_of("n1", 7, 1, 3)]
    late = [read_of("n1", 8, 1, 3), read_of("n2", 9, 2), read_of("n3", 10, 2, 3)]
    last = [("n1", [1, 3]), ("n2", [2]), ("n3", [2, 3]), ("n4", [1, 2, 3])]
    ends = [read_of(node, 20 + at, *held, phase="final") for at, (node, held) in enumerate(last)]
    check = elements_check([*added, *early, *late, *ends])
    losses = elements(check).losses
    assert [(one.node, one.lost, one.elsewhere, one.seen_ns) for one in losses] == [
        ("n1", 1, 1, 15), ("n2", 2, 2, 19), ("n3", 1, 1, 21),
    ]  # fmt: skip
    assert check.seen == (
        "the last read of n1 lacks 1, that of n2 2, that of n3 1: all together 3 acknowledged elements, and each is "
        "in another node's read; that of n2 holds 1 that were added (0 recovered), those of all nodes hold "
        "0 unexpected, 0 duplicated"
    )
    shown = [one.suspects[0].node for one in check.counterexamples]
    assert shown == ["n1", "n2", "n3"]
    alone = elements_check([*added, *[read_of(node, 30, 1, phase="final") for node in ("n1", "n2")]])
    assert [(one.lost, one.elsewhere) for one in elements(alone).losses] == [(2, 0), (2, 0)]
    assert len(alone.counterexamples) == 2
    assert "all together 2 acknowledged elements, and no node's read has any of them; " in alone.seen
    some = elements_check(
        [*added, *[read_of(node, 30, *held, phase="final") for node, held in (("n1", [1]), ("n2", [1, 2]))]]
    )
    assert "2 acknowledged elements, and 1 of them is in no node's read, the others in another node's; " in some.seen
    (one,) = [
        elements_check([*added, read_of("n1", 30, 1, 3, phase="final"), read_of("n2", 31, 1, 2, 3, phase="final")])
    ]
    assert one.seen.startswith(
        "the last read of n1 lacks 1: 1 acknowledged element, and another node's read has it; that of n1 "
    )
    assert elements(elements_check([*added, read_of("n1", 30, 1, 2, 3, phase="final")])).losses == ()


def test_what_was_never_added_is_looked_for_in_every_nodes_last_read() -> None:
    """Also in that of a node which lacks less than another."""
    ends = [read_of("n2", 20, 1, 2, 9, phase="final"), read_of("n1", 21, 1, 2, phase="final")]
    check = elements_check([*ADDED, *ends])
    assert (check.verdict, elements(check).named) == ("invalid", {"unexpected": (9,)})
    lacking = elements_check([*ADDED, ends[0], read_of("n1", 21, 1, 4, phase="final")])
    assert elements(lacking).named == {"lost": (2,), "unexpected": (4, 9)}
    shown = [one.suspects[0].node for one in lacking.counterexamples]
    assert shown == ["n1", "n1", "n2"], "what n1 lacks, then what should not be there on either"
    assert lacking.seen.endswith(
        "holds 1 that were added (0 recovered), those of all nodes hold 2 unexpected, 0 duplicated"
    )


def test_two_losses_of_a_node_are_dated_and_shown_each_for_itself() -> None:
    """n1 lost 1 by 5, showed 3, which was new, and lost 2 and 4 by 13; n2 lost 6."""
    added = [op(at, "add", at) for at in (1, 2, 3, 4, 6)]
    reads = [read_of("n1", 5, 2, 4), read_of("n1", 8, 2, 3, 4, 6), read_of("n1", 13, 3, 6)]
    ends = [read_of("n1", 20, 3, 6, phase="final"), read_of("n2", 21, 1, 2, 3, 4, phase="final")]
    check = elements_check([*added, *reads, *ends])
    assert elements(check).losses == (Loss("n1", 1, 1, 11), Loss("n1", 2, 2, 27), Loss("n2", 1, 1, 43))
    assert elements(check).lost_by_node == {"n1": 3, "n2": 1}
    assert [(one.suspects[0].node, one.completed_at) for one in check.counterexamples] == [
        ("n1", 11), ("n1", 27), ("n2", 43),
    ]  # fmt: skip
    for example in check.counterexamples:
        read = example.suspects[0]
        assert not {add.value for add in example.operations if add is not read} & {*read.result}


def test_a_node_that_falls_ever_further_behind_has_one_loss() -> None:
    """Each read of n1 misses what was added since the one before."""
    added = [op(at, "add", at) for at in (1, 3, 5)]
    reads = [read_of("n1", at) for at in (2, 4, 6)]
    ends = [read_of("n1", 20, phase="final"), read_of("n2", 21, 1, 3, 5, phase="final")]
    check = elements_check([*added, *reads, *ends])
    assert elements(check).losses == (Loss("n1", 3, 3, 5),)
    (example,) = check.counterexamples
    assert [one.value for one in example.operations if one.f == "add"] == [1]


def test_losses_of_several_sets_are_added_by_node() -> None:
    other = op(3, "add", 9, key="set-1")
    ends = [read_of("n1", 20, 1, phase="final"), read_of("n1", 10, phase="final", key="set-1")]
    (loss,) = elements(elements_check([*ADDED, other, *ends])).losses
    assert loss == Loss("n1", 2, 0, 21)


def test_each_class_is_shown_by_the_adds_and_the_read_that_contradicts_them() -> None:
    read = final(4, 9, at=11)
    shown = elements_check([*ADDED, op(5, "read", None, [1, 1]), read]).counterexamples
    assert [one.kind for one in shown] == ["lost-element", "never-written", "duplicate"]
    assert [role.says for role in shown[0].roles] == ["adds 2: ok", "does not hold 2"]
    assert (shown[0].suspects[0].result, shown[1].suspects) == ([1, 1], (read,))
    assert [one.value for one in shown[1].operations] == [4, None]
    assert shown[0].sentence == "set-0: the read of process 5 does not hold 1 element: 2"


def test_an_add_that_was_acknowledged_while_the_last_read_was_under_way_may_come_after_it() -> None:
    beside = replace(op(9, "add", 5), returned=21, return_index=21)
    last = replace(final(1, 2), return_index=22, returned=22)
    assert elements_check([*ADDED, beside, last]).verdict == "valid"
    assert elements(elements_check([*ADDED, op(9, "add", 5), last])).named == {"lost": (5,)}


def test_every_lost_element_is_named() -> None:
    added = [op(at, "add", at) for at in range(1, 90)]
    found = elements(elements_check([*added, final(1, at=100)]))
    assert (found.lost, found.named) == (88, {"lost": tuple(range(2, 90))})


def test_an_element_that_was_read_twice_in_the_main_phase_is_duplicated() -> None:
    check = elements_check([*ADDED, op(5, "read", None, [1, 1]), final(1, 2)])
    assert (check.verdict, check.counterexamples[0].kind) == ("invalid", "duplicate")


def test_a_set_that_was_not_read_at_the_end_is_unknown() -> None:
    assert elements_check([*ADDED, op(5, "read", None, [1, 2])]).verdict == "unknown"
    assert elements_check([]).verdict == "unknown"
    other = op(6, "add", 7, key="set-1")
    assert elements_check([*ADDED, other, final(1, 2)]).seen.endswith("not read at the end: set-1")
    assert elements_check([*ADDED, other, final(1)]).verdict == "invalid"


def test_a_node_that_answered_no_read_at_the_end_is_named() -> None:
    """What it holds is not known, though other nodes answered; what it answered before says nothing of the end."""
    asked = replace(read_of("n3", 31, phase="final"), outcome="info", result=None)
    check = elements_check([*ADDED, read_of("n3", 9, 1, 2), read_of("n1", 30, 1, 2, phase="final"), asked])
    assert (check.verdict, check.seen.endswith(", but no client of n3 was answered at the end")) == ("valid", True)
    whole = elements_check([*ADDED, asked, *(read_of(node, 32, 1, 2, phase="final") for node in ("n1", "n3"))])
    assert "no client" not in whole.seen


def test_each_set_is_read_at_the_end() -> None:
    assert [read.key for read in Sets.final_reads(("set-0", "set-4"))] == ["set-0", "set-4"]


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [(("fail", "ok"), "valid"), (("ok", "fail"), "valid"), (("info", "fail"), "valid"), (("fail", "fail"), "invalid")],
)
def test_an_element_may_be_there_if_one_of_its_adds_may_have_taken_effect(
    outcomes: tuple[Outcome, Outcome], verdict: str
) -> None:
    """A workload may ask again for what failed."""
    adds = [op(place, "add", 7, outcome=outcome) for place, outcome in enumerate(outcomes)]
    assert elements_check([*adds, final(7)]).verdict == verdict


def test_what_is_no_number_is_named_behind_those_that_are() -> None:
    check = elements_check([*ADDED, final(1, 2, 9), replace(final(at=12), result=["x", 1, 2, 9])])
    assert (check.verdict, elements(check).named) == ("invalid", {"unexpected": (9, "x")})
