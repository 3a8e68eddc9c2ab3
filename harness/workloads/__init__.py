"""Workloads: one file each, each a stream of invocations decided by a seed."""

from harness.workloads.invocation import Invocation
from harness.workloads.registers import CasRegister, Register, Workload

__all__ = ["CasRegister", "Invocation", "Register", "Workload"]
