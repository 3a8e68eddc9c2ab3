"""Brokers race on one epoch at the controller, each acting on the last answer it got.

An alter expects the state that its worker read or was granted; an alter in doubt is often repeated, as a broker would
do. Besides the model, there are checks in linear time (:func:`epochs_check`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct

from harness.generators import PENDING, Generator, GeneratorContext, Invocation, Op, Stream, seeded
from harness.systems.api import Evidence, Workload
from harness.systems.rocketmq.requests import IDS, answers_from_memory, set_names
from harness.systems.rocketmq.words import (
    EPOCHS,
    KIND,
    MEANS,
    WORDS,
    State,
    Wrong,
    epochs_text,
    granted_twice,
    older,
    older_master,
    outside,
    too_high,
    two_states,
    unexplained,
)
from harness.workloads import last_reads
from history import Check, Counterexample, Event, Operation, Verdict
from history.records.finding import contradictions

#: Fractions of the operations of a worker that knows the state of a set; the rest are alters.
READS: Final = 0.15
REGISTERS: Final = 0.05
ELECTS: Final = 0.15
#: The probability that an alter or an elect without an answer is repeated.
AGAIN: Final = 0.5
_NONE: Final[Mapping[Any, Any]] = MappingProxyType({})


class Racing(Struct, frozen=True):
    """The generator of operations by brokers that race on one epoch.

    ``known`` has the state of a broker set in the last answer to a worker.  ``asked`` are the operations that workers
    wait for, ``again`` those in doubt, which they may repeat.  ``peeks``: requests that change nothing are answered
    from memory, so sets are read only by ``peek``.
    """

    names: tuple[str, ...]
    stream: Stream
    peeks: bool
    known: Mapping[tuple[int, Any], Sequence[Any]] = _NONE
    asked: Mapping[int, Invocation] = _NONE
    again: Mapping[int, Invocation] = _NONE

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        if not ctx.free:
            return PENDING, self
        worker, again = ctx.free[0], dict(self.again)
        doubtful = again.pop(worker, None)
        draw, stream = self.stream.draw()
        if doubtful is not None and draw < AGAIN:
            operation = doubtful
        else:
            operation, stream = self._fresh(worker, stream)
        pending = {**self.asked, worker: operation}
        return operation.by(worker, ctx.time), Racing(self.names, stream, self.peeks, self.known, pending, again)

    def _fresh(self, worker: int, stream: Stream) -> tuple[Invocation, Stream]:
        name, stream = stream.choose(self.names)
        state = self.known.get((worker, name))
        draw, stream = stream.draw()
        if state is None or draw < READS + (REGISTERS if self.peeks else 0):
            return Invocation("peek" if self.peeks else "read", name), stream
        if draw < READS + REGISTERS:
            broker, stream = stream.choose(IDS)
            return Invocation("register", name, broker), stream
        return _change(name, state, stream, elects=draw < READS + REGISTERS + ELECTS)

    def update(self, ctx: GeneratorContext, event: Event) -> Generator:
        worker = ctx.worker_of(event)
        known, again, pending = dict(self.known), dict(self.again), dict(self.asked)
        operation = pending.pop(worker, None)
        if operation is None:
            return self
        before = known.pop((worker, operation.key), None)
        if event.type == "ok" and (state := _state_after(operation, event.value) or before):
            known[worker, operation.key] = state
        elif event.type == "info":
            again[worker] = operation
        return Racing(self.names, self.stream, self.peeks, known, pending, again)


def _change(name: str, state: Sequence[Any], stream: Stream, *, elects: bool) -> tuple[Invocation, Stream]:
    """Return an elect of a broker in sync, or an alter in which one broker other than the master joins or leaves."""
    master, master_epoch, members, epoch = state
    if master is None:
        broker, stream = stream.choose(IDS)
        return Invocation("elect", name, broker), stream
    able = tuple([broker for broker in members if broker != master])
    if elects and able:
        broker, stream = stream.choose(able)
        return Invocation("elect", name, broker), stream
    broker, stream = stream.choose(tuple([other for other in IDS if other != master]))
    proposed = sorted(set(members) ^ {broker})
    return Invocation("alter", name, [master, master_epoch, epoch, proposed]), stream


def _state_after(operation: Invocation, answer: Any) -> Sequence[Any] | None:
    """Return the state in an ok answer, or None for a register's answer without the master."""
    if operation.f == "alter":
        master, master_epoch, _, members = operation.value
        return [master, master_epoch, members, answer]
    if operation.f == "elect":
        return list(answer[1:])
    return None if operation.f == "register" and answer[0] is None else list(answer)


# -- checks beside the model -------------------------------------------------------------------------------------------


def epochs_check(evidence: Evidence) -> Check:
    """Check that the epochs of each broker set are unique, explained by changes, have one state, and never go back."""
    sets: defaultdict[Any, list[Operation]] = defaultdict(list)
    for operation in evidence.operations:
        sets[operation.key].append(operation)
    wrong = [example for name, mine in sets.items() for example in wrong_epochs(str(name), mine)]
    acked = sum(op.outcome == "ok" for op in evidence.operations)
    verdict: Verdict = "invalid" if wrong else "valid" if acked else "unknown"
    words = {**WORDS, KIND: MEANS} if wrong else WORDS
    found = contradictions("epochs", wrong)
    return Check("epochs", "check", verdict, EPOCHS, epochs_text(acked, wrong), found, tuple(wrong), words)


