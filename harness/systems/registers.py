"""The workloads on registers that any system may have: what clients do, and how it is judged."""

from __future__ import annotations

from typing import Final

from harness.systems.api import Workload
from harness.workloads import CasRegister, Register

REGISTER: Final = Workload(
    name="register",
    summary="reads and writes of a few registers; every value is written once",
    generator=lambda scale: Register(scale.keys).generator(),
    final=lambda scale: Register(scale.keys).final_reads(),
    model="register",
    kinds=("read", "write"),
    written_once=True,
)
CAS_REGISTER: Final = Workload(
    name="cas-register",
    summary="reads, writes, and compare-and-sets of what was last seen, of a few registers",
    generator=lambda scale: CasRegister(scale.keys).generator(),
    final=lambda scale: Register(scale.keys).final_reads(),
    model="cas-register",
    kinds=("read", "write", "cas"),
)
