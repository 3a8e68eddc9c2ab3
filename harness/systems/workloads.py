"""The workloads that any system may have: what clients do, and how it is judged."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count
from typing import Final

from harness.generators import Invocation, operations, seeded
from harness.systems.api import Evidence, Invariant, Workload
from harness.workloads import (
    AppendLog,
    BankWorkload,
    CasRegisterWorkload,
    Counters,
    Locks,
    MixedRegisters,
    RegisterWorkload,
    Sets,
    elements_check,
    sessions_check,
    total_check,
)
from history import Check


# A check that fails is named after its function.
def _sessions(evidence: Evidence) -> Check:
    return sessions_check(evidence.operations)


def _elements(evidence: Evidence) -> Check:
    return elements_check(evidence.operations)


def _total(evidence: Evidence) -> Check:
    return total_check(evidence.operations)


REGISTER: Final = Workload(
    name="register",
    summary="reads and writes of a few registers; every value is written once",
    generator=lambda scale: RegisterWorkload(scale.keys).generator(),
    final=lambda scale: RegisterWorkload(scale.keys).final_reads(),
    model="register",
    kinds=("read", "write"),
    written_once=True,
)
CAS_REGISTER: Final = Workload(
    name="cas-register",
    summary="reads and writes of a few registers, and compare-and-sets that expect the last value seen",
    generator=lambda scale: CasRegisterWorkload(scale.keys).generator(),
    final=lambda scale: CasRegisterWorkload(scale.keys).final_reads(),
    model="cas-register",
    kinds=("read", "write", "cas"),
)
MIXED_REGISTERS: Final = Workload(
    name="mixed-registers",
    summary="like register, but half of the operations are on registers that are replaced after a hundred operations",
    generator=lambda scale: MixedRegisters(scale.keys).generator(),
    final=lambda scale: MixedRegisters(scale.keys).final_reads(scale.used),
    model="register",
    kinds=("read", "write"),
    written_once=True,
)
SET: Final = Workload(
    name="set",
    summary="unique integers are added to sets, which are read occasionally, and at the end by a client of each node",
    generator=lambda scale: Sets(scale.keys).generator(),
    final=lambda scale: Sets.final_reads(scale.used),
    model="set",
    kinds=("add", "read"),
    checks=(_elements,),
)
COUNTER: Final = Workload(
    name="counter",
    summary="adds to and reads of a few counters",
    generator=lambda scale: Counters(scale.keys).generator(),
    final=lambda scale: Counters(scale.keys).final_reads(),
    model="counter",
    kinds=("add", "read"),
)
SESSIONS: Final = Workload(
    name="sessions",
    summary="register writes and possibly stale reads, judged by the order within each session",
    generator=lambda scale: RegisterWorkload(scale.keys, read="peek").generator(),
    final=lambda scale: RegisterWorkload(scale.keys).final_reads(),
    model=_sessions,
    kinds=("write", "peek"),
    reads=frozenset({"read", "peek"}),
)
APPEND_LOG: Final = Workload(
    name="append-log",
    summary="unique values are appended to one log and read by index; the whole log is read at the end",
    generator=lambda scale: AppendLog().generator(),  # noqa: ARG005 (the one log there is)
    final=lambda scale: AppendLog().final_reads(),  # noqa: ARG005
    model="ledger",
    kinds=("append", "get"),
    reads=frozenset({"get", "list"}),
)
LOCK: Final = Workload(
    name="lock",
    summary="locks with fencing tokens are acquired and released",
    generator=lambda scale: Locks(scale.keys).generator(),
    final=lambda scale: Locks(scale.keys).final_reads(),
    model="fenced-lock",
    kinds=("acquire", "release", "read"),
)
BANK: Final = Workload(
    name="bank",
    summary="transfers between a few accounts, and reads of all accounts at once",
    generator=lambda scale: BankWorkload(scale.keys).generator(),
    final=lambda scale: BankWorkload(scale.keys).final_reads(),
    model="bank",
    kinds=("transfer", "read"),
    checks=(_total,),
)


def one_object(
    name: str, summary: str, model: str, add: str, read: str, checks: tuple[Invariant, ...] = ()
) -> Workload:
    """Make a workload that adds unique elements to one object.

    One operation in twenty reads the object.  At the end, every client reads it.
    """
    return Workload(
        name=name, summary=summary, model=model, kinds=(add, read), reads=frozenset({read}), checks=checks,
        generator=lambda _: seeded("operations", lambda rng: operations(_unique_elements(rng, name, add, read))),
        final=lambda _: [Invocation(read, name, final=True)],
    )  # fmt: skip


def _unique_elements(rng: random.Random, key: str, add: str, read: str) -> Iterator[Invocation]:
    for value in count(1):
        yield Invocation(add, key, value)
        if rng.random() < 0.05:
            yield Invocation(read, key)