def wrong_epochs(name: str, operations: Iterable[Operation]) -> list[Counterexample]:
    """Return each impossible answer about one set, with what it contradicts."""
    operations = sorted(operations, key=lambda op: op.invoke_index)
    answered = [(op, state) for op in operations if (state := shown(op)) is not None]
    cases = [case for rule in (_masters, _granted_twice, _two_states, _backwards) for case in rule(answered)]
    cases += _too_many(operations, answered)
    # An epoch that is already wrong, for example too low, says nothing about the epochs after it.
    wrong = {notes[-1][0].invoke_index for _, notes in cases}
    cases += [case for case in _skipped(operations, answered) if wrong.isdisjoint(op.invoke_index for op, _ in case[1])]
    return [Counterexample.of_promise(KIND, f"{name}: {text}", *notes) for text, notes in cases]


def shown(op: Operation) -> State | None:
    """Return the state that an ok operation shows, or None if it has no answer."""
    if op.outcome != "ok" or op.result is None:
        return None
    if op.f == "alter":
        return op.value[0], op.value[1], tuple(sorted(op.value[3])), op.result
    state = op.result[1:] if op.f == "elect" else op.result
    return state[0], state[1], tuple(state[2]), state[3]


_Shown = Sequence[tuple[Operation, State]]


def _changed(op: Operation) -> bool:
    return op.f == "alter" or (op.f == "elect" and op.result[0] == "elected")


def _masters(answered: _Shown) -> list[Wrong]:
    return [
        outside(op, m, list(members), e) for op, (m, _, members, e) in answered if m is not None and m not in members
    ]


def _granted_twice(answered: _Shown) -> list[Wrong]:
    granted: dict[int, Operation] = {}
    cases: list[Wrong] = []
    for op, (*_, epoch) in answered:
        if _changed(op) and (first := granted.setdefault(epoch, op)) is not op:
            cases.append(granted_twice(epoch, first, op))
    return cases


def _two_states(answered: _Shown) -> list[Wrong]:
    """Find epochs with different states in their answers, ignoring registers without the master."""
    first: dict[int, tuple[Operation, State]] = {}
    cases: list[Wrong] = []
    for op, state in answered:
        if op.f == "register" and state[0] is None:
            continue
        before, other = first.setdefault(state[3], (op, state))
        if other != state:
            cases.append(two_states((before, other), (op, state)))
    return cases


def _backwards(answered: _Shown) -> list[Wrong]:
    """Find answers older than one that ended before they were requested.  Peeks may be older."""
    ends = sorted(answered, key=lambda one: one[0].end_index)
    place, top, top_master = 0, 0, 0
    newest: list[Operation] = []
    newest_master: list[Operation] = []
    cases: list[Wrong] = []
    for op, (_, master_epoch, _, epoch) in answered:
        while place < len(ends) and ends[place][0].end_index < op.invoke_index:
            one, (_, its_master_epoch, _, its_epoch) = ends[place]
            if its_epoch > top:
                top, newest = its_epoch, [one]
            if (its_master_epoch or 0) > top_master:
                top_master, newest_master = its_master_epoch, [one]
            place += 1
        if op.f == "peek":
            continue
        if epoch < top + _changed(op):
            cases.append(older(op, epoch, top, newest))
        if master_epoch is not None and master_epoch < top_master:
            cases.append(older_master(op, master_epoch, top_master, newest_master))
    return cases


def _too_many(operations: Sequence[Operation], answered: _Shown) -> list[Wrong]:
    """Find epochs higher than the number of changes requested until then.

    Each alter or elect raises the epoch by at most one, and those without an answer may have done so.
    """
    calls = [op.invoke_index for op in operations if op.f in ("alter", "elect") and op.outcome != "fail"
             and not (op.outcome == "ok" and not _changed(op))]  # fmt: skip
    ends = sorted(answered, key=lambda pair: pair[0].end_index)
    place = 0
    cases: list[Wrong] = []
    for op, (*_, epoch) in ends:
        while place < len(calls) and calls[place] < op.end_index:
            place += 1
        if epoch > place:
            cases.append(too_high(op, epoch, place))
    return cases


def _skipped(operations: Sequence[Operation], answered: _Shown) -> list[Wrong]:
    """Find epochs that no requested change explains.

    Under one master and its epoch, only an alter raises the epoch, by one, and it names the epoch before.  So every
    step from one epoch that was seen to the next must have been expected by a change that may have taken effect before
    the latter was answered.  Several changes may have expected the same epoch; this does not check that only one of
    them took effect.
    """
    expected: dict[tuple[Any, Any, int], int] = {}
    for op in operations:
        if op.f == "alter" and op.outcome != "fail":
            expected.setdefault((op.value[0], op.value[1], op.value[2]), op.invoke_index)
    first: defaultdict[tuple[Any, Any], dict[int, Operation]] = defaultdict(dict)
    for op, (master, master_epoch, _, epoch) in sorted(answered, key=lambda pair: pair[0].end_index):
        if master is not None:
            first[master, master_epoch].setdefault(epoch, op)
    cases: list[Wrong] = []
    for led, epochs in first.items():
        for before, epoch in pairwise(sorted(epochs)):
            op = epochs[epoch]
            until, since = op.end_index, before
            while since < epoch and expected.get((*led, since), until) < until:
                since += 1
            if since < epoch:
                cases.append(unexplained((epochs[before], before), (op, epoch), since))
    return cases


CONTROLLER: Final = Workload(
    name="controller",
    summary="brokers alter their sync state sets, elect masters, register and read, racing on one epoch",
    generator=lambda scale: seeded(
        "operations", lambda rng: Racing(set_names(scale.setup), Stream(rng), answers_from_memory(scale.setup))
    ),
    final=lambda scale: last_reads(set_names(scale.setup)),
    model="sync-state-set",
    # Reads need no gate of their own: their ``f`` varies, and without an answer to a read nothing can be altered.
    kinds=("alter", "elect"),
    reads=frozenset({"read", "peek", "register"}),
    checks=(epochs_check,),
)
