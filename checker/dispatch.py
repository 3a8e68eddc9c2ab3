"""Choose the engine: the first in the registry that applies, or the one forced by name.

A small history goes to the plain search first, because compiled code takes 0.3 s to load.  If an engine finds a history
valid but keeps no linearization, the compiled search looks for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Final

from checker.core.calls import Call
from checker.core.engine import NODE_BYTES, PLAIN_SEARCH_CALLS, Engine
from checker.core.model import NOWHERE, Model, ModelError, Register
from checker.core.result import EngineResult, Limits, OutOfTimeError
from checker.models.multisets import TotalQueue, UniqueIds, UnorderedQueue
from checker.models.objects import Counter, FifoQueue, GrowSet, KeyValue, Log, MultiRegister

#: Above this many configurations, compiled code is worth the 0.3 s that it takes to load.
_MAX_PLAIN_NODES: Final = 4000
_PROOF_BYTES: Final = 64 << 20

#: The engines in the order in which they are tried: name, module of ``checker.engines``, and the models that it is made
#: for.  A new one is a file of its own and a line here.  Few histories need more than one or two of the modules, and
#: all of them take as long to load as a small file takes to be checked.
_HOMES: Final[dict[str, tuple[str, str, tuple[type[Model], ...]]]] = {
    "zones": ("registers", "ZONES", (Register,)),
    "values": ("values", "VALUES", (Register,)),
    "automaton": ("automaton", "AUTOMATON", (Register,)),
    "chains": ("cas_chains", "CHAINS", (Register,)),
    "log": ("logs", "LOG", (Log,)),
    "set": ("sets", "SET", (GrowSet,)),
    "queue": ("queues", "QUEUE", (FifoQueue,)),
    "bag": ("multisets", "QUEUES_WITHOUT_ORDER", (UnorderedQueue, TotalQueue)),
    "ids": ("multisets", "UNIQUE_IDS", (UniqueIds,)),
    "kv": ("kv", "KV", (KeyValue,)),
    "counter-bounds": ("counter_sums", "COUNTER", (Counter,)),
    "dependencies": ("transactions", "TRANSACTIONS", (MultiRegister,)),
    "search": ("searches", "SEARCH", (Model,)),
    "python-search": ("searches", "PYTHON_SEARCH", (Model,)),
    "wgl": ("searches", "WGL", (Model,)),
}
NAMES: Final = tuple(_HOMES)


@cache
def engine_named(name: str) -> Engine:
    """Return an engine, loading its module if necessary."""
    module, constant, _ = _HOMES[name]
    engine: Engine = getattr(import_module(f"checker.engines.{module}"), constant)
    return engine


def engine_titled(title: str) -> Engine | None:
    """Return the engine that has this title in results; None if there is none."""
    return next((engine for engine in map(engine_named, NAMES) if engine.title == title), None)


def engines_for(model: Model) -> Iterator[Engine]:
    """Yield the engines for models like this one, in the order in which they are tried."""
    return (engine_named(name) for name, (_, _, models) in _HOMES.items() if isinstance(model, models))


def first_for(model: Model, size: int) -> Engine:
    """Return the first engine for the model and this number of operations, regardless of what they are."""
    return next(engine for engine in engines_for(model) if size in engine.unasked and engine.applies(model, ()))


def decide(
    calls: Sequence[Call], model: Model, limits: Limits, *, engine: str | None = None, proof: bool = True
) -> EngineResult:
    """Decide with the forced engine, or with the first that applies.

    Raises ModelError if the forced one does not apply.
    """
    limits = limits.of_verdict()
    try:
        if model.one_value and (wrong := [call for call in calls if call.result is NOWHERE]):
            from checker.engines.values import each_alone

            return each_alone(wrong)
        if engine is not None:
            return _forced(engine, calls, model, limits, proof=proof)
        return _fittest(calls, model, limits, proof=proof)
    except OutOfTimeError as late:
        return late.result


def _fittest(calls: Sequence[Call], model: Model, limits: Limits, *, proof: bool) -> EngineResult:
    tried, before = False, None
    for engine in engines_for(model):
        if len(calls) not in engine.unasked or not engine.applies(model, calls):
            continue
        if engine.compiled and not tried:
            tried = True
            if (quick := _quick(calls, model, limits)) is not None:
                return quick.after(before)
        result = engine.decide(calls, model, limits, proof)
        if result is None or (engine.partial and result.verdict == "unknown" and not limits.over()):
            before = result
            continue
        result = result.after(before)
        return result if engine.orders or not proof else _with_order(result, calls, model, limits)
    raise AssertionError("the search decides every history")


def _forced(name: str, calls: Sequence[Call], model: Model, limits: Limits, *, proof: bool) -> EngineResult:
    if name not in _HOMES:
        raise ModelError(f"there is no engine {name!r}; the engines are {', '.join(NAMES)}")
    engine = engine_named(name)
    result = engine.decide(calls, model, limits, proof) if engine.applies(model, calls) else None
    if result is None:
        raise ModelError(f"the engine {name} cannot decide this history of a {model.name}")
    return result


def _quick(calls: Sequence[Call], model: Model, limits: Limits) -> EngineResult | None:
    """Decide in plain Python if that takes a few milliseconds, else return None.

    Classic WGL follows the search: taking calls early finds orders that taking them late misses.
    """
    if len(calls) > PLAIN_SEARCH_CALLS:
        return None
    from checker.search.jit import search
    from checker.search.wgl import wgl

    result = search(calls, model, replace(limits, memory=min(limits.memory, _MAX_PLAIN_NODES * NODE_BYTES)))
    if result.verdict == "unknown" and not limits.over() and not model.one_value:
        most = _MAX_PLAIN_NODES * 10 * (len(calls) // 8 + 180)
        result = wgl(calls, model, replace(limits, memory=min(limits.memory, most)))
    return result if result.verdict != "unknown" or limits.over() else None


def _with_order(result: EngineResult, calls: Sequence[Call], model: Model, limits: Limits) -> EngineResult:
    """Add the linearization to a valid result if the search finds it soon."""
    if result.verdict != "valid":
        return result
    from checker.search.compiled import compiled_search

    # The verdict stands; its proof may take as long as the check did, and no longer.
    searched = compiled_search(calls, model, replace(limits.extended(), memory=min(limits.memory, _PROOF_BYTES)))
    return replace(result, order=searched.order) if searched is not None and searched.verdict == "valid" else result
