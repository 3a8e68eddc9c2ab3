"""The law of outcomes: what an answer of the register server proves about an operation.

Only an answer that proves the operation had no effect is ``fail``; every doubt is ``info``.  Reads have no effect, so a
read that was not answered is ``fail``.

=========================================  ===========  ======
answer                                     write, cas   read
=========================================  ===========  ======
ok                                         ok           ok
ok, but the entry was never applied        ok / info    ok
cas refused: the value was another         ok           -
cas refused, without the value it met       fail         -
error raised before the append             fail         fail
error raised after it, or unknown          info         fail
never sent                                 fail         fail
sent, no answer                            info         fail
=========================================  ===========  ======

A write or read that was acknowledged without having been applied is ``ok`` and marked ``UNAPPLIED``: its client got
that answer, and in case of a read that value.  A cas so acknowledged has no result, hence ``info``.

An ok cas that took place has the value ``[old, new]``; a refused one ``[old, new, seen]``: it read ``seen``, null for
absent, where it expected ``old``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from harness.clients.wire import LostError, NotSentError
from harness.workloads import Invocation
from history import UNAPPLIED
from history.records.events import Type

CAS_MISMATCH = "cas-mismatch"
_UNTOLD: Final = object()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of an operation: ``ok``, ``fail`` or ``info``, its value, the node that answered, and the error.

    ``hint`` is the leader that the answer named; ``reached``: the node answered.
    """

    type: Type
    value: Any
    node: str
    error: str | None = None
    hint: str | None = None
    reached: bool = True
    not_leader: bool = False


def completion_of(invocation: Invocation, answer: dict[str, Any], node: str) -> Outcome:
    """The outcome that ``answer`` proves for ``invocation``."""
    hint = answer.get("leader")
    if answer.get("ok") is True:
        return _acknowledged(invocation, answer, node)
    error = f"{answer.get('name', 'UNKNOWN')} ({answer.get('code', '?')}): {answer.get('message', '')}"[:300]
    harmless = answer.get("stage") == "before-append" or invocation.f == "read"
    return Outcome(
        "fail" if harmless else "info",
        invocation.value,
        node,
        error,
        hint if isinstance(hint, str) else None,
        not_leader=harmless and answer.get("stage") == "before-append",
    )


def _acknowledged(invocation: Invocation, answer: dict[str, Any], node: str) -> Outcome:
    applied = answer.get("applied") is not False
    if invocation.f == "read":
        if "value" not in answer:  # null means absent, which is a statement; a missing field is none
            return Outcome("fail", None, node, "acknowledged without a value")
        return Outcome("ok", answer["value"], node, None if applied else UNAPPLIED)
    if invocation.f == "cas":
        if not applied or not isinstance(answer.get("swapped"), bool):
            return Outcome("info", invocation.value, node, "acknowledged without having been applied: no result")
        if not answer["swapped"]:
            return _refused_cas(invocation, answer, node)
    return Outcome("ok", invocation.value, node, None if applied else UNAPPLIED)


def _refused_cas(invocation: Invocation, answer: dict[str, Any], node: str) -> Outcome:
    seen = answer.get("value", _UNTOLD)
    if seen is not None and type(seen) is not int:
        return Outcome("fail", invocation.value, node, CAS_MISMATCH)
    old, new = invocation.value
    return Outcome("ok", [old, new, seen], node)


def completion_of_error(invocation: Invocation, error: NotSentError | LostError, node: str) -> Outcome:
    """The outcome of an operation that got no answer."""
    harmless = isinstance(error, NotSentError) or invocation.f == "read"
    return Outcome("fail" if harmless else "info", invocation.value, node, str(error), reached=False)
