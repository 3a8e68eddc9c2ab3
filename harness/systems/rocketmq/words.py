"""What the checks of controllers require and find, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from history import Counterexample, Operation
from history.records.text import counted

#: The kind of all violations that the check of epochs finds, and its meaning.
KIND: Final = "wrong-epoch"
MEANS: Final = "an answer has an epoch that was granted to another process, went back, or had a different state before"
#: Explanations of the words that readers of a run's results meet.
WORDS: Final = {
    "alter": "a request to change the set of in-sync replicas, which names the epoch it expects and is granted or "
    "refused",
    "elect": "a request to choose a master among the in-sync replicas",
    "epoch": "a number that grows with every new master or change of the in-sync set; the higher one wins",
}
#: What the checks require.
SNAPSHOTS: Final = "in jRaft mode snapshots are saved"
EPOCHS: Final = (
    "a master is in its set; each epoch is granted once, has one state, never goes back, and is no higher than the "
    "number of requested changes; under one master, it follows an epoch that a change expected"
)
NO_SNAPSHOTS: Final = "DLedger mode makes none"

#: Master, epoch of the master, members, epoch.
State: TypeAlias = tuple[Any, Any, Any, int]
#: A sentence, and the part of each operation in it; the impossible answer comes last.
Wrong: TypeAlias = tuple[str, Sequence[tuple[Operation, str]]]


def snapshots_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{what} {count}" for what, count in counts.items())


def epochs_text(answers: int, wrong: Sequence[Counterexample]) -> str:
    return counted(answers, "answer") + (f", {len(wrong)} wrong: {wrong[0].sentence}" if wrong else "")


def outside(op: Operation, master: Any, members: list[Any], epoch: int) -> Wrong:
    text = f"master {master} is not in {members} of epoch {epoch}"
    return text, [(op, f"{members} of master {master}, epoch {epoch}")]


def granted_twice(epoch: int, first: Operation, op: Operation) -> Wrong:
    text = f"epoch {epoch} was granted to process {first.process} and to process {op.process}"
    return text, [(first, f"epoch {epoch}"), (op, f"epoch {epoch}")]


def two_states(*seen: tuple[Operation, State]) -> Wrong:
    first, second = parts = [(op, f"{list(state[2])} of master {state[0]}, epoch {state[1]}") for op, state in seen]
    return f"epoch {seen[0][1][3]} was seen as {first[1]} and as {second[1]}", parts


def older(op: Operation, epoch: int, top: int, newest: Sequence[Operation]) -> Wrong:
    text = f"the {op.f} of process {op.process} was answered with epoch {epoch}, after {top}"
    return text, [*((before, f"epoch {top}") for before in newest), (op, f"epoch {epoch}")]


def older_master(op: Operation, epoch: int, top: int, newest: Sequence[Operation]) -> Wrong:
    text = f"process {op.process} was answered with epoch {epoch} of the master, after {top}"
    return text, [*((before, f"epoch {top} of the master") for before in newest), (op, f"epoch {epoch} of the master")]


def too_high(op: Operation, epoch: int, changes: int) -> Wrong:
    text = f"epoch {epoch} was seen by process {op.process} when only {changes} changes had been requested"
    return text, [(op, f"epoch {epoch}, after {changes} changes")]


def unexplained(before: tuple[Operation, int], after: tuple[Operation, int], expected: int) -> Wrong:
    op, epoch = after
    text = f"epoch {epoch} was seen by process {op.process}, but no change that expects {expected} had been requested"
    saw = (op, f"epoch {epoch}, though no change expected {expected}")
    return text, [(before[0], f"epoch {before[1]}"), saw]
