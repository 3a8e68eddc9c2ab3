"""Explain a violation of a counter in one sentence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from checker.core.calls import Call
from checker.core.model import ILLEGAL, Model, State
from checker.core.result import Limits
from checker.core.scene import CoreWords, Scene
from checker.core.wording import shown
from checker.counterexamples.counter_part import Part
from checker.counterexamples.counters import Shown, latest_read
from checker.engines.counter_sums import Wrong
from checker.search.jit import search
from history import Counterexample, Linearization, Operation

#: What was done to the counter if an answer is too low, and what could explain it; reversed if it is too high.
_DONE: Final = ("added to", "subtracted from")
_MAX_LISTED: Final = 6
#: Memory in bytes for finding out what a read could have answered.
_SEARCH_BYTES: Final = 1 << 20


def explain_counter(violation: Shown, scene: Scene) -> Counterexample:
    """Explain one violation of a counter; the read that completed it is the suspect."""
    read = latest_read(violation)
    legal: tuple[float, ...] = ()
    if isinstance(violation, Part):
        legal = possible_answers(violation, read)
        kind, sentence = "not-linearizable", _explain_part(violation, read, legal, scene)
    else:
        kind, sentence = _Sentences(violation, scene).explain()
    alone = Linearization(None, (), (violation.core.index(read),), legal)
    return Counterexample(kind, sentence, tuple(scene.operations[call.source] for call in violation.core), alone)


def _explain_part(part: Part, read: Call, legal: Sequence[float], scene: Scene) -> str:
    others = len(part.core) - 1
    beside = "the operation" if others == 1 else f"the {others} operations"
    could = ""
    if legal:
        stretches = sorted(_stretches(legal), key=lambda ends: min(abs(end - read.result) for end in ends))
        listed = " or ".join(map(_stretch, sorted(stretches[:_MAX_LISTED])))
        could = f"{scene.name} can only have been {listed}" + (" or others" if len(stretches) > _MAX_LISTED else "")
        could += f" in that time, given {beside} beside it: "
    return f"{_did(CoreWords(part.core, scene), read)}, but {could}no order of these operations explains that answer."


def _stretches(numbers: Sequence[float]) -> list[tuple[float, float]]:
    """Return ranges of consecutive integers, in ascending order."""
    stretches: list[tuple[float, float]] = []
    for number in sorted(numbers):
        if stretches and number == stretches[-1][1] + 1 and type(number) is int:
            stretches[-1] = (stretches[-1][0], number)
        else:
            stretches.append((number, number))
    return stretches


def _stretch(ends: tuple[float, float]) -> str:
    low, high = ends
    return shown(low) if low == high else f"{shown(low)} {'or' if high == low + 1 else 'to'} {shown(high)}"


class _Asked(Model):
    """Counter with one read, ``asked``, that may answer any sum and stores its answer in the state.

    ``end`` is never possible.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.initial = (model.initial, None)

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f == "end":
            return ILLEGAL
        before, answer = state
        if f == "asked":
            return before, before[0]
        after = self.model.step(before, f, value, result)
        return ILLEGAL if after is ILLEGAL else (after, answer)

    def describe(self, state: State) -> str:
        return json.dumps(state[1])


def possible_answers(part: Part, read: Call) -> tuple[float, ...]:
    """Return all answers that ``read`` could have had with the other calls, ascending; none if that takes too long.

    One search finds them all: no order reaches the impossible ``end``, so the search visits every state before it.
    """
    others = [replace(call, f="asked", result=None) if call is read else call for call in part.core]
    end = Call("end", None, None, read.ret + 1, read.ret + 2, read.source)
    result = search([*others, end], _Asked(part.model), Limits(lambda: 0.0, memory=_SEARCH_BYTES))
    answers: set[Any] = set(map(json.loads, result.states)) if result.last == end.ret else set()
    return () if None in answers else tuple(sorted(answers))


def _did(words: CoreWords, read: Call) -> str:
    return words.by(read, f"read {shown(read.result)}")


