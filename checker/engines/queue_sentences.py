"""Explain a violation of a queue in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from checker.core.calls import Call, freeze, thaw
from checker.core.result import EngineResult
from checker.core.scene import CoreWords, Scene
from checker.core.wording import shown, who
from history import Counterexample
from history.records.text import and_listed

_MAX_LISTED: Final = 6


def explain_queue(core: Sequence[Call], scene: Scene, _result: EngineResult) -> Counterexample:
    """Explain a queue's core."""
    return _Sentences(core, scene).explain()


class _Sentences(CoreWords):
    def __init__(self, core: Sequence[Call], scene: Scene) -> None:
        super().__init__(core, scene)
        self.enqueues = {call.value: call for call in self.core if call.f == "enqueue"}
        self.dequeues = [call for call in self.core if call.f == "dequeue" and not call.pending]
        self.takers = [call for call in self.core if call.f == "dequeue" and call.pending]

    def explain(self) -> Counterexample:
        kind, sentence = self._describe()
        return self.example(kind, f"{sentence}.")

    def _describe(self) -> tuple[str, str]:
        empty = [call for call in self.dequeues if call.result is None]
        if empty:
            return self._missed(empty[0]) if len(self.enqueues) == 1 else self._never_empty(empty[0])
        if len(self.dequeues) > 1:
            return self._twice()
        (due,) = self.dequeues
        if not self.enqueues:
            return self._out_of_nowhere(due)
        enqueue = self.enqueues.pop(due.result)
        return self._overtaken(due, enqueue) if self.enqueues else self._future(due, enqueue)

    def _did(self, call: Call, *more: str) -> str:
        """``process 3 on n2 dequeued 7 (12.300–12.310 s)``."""
        did = f"enqueued {_item(call.value)}" if call.f == "enqueue" else f"dequeued {_item(call.result)}"
        if call.f == "dequeue" and call.pending:
            did = "began to dequeue"
        elif call.f == "dequeue" and call.result is None:
            did = f"found {self.name} empty"
        return self.by(call, " ".join([did, *more]))

    def _all(self, calls: Iterable[Call]) -> str:
        """What they did, or the first of them."""
        done = [self._did(call) for call in calls]
        rest = [f"{len(done) - _MAX_LISTED} more"] if len(done) > _MAX_LISTED else []
        return and_listed([*done[:_MAX_LISTED], *rest])

    def _dequeued(self, item: Any) -> bool:
        """Was it ever dequeued?"""
        answered = (other for other in self.scene.operations if other.f == "dequeue" and other.outcome == "ok")
        return any(freeze(operation.result) == item for operation in answered)

    def _out_of_nowhere(self, due: Call) -> tuple[str, str]:
        item, said = _item(due.result), f"{self._did(due)}, but"
        for operation in self.scene.operations:
            if operation.f == "enqueue" and operation.outcome == "fail" and freeze(operation.value) == due.result:
                error = f' ("{operation.error}")' if operation.error else ""
                return "failed-write-read", (
                    f"{said} the enqueue of {item} ({who(operation)}, at {self.clock.at(operation.invoked)}) was "
                    f"answered as failed{error}. Either {self.name} shows an item that it refused, or that answer did "
                    "not prove that the enqueue had no effect: the client's mapping of outcomes may be wrong"
                )
        return "never-written", f"{said} no process ever enqueued {item} to {self.name}: an item out of nowhere"

    def _future(self, due: Call, enqueue: Call) -> tuple[str, str]:
        begun = self.op(enqueue)
        return "future-read", (
            f"{self._did(due)} from {self.name}, but the only enqueue of {_item(due.result)} was begun later, by "
            f"{who(begun)} at {self.clock.at(begun.invoked)}: an item from the future"
        )

    def _twice(self) -> tuple[str, str]:
        (enqueue,) = self.enqueues.values()
        return "duplicate", (
            f"{self._did(enqueue, 'once')} on {self.name}, but it was dequeued more than once: "
            f"{self._all(self.dequeues)}"
        )

    def _overtaken(self, due: Call, enqueue: Call) -> tuple[str, str]:
        ahead, item = list(self.enqueues.values()), _item(due.result)
        them = _item(ahead[0].value) if len(ahead) == 1 else "they"
        said = (
            f"On {self.name}, {self._all(ahead)}, and {self._did(enqueue, 'only after that')}, so {them} had to leave "
            f"before {item}. But {self._did(due)}"
        )
        if self.takers:
            return "lost-element", f"{said}. No process is known to have taken them{self._perhaps()}: one is missing"
        if self._dequeued(ahead[0].value):
            return "queue-order", f"{said} before anybody began to dequeue {them}: {item} overtook {them}"
        return "lost-element", f"{said}, and {them} was never dequeued: it is lost, or was overtaken"

    def _perhaps(self) -> str:
        """The pending dequeues that may have taken items, too."""
        return (
            f", and of the dequeues without an answer that can be true only {len(self.takers)} had begun by then "
            f"and may have done so, each for one: {self._all(self.takers)}"
        )

    def _missed(self, due: Call) -> tuple[str, str]:
        ((value, enqueue),) = self.enqueues.items()
        said = f"{self._did(enqueue)}, acknowledged. But {self._did(due)}"
        if self._dequeued(value):
            return "stale-read", f"{said} before anybody began to dequeue {_item(value)}: that answer was stale"
        return (
            "lost-element",
            f"{said}, and {_item(value)} was never dequeued: it is lost, or that answer was stale",
        )

    def _never_empty(self, due: Call) -> tuple[str, str]:
        """Always one item or another was there."""
        said = f"{self._did(due)}, but at every moment of that something was in it: "
        taken = {call.result: call for call in self.dequeues if call is not due}
        parts = []
        for item, enqueue in sorted(self.enqueues.items(), key=lambda pair: pair[1].ret):
            until = self.begun(taken[item]) if item in taken else "that was over"
            parts.append(f"{self._did(enqueue)}, which no process is known to have begun to dequeue before {until}")
        said += "; ".join(parts)
        return "stale-read", said + (self._perhaps() if self.takers else "")


def _item(value: Any) -> str:
    return shown(thaw(value))
