"""Workloads on the registers and the log, and their checks."""

from __future__ import annotations

from typing import Final

from harness.systems.workloads import APPEND_LOG, BANK, CAS_REGISTER, COUNTER, LOCK, MIXED_REGISTERS, REGISTER, SET

WORKLOADS: Final = (REGISTER, CAS_REGISTER, MIXED_REGISTERS, SET, COUNTER, APPEND_LOG, LOCK, BANK)