class _Sentences(CoreWords):
    def __init__(self, wrong: Wrong, scene: Scene) -> None:
        super().__init__(wrong.core, scene)
        self.wrong = wrong
        self.sign = 1 if wrong.low else -1
        self.away, self.towards = _DONE[:: self.sign]

    def explain(self) -> tuple[str, str]:
        """Return the violation's kind and the sentence."""
        wrong = self.wrong
        answer = f"{_did(self, wrong.read)}, but"
        if not wrong.adds:
            kind, why = self._inverted(wrong.before) if wrong.before is not None else self._beyond()
        elif wrong.before is None and not wrong.against:
            kind, why = self._missed()
        else:
            kind, name = self._lost_or("stale-read", "a stale read")
            why = f"{self._bound()}: {name}"
        return kind, f"{answer} {why}."

    def _had(self, before: Call) -> str:
        return _did(self, before).replace(" read ", " had read ", 1)

    def _most(self) -> str:
        """Say how much may have moved the counter towards the answer."""
        return f"at most {self.wrong.against}" if self.wrong.against else "nothing"

    def _sure(self, when: str) -> str:
        """Say how much the answer must include but does not."""
        wrong = self.wrong
        known = sum(abs(call.value) for call in wrong.adds)
        beside = "the one operation" if len(wrong.adds) == 1 else f"the {len(wrong.adds)} operations"
        return when + (f" ({known} by {beside} beside it)" if known < wrong.sure else "")

    def _inverted(self, before: Call) -> tuple[str, str]:
        since = f"{self._most()} can have been {self.towards} {self.name} since"
        kind, name = self._lost_or("read-inversion", "a read inversion")
        return kind, f"{self._had(before)} before that, and {since}: {name}"

    def _missed(self) -> tuple[str, str]:
        wrong, sign = self.wrong, self.sign
        why = self._sure(f"{wrong.sure} had been {self.away} {self.name} before it began")
        if any(sign * answer >= wrong.sure for answer in self._answers()):
            kind, name = self._lost_or("stale-read", "a stale read")
            return kind, f"{why}: {name}"
        shown_so = f"{sign * wrong.sure} or {'more' if wrong.low else 'less'}"
        return "lost-write", f"{why}, and no read ever returned {shown_so}: a lost add"

    def _lost_or(self, kind: str, name: str) -> tuple[str, str]:
        """Return kind and name, or those of a lost add.

        An add is lost if the final reads fall short of the bound as well, and no add of the opposite sign was
        made.
        """
        final, wrong = self.scene.final_reads(), self.wrong
        began = self.scene.operations[wrong.read.source].invoke_index
        bound = self._least()
        adds = (op.value for op in self.scene.operations if op.f == "add" and op.outcome != "fail")
        short = (read.invoke_index >= began and self.sign * (read.result - bound) < 0 for read in final)
        if final and all(short) and all(self.sign * add >= 0 for add in adds):
            return "lost-write", f"a lost add, as no final read returned {'more' if wrong.low else 'less'} either"
        return kind, name

    def _least(self) -> int:
        """Return the least that the counter can have been then or, if the answer is too high, the most."""
        before = self.wrong.before
        return (0 if before is None else before.result) + self.sign * (self.wrong.sure - self.wrong.against)

    def _answers(self) -> list[int]:
        return [read.result for read in self.scene.operations if read.f == "read" and read.outcome == "ok"]

    def _bound(self) -> str:
        wrong, before = self.wrong, self.wrong.before
        away, towards = (words.rsplit(" ", 1)[0] for words in (self.away, self.towards))
        when = f"had been {away} before it began" if before is None else f"was {away} between the two"
        reasons = [] if before is None else [self._had(before)]
        reasons.append(self._sure(f"{wrong.sure} {when}"))
        if wrong.against:
            until = "by its end" if before is None else "since"
            reasons.append(f"at most {wrong.against} can have been {towards} {until}")
        bound = self._least()
        why = f"{', '.join(reasons[:-1])}, and {reasons[-1]}"
        return f"{self.name} was at {'least' if wrong.low else 'most'} {bound} then, because {why}"

    def _made_of(self, adds: Sequence[Operation]) -> str:
        """Say which adds make up the bound: `` (2 acknowledged adds that sum to 8)``; empty if they do not."""
        parts, total = [], 0
        for outcome, one_add, adds_of in (
            ("ok", "acknowledged add", "acknowledged adds"),
            ("info", "add of unknown outcome", "adds of unknown outcome"),
        ):
            sizes = [abs(add.value) for add in adds if add.outcome == outcome]
            total += sum(sizes)
            if sizes:
                parts.append(
                    f"1 {one_add} of {sizes[0]}"
                    if len(sizes) == 1
                    else f"{len(sizes)} {adds_of} that sum to {sum(sizes)}"
                )
        return f" ({' and '.join(parts)})" if parts and total == self.wrong.against else ""

    def _beyond(self) -> tuple[str, str]:
        """Explain an answer beyond everything that was added or taken away."""
        wrong = self.wrong
        towards = [add for add in self.scene.operations if add.f == "add" and self.sign * add.value < 0]
        amount = abs(wrong.read.result)
        ended = self.scene.operations[wrong.read.source].return_index
        made_of = self._made_of([add for add in towards if add.invoke_index < (ended or 0)])
        by_then = f"{self._most()} can have been {self.towards} {self.name} by then{made_of}"
        failed = sum(abs(add.value) for add in towards if add.outcome == "fail" and add.invoke_index < (ended or 0))
        if amount <= wrong.against + failed:
            twice = "an add took effect twice, or " if amount <= 2 * wrong.against else ""
            return "failed-write-read", (
                f"{by_then}. Together with what was reported as failed it can be {wrong.against + failed}:"
                f" {twice}the client's mapping of outcomes may be wrong"
            )
        kind = "undercount" if wrong.low else "overcount"
        if amount <= sum(abs(add.value) for add in towards if add.outcome != "fail"):
            return kind, f"{by_then}, and any more only later"
        return kind, f"{by_then}, and no process ever requested that much"
