"""All models by name: a new one is one line here."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Final

from checker.models import ANY, CasRegister, Model, ModelError, Register, StrictCasRegister
from checker.objects import Counter, FifoQueue, GrowSet, KeyValue, Log, MultiRegister, Mutex

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
}


def model_named(model: str | Model) -> Model:
    """The model of that name, or the model itself.  Raises ModelError naming the near ones, or all."""
    if isinstance(model, Model):
        return model
    if not isinstance(model, str):
        raise ModelError(f"a model is a name or an instance such as Register(), found {model!r}")
    if model not in MODELS:
        near = difflib.get_close_matches(model, MODELS)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise ModelError(f"there is no model {model!r}; {hint}the models are {', '.join(MODELS)}")
    return MODELS[model]()
