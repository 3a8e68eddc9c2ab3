"""The first sentence of a run with an unknown verdict, and where to look for the reason."""

from __future__ import annotations

from typing import NamedTuple

from history.records.check_records import check_records
from history.records.finding import FaultStates, first_of
from history.records.text import and_listed, counted
from reports.load.check_rows import undecided_of
from reports.load.run import LoadedRun
from reports.style.format import one_line
from reports.words.of_gates import FAULT_STATES


class Undecided(NamedTuple):
    """Why a run has no verdict, as a sentence; the next ``step`` without its full stop, and the section it is about."""

    sentence: str
    step: str
    place: str


def undecided(run: LoadedRun) -> Undecided | None:
    """Describe the first unknown check of a run; None if there is none."""
    rows = undecided_of(run)
    if not rows:
        return None
    name, observation = rows[0]
    record = next(check for check in check_records(run.results) if check.get("name") == name)
    kind = "gate" if record.get("kind") == "gate" else "check"
    states = first_of(FaultStates, record)
    if states is not None and states.bare:
        absent = and_listed(_never(states, fault) for fault in states.bare)
        why = "The requirement that every fault takes effect was not met"
        skipped = [fault for fault in states.bare if set(states.states.get(fault, {})) == {"skipped"}]
        felt = [fault for fault in states.bare if fault not in skipped]
        ones = [(skipped, "not started"), (felt, "without effect")]
        whys = (f"{and_listed(names)} {'was' if len(names) == 1 else 'were'} {how}" for names, how in ones if names)
        step = f"Read in the list of faults why {and_listed(whys)}, then run it with another seed"
        return Undecided(f"{why}: {absent}.", step, "faults")
    text = one_line(observation, 420).rstrip(".")
    return Undecided(
        f"The {kind} {one_line(name, 60)} is undecided: {text}.", f"Read what the {kind} {name} saw", f"check-{name}"
    )


def _never(states: FaultStates, fault: str) -> str:
    """Say that a fault never took effect, what became of it, and why."""
    tried = states.states.get(fault, {})
    counts = (f"{FAULT_STATES.get(state, state)} {counted(many, 'time')}" for state, many in sorted(tried.items()))
    became = ", ".join(counts) or "never tried"
    why = f" ({'; '.join(states.reasons[fault])})" if states.reasons.get(fault) else ""
    return f"{fault} was {became}{why}"
