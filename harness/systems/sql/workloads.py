"""Workloads: transactions, judged by the level they request, and single objects, which must be linearizable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from harness.generators import Generator
from harness.systems.api import Scale, Setup, Workload
from harness.systems.sql.acknowledged import acknowledged
from harness.systems.workloads import BANK, CAS_REGISTER, COUNTER, REGISTER, SET
from harness.workloads.transactions import Beside, last_transactions, long_forks, mixed, write_skews
from history.records.operations import READ_ONLY, TXN

#: The levels of SQL, and the level by which each is judged.
LEVELS: Final = {
    "serializable": "serializable", "repeatable-read": "snapshot-isolation", "read-committed": "read-committed",
}  # fmt: skip


def level(setup: Setup) -> str:
    return LEVELS[str(setup.options["isolation"])]


def _with_standbys(scale: Scale, generator: Generator) -> Generator:
    """Let the clients of the primary run the workload and those of the standbys only read."""
    servers = 1 + int(scale.setup.options.get("standbys", 0))
    readers = frozenset(worker for worker in range(scale.workers) if worker % servers)
    return Beside(generator, readers) if readers else generator


def _transactions(name: str, summary: str, generator: Callable[[Scale], Generator], model: str) -> Workload:
    checks = (acknowledged,) if model == "list-append" else ()
    return Workload(
        name=name, summary=summary, model=model, level=level, kinds=(TXN,), reads=frozenset({READ_ONLY}),
        generator=lambda scale: _with_standbys(scale, generator(scale)),
        final=lambda scale: last_transactions(scale.used), checks=checks,
    )  # fmt: skip


WORKLOADS: Final = (
    _transactions(
        "list-append", "transactions of one to four steps append to lists and read them",
        lambda scale: mixed(scale.keys, "append"), "list-append",
    ),
    _transactions(
        "rw-register", "transactions of one to four steps write registers and read them",
        lambda scale: mixed(scale.keys, "w"), "rw-register",
    ),
    _transactions(
        "long-fork", "transactions write six keys one by one and read them together",
        lambda _: long_forks("append"), "list-append",
    ),
    _transactions(
        "write-skew", "two transactions read the same two keys, and each writes one of them",
        lambda _: write_skews("append"), "list-append",
    ),
    BANK, REGISTER, CAS_REGISTER, SET, COUNTER,
)  # fmt: skip
#: The workloads that are judged by a level; all others need reads of the latest state.
TRANSACTIONS: Final = tuple(workload.name for workload in WORKLOADS if workload.level is not None)
