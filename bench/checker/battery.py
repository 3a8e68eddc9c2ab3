"""Small histories for mutation testing, each with the verdict of the definition and the engines that must agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from random import Random
from typing import Any, Protocol, TypeAlias

import numpy as np

from checker import ANY, CasRegister, Model, Register
from checker.core.calls import Call, calls_of
from checker.core.definition import MAX_DEFINITION_CALLS, is_linearization, linearizable
from checker.core.result import Limits
from checker.dispatch import decide
from checker.engines import automaton
from checker.kernels import cas_chains as chains_kernel
from checker.kernels import encode as gathering_kernel
from checker.kernels import many_keys as keys_kernel
from checker.kernels import slots as slots_kernel
from checker.kernels import zones as zones_kernel
from checker.models.objects import Counter, MultiRegister
from checker.search import compiled as compiled_search
from checker.search import multi_register
from history import Operation
from history.codes import ABSENT, CAS, NEVER, OK, READ, WRITE
from history.readers.columns import OperationColumns
from tests.support.checker.columns import columns_of
from tests.support.checker.oracle import (
    DISTINGUISHED,
    READ_TWICE,
    Sampler,
    after_another,
    dense_history,
    early_swap,
    either_pending_write,
    first_return_first,
    history_of,
    is_linearizable,
    late_pending,
    later_change,
    one_answer_changed,
    write_or_swap,
)
from tests.support.checker.oracle_objects import object_history, transaction_history


class Trial(Protocol):
    """One question to the code under test, and whether its answer is right."""

    def passes(self) -> bool: ...


Battery: TypeAlias = Callable[[Random, int], Sequence[Trial]]


class Tabled(Model):
    """A cas register that the search does not recognise, so it has to ask the model for every step."""

    name = "tabled"

    def step(self, state: Any, f: str, value: Any, result: Any) -> Any:
        return CasRegister().step(state, f, value, result)


@dataclass(frozen=True, slots=True)
class Decided:
    """One history for one engine, how much work it may do at once, and whether it is linearizable."""

    engine: str
    model: Model
    calls: list[Call]
    budget: int
    truth: bool

    def passes(self) -> bool:
        constrain(BUDGET=self.budget)
        looks = iter(range(1 << 40))
        limits = Limits(lambda: next(looks), 50_000)
        answer = decide(self.calls, self.model, limits, engine=self.engine)
        if answer.verdict != ("valid" if self.truth else "invalid"):
            return False
        if answer.order is not None:
            return is_linearization(answer.order, self.calls, self.model)
        if answer.last is None or self.model.initial is ANY or len(self.calls) > MAX_DEFINITION_CALLS:
            return True
        # These know what open calls will answer, and may stop before they do.
        if isinstance(self.model, (Counter, MultiRegister)):
            return True
        return self._is_first(answer.last)

    def _is_first(self, last: int) -> bool:
        """Return whether this is the first return that nothing explains."""
        cut = [call if call.ret <= last else call.made_pending() for call in self.calls if call.invoke <= last]
        before = [call.made_pending() if call.ret == last else call for call in cut]
        with_it, without = ([c for c in some if not (c.pending and c.f == "read")] for some in (cut, before))
        return not linearizable(with_it, self.model) and linearizable(without, self.model)


@dataclass(frozen=True, slots=True)
class ManyOpen:
    """A read with many open writes: the compiled engines have room for up to 61."""

    count: int

    def passes(self) -> bool:
        writes = [("write", 1, place, 200 - place) for place in range(self.count)]
        later = [("write", 1, place, place + 1) for place in range(1000, 1200, 2)]
        calls = calls_of(history_of([*writes, ("read", 1, 100, 101), *later]), Register())
        limits = Limits(lambda: 0.0)
        verdict = decide(calls, Register(), limits, engine="automaton").verdict
        found = compiled_search.compiled_search(calls, Register(), limits)
        if self.count > 61:
            return found is None and verdict == "unknown"
        return found is not None and found.verdict == verdict == "valid"


@dataclass(frozen=True, slots=True)
class First:
    """The slots in a mask; the kernel must find the slot that returns first."""

    slots: list[int]
    returns: list[int]

    def passes(self) -> bool:
        first = min(self.slots, key=lambda slot: self.returns[slot], default=None)
        found = slots_kernel.earliest(np.int64(sum(1 << slot for slot in self.slots)), np.array(self.returns))
        return bool(found == (0 if first is None else 1 << first))


def constrain(**constants: int) -> None:
    """Make tables small and pieces short, so that growing and continuing are tried as well."""
    for name, number in constants.items():
        users = [module for module in (automaton, compiled_search, multi_register) if hasattr(module, name)]
        assert users, f"no module has a constant {name}"
        for module in users:
            setattr(module, name, number)


def of_engines(random: Random, samples: int) -> list[Trial]:
    """Return trials for the automaton and the search, and for the code they share."""
    constrain(NARROW=2, ROOM=2, AHEAD=0)
    trials: list[Trial] = [
        Decided("automaton", Register(), calls_of(either_pending_write(first, both=both), Register()), 20_000, not both)
        for first in (1, 2)
        for both in (False, True)
    ]
    for first, flash in product((False, True), repeat=2):
        calls = calls_of(later_change(first=first, flash=flash), Register())
        trials += [Decided(engine, Register(), calls, 20_000, flash) for engine in ("automaton", "search")]
    for spans, writes, end in product(READ_TWICE.values(), (1, 2), (None, 90)):
        begin = [("write", 1, number, end and end + number) for number in range(writes)]
        calls = calls_of(history_of([*begin, *spans]), Register())
        trials += [Decided(engine, Register(), calls, 20_000, writes == 2) for engine in ("automaton", "search")]
    doubtful = [(after_another(1), False), (after_another(), True), (late_pending(-1), True), (late_pending(10), False)]
    begin = [("write", 1, 0, None), ("write", 2, 1, None), ("write", 3, 50, None), ("read", 2, 2, 3), ("read", 1, 4, 5)]
    doubtful += [(history_of([*begin, ("read", 3, moment, moment + 1)]), moment > 50) for moment in (40, 60)]
    doubtful += [(after_another(again=again), False) for again in (5, 6)]
    for history, truth in doubtful:
        calls = calls_of(history, Register())
        trials += [Decided(engine, Register(), calls, 20_000, truth) for engine in ("automaton", "search")]
    for history in chain.from_iterable(map(one_answer_changed, DISTINGUISHED.values())):
        calls, truth = calls_of(history, Register()), is_linearizable(history)
        trials += [Decided(engine, Register(), calls, 20_000, truth) for engine in ("automaton", "search")]
    for both in (False, True):
        calls = calls_of(history_of(first_return_first(both=both)), Register())
        trials += [Decided(engine, Register(), calls, 20_000, both) for engine in ("automaton", "search")]
    for valid in (False, True):
        calls = calls_of(write_or_swap(valid=valid), CasRegister())
        trials.append(Decided("search", CasRegister(), calls, 20_000, valid))
    for reads in (20, 21):
        spans = [("write", 1 + place % 2, place, 1000 + place) for place in range(20)]
        spans += [("read", 1 + place % 2, 100 + 2 * place, 101 + 2 * place) for place in range(reads)]
        calls = calls_of(history_of(spans), Register())
        trials += [Decided(engine, Register(), calls, 20_000, reads == 20) for engine in ("automaton", "search")]
    trials += [ManyOpen(61), ManyOpen(62)]
    for most in (*range(1, 9), *[slots_kernel.SLOTS] * 8):
        returns = random.sample(range(1000), slots_kernel.SLOTS)
        trials += [
            First(list(range(most)), returns),
            First(random.sample(range(most), random.randint(0, most)), returns),
        ]
    for _ in range(samples):
        trials += _decided(random)
    return trials


def of_automaton(random: Random, samples: int) -> list[Trial]:
    """Return trials for the automaton alone, with one key after the other in the same arrays."""
    trials = [*_without(of_engines(random, samples), "search"), *_dense(random, 4 * samples)]
    return [*trials, *_long(random, samples // 10), *of_keys(random, samples // 2)]


def _long(random: Random, samples: int) -> Iterator[Trial]:
    """Yield valid histories that are too long for the definition: a register gave every answer."""
    for _ in range(samples):
        sampler = Sampler(random, values=random.randint(2, 6), truth=1, doubt=random.random() < 0.5)
        yield Decided("automaton", Register(), calls_of(sampler.history(80, 12), Register()), 20_000, truth=True)


def _dense(random: Random, samples: int) -> Iterator[Trial]:
    """Yield histories in which most operations overlap, with a few interruptions."""
    for _ in range(samples):
        history = dense_history(
            random, random.randint(5, 10), values=random.randint(2, 4), lies=0.7, doubt=random.choice([0, 0.2, 0.5])
        )
        calls, truth = calls_of(history, Register()), is_linearizable(history)
        yield Decided("automaton", Register(), calls, random.choice([1, 7, 20_000, 20_000]), truth)


def of_search(random: Random, samples: int) -> list[Trial]:
    trials = _without(of_engines(random, samples), "automaton")
    for name, model in (("counter", Counter()), ("multi-register", MultiRegister())):
        for _ in range(samples // 4):
            calls = calls_of(object_history(random, name, random.randint(2, 8), 3, 0.9), model)
            budget, truth = random.choice([1, 7, 20_000]), linearizable(calls, model)
            trials.append(Decided("search", model, calls, budget, truth))
    return trials


@dataclass(frozen=True, slots=True)
class LookedAhead:
    """One history of a tabled model for the search, without a proof."""

    calls: list[Call]
    truth: bool

    def passes(self) -> bool:
        answer = compiled_search.compiled_search(self.calls, Tabled(), Limits(lambda: 0.0), proof=False)
        return answer is not None and answer.verdict == ("valid" if self.truth else "invalid")


def of_tables(random: Random, samples: int) -> list[Trial]:
    constrain(MAX_QUESTIONS=0)
    trials: list[Trial] = []
    for _ in range(samples):
        doubt = random.choice([0, 0.3])
        history = dense_history(random, random.randint(4, 9), values=random.randint(2, 4), doubt=doubt, cas=True)
        calls = calls_of(history, Tabled())
        if len(calls) <= MAX_DEFINITION_CALLS:
            trials.append(LookedAhead(calls, linearizable(calls, Tabled())))
    return trials


def of_multi_registers(random: Random, samples: int) -> list[Trial]:
    """Return trials with many values and registers, and trials with few, in which values often repeat."""
    constrain(ROOM=2, AHEAD=0)
    trials: list[Trial] = []
    for number in range(samples):
        history = transaction_history(random)
        if number % 2:
            history = object_history(random, "multi-register", random.randint(4, 8), 4, 0.9)
        calls = calls_of(history, MultiRegister())
        budget, truth = random.choice([1, 20_000]), linearizable(calls, MultiRegister())
        trials.append(Decided("search", MultiRegister(), calls, budget, truth))
    return trials


def _without(trials: Sequence[Trial], engine: str) -> list[Trial]:
    return [trial for trial in trials if not isinstance(trial, Decided) or trial.engine != engine]


def _decided(random: Random) -> list[Trial]:
    cas = random.random() < 0.4
    sampler = Sampler(random, values=random.choice([None, 1, 2, 3, 4]), cas=cas, truth=random.choice([0.6, 0.9, 1]))
    history = sampler.history(random.randint(1, 12), random.randint(2, 6))
    if random.random() < 0.8:
        doubt = random.choice([0.1, 0.5])
        history = dense_history(random, random.randint(4, 9), values=random.randint(2, 4), doubt=doubt, cas=cas)
    budget = random.choice([1, 7, 20_000])
    trials: list[Trial] = []
    for engine, model in (
        ("automaton", CasRegister()), ("search", CasRegister()), ("search", Tabled()),
        ("automaton", CasRegister(ANY)), ("search", CasRegister(ANY)),
    ):  # fmt: skip
        calls = calls_of(history, model)
        if (engine == "automaton" and cas) or len(calls) > MAX_DEFINITION_CALLS:
            continue
        truth = is_linearizable(history) if model.initial is None else linearizable(calls, model)
        trials.append(Decided(engine, model, calls, budget, truth))
    return trials


# How values of keys lie apart and events of one key lie apart: shared tables, tables of their own, sorting.
_SPREADS = [(0, 0), (0, 0), (20, 0), (20, 40), (10**6, 0), (0, 400)]


@dataclass(frozen=True, slots=True)
class ManyZones:
    """Several keys for the zones, with the verdict and the number of calls of each; if ``far``, they may give up."""

    columns: OperationColumns
    state: list[int]
    counts: list[int]
    far: bool

    def passes(self) -> bool:
        fields = (self.columns.kind, self.columns.outcome, self.columns.value, self.columns.key)
        found = zones_kernel.judge(*fields, self.columns.invoke, self.columns.ret, len(self.state))
        if found is None:
            return self.far
        state, counts = found
        whole = self.state != [zones_kernel.REPEATED]
        return state.tolist() == self.state and (not whole or counts.tolist() == self.counts)


def of_zones(random: Random, samples: int) -> list[Trial]:
    trials: list[Trial] = []
    # What one key read and never wrote, another one wrote; and these values are too far apart for tables.
    strangers = [history_of([("write", 1000, 0, 1), ("read", 5, 2, 3)]), history_of([("write", 5, 0, 1)])]
    for _ in range(10):
        columns = columns_of(strangers, random)
        trials.append(ManyZones(columns, list(map(_zoned, strangers)), [2, 1], far=True))
    for _ in range(2 * samples):
        apart, gap = random.choice(_SPREADS)
        objects = [
            dense_history(random, random.randint(2, 8), values=None, doubt=random.choice([0, 0.3]))
            if random.random() < 0.3
            else Sampler(random, values=random.choice([None, None, None, 3]), cas=random.random() < 0.1,
                         truth=random.choice([0.3, 0.6, 0.95])).history(random.randint(0, 9), random.randint(2, 4))
            for _ in range(random.choice([1, 1, 2, 5]))
        ]  # fmt: skip
        if not any(objects):
            continue
        factor = random.choice([1, 1, 1, 30, 100])
        columns = _moved(columns_of(objects, random, apart=apart, gap=gap), factor, -7)
        counts = [sum(_counts(operation) for operation in operations) for operations in objects]
        # Numbers that lie far apart may be left to others.
        far = (apart == 10**6 or factor > 1) and len(objects) > 1
        trials.append(ManyZones(columns, list(map(_zoned, objects)), counts, far))
        huge = random.choice([1 << 62, -(1 << 62), (1 << 63) - 1])
        trials.append(ManyZones(_with_huge(columns, huge), [9] * len(objects), [], far=True))
    return trials


def _moved(columns: OperationColumns, factor: int = 1, shift: int = 0) -> OperationColumns:
    """Return the same history starting at place 0 and with other numbers as values."""
    value, old = _numbers(columns, lambda value: value * factor + shift)
    ret = np.where(columns.ret < 0, columns.ret, columns.ret - columns.invoke[0])
    return replace(columns, value=value, old=old, invoke=columns.invoke - columns.invoke[0], ret=ret)


def _numbers(columns: OperationColumns, change: Callable[[Any], Any]) -> list[Any]:
    return [np.where(column == ABSENT, ABSENT, change(column)) for column in (columns.value, columns.old)]


def _counts(operation: Operation) -> bool:
    return operation.outcome == "ok" or (operation.outcome == "info" and operation.f != "read")


def _zoned(operations: Sequence[Operation]) -> int:
    made = [operation for operation in operations if operation.f != "read" and _counts(operation)]
    if any(operation.f == "cas" for operation in made) or len({o.value for o in made} | {None}) <= len(made):
        return zones_kernel.REPEATED
    return zones_kernel.VALID if is_linearizable(operations) else zones_kernel.INVALID


def _with_huge(columns: OperationColumns, value: int) -> OperationColumns:
    """Make all calls write or read one number that is too large, or too far from another one."""
    values = columns.value.copy()
    values[-1] = value
    outcome = columns.outcome.copy()
    outcome[-1] = OK
    ret = np.where(columns.ret < 0, columns.invoke + 1, columns.ret)
    return replace(columns, value=values, outcome=outcome, ret=ret)


@dataclass(frozen=True, slots=True)
class ManyKeys:
    """Several keys for the automaton in one pass; ``sound`` holds the answers that are allowed for each key.

    ``all_sound`` holds those allowed for the zones and the automaton together.  If ``far``, they may give up.
    """

    columns: OperationColumns
    wanted: list[bool]
    sound: list[set[int]]
    all_sound: list[set[int]]
    counts: list[int]
    budget: int
    far: bool
    patience: int

    def passes(self) -> bool:
        keys_kernel.__dict__["_PATIENCE"] = self.patience
        columns, keys = self.columns, len(self.sound)
        fields = (columns.kind, columns.outcome, columns.value, columns.key, columns.invoke, columns.ret)
        return self._by_automaton(fields) and self._together(fields, keys)

    def _by_automaton(self, fields: tuple[Any, ...]) -> bool:
        keys = len(self.sound)
        keyed = keys_kernel.arrange_keys(*fields, np.array(self.wanted))
        if keyed is None:
            return self.far
        state, key = np.full(keys, 7, np.int8), 0
        while key < keys:
            before, key = key, keys_kernel.judge_keys(keyed, key, self.budget, state)
            if key <= before or (self.budget == 1 and key != before + 1):
                return False
        right = all(
            found in sound
            for found, sound, wanted in zip(state.tolist(), self.sound, self.wanted, strict=True)
            if wanted
        )
        counts = [count * wanted for count, wanted in zip(self.counts, self.wanted, strict=True)]
        return right and np.diff(keyed.starts).tolist() == counts

    def _together(self, fields: tuple[Any, ...], keys: int) -> bool:
        found = keys_kernel.judge_all(*fields, keys, 10**6)
        if found is None:
            return self.far
        state, counts, present = found
        if present != sum(1 << which for which in set(state.tolist())):
            return False
        plain = [keys > 1 or which != keys_kernel.REPEATED for which in state.tolist()]
        return all(which in sound for which, sound in zip(state.tolist(), self.all_sound, strict=True)) and all(
            mine == right for mine, right, sound in zip(counts.tolist(), self.counts, plain, strict=True) if sound
        )


@dataclass(frozen=True, slots=True)
class TooFar:
    """Numbers that the automaton for many keys must refuse."""

    columns: OperationColumns

    def passes(self) -> bool:
        columns, wanted = self.columns, np.ones(len(self.columns.keys), np.bool_)
        fields = (columns.kind, columns.outcome, columns.value, columns.key, columns.invoke, columns.ret)
        return keys_kernel.arrange_keys(*fields, wanted) is None


def of_keys(random: Random, samples: int) -> list[Trial]:
    trials: list[Trial] = []
    distinguished = _after_dead_ends()
    for number in range(samples):
        apart, gap = random.choice(_SPREADS)
        objects = [_repeating(random) for _ in range(random.randint(1, 5))]
        patience = random.choice([3, 10, 100_000, 100_000])
        wanted, budget = [random.random() < 0.8 for _ in objects], random.choice([1, 30, 10**6])
        if number < len(distinguished):
            objects, wanted, (apart, gap) = distinguished[number], [True, True], (0, 0)
            patience, budget = 100_000, 10**6
        if not any(objects):
            continue
        columns = _moved(columns_of(objects, random, apart=apart, gap=gap), shift=-2)
        counts = [sum(map(_counts, operations)) for operations in objects]
        far = apart == 10**6 and len(objects) > 1
        trials.append(TooFar(_with_huge(columns, random.choice([1 << 62, -(1 << 62), (1 << 63) - 1]))))
        sound, all_sound = [_sound(operations) for operations in objects], [_all_sound(some) for some in objects]
        if patience < 100_000:
            sound, all_sound = [some | {keys_kernel.OPEN} for some in sound], [set(range(5)) for _ in sound]
        trials.append(ManyKeys(columns, wanted, sound, all_sound, counts, budget, far, patience))
    return trials


def _ended(some: list[Operation]) -> list[Operation]:
    """Return the same history, with the ends of pending operations that never answered."""
    return [replace(o, return_index=100 + o.invoke_index) if o.outcome == "info" else o for o in some]


def _after_dead_ends() -> list[list[list[Operation]]]:
    """Return keys that leave something behind when they are given up, each with a key that must not find it."""

    def key(*spans: tuple[str, int, int, int | None]) -> list[Operation]:
        return _ended(history_of(spans))

    # 2 is read before it is written, while others are open or pending.
    dead, late = ("read", 2, 10, 11), ("write", 2, 60, 61)
    open_ones = key(("write", 1, 0, 20), ("read", 1, 1, 21), dead, late)
    spent = key(("write", 1, 0, None), ("read", 1, 1, 2), ("write", 3, 3, 4), ("read", 1, 5, 6))
    made_pending = key(("write", 1, 0, None), ("write", 5, 1, None), ("read", 1, 2, 3), dead, late, ("read", 5, 70, 71))
    # The write of 1 is spent, a read of 1 satisfied, and both were open at the last change.
    marked = key(("write", 1, 0, 50), ("read", 1, 1, 3), ("read", 1, 2, 60), ("write", 3, 4, 5), dead, late)
    two_ways = key(("write", 3, 0, 1), ("write", 1, 2, 8), ("write", 2, 3, 7), ("write", 4, 4, 5), ("read", 5, 9, 10),
                   ("write", 5, 60, 61))  # fmt: skip
    absent: Any = None
    open_twice = [("write", 7, 0, 90), ("write", 8, 1, 91)]
    return [
        [marked, key(("write", 1, 0, 9), ("read", 1, 1, 2))],
        [marked, key(("read", absent, 0, 1), ("write", 1, 2, 3), ("write", 1, 4, 5))],
        [marked, key(("write", 9, 0, 90), ("write", 8, 1, 91), ("read", 7, 2, 3), ("write", 7, 60, 61))],
        [marked, key(*open_twice, ("read", 7, 2, 3), ("read", absent, 4, 5))],
        [two_ways, key(("write", 8, 0, 90), ("read", 9, 1, 2), ("write", 9, 4, 5))],
        [spent, key(("write", 1, 0, None), ("read", 1, 1, 2), ("write", 3, 3, 4), ("write", 3, 5, 6))],
        [open_ones, key(("read", 1, 0, 1), ("write", 1, 2, 3))],
        [open_ones, key(("write", 1, 0, 1), ("write", 3, 2, 50), ("read", 2, 3, 4), late)],
        [spent, key(("read", 1, 0, 1), ("write", 1, 2, 3), ("write", 3, 4, None), ("read", 3, 5, 6))],
        [made_pending, key(("write", 1, 0, None), ("write", 1, 1, None), ("write", 5, 2, None), ("read", 1, 3, 4),
                        ("read", 5, 5, 6), ("read", 1, 7, 8))],
        [spent, key(("write", 1, 0, None), ("read", 1, 1, 2), ("write", 3, 3, 4), ("read", 1, 5, 20),
                    ("write", 2, 6, 7), ("write", 1, -1, None), ("read", 2, 22, 23))],
        *[[spent, _ended(either_pending_write(first, both=False))] for first in (1, 2)],
    ]  # fmt: skip


def _repeating(random: Random) -> list[Operation]:
    if random.random() < 0.5:
        return Sampler(random, values=random.choice([1, 2, 3, None]), cas=random.random() < 0.1,
                       truth=random.choice([0.8, 1])).history(random.randint(0, 8), 3)  # fmt: skip
    return dense_history(
        random, random.randint(2, 8), values=random.randint(1, 3), lies=0.8, doubt=random.choice([0, 0.5])
    )


def _sound(operations: Sequence[Operation]) -> set[int]:
    """Return the answers that the automaton may give about a key.

    If writes of two values are pending, it may give up.
    """
    made = [operation for operation in operations if operation.f != "read" and _counts(operation)]
    read = {operation.result for operation in operations if operation.f == "read" and _counts(operation)}
    if any(operation.f == "cas" for operation in made) or not read <= {None, *(o.value for o in made)}:
        return {keys_kernel.OPEN}
    doubtful = {operation.value for operation in made if operation.outcome == "info"}
    truth = keys_kernel.VALID if is_linearizable(operations) else keys_kernel.INVALID
    return {truth, keys_kernel.OPEN} if len(doubtful) > 1 else {truth}


def _all_sound(operations: Sequence[Operation]) -> set[int]:
    by_zones = _zoned(operations)
    if by_zones != zones_kernel.REPEATED:
        return {keys_kernel.AGREED if by_zones == zones_kernel.VALID else keys_kernel.CONTRADICTED}
    words = {
        keys_kernel.VALID: keys_kernel.EXPLAINED,
        keys_kernel.INVALID: keys_kernel.UNEXPLAINED,
        keys_kernel.OPEN: keys_kernel.REPEATED,
    }
    return {words[word] for word in _sound(operations)}


@dataclass(frozen=True, slots=True)
class Chained:
    """A cas register for the chains, in the columns that gathering makes."""

    columns: gathering_kernel.Gathered
    sound: int

    def passes(self) -> bool:
        found = self.columns
        fields = (found.kind, found.value, found.old, found.invoke, found.ret)
        return bool(chains_kernel.judge_chains(*fields, found.names.size) == self.sound)


def of_chains(random: Random, samples: int) -> list[Trial]:
    swaps = [early_swap(valid=valid) for valid in (False, True)]
    trials: list[Trial] = [Chained(_gathered(columns_of([some], random)), _chained(some)) for some in swaps]
    while len(trials) < 4 * samples:
        sampler = Sampler(random, values=random.choice([None, None, None, None, 5]), cas=True,
                          truth=random.choice([0.5, 0.8, 1]), doubt=random.random() < 0.8)  # fmt: skip
        history = sampler.history(random.randint(1, 10), random.randint(2, 5))
        if random.random() < 0.6:
            history = dense_history(random, random.randint(3, 9), values=None, doubt=random.choice([0, 0.3]), cas=True)
        if any(_counts(operation) for operation in history):
            trials.append(Chained(_gathered(_moved(columns_of([history], random))), _chained(history)))
    return trials


def _gathered(columns: OperationColumns) -> gathering_kernel.Gathered:
    fields = (columns.kind, columns.outcome, columns.value, columns.old, columns.invoke, columns.ret)
    found: gathering_kernel.Gathered = gathering_kernel.gather(*fields)
    return found


def _chained(operations: Sequence[Operation]) -> int:
    made = [operation for operation in operations if operation.f != "read" and _counts(operation)]
    new = [operation.value if operation.f == "write" else operation.value[1] for operation in made]
    if len(set(new) | {None}) <= len(new):
        return chains_kernel.REPEATED
    return chains_kernel.VALID if is_linearizable(operations) else chains_kernel.INVALID


@dataclass(frozen=True, slots=True)
class Gathering:
    """The result of gathering the operations of one key, worked out one by one."""

    columns: OperationColumns
    rows: list[int]

    def passes(self) -> bool:
        columns, rows = self.columns, self.rows
        found = _gathered(columns)
        done = [bool(columns.outcome[row] == OK) for row in rows]
        places = [*(columns.invoke[rows]), *columns.ret[rows][done]]
        rank = {int(place): number for number, place in enumerate(sorted(places))}
        invoke = [rank[int(columns.invoke[row])] for row in rows]
        ret = [rank[int(columns.ret[row])] if ok else NEVER for row, ok in zip(rows, done, strict=True)]
        code = {place: call for call, place in enumerate(invoke)}
        code |= {place: ~call for call, place in enumerate(ret) if place != NEVER}
        kinds, value, old = (column[rows].tolist() for column in (columns.kind, columns.value, columns.old))
        swaps = [call for call, kind in enumerate(kinds) if kind == CAS]
        names = sorted({ABSENT, *value, *(old[call] for call in swaps)})
        made = {item for item, kind in zip(value, kinds, strict=True) if kind != READ}
        return (
            found.row.tolist() == rows
            and found.kind.tolist() == kinds
            and found.names.tolist() == names
            and found.names[found.value].tolist() == value
            and found.names[found.old][swaps].tolist() == [old[call] for call in swaps]
            and (found.invoke.tolist(), found.ret.tolist()) == (invoke, ret)
            and found.code.tolist() == [code[event] for event in range(len(code))]
            and found.written.tolist() == [name in made for name in names]
            and self._ordered(found)
        )

    def _ordered(self, found: gathering_kernel.Gathered) -> bool:
        """Return the last reads and the pending writes of each value."""
        write, values = found.kind == WRITE, found.names.size
        calls = list(zip(write.tolist(), found.value.tolist(), found.invoke.tolist(), found.ret.tolist(), strict=True))
        last = [max((r for w, v, _, r in calls if v == x and not w), default=-1) for x in range(values)]
        by_value = [[i for w, v, i, r in calls if v == x and w and r == NEVER] for x in range(values)]
        last_read, starts, pending = gathering_kernel.order_of_values(
            write, found.value, found.invoke, found.ret, values
        )
        bounds = [0, *np.cumsum([len(some) for some in by_value]).tolist()]
        return bool(
            last_read.tolist() == last and starts.tolist() == bounds and pending.tolist() == list(chain(*by_value))
        )


# What values are near each other, what are far apart, and what no difference of 64 bits can tell.
_NUMBERS: list[Callable[[Any], Any]] = [
    lambda value: value,
    lambda value: value - 5,
    lambda value: value * 50,
    lambda value: value * 10**9,
    lambda value: value * (1 << 58),
    lambda value: np.where(value % 2, (1 << 63) - 1 - value, value - (1 << 61)),
    lambda value: np.where(value % 2, value - ((1 << 63) - 1), (1 << 61) - value),
    lambda value: value * 0 + (1 << 62),
]


def of_gathering(random: Random, samples: int) -> list[Trial]:
    trials: list[Trial] = []
    for _ in range(samples):
        sampler = Sampler(random, values=random.choice([None, 3]), cas=random.random() < 0.5)
        history = sampler.history(random.randint(1, 12), 4)
        columns = columns_of([[], history], random, gap=random.choice([0, 0, 60, 300]))
        change = random.choice(_NUMBERS)
        rows = [row for row, operation in enumerate(sorted(history, key=_begun)) if _counts(operation)]
        value, old = _numbers(columns, change)
        trials.append(Gathering(replace(_moved(columns), value=value, old=old), rows))
    return trials


def _begun(operation: Operation) -> int:
    return operation.invoke_index
