"""Ledgers, fenced locks, banks and broker sets: small histories are judged as by trying everything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker import ModelError, check_operations
from checker.check import with_makers
from checker.core.calls import calls_of
from checker.core.definition import linearizable
from checker.models.registry import model_named
from history import Operation


class _Ledger:
    """Every third index is of another key."""

    def __init__(self) -> None:
        self.log: list[int | None] = []

    def ask(self, random: Random, fresh: int) -> tuple[str, Any]:
        f = random.choice(["append", "append", "get", "list"])
        return f, {"append": fresh, "get": random.randrange(6), "list": None}[f]

    def take(self, f: str, value: Any) -> Any:
        if len(self.log) % 3 == 1:
            self.log.append(None)
        if f == "append":
            self.log.append(value)
            return len(self.log) - 1
        if f == "get":
            return self.log[value] if value < len(self.log) else None
        return [[index, item] for index, item in enumerate(self.log) if item is not None]

    def lie(self, random: Random, f: str, result: Any, fresh: int) -> Any:
        if f == "append":
            return random.randrange(6)
        if f == "get":
            return random.choice([None, random.randrange(1, fresh + 1)])
        if random.random() < 0.5:
            return [entry for entry in result if random.random() < 0.6]
        return [[index + (entry == result[-1]), item] for entry in result for index, item in [entry]]

    def right(self, order: list[Operation], guesses: tuple[int, ...]) -> bool:
        """By the plainest definition: every append has an index, guessed where it was not answered."""
        guess, log, last = iter(guesses), dict[int, Any](), -1
        for one in order:
            if one.f == "append":
                index = next(guess) if one.outcome == "info" else one.result
                if index <= last:
                    return False
                log[index] = one.value
                last = index
            elif (log.get(one.value) if one.f == "get" else [[at, log[at]] for at in sorted(log)]) != one.result:
                return False
        return True


class _Lock:
    def __init__(self) -> None:
        self.holder: int | None = None
        self.clock = 0

    def ask(self, random: Random, fresh: int) -> tuple[str, Any]:
        f = random.choice(["acquire", "acquire", "release", "release", "read"])
        return f, random.choice([self.holder or 1, self.holder or 1, random.randrange(5)]) if f == "release" else None

    def take(self, f: str, value: Any) -> Any:
        self.clock += 1
        if f == "read":
            return self.holder
        if f == "acquire":
            if self.holder is not None:
                return ["held", self.holder]
            self.holder = self.clock
            return ["acquired", self.clock]
        if self.holder != value:
            return ["free", None] if self.holder is None else ["held", self.holder]
        self.holder = None
        return ["released", value]

    def lie(self, random: Random, f: str, result: Any, fresh: int) -> Any:
        token = random.randrange(1, 6)
        if f == "read":
            return random.choice([None, token])
        return random.choice(
            [["acquired", token], ["held", token]]
            if f == "acquire"
            else [["free", None], ["held", token], ["released", token]]
        )

    def right(self, order: list[Operation], guesses: tuple[int, ...]) -> bool:
        guess, last = iter(guesses), -1
        holder: int | None = None
        for one in order:
            pending = one.outcome == "info"
            token = next(guess) if pending and one.f == "acquire" else -1
            if one.f == "read":
                fits = holder == one.result
            elif one.f == "acquire" and (pending or one.result[0] == "acquired"):
                taken: int = token if pending else one.result[1]
                fits, holder, last = holder is None and taken > last, taken, max(last, taken)
            elif one.f == "release" and (pending or one.result[0] == "released"):
                fits, holder = holder == one.value and (pending or one.result[1] == one.value), None
            else:
                fits = holder == one.result[1] and (one.f == "acquire" or one.value != holder)
                fits = fits and (one.result[0] == "free") == (holder is None)
            if not fits:
                return False
        return True


class _Bank:
    def __init__(self) -> None:
        self.held = [0, 0, 0]

    def ask(self, random: Random, fresh: int) -> tuple[str, Any]:
        f = random.choice(["transfer", "transfer", "read"])
        return f, [*random.sample(range(3), 2), random.randrange(1, 4)] if f == "transfer" else None

    def take(self, f: str, value: Any) -> Any:
        if f == "read":
            return [[place, balance] for place, balance in enumerate(self.held) if balance]
        whence, whither, amount = value
        self.held[whence] -= amount
        self.held[whither] += amount
        return [[whence, self.held[whence]], [whither, self.held[whither]]]

    def lie(self, random: Random, f: str, result: Any, fresh: int) -> Any:
        if f == "transfer" and random.random() < 0.3:
            return None
        return [[account, balance + random.choice([0, 0, 1, -1])] for account, balance in result]

    def right(self, order: list[Operation], guesses: tuple[int, ...]) -> bool:
        bank = _Bank()
        for one in order:
            left = bank.take(one.f, one.value)
            if one.outcome == "ok" and one.result is not None:
                wanted = [[place, bank.held[place]] for place, _ in one.result] if one.f == "transfer" else left
                if wanted != [entry for entry in one.result if entry[1] or one.f == "transfer"]:
                    return False
        return True


class _BrokerSet:
    """By the controller's own checks, one after the other, before it changes anything."""

    def __init__(self) -> None:
        self.master: int | None = None
        self.master_epoch = self.epoch = 0
        self.members: list[int] = []

    def ask(self, random: Random, fresh: int) -> tuple[str, Any]:
        f = random.choice(["alter", "alter", "elect", "read", "register"])
        if f == "alter" and self.master is not None:
            other = random.choice([one for one in (1, 2, 3) if one != self.master])
            return f, [self.master, self.master_epoch, self.epoch, sorted({*self.members} ^ {other})]
        if f in ("alter", "elect"):
            return "elect", random.choice(self.members or [1, 2, 3])
        return f, 1 if f == "register" else None

    def take(self, f: str, value: Any) -> Any:
        if f == "alter":
            master, master_epoch, epoch, members = value
            if [master, master_epoch, epoch] != [self.master, self.master_epoch, self.epoch]:
                return "fenced"
            if master not in members or members == self.members:
                return "failed"
            self.members, self.epoch = members, epoch + 1
            return self.epoch
        if f != "elect":
            return self.state()
        if value == self.master:
            return ["exists", *self.state()]
        if self.master_epoch and value not in self.members:
            return "failed"
        self.master, self.members = value, [value]
        self.master_epoch, self.epoch = self.master_epoch + 1, self.epoch + 1
        return ["elected", *self.state()]

    def state(self) -> list[Any]:
        return [self.master, self.master_epoch, list(self.members), self.epoch]

    def lie(self, random: Random, f: str, result: Any, fresh: int) -> Any:
        if f == "alter":
            return max(0, result + random.choice([-1, 1, 2]))
        lied = list(result)
        if f == "register" and random.random() < 0.5:
            return [None, None, *lied[2:]]
        lied[-1] += random.choice([-1, 0, 1])
        lied[-2] = random.choice([[1], [1, 2], lied[-2]])
        return lied

    def right(self, order: list[Operation], guesses: tuple[int, ...]) -> bool:
        twin = _BrokerSet()
        for one in order:
            balances = twin.take(one.f, one.value)
            if one.f == "register" and one.outcome == "ok" and one.result[:2] == [None, None]:
                balances[:2] = [None, None]
            if one.outcome == "ok" and balances != one.result:
                return False
        return True


