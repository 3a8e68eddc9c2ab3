"""Divide a deadline among keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import thread_time
from typing import Final

from checker.core.engine import PLAIN_SEARCH_CALLS
from checker.core.options import CheckOptions
from history import KeyVerdict

#: What the searches may hold in the first round: a budget in steps, which a pause of this process does not use up.
FIRST_MEMORY: Final = 8 << 20
#: What they may hold in a small key after the deadline: about a thousand steps.
LATE_MEMORY: Final = 256 << 10
#: Small keys get no steps after this many times the deadline in processor time, because the steps of a user's model
#: may take any time.
GRACE: Final = 2
#: A key gets this long in the first round, however many keys there are.  Of ten thousand keys the even share is a few
#: milliseconds, which is less than a busy machine may take away at any moment.
LEAST_S: Final = 1.0


def in_turns(
    keys: Sequence[int],
    options: CheckOptions,
    attempt: Callable[[int, CheckOptions], KeyVerdict],
    *,
    size: Callable[[int], int],
    started: float,
    every: bool = False,
) -> dict[int, KeyVerdict]:
    """Decide every key: all with a small budget first, then the undecided ones with what is left.

    One invalid key decides a history, so after that the others need not be decided.  With ``every`` they are decided
    too, and invalid keys that may have more violations come last: each violation of a run has to be explained on its
    own.

    Every key of at most ``PLAIN_SEARCH_CALLS`` operations, by ``size``, gets its steps even after the deadline: of tens
    of thousands of tiny keys, none may stay unknown only because the machine was busy.

    The deadline counts from ``started``, on the clock of the options.  A single key gets everything at once.
    """
    began = thread_time()

    def left() -> float | None:
        return None if options.deadline_s is None else max(0.0, options.deadline_s - (options.clock() - started))

    def within(seconds: float | None) -> CheckOptions:
        return replace(options, deadline_s=seconds)

    if len(keys) == 1:
        return {keys[0]: attempt(keys[0], within(left()))}
    verdicts: dict[int, KeyVerdict] = {}
    decided = False
    for key in keys:
        seconds, memory = left(), FIRST_MEMORY
        if seconds is not None and options.deadline_s is not None:
            share = max(LEAST_S, options.deadline_s / (2 * len(keys)))
            # The counterexamples of an invalid key may take longer than thousands of verdicts.
            steps = thread_time() - began < GRACE * options.deadline_s
            if size(key) <= PLAIN_SEARCH_CALLS and not decided and steps:
                seconds, memory = share, memory if seconds else LATE_MEMORY
            seconds = min(seconds, share)
        verdicts[key] = attempt(key, replace(within(seconds), memory_cap=min(options.memory_cap, memory)))
        decided |= not every and verdicts[key].verdict == "invalid"
    hard = [key for key, verdict in verdicts.items() if verdict.verdict == "unknown"]
    hard += [key for key, verdict in verdicts.items() if every and verdict.verdict == "invalid" and verdict.more]
    for place, key in enumerate(hard):
        seconds = left()
        if seconds == 0.0 or decided:
            break
        again = attempt(key, within(None if seconds is None else seconds / (len(hard) - place)))
        if verdicts[key].verdict in ("unknown", again.verdict) and again.violations >= verdicts[key].violations:
            verdicts[key] = again
        decided = not every and again.verdict == "invalid"
    return verdicts
