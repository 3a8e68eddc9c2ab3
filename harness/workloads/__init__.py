"""Workloads: the operations of a run as generators, determined by the run's seed."""

from harness.generators import Invocation
from harness.workloads.banks import BankWorkload, total_check
from harness.workloads.counters import Counters
from harness.workloads.final_reads import last_reads, until_applied
from harness.workloads.locks import Locks
from harness.workloads.logs import AppendLog
from harness.workloads.registers import CasRegisterWorkload, MixedRegisters, RegisterWorkload
from harness.workloads.sessions import sessions_check
from harness.workloads.sets import Sets, elements_check

__all__ = [
    "AppendLog", "BankWorkload", "CasRegisterWorkload", "Counters", "Invocation", "Locks", "MixedRegisters",
    "RegisterWorkload", "Sets", "elements_check", "last_reads", "sessions_check", "total_check", "until_applied",
]  # fmt: skip
