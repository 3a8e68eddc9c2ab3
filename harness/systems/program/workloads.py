"""The workloads that a file can name, and the form of a client program's answers in them."""

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
    """The answer ``["acquired", token]``."""

    token: int


class Released(Struct, tag="released", array_like=True, forbid_unknown_fields=True):
    """The answer ``["released", token]``."""

    token: int


class Held(Struct, tag="held", array_like=True, forbid_unknown_fields=True):
    """The answer ``["held", token of the holder]``."""

    token: int


class Free(Struct, tag="free", array_like=True, forbid_unknown_fields=True):
    """The answer ``["free", null]``."""

    token: None


#: The type of the ``value`` of an ok answer, by workload and ``f``, if not every value is allowed.
ANSWERS: Final[Mapping[str, Mapping[str, Any]]] = {
    SET.name: {"read": list[int]},
    COUNTER.name: {"read": int},
    APPEND_LOG.name: {"append": int, "get": int | None, "list": list[tuple[int, int]]},
    LOCK.name: {"acquire": Acquired | Held, "release": Released | Held | Free, "read": int | None},
    BANK.name: {"read": Balances, "transfer": Balances | None},
}
