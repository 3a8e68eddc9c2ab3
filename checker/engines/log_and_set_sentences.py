"""Explain a violation of a log or a set in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from checker.core.calls import Call, freeze, thaw
from checker.core.result import EngineResult
from checker.core.scene import Scene
from checker.core.wording import Clock, shown, who
from history import Counterexample, Linearization, Operation

_PAST: Final = {"add": "added", "append": "appended", "read": "read", "get": "asked for"}
_LISTED: Final = 8
"""So many items of an answer are listed."""


class _Stage:
    """The core's operations and the words for them."""

    def __init__(self, core: Sequence[Call], scene: Scene) -> None:
        self.core = sorted(core, key=lambda call: call.invoke)
        self.scene = scene
        self.operations = tuple(scene.operations[call.source] for call in self.core)
        self.clock = Clock.of(self.operations)

    def op(self, call: Call) -> Operation:
        return self.scene.operations[call.source]

    def did(self, call: Call, note: str = "") -> str:
        """Say what a process asked and was answered; ``note`` follows the answer."""
        operation = self.op(call)
        verb = f"began to {operation.f}" if call.pending else _PAST.get(operation.f, f"had a {operation.f} of")
        asked = "" if operation.value is None else f" {shown(operation.value)}"
        result, silent = operation.result, call.pending or (call.f == "add" and operation.result is None)
        answer = f"{len(result)} items" if isinstance(result, list) and len(result) > _LISTED else shown(result)
        between = " " if operation.f == "read" else " and was answered "
        answered = "" if silent else between + answer
        return f"{who(operation)} {verb}{asked}{answered}{note} ({self.clock.span(operation)})"

    def example(self, kind: str, sentence: str, culprit: Call | None = None) -> Counterexample:
        """Make the counterexample; ``culprit`` is the answer beside which the others fit no order."""
        suspects = (self.core.index(culprit),) if culprit is not None else ()
        alone = Linearization(None, (), suspects) if suspects else None
        return Counterexample(kind, sentence, self.operations, alone)


def explain_log(core: Sequence[Call], scene: Scene, answer: EngineResult) -> Counterexample:
    """Explain a log's core."""
    stage = _Stage(core, scene)
    name, kind = scene.name, answer.kind
    if kind == "never-written":
        return _never_made(stage, f"{stage.did(core[0])} on {name}, but nobody ever appended that")
    if kind == "log-hole":
        return stage.example(
            kind,
            f"{stage.did(core[0])} on {name}, but the entries before it cannot all exist: too few appends had begun.",
        )
    if kind in ("log-overwrite", "duplicate"):
        what = "one index cannot hold two values" if kind == "log-overwrite" else "one append cannot be at two indexes"
        return stage.example(kind, f"{', and '.join(map(stage.did, stage.core))} on {name}: {what}.")
    return _log_order(stage, core)


def _never_made(stage: _Stage, said: str) -> Counterexample:
    """Explain a value that was seen but never made, or only by an operation that failed."""
    values: set[Any] = set()
    for operation in stage.operations:
        items = operation.result if isinstance(operation.result, list) else [operation.result]
        values |= {shown(item) for item in items}
    for operation in stage.scene.operations:
        if operation.f in ("append", "add") and operation.outcome == "fail" and shown(operation.value) in values:
            return stage.example(
                "failed-write-read",
                f"{said}: {shown(operation.value)} was only ever asked for by {who(operation)}, and answered as "
                "failed; the client's mapping of outcomes may be wrong.",
            )
    return stage.example("never-written", f"{said}: a value out of nowhere.")


def _log_order(stage: _Stage, core: Sequence[Call]) -> Counterexample:
    before, after, *witness = core
    saw, later = stage.op(before), stage.op(after)
    said = f"{stage.did(before)} on {stage.scene.name}, so that entry was there by {stage.clock.at(saw.returned)}. "
    if after.f == "append":
        also = f", as {stage.did(witness[0])}" if witness else ""
        return stage.example(
            "future-read" if before.f != "append" else "log-order",
            f"{said}But {stage.did(after)}, which was begun only after that and stands at or before that entry{also}.",
        )
    return stage.example(
        "lost-write" if before.f == "append" else "read-inversion",
        f"{said}But {who(later)} began to {later.f} at {stage.clock.at(later.invoked)} and did not see it: "
        f"the log went back in time.",
    )


def explain_set(core: Sequence[Call], scene: Scene, answer: EngineResult) -> Counterexample:
    """Explain a set's core."""
    stage = _Stage(core, scene)
    kind = answer.kind or "not-linearizable"
    if kind == "never-written":
        added = {
            freeze(operation.value)
            for operation in scene.operations
            if operation.f == "add" and operation.outcome != "fail"
        }
        item = ", ".join(shown(thaw(item)) for item in core[0].result if item not in added)
        return _never_made(stage, f"{stage.did(core[0])} on {scene.name}, but nobody ever added {item}")
    reads = [call for call in stage.core if call.f == "read"]
    adds = [call for call in stage.core if call.f == "add"]
    if len(reads) == 1 and len(adds) == 1 and adds[0].ret < reads[0].invoke:
        add, read = adds[0], reads[0]
        return stage.example(
            "lost-element",
            f"{stage.did(add)} on {scene.name}, acknowledged. But {who(stage.op(read))} began a read at "
            f"{stage.clock.at(stage.op(read).invoked)} that did not see {shown(thaw(add.value))}: a lost element.",
            read,
        )
    if len(reads) == 1 and len(adds) == 1 and reads[0].ret < adds[0].invoke:
        first = stage.op(adds[0])
        return stage.example(
            "future-read",
            f"{stage.did(reads[0])} on {scene.name}, but the first add of {shown(thaw(adds[0].value))} was begun "
            f"later, by {who(first)} at {stage.clock.at(first.invoked)}: a read from the future.",
            reads[0],
        )
    listed = "; ".join(stage.did(call, _beside(call, adds) if call.f == "read" else "") for call in stage.core)
    sentence = f"On {scene.name}: {listed}. {_no_order(stage, reads, adds)}"
    return stage.example(kind, sentence, max(reads, key=lambda call: call.ret, default=None))


def _beside(read: Call, adds: Sequence[Call]) -> str:
    """Say which of the added elements an answer holds and which it lacks: ``, with 3, without 4``."""
    texts = []
    for word, there in (("with", True), ("without", False)):
        found = [shown(thaw(add.value)) for add in adds if (add.value in (read.result or ())) == there]
        texts += [f", {word} {' and '.join(found)}"] if found else []
    return "".join(texts)


def _no_order(stage: _Stage, reads: Sequence[Call], adds: Sequence[Call]) -> str:
    """Name the answer that holds an element and the one that lacks it; the core holds at least one such pair."""
    for holds in reads:
        for lacks in reads:
            for add in adds:
                if (
                    holds.ret < lacks.invoke
                    and add.value in (holds.result or ())
                    and add.value not in (lacks.result or ())
                ):
                    holder, lacker = who(stage.op(holds)), who(stage.op(lacks))
                    return (
                        f"The answer to {holder} holds {shown(thaw(add.value))}, and the later one to {lacker} lacks "
                        "it: no order of the adds explains both."
                    )
    return "No order of the adds explains both what was seen and what was not."
