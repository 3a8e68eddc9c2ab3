"""The workloads that a file can name."""

from __future__ import annotations

from typing import Final

from harness.systems.registers import CAS_REGISTER, REGISTER

WORKLOADS: Final = {one.name: one for one in (REGISTER, CAS_REGISTER)}
