"""Runs without a verdict: they broke off, are still under way, or their results cannot be read."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from history import RunFiles
from history.under_way import is_under_way

Why: TypeAlias = Literal["broke off", "under way", "interrupted", "not judged", "results not readable"]
#: A run whose records grew less than this many seconds ago may still be under way.
QUIET_S: Final = 300.0
_PHASES: Final = {"warm-up": "in the warm-up", "main": "in the main phase"}


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Why a run has no verdict: in a word or two, and in a sentence."""

    why: Why
    sentence: str


def unjudged(files: RunFiles, state: Mapping[str, Any], results: Mapping[str, Any]) -> Unjudged | None:
    """Return why a run has no verdict; None if it has one, the harness recorded a failure, or there is no run."""
    if results:
        return None
    if is_under_way(files.root):
        return Unjudged("under way", "under way")
    if state.get("failures"):
        return None
    if files.results.is_file():
        return Unjudged("results not readable", "results.json cannot be read; harness check writes it again")
    changed = _changed(files)
    if changed is None:
        return None
    if state.get("ended"):
        return Unjudged("not judged", "the run ended and was not judged; harness check judges it")
    if state.get("interrupted"):
        return Unjudged("interrupted", "interrupted, and not judged; harness check judges what was recorded")
    if time.time() - changed < QUIET_S:
        return Unjudged("under way", "under way, or interrupted in the last few minutes")
    moments = state.get("moments")
    reached = {name: at for name, at in moments.items() if isinstance(at, int)} if isinstance(moments, Mapping) else {}
    where = _PHASES.get(max(reached, key=lambda name: reached[name]), "after the load") if reached else "at its start"
    check = "; harness check judges what was recorded" if files.history.is_file() else ""
    return Unjudged("broke off", f"the harness broke off {where}, without a reason, as a killed process does{check}")


def _changed(files: RunFiles) -> float | None:
    """Return when any of the records last grew, in seconds since 1970; None if there are none."""
    times = []
    for path in (files.plan, files.state, files.history, files.probes, files.log):
        try:
            times.append(path.stat().st_mtime)
        except OSError:
            continue
    return max(times, default=None)
