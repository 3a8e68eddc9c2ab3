"""Workloads: the operations of a run as generators, decided by its seed."""

from harness.generators import Invocation
from harness.workloads.counters import Counters
from harness.workloads.final_reads import until_applied
from harness.workloads.registers import CasRegister, MixedRegisters, Register
from harness.workloads.sets import Sets, elements_check

__all__ = [
    "CasRegister", "Counters", "Invocation", "MixedRegisters", "Register", "Sets", "elements_check", "until_applied",
]  # fmt: skip
