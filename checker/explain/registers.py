"""Explain a violation of a register: from a minimal core to its kind and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from checker.core.calls import Call, ranked, thaw
from checker.core.model import ANY, NOWHERE
from checker.core.scene import CoreWords, Scene
from checker.core.wording import MomentFormat, cas_of, refused_by, shown, tried, who
from checker.engines.registers import cluster_columns, values_written_once
from checker.engines.zones import zones
from history import Counterexample, Operation
from history.codes import NEVER
from history.records.text import and_listed

#: Two CAS operations, and the call that made the value that both replaced.
_CAS_ALONE: Final = 3


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Calls on one value of a core, by their roles."""

    value: Any
    initial: bool
    first: Call | None
    last: Call
    calls: tuple[Call, ...]


def explain(core: Sequence[Call], scene: Scene) -> Counterexample | None:
    """Return the counterexample for a core of a register with unique values; None if the core has another shape.

    A CAS is explained as a read of the old value and a write of the new one, if that is enough for a contradiction.
    Only two CAS operations that replace the same value need the fact that both halves happen at one moment.
    """
    if not scene.model.one_value or any(call.f not in ("read", "write", "cas") for call in core):
        return None
    if (wrong := next((call for call in core if call.result is NOWHERE), None)) is not None:
        return _wrong_refusal(scene.operations[wrong.source], scene)
    parts = _parts(core)
    if not values_written_once(parts, scene.model.initial):
        return None
    if len(core) <= _CAS_ALONE and all(call.f != "read" for call in core) and (example := _double_cas(core, scene)):
        return example
    return _Sentences(core, parts, scene).explain() or _double_cas(core, scene)


def _wrong_refusal(operation: Operation, scene: Scene) -> Counterexample:
    clock, held = MomentFormat.of([operation]), shown(operation.seen)
    return Counterexample(
        "wrong-refusal",
        f"{who(operation)} {refused_by(operation)} {held} ({clock.span(operation)}) on {scene.name}, but a register "
        f"that holds {held} must accept this cas.",
        (operation,),
    )


def _parts(core: Sequence[Call]) -> list[Call]:
    """Split the core into reads and writes, every CAS into one of each; ranks stay distinct."""
    parts = []
    for call in core:
        first = replace(call, invoke=2 * call.invoke, ret=NEVER if call.pending else 2 * call.ret)
        if call.f != "cas":
            parts.append(first)
            continue
        if not call.pending:
            parts.append(replace(first, f="read", value=None, result=call.value[0]))
        ret = NEVER if call.pending else 2 * call.ret + 1
        parts.append(replace(call, f="write", value=call.value[1], invoke=2 * call.invoke + 1, ret=ret))
    return parts


def _double_cas(core: Sequence[Call], scene: Scene) -> Counterexample | None:
    """Explain two acknowledged CAS operations that replaced one value that existed only once."""
    takers: dict[Any, list[Call]] = {}
    for call in core:
        if call.f == "cas" and not call.pending:
            takers.setdefault(call.value[0], []).append(call)
    value, pair = next(((value, calls) for value, calls in takers.items() if len(calls) > 1), (None, []))
    if not pair:
        return None
    words = CoreWords(core, scene)
    both = " and ".join(
        words.by(call, f"swapped {shown(thaw(value))} for {shown(thaw(call.value[1]))}") for call in pair[:2]
    )
    return words.example(
        "double-cas",
        f"{both}, both acknowledged, but {scene.name} was {shown(thaw(value))} only once: the second cas "
        f"should have been refused.",
    )


#: (function, as a part of a CAS) -> forms of the verb.
_VERBS: Final = {
    ("read", False): {"past": "read", "had": "read", "to": "read"},
    ("write", False): {"past": "wrote", "had": "written", "to": "write"},
    ("read", True): {"past": "found, and swapped away,", "had": "swapped away", "to": "swap away"},
    ("write", True): {"past": "swapped in", "had": "swapped in", "to": "swap in"},
}


