"""Workloads: the operations of a run as generators, decided by its seed."""

from harness.generators import Invocation
from harness.workloads.final_reads import until_applied
from harness.workloads.registers import CasRegister, MixedRegisters, Register, Workload, workload_named

__all__ = ["CasRegister", "Invocation", "MixedRegisters", "Register", "Workload", "until_applied", "workload_named"]
