"""The law of outcomes: what an answer of the register server proves about an operation.

A write or read that was acknowledged without having been applied is ``ok`` and marked ``UNAPPLIED``: its client got
that answer and, for a read, that value.  A cas, acquire or release acknowledged that way has no result, so it is
``info``; a transfer is ``ok``, but the balances that it left are unknown.  An append that was acknowledged always has
its index.

A get that finds nothing is ``fail``: the library promises nothing about what is not committed yet.

An ok cas that took place has the value ``[old, new]``.  A refused one has ``[old, new, seen]``: it read ``seen`` (null
for absent) where it expected ``old``.  An ok acquire has ``["acquired", token]`` or ``["held", token]``.  An ok release
has ``["released", token]``; a refused one has what it saw, ``["held", token]`` or ``["free", null]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from harness.clients.wire import NoAnswerError
from harness.systems.dledger.objects import UNSEEN, balances_left, value_read
from harness.systems.law import Law, Outcome, Rule
from harness.workloads import Invocation
from history import UNAPPLIED

CAS_MISMATCH: Final = "cas-mismatch"

LAW: Final = Law(
    Rule("acknowledged", "ok", "ok"),
    Rule("unapplied", "ok, although the entry was never applied", "ok", cas="info", acquire="info", release="info"),
    Rule("no-value", "ok without a value", "info", read="fail", get="fail", list="fail"),
    Rule("no-entry", "get: nothing is committed there", "fail"),
    Rule("cas-refused", "cas refused: the value was different", "ok"),
    Rule("cas-refused-unseen", "cas refused, but the answer lacks the value that it found", "fail"),
    Rule("lock-refused", "lock not acquired, or not released: another holder has it, or nobody does", "ok"),
    Rule("lock-refused-unseen", "the same, but the answer does not name the holder", "fail"),
    Rule("before-append", "error raised before the append", "fail"),
    Rule("after-append", "error raised after it, or unknown", "info", read="fail", get="fail", list="fail"),
    reads=("read", "get", "list"),
)
_DONE: Final = {"acquire": "acquired", "release": "released"}


@dataclass(frozen=True, slots=True)
class Reply(Outcome):
    """An outcome, and which node the client may try next.

    ``hint`` is the leader that the answer named; ``reached`` says whether the node answered.
    """

    hint: str | None = None
    reached: bool = True
    not_leader: bool = False


def completion_of(invocation: Invocation, answer: dict[str, Any], node: str) -> Reply:
    """Return the outcome that an answer proves for an operation."""
    if answer.get("ok") is True:
        return _acknowledged(invocation, answer, node)
    hint = answer.get("leader")
    error = f"{answer.get('name', 'UNKNOWN')} ({answer.get('code', '?')}): {answer.get('message', '')}"[:300]
    case = "before-append" if answer.get("stage") == "before-append" else "after-append"
    return _reply(
        case, invocation, node, error, hint=hint if isinstance(hint, str) else None, not_leader=case == "before-append"
    )


def completion_of_error(invocation: Invocation, error: NoAnswerError, node: str) -> Reply:
    """Return the outcome of an operation that got no answer."""
    return _reply(error.case, invocation, node, str(error), reached=False)


def _acknowledged(invocation: Invocation, answer: dict[str, Any], node: str) -> Reply:
    applied = answer.get("applied") is not False
    case, error = ("acknowledged", None) if applied else ("unapplied", UNAPPLIED)
    if invocation.f in LAW.reads:
        return _read(invocation, answer, node, case=case, error=error)
    if invocation.f in _DONE:
        return _lock(invocation, answer, node, applied=applied)
    if invocation.f == "cas":
        return _cas(invocation, answer, node, applied=applied)
    if invocation.f == "transfer":
        return _reply(case, invocation, node, error, value=balances_left(answer) if applied else None)
    if invocation.f == "append":
        index = answer.get("index")
        if type(index) is not int or index < 0:
            return _reply("no-value", invocation, node, "acknowledged without an index")
        return _reply(case, invocation, node, error, value=index)
    return _reply(case, invocation, node, error)


def _read(invocation: Invocation, answer: dict[str, Any], node: str, *, case: str, error: str | None) -> Reply:
    if (value := value_read(invocation, answer)) is UNSEEN:
        return _reply("no-value", invocation, node, "acknowledged without a value")
    if invocation.f == "get" and value is None:
        return _reply("no-entry", invocation, node, "nothing is committed there")
    return _reply(case, invocation, node, error, value=value)


def _cas(invocation: Invocation, answer: dict[str, Any], node: str, *, applied: bool) -> Reply:
    if not applied or not isinstance(answer.get("swapped"), bool):
        return _reply("unapplied", invocation, node, "acknowledged without having been applied: no result")
    return (
        _reply("acknowledged", invocation, node, None) if answer["swapped"] else _refused_cas(invocation, answer, node)
    )


def _lock(invocation: Invocation, answer: dict[str, Any], node: str, *, applied: bool) -> Reply:
    word = _DONE[invocation.f]
    done, token = answer.get(word), answer.get("token", UNSEEN)
    if invocation.f == "release" and done is True:
        token = invocation.value
    if not applied or not isinstance(done, bool) or (done and type(token) is not int):
        return _reply("unapplied", invocation, node, "acknowledged without a result")
    if done:
        return _reply("acknowledged", invocation, node, None, value=[word, token])
    if token is not None and type(token) is not int:
        return _reply("lock-refused-unseen", invocation, node, "refused, without naming the holder")
    free = token is None and invocation.f == "release"
    return _reply("lock-refused", invocation, node, None, value=["free" if free else "held", token])


def _refused_cas(invocation: Invocation, answer: dict[str, Any], node: str) -> Reply:
    current = answer.get("value", UNSEEN)
    if current is not None and type(current) is not int:
        return _reply("cas-refused-unseen", invocation, node, CAS_MISMATCH)
    old, new = invocation.value
    return _reply("cas-refused", invocation, node, None, value=[old, new, current])


def _reply(
    case: str, invocation: Invocation, node: str, error: str | None, *, value: Any = UNSEEN, hint: str | None = None,
    reached: bool = True, not_leader: bool = False,
) -> Reply:  # fmt: skip
    given = {} if value is UNSEEN else {"value": value}
    outcome = LAW.outcome(case, invocation, node, error, **given)
    return Reply(outcome.type, outcome.value, node, error, hint, reached, not_leader)
