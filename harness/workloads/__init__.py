"""Workloads: the operations of a run as generators, decided by its seed."""

from harness.generators import Invocation
from harness.workloads.final_reads import until_applied
from harness.workloads.registers import CasRegister, MixedRegisters, Register

__all__ = ["CasRegister", "Invocation", "MixedRegisters", "Register", "until_applied"]
