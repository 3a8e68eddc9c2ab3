"""Workloads: one file each, each a stream of invocations decided by a seed."""

from harness.generators import Invocation
from harness.workloads.registers import CasRegister, Register, Workload, workload_named

__all__ = ["CasRegister", "Invocation", "Register", "Workload", "workload_named"]
