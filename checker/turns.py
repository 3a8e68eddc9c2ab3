"""Divide a deadline among keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import thread_time
from typing import Final

from checker.core.engine import NODE_BYTES, PLAIN_SEARCH_CALLS
from checker.core.options import CheckOptions
from history import KeyVerdict

#: What the searches may hold in the first round: a budget in steps, which a pause of this process does not use up.
FIRST_MEMORY: Final = 8 << 20
#: A small key gets this many steps for each of its operations, ...
STEPS: Final = 8
#: ... or an even share of the steps that plain Python takes within the deadline, at this many a second.
PACE: Final = 50_000
#: Small keys get no steps once they took this much processor time for each operation, beyond the deadline.  That is
#: several times what they need, but the steps of a user's model may take any time.
SLOW_S: Final = 1e-3
#: A key gets this long in the first round, however many keys there are.  Of ten thousand keys the even share is a few
#: milliseconds, which is less than a busy machine may take away at any moment.
LEAST_S: Final = 1.0


@dataclass(slots=True)
class _FirstRound:
    """What each key gets in the first round.

    The steps of small keys, with ``taken`` operations in all, have ``spent`` this processor time (s).  ``found``: some
    key was invalid.
    """

    options: CheckOptions
    keys: int
    spent: float = 0.0
    taken: int = 0
    found: bool = False

    def options_of(self, size: int, left: float | None) -> CheckOptions:
        """Return the options for the next key, which has ``size`` operations, with ``left`` seconds left."""
        deadline, memory, by_steps = self.options.deadline_s, FIRST_MEMORY, False
        if left is not None and deadline is not None:
            left = min(left, max(LEAST_S, deadline / (2 * self.keys)))
            spent = self.spent - max(LEAST_S, deadline)
            by_steps = size <= PLAIN_SEARCH_CALLS and spent <= SLOW_S * self.taken
            if by_steps:
                # The first violation is explained, however late it is found.
                left = left if self.found else max(LEAST_S, left)
                memory = min(memory, NODE_BYTES * max(STEPS * size, int(PACE * deadline) // self.keys))
        memory = min(memory, self.options.memory_cap)
        return replace(self.options, deadline_s=left, memory_cap=memory, by_steps=by_steps)

    def ended(self, size: int, options: CheckOptions, verdict: KeyVerdict, seconds: float) -> None:
        if verdict.verdict == "invalid":  # Its counterexamples may take longer than thousands of verdicts.
            self.found = True
        elif options.by_steps:
            self.spent, self.taken = self.spent + seconds, self.taken + size


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

    For keys of at most ``PLAIN_SEARCH_CALLS`` operations, by ``size``, the first budget is a number of steps, and the
    clock plays no part in the verdict: how many of tens of thousands of tiny keys are decided must not depend on how
    busy the machine is.  The deadline bounds their counterexamples, and all keys that really have to be searched.

    The deadline counts from ``started``, on the clock of the options.  A single key gets everything at once.
    """

    def left() -> float | None:
        return None if options.deadline_s is None else max(0.0, options.deadline_s - (options.clock() - started))

    def within(seconds: float | None) -> CheckOptions:
        return replace(options, deadline_s=seconds)

    if len(keys) == 1:
        return {keys[0]: attempt(keys[0], within(left()))}
    first, verdicts = _FirstRound(options, len(keys)), dict[int, KeyVerdict]()
    decided = False
    for key in keys:
        mine = first.options_of(size(key), left())
        worked, began = thread_time(), options.clock()
        verdicts[key] = attempt(key, mine)
        # Other processes take none of the first, and compiling takes none of the second.
        used = min(thread_time() - worked, options.clock() - began)
        first.ended(size(key), mine, verdicts[key], used)
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
