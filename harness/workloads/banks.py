"""Accounts between which money is moved, so that their total never changes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final

from harness.generators import Generator, Invocation, operations, seeded
from harness.workloads.final_reads import last_reads
from history import Check, Counterexample, Operation
from history.records.finding import Contradiction
from history.records.text import counted

BANK: Final = "bank-0"
#: The largest amount of a transfer.  Amounts drawn from so wide a range are nearly always different, so a balance shows
#: which transfers made it.
MAX_AMOUNT: Final = 1_000_000
_ASKED: Final = "every read of all accounts has the total 0, which no transfer changes"


class BankWorkload:
    """A workload on at least two accounts: two thirds transfers between two of them, one third reads of all."""

    def __init__(self, accounts: int) -> None:
        self._accounts = max(2, accounts)

    def generator(self) -> Generator:
        return seeded("operations", lambda rng: operations(self._invocations(rng)))

    def _invocations(self, rng: random.Random) -> Iterator[Invocation]:
        while True:
            if rng.random() < 1 / 3:
                yield Invocation("read", BANK)
            else:
                whence, whither = rng.sample(range(self._accounts), 2)
                yield Invocation("transfer", BANK, [whence, whither, rng.randint(1, MAX_AMOUNT)])

    def final_reads(self) -> list[Invocation]:
        """Return one read of all accounts."""
        return last_reads([BANK])


def total_check(operations: Sequence[Operation]) -> Check:
    """Check that the balances in every read add up to 0.  Takes linear time; other checks cover the rest."""
    reads = [op for op in operations if op.f == "read" and op.outcome == "ok"]
    wrong = [op for op in reads if sum(balance for _, balance in op.result)]
    if wrong:
        first = min(wrong, key=lambda op: op.invoke_index)
        total = sum(balance for _, balance in first.result)
        summary = (
            f"{len(wrong)} of {counted(len(reads), 'read')} have a different sum, the first {total} by process "
            f"{first.process}"
        )
        text = f"{BANK}: {summary}"
        example = Counterexample.of_promise("wrong-total", text, (first, f"the balances add up to {total}"))
        times = sorted(op.ended for op in wrong)
        findings = (
            Contradiction(
                check="total", kind=example.kind, since=times[0], until=times[-1], count=len(wrong), keys=(BANK,)
            ),
        )
        return Check("total", "check", "invalid", _ASKED, summary, findings, (example,))
    return Check("total", "check", "valid" if reads else "unknown", _ASKED, counted(len(reads), "read"))