OBJECTS: dict[str, Any] = {
    "ledger": _Ledger, "fenced-lock": _Lock, "bank": _Bank, "sync-state-set": _BrokerSet,
}  # fmt: skip


def made(name: str, random: Random, size: int) -> list[Operation]:
    """A history of three processes, with a few lies and a few answers that were lost."""
    thing, points = OBJECTS[name](), sorted(random.sample(range(1, 40 * size), size))
    operations, busy = list[Operation](), [0, 0, 0]
    for fresh, point in enumerate(points, 1):
        process = random.choice([0, 1, 2])
        begun = random.randint(busy[process], point) if busy[process] < point else None
        if begun is None:
            continue
        ended = point + random.randint(0, 80)
        busy[process] = ended + 1
        f, value = thing.ask(random, fresh)
        result = thing.take(f, value)
        if random.random() < 0.15:
            result = thing.lie(random, f, result, fresh)
        lost = random.random() < 0.2 and f not in ("read", "get", "list", "register")
        operations.append(
            Operation(
                process, f, "x", value, None if lost else result, "info" if lost else "ok", begun, ended,
                begun * 1000 + fresh, ended * 1000 + 500 + fresh,
            )
        )  # fmt: skip
    return sorted(operations, key=lambda one: one.invoke_index)


def orders(operations: list[Operation]) -> Iterator[list[Operation]]:
    """All orders that respect real time, of all that completed and any of the others."""
    pending = [one for one in operations if one.outcome == "info"]
    for taken in product([False, True], repeat=len(pending)):
        chosen = {id(one) for one, take in zip(pending, taken, strict=True) if take}
        part = [one for one in operations if one.outcome == "ok" or id(one) in chosen]
        for order in permutations(part):
            if all(
                not (later.outcome == "ok" and (later.return_index or 0) < earlier.invoke_index)
                for place, earlier in enumerate(order)
                for later in order[place + 1 :]
            ):
                yield list(order)


