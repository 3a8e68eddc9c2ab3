"""The workloads that a file can name, and what the answers of a client program look like in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from harness.systems.workloads import APPEND_LOG, BANK, CAS_REGISTER, COUNTER, LOCK, MIXED_REGISTERS, REGISTER, SET

WORKLOADS: Final = {
    workload.name: workload
    for workload in (REGISTER, CAS_REGISTER, MIXED_REGISTERS, SET, COUNTER, LOCK, BANK, APPEND_LOG)
}

#: [[account, balance], …]; accounts at 0 may be left out.
Balances: TypeAlias = list[tuple[int, int]]


class Acquired(Struct, tag="acquired", array_like=True, forbid_unknown_fields=True):
    """``["acquired", token]``."""

    token: int


class Released(Struct, tag="released", array_like=True, forbid_unknown_fields=True):
    """``["released", token]``."""

    token: int


class Held(Struct, tag="held", array_like=True, forbid_unknown_fields=True):
    """``["held", token of the holder]``."""

    token: int


class Free(Struct, tag="free", array_like=True, forbid_unknown_fields=True):
    """``["free", null]``."""

    token: None


#: By workload and function, the type of the ``value`` of an ok answer, where not every value will do.
ANSWERS: Final[Mapping[str, Mapping[str, Any]]] = {
    SET.name: {"read": list[int]},
    COUNTER.name: {"read": int},
    APPEND_LOG.name: {"append": int, "get": int | None, "list": list[tuple[int, int]]},
    LOCK.name: {"acquire": Acquired | Held, "release": Released | Held | Free, "read": int | None},
    BANK.name: {"read": Balances, "transfer": Balances | None},
}
