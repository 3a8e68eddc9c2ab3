"""All models by name; a new one is one line here.  Systems may bring more."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, Final

from checker.core.calls import freeze
from checker.core.model import ANY, CasRegister, Model, ModelError, Register, StrictCasRegister
from checker.models.bank import Bank
from checker.models.fenced_lock import FencedLock
from checker.models.ledger import Ledger
from checker.models.objects import Counter, FifoQueue, GrowSet, KeyValue, Log, MultiRegister, Mutex
from checker.models.sync_state_set import SyncStateSet
from checker.models.system_models import system_models

MODELS: Final[dict[str, Callable[[], Model]]] = {
    "register": Register,
    "cas-register": CasRegister,
    "register-unknown": lambda: Register(ANY),
    "cas-register-unknown": lambda: CasRegister(ANY),
    "cas-register-strict": StrictCasRegister,
    "mutex": Mutex,
    "multi-register": MultiRegister,
    "log": Log,
    "set": GrowSet,
    "counter": Counter,
    "queue": FifoQueue,
    "kv": KeyValue,
    "ledger": Ledger,
    "fenced-lock": FencedLock,
    "bank": Bank,
    "sync-state-set": SyncStateSet,
}


def starting_with(model: str | Model, initial: Any) -> Model:
    """The model with another initial value, a JSON scalar.  Raises ModelError for one that has none to choose."""
    chosen = model_named(model)
    if not _starts_anew(chosen):
        able = ", ".join(name for name, make in MODELS.items() if _starts_anew(make()))
        raise ModelError(f"a {model} has no initial value to choose; models that have one are {able}")
    assert isinstance(chosen, Register)
    return type(chosen)(freeze(initial))


def _starts_anew(model: Model) -> bool:
    return isinstance(model, Register) and model.initial is not ANY


def model_named(model: str | Model) -> Model:
    """The model of that name, or the model itself.  Raises ModelError naming the near ones, or all."""
    if isinstance(model, Model):
        return model
    if not isinstance(model, str):
        raise ModelError(f"a model is a name or an instance such as Register(), found {model!r}")
    if model in MODELS:
        return MODELS[model]()
    known = all_models()
    if model not in known:
        near = difflib.get_close_matches(model, known)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise ModelError(f"there is no model {model!r}; {hint}the models are {', '.join(known)}")
    return known[model]()


def all_models() -> dict[str, Callable[[], Model]]:
    """All models by name: these, and those of installed systems; ours where both have a name."""
    return {**MODELS, **system_models(), **MODELS}
