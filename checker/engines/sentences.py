"""Explain a violation of a log, a set or a queue in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from checker.core.calls import Call, freeze, thaw
from checker.core.result import EngineResult
from checker.core.scene import CoreWords, Scene
from checker.core.wording import shown, who
from history import Counterexample
from history.records.text import and_listed, counted

_PAST: Final = {"add": "added", "append": "appended", "read": "read", "get": "asked for"}
#: At most this many items of an answer are listed.
_MAX_LISTED: Final = 8
#: At most this many operations on a queue are named.
_MAX_NAMED: Final = 6


class _Words(CoreWords):
    def did(self, call: Call, note: str = "") -> str:
        """Say what a process did and what answer it got; ``note`` follows the answer."""
        operation = self.op(call)
        verb = f"began to {operation.f}" if call.pending else _PAST.get(operation.f, f"had a {operation.f} of")
        argument = "" if operation.value is None else f" {shown(operation.value)}"
        result, silent = operation.result, call.pending or (call.f == "add" and operation.result is None)
        answer = f"{len(result)} items" if isinstance(result, list) and len(result) > _MAX_LISTED else shown(result)
        between = " " if operation.f == "read" else " and got "
        answered = "" if silent else between + answer
        return self.by(call, f"{verb}{argument}{answered}{note}")


def explain_log(core: Sequence[Call], scene: Scene, result: EngineResult) -> Counterexample:
    """Explain a violation of a log, given as a minimal core."""
    words = _Words(core, scene)
    name, kind = scene.name, result.kind
    if kind == "never-written":
        return _never_made(words, f"{words.did(core[0])} on {name}, but no process ever appended it")
    if kind == "log-hole":
        return words.example(
            kind,
            f"{words.did(core[0])} on {name}, but the entries before it cannot all exist: too few appends had begun.",
        )
    if kind in ("log-overwrite", "duplicate"):
        rule = "one index cannot hold two values" if kind == "log-overwrite" else "one append cannot be at two indexes"
        if kind == "log-overwrite" and any(call.f == "list" and None in call.result for call in words.core):
            rule = "a list that goes beyond an index must have the entry there"
        return words.example(kind, f"{', and '.join(map(words.did, words.core))} on {name}: {rule}.")
    return _log_order(words, core)


def _never_made(words: _Words, text: str) -> Counterexample:
    """Explain a value that was seen but never made, or only by an operation that failed."""
    values: set[Any] = set()
    for call in words.core:
        items = call.result if isinstance(call.result, tuple) else [call.result]
        values |= {shown(thaw(item)) for item in items}
    for operation in words.scene.operations:
        if operation.f in ("append", "add") and operation.outcome == "fail" and shown(operation.value) in values:
            return words.example(
                "failed-write-read",
                f"{text}: only {who(operation)} ever wrote {shown(operation.value)}, and that was reported as failed; "
                "the client's mapping of outcomes may be wrong.",
            )
    return words.example("never-written", f"{text}: a value out of nowhere.")


def _log_order(words: _Words, core: Sequence[Call]) -> Counterexample:
    before, after, *witness = core
    saw, later = words.op(before), words.op(after)
    text = f"{words.did(before)} on {words.name}, so that entry was there by {words.clock.at(saw.returned)}. "
    if after.f == "append":
        also = f", as {words.did(witness[0])}" if witness else ""
        return words.example(
            "future-read" if before.f != "append" else "log-order",
            f"{text}But {words.did(after)}, which began only after that but is at or before that entry{also}.",
        )
    gone = _gone_from_log(words, before)
    return words.example(
        "lost-write" if gone or before.f == "append" else "read-inversion",
        f"{text}But {who(later)} began to {later.f} at {words.clock.at(later.invoked)} and did not see it"
        f"{', and no final list has it' if gone else ''}: the log went back in time.",
    )


def _gone_from_log(words: _Words, before: Call) -> bool:
    """Return whether all final lists end before an entry that a call had shown."""
    shown_by, final = words.op(before), words.scene.final_reads()
    index = shown_by.value if before.f == "get" else shown_by.result
    index = len(index) - 1 if before.f == "list" else index
    return bool(final) and all(
        read.f == "list" and len(read.result) <= index and read.invoke_index > (shown_by.return_index or 0)
        for read in final
    )


def explain_set(core: Sequence[Call], scene: Scene, result: EngineResult) -> Counterexample:
    """Explain a violation of a set, given as a minimal core."""
    words = _Words(core, scene)
    kind = result.kind or "not-linearizable"
    if kind == "never-written":
        added = {
            freeze(operation.value)
            for operation in scene.operations
            if operation.f == "add" and operation.outcome != "fail"
        }
        item = ", ".join(shown(thaw(item)) for item in core[0].result if item not in added)
        return _never_made(words, f"{words.did(core[0])} on {scene.name}, but no process ever added {item}")
    if kind == "duplicate":
        answer = core[0].result
        item = next(item for place, item in enumerate(answer) if item in answer[:place])
        text = f"{words.did(core[0])} on {scene.name}, which holds {shown(thaw(item))} twice"
        return words.example(kind, f"{text}: a set has an element once, however often it was added.")
    reads = [call for call in words.core if call.f == "read"]
    adds = [call for call in words.core if call.f == "add"]
    if len(reads) == 1 and len(adds) == 1 and adds[0].ret < reads[0].invoke:
        add, read = adds[0], reads[0]
        return words.example(
            "lost-element",
            f"{words.did(add)} on {scene.name}, acknowledged. But {who(words.op(read))} began a read at "
            f"{words.begun(read)} that did not see {shown(thaw(add.value))}.",
            read,
        )
    if len(reads) == 1 and len(adds) == 1 and reads[0].ret < adds[0].invoke:
        first = words.op(adds[0])
        return words.example(
            "future-read",
            f"{words.did(reads[0])} on {scene.name}, but the first add of {shown(thaw(adds[0].value))} began "
            f"later, by {who(first)} at {words.clock.at(first.invoked)}: a read from the future.",
            reads[0],
        )
    listed = "; ".join(words.did(call, _beside(call, adds) if call.f == "read" else "") for call in words.core)
    sentence = f"On {scene.name}: {listed}. {_no_order(words, reads, adds)}"
    return words.example(kind, sentence, max(reads, key=lambda call: call.ret, default=None))


def _beside(read: Call, adds: Sequence[Call]) -> str:
    """Say which of the added elements an answer holds and which it lacks: ``, with 3, without 4``."""
    texts = []
    for word, there in (("with", True), ("without", False)):
        elements = [shown(thaw(add.value)) for add in adds if (add.value in (read.result or ())) == there]
        texts += [f", {word} {and_listed(elements)}"] if elements else []
    return "".join(texts)


def _no_order(words: _Words, reads: Sequence[Call], adds: Sequence[Call]) -> str:
    """Name the answer that holds an element and the one that lacks it; the core holds at least one such pair."""
    for holds in reads:
        for lacks in reads:
            for add in adds:
                if (
                    holds.ret < lacks.invoke
                    and add.value in (holds.result or ())
                    and add.value not in (lacks.result or ())
                ):
                    holder, lacker = who(words.op(holds)), who(words.op(lacks))
                    return (
                        f"The answer to {holder} has {shown(thaw(add.value))}, but the later one to {lacker} lacks "
                        "it: no order of the adds explains both."
                    )
    return "No order of the adds explains both what was seen and what was not."


def explain_queue(core: Sequence[Call], scene: Scene, _result: EngineResult) -> Counterexample:
    """Explain a violation of a FIFO queue, given as a minimal core."""
    return _OfQueue(core, scene).explain()


class _OfQueue(CoreWords):
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
        """Say what a process did: ``process 3 on n2 dequeued 7 (12.300–12.310 s)``."""
        did = f"enqueued {_item(call.value)}" if call.f == "enqueue" else f"dequeued {_item(call.result)}"
        if call.f == "dequeue" and call.pending:
            did = "began to dequeue"
        elif call.f == "dequeue" and call.result is None:
            did = f"found {self.name} empty"
        return self.by(call, " ".join([did, *more]))

    def _all(self, calls: Iterable[Call]) -> str:
        """Say what these calls did; name only the first ones if there are many."""
        done = [self._did(call) for call in calls]
        rest = [f"{len(done) - _MAX_NAMED} more"] if len(done) > _MAX_NAMED else []
        return and_listed([*done[:_MAX_NAMED], *rest])

    def _dequeued(self, item: Any) -> bool:
        """Return whether the item was ever dequeued."""
        answered = (other for other in self.scene.operations if other.f == "dequeue" and other.outcome == "ok")
        return any(freeze(operation.result) == item for operation in answered)

    def _out_of_nowhere(self, due: Call) -> tuple[str, str]:
        item, text = _item(due.result), f"{self._did(due)}, but"
        for operation in self.scene.operations:
            if operation.f == "enqueue" and operation.outcome == "fail" and freeze(operation.value) == due.result:
                error = f' ("{operation.error}")' if operation.error else ""
                return "failed-write-read", (
                    f"{text} the enqueue of {item} ({who(operation)}, at {self.clock.at(operation.invoked)}) was "
                    f"reported as failed{error}. Either {self.name} shows an item that it refused, or that answer did "
                    "not prove that the enqueue had no effect: the client's mapping of outcomes may be wrong"
                )
        return "never-written", f"{text} no process ever enqueued {item} to {self.name}: an item out of nowhere"

    def _future(self, due: Call, enqueue: Call) -> tuple[str, str]:
        begun = self.op(enqueue)
        return "future-read", (
            f"{self._did(due)} from {self.name}, but the only enqueue of {_item(due.result)} began later, by "
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
        text = (
            f"On {self.name}, {self._all(ahead)}, and {self._did(enqueue, 'only after that')}, so {them} had to leave "
            f"before {item}. But {self._did(due)}"
        )
        if self.takers:
            return "lost-element", f"{text}. No process is known to have taken them.{self._perhaps()} One is missing"
        if self._dequeued(ahead[0].value):
            return "queue-order", f"{text} before any process began to dequeue {them}: {item} overtook {them}"
        return "lost-element", f"{text}, and {them} was never dequeued: it is lost, or was overtaken"

    def _perhaps(self) -> str:
        """Name the pending dequeues that may have taken items."""
        number, each = counted(len(self.takers), "dequeue"), " each" if len(self.takers) > 1 else ""
        return (
            f" Only {number} without a reliable answer had begun by then, which may have taken one item{each}: "
            f"{self._all(self.takers)}."
        )

    def _missed(self, due: Call) -> tuple[str, str]:
        ((value, enqueue),) = self.enqueues.items()
        text = f"{self._did(enqueue)}, acknowledged. But {self._did(due)}"
        if self._dequeued(value):
            return "stale-read", f"{text} before any process began to dequeue {_item(value)}: that answer was stale"
        return (
            "lost-element",
            f"{text}, and {_item(value)} was never dequeued: it is lost, or that answer was stale",
        )

    def _never_empty(self, due: Call) -> tuple[str, str]:
        """Explain that one item or another was in the queue at every moment of the answer."""
        text = f"{self._did(due)}, but it was not empty at any moment of that time: "
        taken = {call.result: call for call in self.dequeues if call is not due}
        parts = []
        for item, enqueue in sorted(self.enqueues.items(), key=lambda pair: pair[1].ret):
            until = self.begun(taken[item]) if item in taken else "that answer"
            parts.append(f"{self._did(enqueue)}, and no process is known to have begun to dequeue it before {until}")
        text += "; ".join(parts)
        return "stale-read", text + (f".{self._perhaps()}".removesuffix(".") if self.takers else "")


def _item(value: Any) -> str:
    return shown(thaw(value))
