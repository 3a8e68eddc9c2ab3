"""What clients do with the registers and the log, and how it is judged."""

from __future__ import annotations

from typing import Final

from harness.systems.api import Workload
from harness.systems.registers import CAS_REGISTER, REGISTER
from harness.workloads import AppendLog, Bank, Counters, Locks, MixedRegisters, Sets, elements_check, total_check

WORKLOADS: Final = (
    REGISTER,
    CAS_REGISTER,
    Workload(
        name="mixed-registers",
        summary="register, half of it on registers that end after a hundred operations and are replaced",
        generator=lambda scale: MixedRegisters(scale.keys).generator(),
        final=lambda scale: MixedRegisters(scale.keys).final_reads(scale.used),
        model="register",
        kinds=("read", "write"),
        written_once=True,
    ),
    Workload(
        name="set",
        summary="unique integers are added to sets, which are read now and then, and at the end by every node",
        generator=lambda scale: Sets(scale.keys).generator(),
        final=lambda scale: Sets.final_reads(scale.used),
        model="set",
        kinds=("add", "read"),
        checks=(lambda evidence: elements_check(evidence.operations),),
    ),
    Workload(
        name="counter",
        summary="adds to a few counters, and reads",
        generator=lambda scale: Counters(scale.keys).generator(),
        final=lambda scale: Counters(scale.keys).final_reads(),
        model="counter",
        kinds=("add", "read"),
    ),
    Workload(
        name="append-log",
        summary="appends to the library's own log, and gets of what it answered; the whole log at the end",
        generator=lambda scale: AppendLog().generator(),  # noqa: ARG005 (the one log there is)
        final=lambda scale: AppendLog().final_reads(),  # noqa: ARG005
        model="ledger",
        kinds=("append", "get"),
        reads=frozenset({"get", "list"}),
    ),
    Workload(
        name="lock",
        summary="locks with fencing tokens are taken and given back",
        generator=lambda scale: Locks(scale.keys).generator(),
        final=lambda scale: Locks(scale.keys).final_reads(),
        model="fenced-lock",
        kinds=("acquire", "release", "read"),
    ),
    Workload(
        name="bank",
        summary="transfers between a few accounts, and reads of all at once",
        generator=lambda scale: Bank(scale.keys).generator(),
        final=lambda scale: Bank(scale.keys).final_reads(),
        model="bank",
        kinds=("transfer", "read"),
        checks=(lambda evidence: total_check(evidence.operations),),
    ),
)
