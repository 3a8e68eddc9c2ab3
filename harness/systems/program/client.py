"""The client of any program: what the answers of a client program prove about an operation.

The program reads ``{"id":7,"f":"write","key":"x","value":3,"node":"n1","address":"10.0.0.1","worker":0,"timeout":4.0}``
and answers ``{"id":7,"type":"ok","value":3}``, with ``value`` and ``error`` if there are any.  Its answers count as
long as they follow that form.  A malformed, missing or repeated answer proves nothing and ends the program; the next
operation restarts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from harness.clients.wire import NoAnswerError
from harness.systems.api import Machine
from harness.systems.law import Law, Outcome, Rule
from harness.systems.program.child import LineProgram
from harness.workloads import Invocation
from history.records.operations import ECHOED, contradiction

UNUSABLE: Final = "unusable"
LAW: Final = Law(
    Rule("ok", "ok", "ok"),
    Rule("fail", "fail", "fail"),
    Rule("info", "info", "info", read="fail"),
    Rule(UNUSABLE, "an unknown type, an ok read without a value, or a value of another operation", "info", read="fail"),
)
#: The program must answer within an operation's timeout; this many seconds later it is killed.
GRACE_S: Final = 0.5
_LONGEST_ERROR: Final = 300
_ANY: Final[Mapping[str, Any]] = MappingProxyType({})


class ProgramClient:
    """One worker's connection to the cluster, through its own client program or a shared one.

    ``answers`` maps an ``f`` to the type of its ok answers, if not every value is allowed.
    """

    def __init__(
        self, program: LineProgram, home: Machine, worker: int, *, timeout: float, answers: Mapping[str, Any] = _ANY
    ) -> None:
        self._program = program
        self._home = home
        self._worker = worker
        self._timeout = timeout
        self._answers = answers

    @property
    def home(self) -> str:
        return self._home.name

    async def open(self) -> None:
        """Start the program, if possible, so that the first operation need not wait for that."""
        self._program.open()

    async def perform(self, invocation: Invocation) -> Outcome:
        """Send one request to the program.  Never raises for anything that the program does."""
        request = {
            "f": invocation.f, "key": invocation.key, "value": invocation.value,
            "node": self._home.name, "address": self._home.address, "worker": self._worker, "timeout": self._timeout,
        }  # fmt: skip
        try:
            answer = await self._program.ask(request, self._timeout + GRACE_S)
        except NoAnswerError as error:
            return LAW.outcome(error.case, invocation, self.home, str(error))
        if why := unusable(invocation, answer, self._answers):
            self._program.restart(why)
            return LAW.outcome(UNUSABLE, invocation, self.home, why)
        return completion_of(invocation, answer, self.home)

    async def close(self) -> None:
        self._program.close()


def unusable(invocation: Invocation, answer: dict[str, Any], answers: Mapping[str, Any] = _ANY) -> str:
    """Return why an answer cannot belong to this operation, or an empty string if it can."""
    kind, error = answer.get("type"), answer.get("error")
    if kind not in ("ok", "fail", "info"):
        return f"an answer of the type {str(kind)[:80]!r}, which is not ok, fail or info"
    if error is not None and not isinstance(error, str):
        return "an error that is not a string"
    if kind != "ok":
        return ""
    if invocation.f in LAW.reads and "value" not in answer:  # null is a value: it means absent
        return "a read that is ok without a value"
    if invocation.f in answers:
        try:
            msgspec.convert(answer.get("value"), answers[invocation.f])
        except msgspec.ValidationError as refused:
            return f"an ok {invocation.f} whose value has the wrong type: {refused}"
        if why := _misfit(invocation, answer.get("value"), balances="transfer" in answers):
            return why
    return contradiction(invocation.f, invocation.value, answer.get("value")) or ""


def _misfit(invocation: Invocation, value: Any, *, balances: bool) -> str:
    """Return why a value of the right type cannot be an answer to this operation, or an empty string if it can."""
    if invocation.f == "release" and value[0] == "released" and value[1] != invocation.value:
        return f"a release of the token {invocation.value} that is ok with another: {value[1]}"
    if balances and value is not None and len({account for account, _ in value}) < len(value):
        return f"a {invocation.f} that is ok with two balances of one account"
    return ""


def completion_of(invocation: Invocation, answer: dict[str, Any], node: str) -> Outcome:
    """Return the outcome that a usable answer proves."""
    kind, error = answer["type"], answer.get("error")
    error = error[:_LONGEST_ERROR] if error is not None else None
    if kind != "ok":
        return LAW.outcome(kind, invocation, node, error)
    value = answer.get("value")
    if value is None and invocation.f in ECHOED:
        value = invocation.value
    return LAW.outcome(kind, invocation, node, error, value=value)