class _Sentences(CoreWords):
    def __init__(self, core: Sequence[Call], parts: Sequence[Call], scene: Scene) -> None:
        super().__init__(core, scene)
        self.parts = sorted(parts, key=lambda call: call.invoke)

    def explain(self) -> Counterexample | None:
        dense = ranked(self.parts)
        columns = cluster_columns(dense, self.scene.model.initial)
        zone_set = zones(columns)
        if self.scene.model.initial is ANY and len(zone_set.phantom) > 1:
            return self._two_initials()
        if zone_set.phantom.size and self.scene.model.initial is not ANY:
            return self._phantom()
        if zone_set.future.size:
            return self._future(self._cluster(int(zone_set.future[0]), columns.cluster.tolist()).calls)
        if not zone_set.inner.size:
            return None
        clusters = [self._cluster(int(pair[0]), columns.cluster.tolist()) for pair in (zone_set.outer, zone_set.inner)]
        outer, inner = clusters
        if inner.first is not None and inner.last.invoke > inner.first.ret:
            return self._both(outer, inner)
        return self._between(outer, inner)

    def _cluster(self, cluster: int, clusters: list[int]) -> _Cluster:
        calls = [call for call, other in zip(self.parts, clusters, strict=True) if other == cluster]
        value = calls[0].value if calls[0].f == "write" else calls[0].result
        initial = cluster == 0
        first = None if initial else min(calls, key=lambda call: call.ret)
        return _Cluster(value, initial, first, max(calls, key=lambda call: call.invoke), tuple(calls))

    def _did(self, call: Call) -> str:
        value = shown(thaw(call.result if call.f == "read" else call.value))
        return self.by(call, f"{self._verb(call, 'past')} {value}")

    def _verb(self, call: Call, form: str) -> str:
        """Return the verb of the call: it read or wrote its value, swapped it in or out, or was refused by it."""
        operation = self.scene.recorded(call)
        if not operation.refused:
            return _VERBS[call.f, operation.f == "cas"][form]
        return {"past": refused_by(operation), "had": refused_by(operation, "seen"), "to": tried(operation)}[form]

    def _phantom(self) -> Counterexample:
        read = next(call for call in self.parts if call.f == "read")
        failed = self.scene.failed_write(read.result)
        name, value = self.name, shown(thaw(read.result))
        text = f"{self._did(read)} {'on' if self.op(read).refused else 'from'} {name}"
        if failed is None:
            never = "was never absent" if read.result is None else "no process ever wrote"
            tail = f"but {name} {never}" if read.result is None else f"but {never} {value} to it"
            return self.example("never-written", f"{text}, {tail}: a value out of nowhere.")
        if failed.refused:
            return self.example(
                "failed-write-read",
                f"{text}, but the only cas to {value} ({who(failed)}, at {self.clock.at(failed.invoked)}) was refused "
                f"by {shown(failed.seen)}: the system shows a value that it did not swap in.",
            )
        error = f' ("{failed.error}")' if failed.error else ""
        return self.example(
            "failed-write-read",
            f"{text}, but the only {failed.f} of {value} ({who(failed)}, at {self.clock.at(failed.invoked)}) was "
            f"reported as failed{error}. Either the system shows a write that it refused, or that answer did not prove "
            f"that the write had no effect: the client's mapping of outcomes may be wrong.",
        )

    def _two_initials(self) -> Counterexample:
        first, two = [call for call in self.parts if call.f == "read"][:2]
        return self.example(
            "never-written",
            f"{self._did(first)} and {self._did(two)} from {self.name}, but no process had written either by then: "
            f"only one of them can have been there from the start.",
        )

    def _future(self, calls: Sequence[Call]) -> Counterexample:
        read = min((call for call in calls if call.f == "read"), key=lambda call: call.ret)
        write = next(call for call in calls if call.f == "write")
        return self.example(
            "future-read",
            f"{self._did(read)} from {self.name}, but no process had begun to write "
            f"{shown(thaw(read.result))} by then; {who(self.op(write))} was the first, at "
            f"{self.begun(write)}: a read from the future.",
        )

    def _seen_by(self, cluster: _Cluster) -> str:
        """Say why the value must have been current by the cluster's first return."""
        value = shown(thaw(cluster.value))
        if cluster.first is None:
            return f"{self.name} was {value} at the start"
        operation = self.op(cluster.first)
        how = self._verb(cluster.first, "had")
        return (
            f"{self.name} had been {value} by {self.clock.at(operation.returned)} "
            f"(when {who(operation)} had {how} {value})"
        )

    def _seen_again(self, cluster: _Cluster) -> str:
        operation = self.op(cluster.last)
        how = "a cas that found" if operation.f == "cas" else "a read that returned"
        if operation.refused:
            how = f"a {cas_of(operation)} that was refused by"
        return (
            f"at {self.clock.at(operation.invoked)} or later (when {who(operation)} began {how} "
            f"{shown(thaw(cluster.value))})"
        )

    def _between(self, outer: _Cluster, inner: _Cluster) -> Counterexample:
        """Explain that the inner value was current between two times at which the outer one was."""
        assert inner.first is not None
        text = f"{self._seen_by(outer)}, and was {self._value(outer)} again {self._seen_again(outer)}. In between, "
        value = shown(thaw(inner.value))
        if inner.first is inner.last:
            done = ", acknowledged" if inner.first.f == "write" else ""
            operation = self.op(inner.first)
            text += f"{who(operation)} {self._verb(inner.first, 'past')} {value} ({self.clock.span(operation)}{done})"
        else:
            begun, ended = self.op(inner.last), self.op(inner.first)
            verb = self._verb(inner.last, "to")
            text += (
                f"{value} was current: {who(begun)} began to {verb} it only at {self.clock.at(begun.invoked)}, and "
                f"{who(ended)} had {self._verb(inner.first, 'had')} it by "
                f"{self.clock.at(ended.returned)}"
            )
        kind, name = self._kind(inner)
        return self.example(kind, f"{text}, so {shown(thaw(outer.value))} cannot be current again: {name}.")

    def _kind(self, inner: _Cluster) -> tuple[str, str]:
        assert inner.first is not None
        if self.scene.gone(inner.value, self.op(inner.first)):
            lost = f"{shown(thaw(inner.value))} is lost"
            return "lost-write", f"{lost}, as no final read returned it, nor anything that was written after it"
        if any(call.f == "read" for call in inner.calls):
            return "read-inversion", "a read went back in time"
        if self.scene.was_read(inner.value):
            return "stale-read", "a stale read"
        missed = f"that answer missed the write of {shown(thaw(inner.value))}"
        if self.scene.went_on(inner.first, inner.value):
            return "stale-read", f"{missed}, which others may have overwritten since"
        return "lost-write", f"{missed}, which no read ever returned, nor anything that was written after it"

    def _both(self, outer: _Cluster, inner: _Cluster) -> Counterexample:
        """Explain two values that would have to be current at the same moment.

        Each was current both before and after the first return of the inner one.
        """
        assert inner.first is not None
        moment = self.clock.at(self.op(inner.first).returned)
        kind, name = self._contradiction(outer, inner)
        return self.example(
            kind,
            f"{self._seen_by(outer)}, and was {self._value(outer)} again {self._seen_again(outer)}. But "
            f"{self._seen_by(inner)}, and was {self._value(inner)} again {self._seen_again(inner)}. At {moment} it "
            f"would have had to be both: {name}.",
        )

    def _contradiction(self, outer: _Cluster, inner: _Cluster) -> tuple[str, str]:
        """Return the kind of a contradiction between two values, and how to phrase it.

        It is a split brain only if each side read back a write of its own; otherwise one of the answers is
        stale.
        """
        sides = [{self.op(call).node for call in cluster.calls} for cluster in (outer, inner)]
        wrote = all(any(call.f == "write" for call in cluster.calls) for cluster in (outer, inner))
        if wrote and None not in sides[0] | sides[1] and sides[0].isdisjoint(sides[1]):
            names = [and_listed(sorted(str(node) for node in side)) for side in sides]
            return "split-brain", f"{names[0]} went on with {self._value(outer)}, {names[1]} with {self._value(inner)}"
        # Whether it was a read that showed one of the values to be current.
        read_first = any(cluster.first is not None and cluster.first.f == "read" for cluster in (outer, inner))
        kind = "read-inversion" if read_first else "stale-read"
        if outer.initial:
            return kind, f"the answer of {who(self.op(outer.last))} is stale"
        suspects = " or that of ".join(who(self.op(cluster.last)) for cluster in (outer, inner))
        return kind, f"the answers contradict each other, so either that of {suspects} is stale"

    def _value(self, cluster: _Cluster) -> str:
        return shown(thaw(cluster.value))
