"""Share out a deadline among keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from checker.core.options import CheckOptions
from history import KeyVerdict

#: What the searches may hold in the first round: a budget in steps, which a pause of this process does not use up.
FIRST_MEMORY: Final = 8 << 20
#: A key gets this long in the first round, however many keys there are.  Of ten thousand keys the even share is a few
#: milliseconds, which is less than a busy machine may take away at any moment.
LEAST_S: Final = 1.0


def in_turns(
    keys: Sequence[int],
    options: CheckOptions,
    attempt: Callable[[int, CheckOptions], KeyVerdict],
    *,
    started: float,
) -> dict[int, KeyVerdict]:
    """Decide every key: all with a small budget first, then the undecided ones with what is left.

    The deadline counts from ``started``, on the clock of the options.  A single key gets everything at once.
    """

    def left() -> float | None:
        return None if options.deadline_s is None else max(0.0, options.deadline_s - (options.clock() - started))

    def within(seconds: float | None) -> CheckOptions:
        return replace(options, deadline_s=seconds)

    if len(keys) == 1:
        return {keys[0]: attempt(keys[0], within(left()))}
    first = min(options.memory_cap, FIRST_MEMORY)
    verdicts: dict[int, KeyVerdict] = {}
    for key in keys:
        seconds = left()
        if seconds is not None and options.deadline_s is not None:
            seconds = min(seconds, max(LEAST_S, options.deadline_s / (2 * len(keys))))
        verdicts[key] = attempt(key, replace(within(seconds), memory_cap=first))
    hard = [key for key, verdict in verdicts.items() if verdict.verdict == "unknown"]
    for place, key in enumerate(hard):
        seconds = left()
        # One invalid key decides the whole; the others need not be known.
        if seconds == 0.0 or any(verdict.verdict == "invalid" for verdict in verdicts.values()):
            break
        verdicts[key] = attempt(key, within(None if seconds is None else seconds / (len(hard) - place)))
    return verdicts