def right(name: str, operations: list[Operation]) -> bool:
    thing = OBJECTS[name]()
    function = {"ledger": "append", "fenced-lock": "acquire"}.get(name)
    for order in orders(operations):
        guessed = sum(one.outcome == "info" and one.f == function for one in order)
        if any(thing.right(order, guesses) for guesses in product(range(8), repeat=guessed)):
            return True
    return False


@pytest.mark.parametrize("name", OBJECTS)
def test_small_histories_are_judged_as_by_trying_everything(name: str) -> None:
    random, seen = Random(5), {"valid": 0, "invalid": 0}
    for _ in range(250):
        operations = made(name, random, 5)
        found = check_operations(operations, name)
        verdict = found.verdict
        assert verdict == ("valid" if right(name, operations) else "invalid"), operations
        assert bool(found.counterexamples) == bool(found.violations) == (verdict == "invalid"), operations
        seen[verdict] += 1
    assert min(seen.values()) > 30, seen


@given(st.sampled_from(sorted(OBJECTS)), st.integers(0, 2**32))
def test_histories_are_judged_as_by_the_definition_of_the_model(name: str, seed: int) -> None:
    operations, model = made(name, Random(seed), 8), model_named(name)
    expected = linearizable(calls_of(operations, model), model)
    found = check_operations(operations, name)
    assert found.verdict == ("valid" if expected else "invalid")
    assert bool(found.counterexamples) == bool(found.violations) == (not expected)


@pytest.mark.parametrize(
    ("name", "f", "value", "result"),
    [
        ("ledger", "list", None, [[2, 1], [0, 2]]), ("ledger", "list", None, [[0, 1], [0, 2]]),
        ("ledger", "append", 1, -1), ("ledger", "append", None, 0), ("ledger", "get", "x", 1),
        ("ledger", "list", None, [1]), ("ledger", "put", 1, 1),
        ("fenced-lock", "acquire", None, 7), ("fenced-lock", "release", None, ["released", 1]),
        ("fenced-lock", "read", None, "x"), ("fenced-lock", "free", None, None),
        ("sync-state-set", "read", None, None), ("sync-state-set", "alter", [1, 1], 2), ("sync-state-set", "cas", 1, 1),
        ("sync-state-set", "alter", [1, 1, 1, [1]], "x"), ("sync-state-set", "elect", 1, [1]),
        ("bank", "transfer", [0, 1], None), ("bank", "read", None, None), ("bank", "pay", None, None),
    ],
)  # fmt: skip
def test_what_is_no_operation_of_the_model_is_refused(name: str, f: str, value: Any, result: Any) -> None:
    with pytest.raises(ModelError):
        check_operations([Operation(0, f, "x", value, result, "ok", 0, 1, 0, 1)], name)


def test_a_value_appended_twice_is_no_history_of_a_ledger() -> None:
    twice = [Operation(0, "append", "x", 5, index, "ok", 0, 1, 2 * index, 2 * index + 1) for index in (0, 1)]
    with pytest.raises(ModelError, match="appended twice"):
        check_operations(twice, "ledger")


def test_a_release_that_names_another_token_than_it_gave_back_is_no_answer_to_it() -> None:
    taken = Operation(0, "acquire", "lock-0", None, ["acquired", 4], "ok", 0, 1, 0, 1)
    back = Operation(0, "release", "lock-0", 4, ["released", 4], "ok", 2, 3, 2, 3)
    assert check_operations([taken, back], "fenced-lock").verdict == "valid"
    assert check_operations([taken, replace(back, result=["released", 5])], "fenced-lock").verdict == "invalid"


def test_no_answer_names_the_token_that_is_unknown() -> None:
    """An acquire that never completed may hold the lock, by a token that is a number whatever an answer says."""
    doubt = Operation(0, "acquire", "lock", None, None, "info", 0, None, 0, None)
    for token, verdict in ((7, "valid"), ("other", "invalid"), (None, "invalid")):
        held = Operation(1, "acquire", "lock", None, ["held", token], "ok", 1, 2, 1, 2)
        assert check_operations([doubt, held], "fenced-lock").verdict == verdict


def in_turn(*said: tuple[str, Any, Any]) -> list[Operation]:
    """One after the other, each acknowledged."""
    return [
        Operation(0, f, "x", value, result, "ok", 2 * n, 2 * n + 1, 2 * n, 2 * n + 1)
        for n, (f, value, result) in enumerate(said)
    ]


