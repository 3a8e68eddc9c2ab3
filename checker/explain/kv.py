"""Explain a violation of strings that are put and appended to, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from checker.core.calls import Call
from checker.core.result import EngineResult
from checker.core.scene import CoreWords, Scene
from checker.core.wording import shown, who
from checker.engines.kv_pieces import START, Pieces
from history import Counterexample

_DID: Final = {"put": "put", "append": "appended", "get": "got"}
_MAX_SHOWN: Final = 40


def elided(string: str) -> str:
    """Format a string for a sentence; a long one is cut to its end, which is the part that distinguishes it."""
    return shown(string if len(string) <= _MAX_SHOWN else "…" + string[-_MAX_SHOWN:])


class _Sentences(CoreWords):
    def __init__(self, core: Sequence[Call], scene: Scene, pieces: Pieces) -> None:
        super().__init__(core, scene)
        self.pieces = pieces
        self.gets = [call for call in self.core if call.f == "get"]
        self.makers = [call for call in self.core if call.f != "get"]
        # Strings are long, so each is split only once.
        self.parts = {get.source: frozenset(pieces.split(get.result or START) or ()) for get in self.gets}

    def counterexample(self, kind: str | None) -> Counterexample:
        kind, why = self._alone(kind) if len(self.core) == 1 else self._together(kind)
        text = "; ".join(map(self._did, self.core))
        return self.example(kind, f"On {self.name}, {text}: {why}.")

    def _did(self, call: Call) -> str:
        string = (call.result or START) if call.f == "get" else call.value
        return self.by(call, f"{_DID[call.f]} {elided(string)}")

    def _alone(self, kind: str | None) -> tuple[str, str]:
        """Explain a get whose answer is wrong by itself."""
        string = self.gets[0].result
        parts, start = [], 0
        while (piece := self.pieces.at(string, start)) is not None:
            parts.append(piece)
            start += len(piece)
        if start < len(string):
            return self._out_of_nowhere(string[start:], parts)
        often = next((piece for piece in parts if parts.count(piece) > self.pieces.makers(piece)), None)
        if often is not None:
            return "duplicate", f"{elided(often)} occurs more often than it was written"
        puts = [piece for piece in parts[1:] if piece not in self.pieces.appends]
        return kind or "not-linearizable", (
            f"{elided(puts[0])} was put, which replaces the whole string, so nothing can come before it"
            if puts
            else f"{elided(string)} was never put, and the initial string was empty"
        )

    def _out_of_nowhere(self, rest: str, parts: Sequence[str]) -> tuple[str, str]:
        where = f"what follows {elided(parts[-1])}" if parts else "its beginning"
        for operation in self.scene.operations:
            failed = operation.outcome == "fail" and operation.f in ("put", "append")
            if failed and operation.value and rest.startswith(operation.value):
                return "failed-write-read", (
                    f"{where} is {elided(operation.value)}, which only {who(operation)} wrote, at "
                    f"{self.clock.at(operation.invoked)}, and that was reported as failed; the client's mapping of "
                    "outcomes may be wrong"
                )
        return "never-written", f"no process ever put or appended {where}: a string out of nowhere"

    def _together(self, kind: str | None) -> tuple[str, str]:
        for maker in self.makers:
            early = [get for get in self.gets if get.ret < maker.invoke and maker.value in self.parts[get.source]]
            if early:
                return "future-read", f"{elided(maker.value)} was read before its write began: a read from the future"
        if kind is not None:
            return kind, {
                "duplicate": "a string that was written once is in two places",
                "log-overwrite": "one string cannot have been continued in both ways",
            }.get(kind, "they contradict each other")
        if not self.makers and len(self.gets) == 2:
            first, later = sorted(self.gets, key=lambda call: call.ret)
            if first.ret < later.invoke:
                return "read-inversion", "the later answer is the older string"
        return self._missed() or ("not-linearizable", "no order of these operations explains these answers")

    def _missed(self) -> tuple[str, str] | None:
        """Explain a get that misses a put or append acknowledged before the get began."""
        for maker in self.makers:
            late = [get for get in self.gets if maker.ret < get.invoke and maker.value not in self.parts[get.source]]
            if late:
                was_read = any(maker.value in (operation.result or START) for operation in self.scene.operations
                           if operation.f == "get" and operation.outcome == "ok")  # fmt: skip
                get = self.op(late[0])
                return "stale-read" if was_read else "lost-write", (
                    f"{elided(maker.value)} was acknowledged before {who(get)} began its get at "
                    f"{self.clock.at(get.invoked)}, but that answer lacks it, although no operation can have removed "
                    f"it in between"
                )
        return None


def explain_kv(core: Sequence[Call], scene: Scene, result: EngineResult, pieces: Pieces) -> Counterexample:
    """Explain a core of strings from a history of these pieces."""
    return _Sentences(core, scene, pieces).counterexample(result.kind)
