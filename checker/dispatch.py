"""Which engine decides: chosen from the model and from the history itself, or forced by name.

The engines that need compiled code are imported here and nowhere else, and only when a history is worth it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from checker.core.calls import Call, asked_by, made_by
from checker.core.model import ANY, NOWHERE, CasRegister, Model, ModelError, Register
from checker.core.result import Answer, Limits, OutOfTimeError
from checker.engines.cas_chains import decide_by_chains, new_values_unique
from checker.engines.counter_sums import refute
from checker.engines.kv import decide_by_texts
from checker.engines.logs import decide_by_log_sweep, entries_unique
from checker.engines.queues import decide_by_queue_sweep
from checker.engines.registers import decide_by_zones, values_written_once
from checker.engines.sets import decide_by_set_sweep
from checker.models.objects import Counter, FifoQueue, GrowSet, KeyValue, Log
from checker.search.jit import NODE_BYTES, search
from checker.search.wgl import wgl

ENGINES: Final = ("zones", "automaton", "chains", "log", "set", "queue", "texts", "search", "python-search", "wgl")
# Beyond these the compiled code (0.3 s to load) is worth it.
_PATIENCE: Final = 4000
_SMALL: Final = 400
_CORES: Final = 8
_PROOF_BYTES: Final = 64 << 20
VALUES: Final = "values"


def decide(
    calls: Sequence[Call], model: Model, limits: Limits, *, engine: str | None = None, proof: bool = True
) -> Answer:
    """Decide by the forced or by the fittest engine.  Raises ModelError when a forced one does not apply."""
    try:
        if isinstance(model, Register) and (wrong := [call for call in calls if call.result is NOWHERE]):
            return _each_alone(wrong)
        if engine is not None:
            return _forced(engine, calls, model, limits, proof=proof)
        return _fittest(calls, model, limits, proof=proof)
    except OutOfTimeError as late:
        return late.answer


def _fittest(calls: Sequence[Call], model: Model, limits: Limits, *, proof: bool) -> Answer:
    if type(model) in (Register, CasRegister):
        return _register(calls, model, limits, proof=proof)
    if type(model) is Log and entries_unique(calls):
        return decide_by_log_sweep(calls, limits, proof=proof)
    if type(model) is GrowSet and all(call.f in ("add", "read") for call in calls):
        return decide_by_set_sweep(calls, limits, proof=proof)
    if type(model) is FifoQueue and (answer := decide_by_queue_sweep(calls, limits, proof=proof)) is not None:
        return answer
    if type(model) is KeyValue and (answer := decide_by_texts(calls, limits, proof=proof)) is not None:
        return answer
    # Of more the compiled search knows the bounds by itself.
    if type(model) is Counter and len(calls) <= _SMALL and (answer := refute(calls)) is not None:
        return answer
    return _search(calls, model, limits, proof=proof)


def _plain(calls: Sequence[Call]) -> bool:
    return all(call.f in ("read", "write") for call in calls)


def _register(calls: Sequence[Call], model: Model, limits: Limits, *, proof: bool) -> Answer:
    if _plain(calls) and values_written_once(calls, model.initial):
        answer = _by_zones(calls, model, limits, proof=proof)
        if answer is not None:
            return answer
    if any(call.f not in ("read", "write", "cas") for call in calls):
        return search(calls, model, limits)
    if model.initial is not ANY and (strays := _never_written(calls, model)):
        return _each_alone(strays)
    if _plain(calls):
        quick = _quick(calls, model, limits)
        return quick or _with_order(_automaton(calls, model, limits), calls, model, limits, proof=proof)
    if model.initial is not ANY and len(calls) > _SMALL and new_values_unique(calls, model.initial):
        return decide_by_chains(calls, model, limits, proof=proof)
    return _search(calls, model, limits, proof=proof)


def _by_zones(calls: Sequence[Call], model: Model, limits: Limits, *, proof: bool) -> Answer | None:
    """None where they cannot tell: an unknown initial value may also equal one that is written later."""
    answer = decide_by_zones(calls, model, limits, proof=proof)
    return None if answer.verdict == "invalid" and model.initial is ANY else answer


def _never_written(calls: Sequence[Call], model: Model) -> list[Call]:
    """One read (or swap) of each value that nobody wrote: no engine is needed to tell that this is wrong."""
    written = {made_by(call) for call in calls if call.f != "read"}
    strays: dict[Any, Call] = {}
    asking = (call for call in calls if call.f == "read" or (call.f == "cas" and not call.pending))
    for call in sorted(asking, key=lambda call: call.ret):
        value = asked_by(call)
        if value not in written and value != model.initial:
            strays.setdefault(value, call)
    return list(strays.values())


def _each_alone(calls: Sequence[Call]) -> Answer:
    """Each of these contradicts what a register is, whatever else happened."""
    first = sorted(calls, key=lambda call: call.ret)
    cores = tuple((call,) for call in first[:_CORES])
    return Answer("invalid", VALUES, cores=cores, violations=len(first), last=first[0].ret)


def _quick(calls: Sequence[Call], model: Model, limits: Limits) -> Answer | None:
    """What the plain search can say in a few milliseconds, or None."""
    if len(calls) > _SMALL:
        return None
    answer = search(calls, model, replace(limits, memory=_PATIENCE * NODE_BYTES))
    return answer if answer.verdict != "unknown" or limits.over() else None


def _early(calls: Sequence[Call], model: Model, limits: Limits) -> Answer | None:
    """What classic WGL can say soon, or None: taking calls early finds orders that taking them late misses."""
    if len(calls) > _SMALL or isinstance(model, Register):
        return None
    answer = wgl(calls, model, replace(limits, memory=_PATIENCE * 10 * (len(calls) // 8 + 180)))
    return answer if answer.verdict != "unknown" or limits.over() else None


def _automaton(calls: Sequence[Call], model: Model, limits: Limits) -> Answer:
    from checker.engines.automaton import decide_by_automaton

    answer = decide_by_automaton(calls, model, limits)
    if answer.verdict == "unknown" and not limits.over():
        return _search(calls, model, limits, proof=False)
    return answer


def _with_order(answer: Answer, calls: Sequence[Call], model: Model, limits: Limits, *, proof: bool) -> Answer:
    """Give a valid answer of an engine that keeps no linearization the one that the search finds, if it soon does."""
    if not proof or answer.verdict != "valid":
        return answer
    from checker.search.compiled import compiled_search

    found = compiled_search(calls, model, replace(limits, memory=min(limits.memory, _PROOF_BYTES)))
    return replace(answer, order=found.order) if found is not None and found.verdict == "valid" else answer


def _search(calls: Sequence[Call], model: Model, limits: Limits, *, proof: bool) -> Answer:
    from checker.search.compiled import compiled_search

    quick = _quick(calls, model, limits) or _early(calls, model, limits)
    if quick is not None:
        return quick
    answer = compiled_search(calls, model, limits, proof=proof)
    return answer if answer is not None else search(calls, model, limits)


def _forced(engine: str, calls: Sequence[Call], model: Model, limits: Limits, *, proof: bool) -> Answer:
    def by_automaton() -> Answer:
        from checker.engines.automaton import decide_by_automaton

        return decide_by_automaton(calls, model, limits)

    def by_search() -> Answer:
        from checker.search.compiled import compiled_search

        return compiled_search(calls, model, limits, proof=proof) or search(calls, model, limits)

    register = type(model) in (Register, CasRegister)
    fits: dict[str, tuple[Any, Callable[[], Answer | None]]] = {
        "zones": (
            register and _plain(calls) and values_written_once(calls, model.initial),
            lambda: _by_zones(calls, model, limits, proof=proof),
        ),
        "automaton": (register and _plain(calls), by_automaton),
        "chains": (
            register and model.initial is not ANY and new_values_unique(calls, model.initial),
            lambda: decide_by_chains(calls, model, limits, proof=proof),
        ),
        "log": (type(model) is Log and entries_unique(calls), lambda: decide_by_log_sweep(calls, limits, proof=proof)),
        "set": (type(model) is GrowSet, lambda: decide_by_set_sweep(calls, limits, proof=proof)),
        "queue": (type(model) is FifoQueue, lambda: decide_by_queue_sweep(calls, limits, proof=proof)),
        "texts": (type(model) is KeyValue, lambda: decide_by_texts(calls, limits, proof=proof)),
        "search": (True, by_search),
        "python-search": (True, lambda: search(calls, model, limits)),
        "wgl": (True, lambda: wgl(calls, model, limits)),
    }
    if engine not in fits:
        raise ModelError(f"there is no engine {engine!r}; the engines are {', '.join(ENGINES)}")
    applies, run = fits[engine]
    answer = run() if applies else None
    if answer is None:
        raise ModelError(f"the engine {engine} cannot decide this history of a {model.name}")
    return answer
