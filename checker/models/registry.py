"""All models by name; adding one takes one line here.

Packages announce models that only their systems have as entry points of the group ``harness.models``, so the model of a
recorded history is known wherever its package is installed.  Spark workers receive only our models, and report any
other that a history needs as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from checker.core.model import ANY, CasRegister, Model, ModelError, Register, StrictCasRegister
from checker.models.bank import Bank, SolventBank
from checker.models.etcd import Etcd
from checker.models.fenced_lock import FencedLock
from checker.models.ledger import Ledger
from checker.models.multisets import TotalQueue, UniqueIds, UnorderedQueue
from checker.models.objects import Counter, FifoQueue, GrowSet, KeyValue, Log, MultiRegister, Mutex
from checker.models.replicated import ReplicatedCounter, ReplicatedSet
from checker.models.sync_state_set import SyncStateSet
from checker.models.transactions import ListAppend, LongFork, RwRegister, Transactions
from checker.models.weak_register import WeakKeyValue, WeakRegister
from history.schema import hint

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: The entry points of models.
GROUP: Final = "harness.models"

MODELS: Final[dict[str, Callable[[], Model]]] = {
    "register": Register,
    "cas-register": CasRegister,
    "register-unknown": lambda: Register(ANY),
    "cas-register-unknown": lambda: CasRegister(ANY),
    "cas-register-strict": StrictCasRegister,
    "mutex": Mutex,
    "multi-register": MultiRegister,
    "list-append": ListAppend,
    "rw-register": RwRegister,
    "log": Log,
    "set": GrowSet,
    "counter": Counter,
    "queue": FifoQueue,
    "kv": KeyValue,
    "ledger": Ledger,
    "fenced-lock": FencedLock,
    "bank": Bank,
    "bank-solvent": SolventBank,
    "bank-unknown": lambda: Bank(ANY),
    "bank-solvent-unknown": lambda: SolventBank(ANY),
    "unordered-queue": UnorderedQueue,
    "total-queue": TotalQueue,
    "unique-ids": UniqueIds,
    "sync-state-set": SyncStateSet,
    "etcd": Etcd,
    "g-set": ReplicatedSet,
    "pn-counter": ReplicatedCounter,
    "long-fork": LongFork,
}


def at_level(model: str | Model, level: str) -> Model:
    """Return transactions at an isolation level, or registers at a weaker one; the name may be ``model:level``.

    Raises ModelError for a model without levels, and for an unknown level.
    """
    chosen = model_named(model)
    if type(chosen) is Register and chosen.initial is None:
        return WeakRegister(level)
    if isinstance(chosen, KeyValue):
        return WeakKeyValue(level)
    if not isinstance(chosen, Transactions):
        able = ", ".join(name for name, make in MODELS.items() if isinstance(make(), Transactions))
        raise ModelError(f"a {model} has no level; models that have one are register, kv, {able}")
    return type(chosen)(level)


#: Second names: workloads of Jepsen's and Maelstrom's that are of the same object.
SAME: Final = {
    "set-full": "set", "lin-kv": "cas-register", "txn-list-append": "list-append", "txn-rw-register": "rw-register",
    "broadcast": "g-set", "g-counter": "pn-counter",
}  # fmt: skip


def model_named(model: str | Model) -> Model:
    """Return the model of that name, or the model itself.  Raises ModelError with similar names, or all names."""
    if isinstance(model, Model):
        return model
    if not isinstance(model, str):
        raise ModelError(f"a model is a name or an instance such as Register(), found {model!r}")
    model = SAME.get(model, model)
    if model in MODELS:
        return MODELS[model]()
    name, _, level = model.partition(":")
    if level:
        return at_level(name, level)
    if (point := announced_models().get(model)) is not None:
        return _loaded(point)
    raise ModelError(f"there is no model {model!r}; {hint(model, model_names())}")


def model_names() -> tuple[str, ...]:
    """Return the names of all models, including those that installed packages announce."""
    return (*MODELS, *(name for name in announced_models() if name not in MODELS))


@cache
def announced_models() -> Mapping[str, EntryPoint]:
    """Return the models of installed packages by name, without loading a package before its model is used."""
    # Models of our own need no metadata of packages.
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP)}


def _loaded(point: EntryPoint) -> Model:
    try:
        made = point.load()()
    except Exception as error:  # noqa: BLE001 (a third party's module may fail in any way)
        why = f"{type(error).__name__}: {error}"
        raise ModelError(f"the model {point.name}: {point.value} cannot be loaded: {why}") from None
    if not isinstance(made, Model):
        raise ModelError(f"the model {point.name}: {point.value} does not make a Model")
    return made
