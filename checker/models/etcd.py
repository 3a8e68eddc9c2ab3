"""etcd's key-value store as its robustness tests record it: one history of revisions over all keys.

Follows the model of those tests (``tests/robustness/model/deterministic.go``). :mod:`history.readers.etcd_operations`
describes the operations.  A range of an old revision is compared only with the store's revision, because the state does
not hold old contents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from checker.core.model import ILLEGAL, UNKNOWN, Model, ModelError, State
from history import Operation

_FUNCTIONS: Final = ("range", "transaction", "leaseGrant", "leaseRevoke", "compact")
_COMPACTED: Final = "mvcc: required revision has been compacted"
_FUTURE: Final = "mvcc: required revision is a future revision"


@dataclass(frozen=True, slots=True)
class _Store:
    """``pairs`` are (key, value, revision of the last change, version, lease), by their keys."""

    revision: int = 1
    compacted: int = -1
    pairs: tuple[tuple[str, str, int, int, int], ...] = ()
    leases: frozenset[int] = field(default_factory=frozenset)

    def get(self, key: str) -> tuple[str, str, int, int, int] | None:
        return next((pair for pair in self.pairs if pair[0] == key), None)

    def put(self, key: str, value: str, lease: int) -> _Store:
        old = self.get(key)
        new = (key, value, self.revision + 1, 1 if old is None else old[3] + 1, lease)
        return replace(self, pairs=tuple(sorted((*(pair for pair in self.pairs if pair[0] != key), new))))

    def without(self, *keys: str) -> _Store:
        return replace(self, pairs=tuple(pair for pair in self.pairs if pair[0] not in keys))

    def range(self, start: str, end: str, limit: int, keys_only: int) -> tuple[int, list[tuple[str, str, int, int]]]:
        pairs = [pair for pair in self.pairs if (start <= pair[0] < end if end else pair[0] == start)]
        shown = pairs[:limit] if limit and end else pairs
        hidden = bool(keys_only and end)
        return len(pairs), [(key, "" if hidden else value, change, version) for key, value, change, version, _ in shown]


class Etcd(Model):
    """Keys with revisions, versions and leases; every change takes the next revision of the whole store."""

    name = "etcd"
    noun = "store"
    initial: State = _Store()
    reads = frozenset({"range"})

    def __init__(self, taken: frozenset[int] | None = None) -> None:
        """``taken`` are the revisions that answered transactions made, so nothing else made them."""
        self.taken = taken

    def judged_as(self, operations: Sequence[Operation]) -> tuple[Model, Sequence[Operation]] | None:
        """Add the revisions made by answered requests, so that no request in doubt can have made one of them.

        Returns None if they are known already.
        """
        if self.taken is not None:
            return None
        return Etcd(frozenset(operation.result[0] for operation in operations if _has_changed(operation))), operations

    def witnesses(self, core: Sequence[Operation], operations: Iterable[Operation]) -> list[Operation]:
        """Return the transactions that made the revisions that a request in doubt could otherwise have made."""
        if all(operation.outcome == "ok" for operation in core):
            return []
        last = max((operation.result[0] for operation in core if operation.outcome == "ok"), default=0)
        return [operation for operation in operations if _has_changed(operation) and operation.result[0] <= last]

    def admit(self, f: str, value: Any, result: Any) -> None:
        if f not in _FUNCTIONS:
            raise ModelError(f"etcd has no operation {f!r}")
        lengths = {"range": 5, "transaction": 3}
        shaped = isinstance(value, tuple) and len(value) == lengths[f] if f in lengths else type(value) is int
        if not shaped or not (result is UNKNOWN or (isinstance(result, tuple) and result)):
            raise ModelError(f"{f} of {value!r} answered by {result!r} is not an operation of etcd's robustness tests")

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f not in _FUNCTIONS:
            raise ModelError(f"etcd has no operation {f!r}")
        after, answer = _STEPS[f](state, value)
        if result is UNKNOWN and after.revision > state.revision and after.revision in (self.taken or ()):
            return ILLEGAL
        return after if result is UNKNOWN or answer is None or _agree(answer, result) else ILLEGAL

    def describe(self, state: State) -> str:
        held = ", ".join(f"{key}: {value}" for key, value, *_ in state.pairs)
        return f"revision {state.revision} with {held or 'no key'}"

    def wording(self, operation: Operation) -> str:
        try:
            return _WORDS[operation.f](operation.value) + _answered(operation)
        except (KeyError, TypeError, ValueError, IndexError):
            return ""


def _has_changed(operation: Operation) -> bool:
    """Return whether an answered transaction certainly made a revision: it put something, or says that it deleted."""
    if operation.f != "transaction" or operation.outcome != "ok" or len(operation.result) != 3:
        return False
    _, failed, results = operation.result
    steps = operation.value[2 if failed else 1]
    return any(step[0] == "put" and not step[3] for step in steps) or any(result[0] for result in results)


def _range(store: _Store, value: Any) -> tuple[_Store, Any]:
    *options, revision = value
    if revision in (0, store.revision):
        count, pairs = store.range(*options)
        return store, (store.revision, count, tuple(pairs))
    if revision > store.revision:
        return store, (0, _FUTURE)
    if revision < store.compacted:
        return store, (0, _COMPACTED)
    return store, (store.revision, ...)


def _transaction(store: _Store, value: Any) -> tuple[_Store, Any]:
    conditions, on_success, on_failure = value
    failed = not all(_holds(store, *condition) for condition in conditions)
    after, results, changed = store, [], False
    for kind, *arguments in on_failure if failed else on_success:
        deleted, count = 0, 0
        pairs: list[tuple[str, str, int, int]] = []
        if kind == "range":
            count, pairs = after.range(*arguments)
        elif kind == "delete":
            if after.get(arguments[0]) is not None:
                after, deleted, changed = after.without(arguments[0]), 1, True
        elif not arguments[2] or arguments[2] in after.leases:
            after, changed = after.put(*arguments), True
        results.append((deleted, count, tuple(pairs)))
    after = replace(after, revision=after.revision + changed)
    return after, (after.revision, int(failed), tuple(results))


def _holds(store: _Store, key: str, revision: int, version: int) -> bool:
    pair = store.get(key)
    if version > 0:
        return pair is not None and pair[3] == version
    return (0 if pair is None else pair[2]) == revision


def _grant(store: _Store, lease: Any) -> tuple[_Store, Any]:
    # A client that was not given a lease cannot use one.
    after = replace(store, leases=store.leases | {lease}) if lease else store
    return after, (after.revision,)


def _revoke(store: _Store, lease: Any) -> tuple[_Store, Any]:
    gone = [pair[0] for pair in store.pairs if lease and pair[4] == lease]
    after = replace(store.without(*gone), leases=store.leases - {lease}, revision=store.revision + bool(gone))
    return after, (after.revision,)


def _compact(store: _Store, revision: Any) -> tuple[_Store, Any]:
    if revision <= store.compacted:
        return store, (0, _COMPACTED)
    if revision > store.revision:
        return store, (0, _FUTURE)
    return replace(store, compacted=revision), (-1,)


_STEPS: Final[dict[str, Callable[[_Store, Any], tuple[_Store, Any]]]] = {
    "range": _range, "transaction": _transaction, "leaseGrant": _grant, "leaseRevoke": _revoke, "compact": _compact,
}  # fmt: skip


def _agree(mine: Any, theirs: Any) -> bool:
    """Return whether two answers match; ``...`` stands for any rest, a missing version for any version."""
    if isinstance(mine, tuple):
        if mine[-1:] == (...,):
            return isinstance(theirs, tuple) and theirs[: len(mine) - 1] == mine[:-1]
        same_length = isinstance(theirs, tuple) and len(theirs) == len(mine)
        if same_length and len(mine) == 4 and theirs[3] is None:
            return bool(mine[:3] == theirs[:3])
        return same_length and all(map(_agree, mine, theirs))
    return bool(mine == theirs)


def _of_range(start: str, end: str, *_: Any) -> str:
    return f"range {start} to {end}" if end else f"get {start}"


def _of_step(kind: str, *arguments: Any) -> str:
    if kind == "put":
        return f"put {arguments[0]} = {arguments[1]}"
    return f"delete {arguments[0]}" if kind == "delete" else _of_range(*arguments)


def _of_transaction(value: Any) -> str:
    conditions, on_success, on_failure = value

    def steps(some: Any) -> str:
        return ", ".join(_of_step(*step) for step in some)

    if not conditions and not on_failure:
        return steps(on_success)
    guard = " and ".join(
        f"{key} has {f'version {version}' if version else f'revision {revision}'}"
        for key, revision, version in conditions
    )
    other = f", else {steps(on_failure)}" if on_failure else ""
    return f"if {guard}: {steps(on_success)}{other}"


_WORDS: Final[dict[str, Callable[[Any], str]]] = {
    "range": lambda value: _of_range(*value),
    "transaction": _of_transaction,
    "leaseGrant": lambda value: f"grant lease {value}",
    "leaseRevoke": lambda value: f"revoke lease {value}",
    "compact": lambda value: f"compact up to {value}",
}


def _answered(operation: Operation) -> str:
    """Return a short text for the answer, empty if there is none."""
    if operation.outcome != "ok":
        return ""
    revision, *more = operation.result
    if operation.f == "range" and len(more) == 2:
        shown = ", ".join(f"{key}: {value} of {change}" for key, value, change, _ in more[1]) or "nothing"
        return f": {shown} at revision {revision}"
    failed = ", a condition failed" if operation.f == "transaction" and more and more[0] else ""
    return f": revision {revision}{failed}"
