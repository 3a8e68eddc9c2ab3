"""The workloads that a file can name: what clients do, and how it is judged."""

from __future__ import annotations

from typing import Final

from harness.systems.api import Workload
from harness.workloads import CasRegister, Register

_WORKLOADS: Final = (
    Workload(
        name="register",
        summary="reads and writes of a few registers; every value is written once",
        generator=lambda scale: Register(scale.keys).generator(),
        final=lambda scale: Register(scale.keys).final_reads(),
        model="register",
        kinds=("read", "write"),
        written_once=True,
    ),
    Workload(
        name="cas-register",
        summary="reads, writes, and compare-and-sets of what was last seen, of a few registers",
        generator=lambda scale: CasRegister(scale.keys).generator(),
        final=lambda scale: Register(scale.keys).final_reads(),
        model="cas-register",
        kinds=("read", "write", "cas"),
    ),
)
WORKLOADS: Final = {one.name: one for one in _WORKLOADS}
