"""The client of any program: what the answers of a client program prove about an operation.

The program reads ``{"id":7,"f":"write","key":"x","value":3,"node":"n1","address":"10.0.0.1","worker":0,"timeout":4.0}``
and answers ``{"id":7,"type":"ok","value":3}``, ``value`` and ``error`` where there are any.  What it says counts while
it keeps to that; every doubt is ``info``, and reads have no effect, so that one without an answer is ``fail``.

===============================================  ===========  ======
answer                                           others       read
===============================================  ===========  ======
ok                                               ok           ok
ok with the value of another operation           info         -
ok without a value                               ok           fail
fail                                             fail         fail
info                                             info         fail
no answer in time, or the program died           info         fail
no JSON, no known type, a value of no kind       info         fail
an answer to no open request, or a second one    info         fail
it cannot be started, or the request written     fail         fail
===============================================  ===========  ======

An answer of neither kind, a missing one, and a second one end the program; the next operation starts it anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from harness.clients.outcomes import Outcome, completion_of_error
from harness.clients.wire import LostError, NotSentError
from harness.systems.program.child import LineProgram
from harness.workloads import Invocation
from history.records.operations import contradiction

TYPES: Final = ("ok", "fail", "info")
#: The program is to answer within an operation's timeout; so much (s) later it is killed.
GRACE_S: Final = 0.5
_LONGEST_ERROR: Final = 300


@dataclass(frozen=True, slots=True)
class Home:
    """The worker, and where its operations go; each request names them."""

    worker: int
    node: str
    address: str


class ProgramClient:
    """One worker's way to the cluster, through a client program of its own or a shared one."""

    def __init__(self, program: LineProgram, home: Home, *, timeout: float) -> None:
        self._program = program
        self._home = home
        self._timeout = timeout

    async def perform(self, invocation: Invocation) -> Outcome:
        """Ask the program once; never raises for anything that it does."""
        request = {
            "f": invocation.f, "key": invocation.key, "value": invocation.value,
            "node": self._home.node, "address": self._home.address, "worker": self._home.worker,
            "timeout": self._timeout,
        }  # fmt: skip
        try:
            answer = await self._program.ask(request, self._timeout + GRACE_S)
        except (NotSentError, LostError) as error:
            return completion_of_error(invocation, error, self._home.node)
        if why := unusable(invocation, answer):
            self._program.restart(why)
            return completion_of_error(invocation, LostError(why), self._home.node)
        return completion_of(invocation, answer, self._home.node)

    def close(self) -> None:
        self._program.close()


def unusable(invocation: Invocation, answer: dict[str, Any]) -> str:
    """Why an answer cannot be one to this operation; empty if it can."""
    kind, error = answer.get("type"), answer.get("error")
    if kind not in TYPES:
        return f"an answer of the type {str(kind)[:80]!r}, which is none of {', '.join(TYPES)}"
    if error is not None and not isinstance(error, str):
        return "an error that is no text"
    if kind != "ok":
        return ""
    if invocation.f == "read" and "value" not in answer:  # null means absent, which is a statement
        return "a read that is ok without a value"
    return contradiction(invocation.f, invocation.value, answer.get("value")) or ""


def completion_of(invocation: Invocation, answer: dict[str, Any], node: str) -> Outcome:
    """The outcome that a usable answer proves."""
    kind, error = answer["type"], answer.get("error")
    error = error[:_LONGEST_ERROR] if error is not None else None
    if kind == "ok":
        value = answer.get("value")
        return Outcome("ok", invocation.value if value is None and invocation.f != "read" else value, node, error)
    if kind == "info" and invocation.f == "read":
        kind = "fail"
    return Outcome(kind, invocation.value, node, error)
