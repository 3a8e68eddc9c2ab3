"""What clients do with the registers and the log, and how it is judged."""

from __future__ import annotations

from typing import Final

from harness.systems.api import Workload
from harness.systems.workloads import BANK, CAS_REGISTER, COUNTER, MIXED_REGISTERS, REGISTER, SET
from harness.workloads import AppendLog, Locks

APPEND_LOG: Final = Workload(
    name="append-log",
    summary="appends to the library's own log, and gets of what it answered; the whole log at the end",
    generator=lambda scale: AppendLog().generator(),  # noqa: ARG005 (the one log there is)
    final=lambda scale: AppendLog().final_reads(),  # noqa: ARG005
    model="ledger",
    kinds=("append", "get"),
    reads=frozenset({"get", "list"}),
)
LOCK: Final = Workload(
    name="lock",
    summary="locks with fencing tokens are taken and given back",
    generator=lambda scale: Locks(scale.keys).generator(),
    final=lambda scale: Locks(scale.keys).final_reads(),
    model="fenced-lock",
    kinds=("acquire", "release", "read"),
)
WORKLOADS: Final = (REGISTER, CAS_REGISTER, MIXED_REGISTERS, SET, COUNTER, APPEND_LOG, LOCK, BANK)