APPENDED = (("append", 1, 0), ("append", 5, 2), ("append", 7, 4))


@pytest.mark.parametrize(("listed", "verdict"), [([[0, 1], [2, 5]], "valid"), ([[0, 1], [3, 5]], "invalid")])
def test_a_list_that_has_an_entry_at_another_index_is_no_list_of_that_ledger(listed: Any, verdict: str) -> None:
    """Once it was judged by the order of its entries alone, and 5 at index 3 passed for 5 at index 2."""
    report = check_operations(in_turn(*APPENDED, ("list", None, [*listed, [4, 7]])), "ledger")
    assert report.verdict == verdict
    assert [example.kind for example in report.counterexamples] == (["duplicate"] if verdict == "invalid" else [])


def test_a_list_that_leaves_an_entry_out_and_goes_beyond_it() -> None:
    report = check_operations(in_turn(*APPENDED, ("list", None, [[0, 1], [4, 7]])), "ledger")
    assert report.verdict == "invalid"
    assert report.counterexamples[0].kind == "log-overwrite"


def test_an_entry_that_was_listed_before_its_append_began_is_shown() -> None:
    """The append was never answered: once the verdict was invalid, with no violation and nothing to show."""
    listed = Operation(1, "list", "x", None, [[3, 5]], "ok", 0, 1, 0, 1)
    late = Operation(0, "append", "x", 5, None, "info", 2, None, 2, None)
    found = check_operations([listed, late], "ledger")
    assert (found.verdict, found.violations) == ("invalid", 1)
    assert [example.kind for example in found.counterexamples] == ["future-read"]


@given(st.integers(0, 2**32))
def test_what_a_ledger_is_shown_by_was_recorded_and_contradicts_itself(seed: int) -> None:
    """Once it was shown as the log of known entries, with answers that no client was given, and too few of them."""
    operations, model = made("ledger", Random(seed), 8), model_named("ledger")
    for example in check_operations(operations, model).counterexamples:
        assert all(one in operations for one in example.operations)
        part = with_makers(example, operations, has_gaps=True).operations
        assert not linearizable(calls_of(part, model), model), example


def test_the_answers_of_a_ledger_are_named_as_they_were_given() -> None:
    appended = (("append", "a", 104), ("append", "b", 110), ("list", None, [[104, "a"], [110, "b"]]))
    found = check_operations(in_turn(*appended, ("list", None, [[110, "b"]])), "ledger")
    (example,) = found.counterexamples
    assert "and got 104" in example.sentence
    assert 'and got [[110, "b"]]' in example.sentence
    assert example.sentence.endswith("a list that goes beyond an index must have the entry there.")
    (example,) = check_operations(in_turn(*appended, ("get", 104, "b")), "ledger").counterexamples
    assert [(one.value, one.result) for one in example.operations] == [("a", 104), (104, "b")]


def test_a_get_of_no_entry_is_shown_beside_the_answer_that_has_one() -> None:
    """By itself it says that no client's entry is at that index, which an append at a later one does not contradict."""
    pending = Operation(9, "append", "x", 4, None, "info", 0, None, -1, None)
    before = [pending, *in_turn(("append", 5, 1), ("get", 0, None))]
    assert check_operations(before, "ledger").verdict == "valid"
    after = [pending, *in_turn(("append", 5, 1), ("get", 0, None), ("list", None, [[0, 4], [1, 5]]))]
    (example,) = check_operations(after, "ledger").counterexamples
    assert [one.f for one in example.operations] == ["append", "get", "list"]
    assert example.sentence.endswith("There is an entry at that index: process 0 got that index for it.")


def test_a_ledger_has_no_null() -> None:
    with pytest.raises(ModelError, match="cannot hold null"):
        check_operations([Operation(0, "append", "x", None, None, "info", 0, None, 0, None)], "ledger")


def test_accounts_may_be_numbers_and_names() -> None:
    """Once no verdict came of it where such a bank had to be put into words."""
    moved = ("transfer", ["vault", 7, 3], [["vault", -3], [7, 3]])
    assert check_operations(in_turn(moved, ("read", None, [["vault", -3], [7, 3]])), "bank").verdict == "valid"
    (example,) = check_operations(in_turn(moved, ("read", None, [["vault", -3]])), "bank").counterexamples
    assert "{7: 3, vault: -3}" in example.sentence
    assert example.linearization is not None
    assert example.linearization.legal == ([[7, 3], ["vault", -3]],)
