"""Workloads on the registers and the log, and their checks."""

from __future__ import annotations

from typing import Final

from harness.systems.api import Workload
from harness.systems.workloads import BANK, CAS_REGISTER, COUNTER, LOCK, MIXED_REGISTERS, REGISTER, SET
from harness.workloads import AppendLog

APPEND_LOG: Final = Workload(
    name="append-log",
    summary="appends to the library's own log, and gets of what it answered; the whole log at the end",
    generator=lambda scale: AppendLog().generator(),  # noqa: ARG005 (the one log there is)
    final=lambda scale: AppendLog().final_reads(),  # noqa: ARG005
    model="ledger",
    kinds=("append", "get"),
    reads=frozenset({"get", "list"}),
)
WORKLOADS: Final = (REGISTER, CAS_REGISTER, MIXED_REGISTERS, SET, COUNTER, APPEND_LOG, LOCK, BANK)
