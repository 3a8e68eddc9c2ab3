"""What is wrong with texts that are put and appended to: the few operations that show it, and one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from checker.core.calls import Call
from checker.core.definition import SMALL, linearizable
from checker.core.model import CasRegister
from checker.core.result import Answer, Limits
from checker.counterexamples.cas_chains import chain_core, forgotten
from checker.counterexamples.enumerate import MOST, Finding, Findings, completed_by, second_pass
from checker.counterexamples.minimize import irreducible
from checker.dispatch import decide
from checker.engines.kv import ENGINE, INITIAL, Reading, Way, read_texts, swaps_of
from checker.engines.kv_partial import PartOfTexts
from checker.engines.kv_pieces import START, Pieces
from checker.explain.registers import Scene
from checker.explain.wording import Clock, shown, who
from history import Counterexample, Operation

_DID: Final = {"put": "put", "append": "appended", "get": "got"}
_TAIL: Final = 40


def possible(part: Sequence[Call], pieces: Pieces) -> bool:
    """May these calls, ``SMALL`` at most, be a part of a linearizable history?"""
    return linearizable(part, PartOfTexts(part, pieces))


@dataclass(frozen=True, slots=True)
class _Texts:
    """An invalid history of texts, and what its gets say; in one way only, or it is left to others to tell."""

    calls: Sequence[Call]
    reading: Reading
    way: Way

    def finding(self, kind: str | None, found: Sequence[Call]) -> Finding:
        """The least contradiction in these calls and the gets that show where their appends stand."""
        whole = {call.source: call for call in self.calls}
        core = {call.source: whole[call.source] for call in found}
        for call in found:
            if (value := self.way.get(call.source)) is not None:
                witness = self.reading.witness(value)
                core[witness.source] = witness
        least, pieces = sorted(core.values(), key=lambda call: call.invoke), self.reading.pieces
        if len(least) <= SMALL:
            least = irreducible(least, PartOfTexts(least, pieces), lambda part: not possible(part, pieces))
        return Finding(tuple(least), Answer("invalid", ENGINE, kind=kind))

    def without(self, found: Sequence[Call], finding: Finding, swaps: Sequence[Call]) -> list[Call]:
        """The swaps without what completed a violation, and without the gets that are the same violation again."""
        whole = {call.source: call for call in self.calls}
        due = completed_by(found, CasRegister())
        rest = [call for call in finding.core if call.source != due.source]
        kept = []
        for swap in swaps:
            alike = swap.f == due.f == "read" and swap.result == due.result and swap.ret > due.ret
            again = alike and len(rest) < SMALL and not possible([*rest, whole[swap.source]], self.reading.pieces)
            if swap.source != due.source and not again:
                kept.append(swap)
            elif swap.f != "read":
                kept.append(forgotten(swap))
        return kept


def find_texts(calls: Sequence[Call], pieces: Pieces, limits: Limits) -> Findings | None:
    """All violations of one object of texts, for as long again as the check took; None if it cannot tell them."""
    more = second_pass(limits)
    # This took a part of the time of the check only, and is not given up in the midst of it.
    reading, ways = read_texts(calls, pieces, replace(more, deadline=None))
    if len(ways) > 1:
        return None
    texts, swaps, register = _Texts(calls, reading, ways[0]), swaps_of(calls, reading, ways[0]), CasRegister(INITIAL)
    conflicts = sorted(reading.conflicts.values(), key=lambda conflict: conflict.core[-1].ret)
    held = [texts.finding(conflict.kind, conflict.core) for conflict in conflicts[:MOST]]
    count, note = len(conflicts), None
    # ``decide`` answers unknown when the time is over.  The first one is looked for until the deadline.
    while (
        answer := decide(swaps, register, more if held else limits, engine="chains", proof=False)
    ).verdict != "valid":
        if answer.verdict == "unknown" or (held and more.over()) or len(held) >= 2 * MOST:
            note = f"there may be more than the first {len(held)} violations: the rest was not looked for"
            break
        found = chain_core(swaps, register, more if held else limits)
        if held and more.over():
            continue
        held.append(texts.finding(None, found))
        swaps = texts.without(found, held[-1], swaps)
        count += 1
    # Every core is judged anew.  Where the same text was appended twice, a few calls may not show what all of them do.
    held = [finding for finding in held if len(finding.core) > SMALL or not possible(finding.core, pieces)]
    if not held:
        return None
    held.sort(key=lambda finding: finding.moment)
    return Findings(tuple(held[:MOST]), count, note)


def elided(text: str) -> str:
    """A text as it is shown in a sentence: of a long one the end, which tells it from the others."""
    return shown(text if len(text) <= _TAIL else "…" + text[-_TAIL:])


class _Teller:
    def __init__(self, core: Sequence[Call], scene: Scene, pieces: Pieces) -> None:
        self.scene, self.pieces = scene, pieces
        self.core = sorted(core, key=lambda call: call.invoke)
        self.operations = tuple(scene.operations[call.source] for call in self.core)
        self.clock = Clock.of(self.operations)
        self.gets = [call for call in self.core if call.f == "get"]
        self.makers = [call for call in self.core if call.f != "get"]

    def tell(self, kind: str | None) -> Counterexample:
        kind, why = self._alone(kind) if len(self.core) == 1 else self._together(kind)
        story = "; ".join(map(self._did, self.core))
        return Counterexample(kind, f"On {self.scene.name}, {story}: {why}.", self.operations)

    def _op(self, call: Call) -> Operation:
        return self.scene.operations[call.source]

    def _did(self, call: Call) -> str:
        operation = self._op(call)
        text = elided(call.result or START) if call.f == "get" else elided(call.value)
        return f"{who(operation)} {_DID[call.f]} {text} ({self.clock.span(operation)})"

    def _parts(self, get: Call) -> list[str]:
        return self.pieces.split(get.result or START) or []

    def _alone(self, kind: str | None) -> tuple[str, str]:
        """One get whose answer is wrong by itself."""
        text = self.gets[0].result
        parts, start = [], 0
        while (piece := self.pieces.at(text, start)) is not None:
            parts.append(piece)
            start += len(piece)
        if start < len(text):
            return self._out_of_nowhere(text[start:], parts)
        often = next((piece for piece in parts if parts.count(piece) > self.pieces.makers(piece)), None)
        if often is not None:
            return "duplicate", f"{elided(often)} is there more often than it was asked for"
        puts = [piece for piece in parts[1:] if piece not in self.pieces.appends]
        return kind or "not-linearizable", (
            f"{elided(puts[0])} was put, which replaces the whole text, so nothing can stand before it"
            if puts
            else f"{elided(text)} was never put, and the text at the start was empty"
        )

    def _out_of_nowhere(self, rest: str, parts: Sequence[str]) -> tuple[str, str]:
        where = f"what follows {elided(parts[-1])}" if parts else "its beginning"
        for operation in self.scene.operations:
            failed = operation.outcome == "fail" and operation.f in ("put", "append")
            if failed and operation.value and rest.startswith(operation.value):
                return "failed-write-read", (
                    f"{where} is {elided(operation.value)}, which was only asked for by {who(operation)}, at "
                    f"{self.clock.at(operation.invoked)}, and answered as failed; the client's mapping of outcomes "
                    "may be wrong"
                )
        return "never-written", f"{where} is nothing that anybody put or appended: a text out of nowhere"

    def _together(self, kind: str | None) -> tuple[str, str]:
        for maker in self.makers:
            early = [get for get in self.gets if get.ret < maker.invoke and maker.value in self._parts(get)]
            if early:
                return "future-read", f"{elided(maker.value)} was got before it was asked for: a read from the future"
        if kind is not None:
            return kind, {
                "duplicate": "what was asked for once stands at two places",
                "log-overwrite": "one text cannot have been continued in both ways",
            }.get(kind, "they contradict each other")
        if not self.makers and len(self.gets) == 2:
            first, later = sorted(self.gets, key=lambda call: call.ret)
            if first.ret < later.invoke:
                return "read-inversion", "the later answer is the older text"
        return self._missed() or ("not-linearizable", "no order of these operations explains what was got")

    def _missed(self) -> tuple[str, str] | None:
        """A put or append that was acknowledged before a get began that does not show it."""
        for maker in self.makers:
            late = [get for get in self.gets if maker.ret < get.invoke and maker.value not in self._parts(get)]
            if late:
                seen = any(maker.value in (operation.result or START) for operation in self.scene.operations
                           if operation.f == "get" and operation.outcome == "ok")  # fmt: skip
                get = self._op(late[0])
                return "stale-read" if seen else "lost-write", (
                    f"{elided(maker.value)} was acknowledged before {who(get)} began to get, at "
                    f"{self.clock.at(get.invoked)}, and is not in that answer, though nothing that was asked for can "
                    f"have taken it away in between"
                )
        return None


def tell_texts(core: Sequence[Call], scene: Scene, answer: Answer, pieces: Pieces) -> Counterexample:
    """The story of a core of texts, in a history of these pieces."""
    return _Teller(core, scene, pieces).tell(answer.kind)
