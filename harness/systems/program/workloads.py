"""The workloads that a file can name, and what the answers of a client program look like in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from harness.systems.workloads import BANK, CAS_REGISTER, COUNTER, MIXED_REGISTERS, REGISTER, SET

WORKLOADS: Final = {one.name: one for one in (REGISTER, CAS_REGISTER, MIXED_REGISTERS, SET, COUNTER, BANK)}

#: [[account, balance], …]; accounts at 0 may be left out.
Balances: TypeAlias = list[tuple[int, int]]

#: By workload and function, the type of the ``value`` of an ok answer, where not every value will do.
ANSWERS: Final[Mapping[str, Mapping[str, Any]]] = {
    SET.name: {"read": list[int]},
    COUNTER.name: {"read": int},
    BANK.name: {"read": Balances, "transfer": Balances | None},
}
