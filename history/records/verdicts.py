"""Verdicts on keys, with their counterexamples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from operator import attrgetter, itemgetter
from typing import Any, Final, Literal, TypeAlias

from history.records.operations import Operation

Verdict: TypeAlias = Literal["valid", "invalid", "unknown"]
#: Show counterexamples for at most this many violations of one object.  All violations are counted.
MAX_COUNTEREXAMPLES: Final = 8
#: Determine the kinds of at most this many violations of one object, the earliest ones.
MAX_EXPLAINED: Final = 256
#: The kind of a violation that is proven but was not explained, so nothing else is known about it.
WITHOUT_KIND: Final = "not-linearizable"
#: Shown in place of a verdict for a run in which the harness failed.
HARNESS_FAILURE: Final = "harness failure"
_BADNESS: Final[dict[str, int]] = {"valid": 0, "unknown": 1, "invalid": 2}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst verdict: invalid is worse than unknown, unknown worse than valid.  Valid if there are none."""
    return max(verdicts, key=_BADNESS.__getitem__, default="valid")


def verdict_of(results: Mapping[str, Any], failure: object) -> str:
    """Return a run's verdict, or :data:`HARNESS_FAILURE` if the harness failed.

    An invalid verdict stands even then, because the violation is proven.
    """
    verdict = results.get("verdict")
    if verdict == "invalid" or not failure:
        return str(verdict) if verdict in ("valid", "invalid") else "unknown"
    return HARNESS_FAILURE


@dataclass(frozen=True, slots=True)
class Point:
    """A linearization point: an operation (its position) takes effect ``at`` (ns), leaving the object in ``state``."""

    operation: int
    at: int
    state: Any


@dataclass(frozen=True, slots=True)
class Linearization:
    """A linearization of a counterexample's operations except the ``suspects``.

    ``suspects`` are positions of operations, at least one of which must be wrong.  Usually there is just one; several
    are reads that contradict each other.  ``initial`` is the state before the first point; only registers have points.
    ``legal`` are the results that a single suspect could have had, given the other operations here, or with ``whole``
    given everything that happened to the object until the suspect returned.  ``unnamed`` says why the legal results are
    unknown.
    """

    initial: Any
    points: tuple[Point, ...]
    suspects: tuple[int, ...]
    legal: tuple[Any, ...] = ()
    whole: bool = False
    unnamed: str = ""

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Linearization:
        points = tuple(Point(point["operation"], point["at"], point["state"]) for point in record["points"])
        whole, unnamed = bool(record.get("whole")), str(record.get("unnamed") or "")  # missing before 24 November 2026
        return cls(record["initial"], points, tuple(record["suspects"]), tuple(record["legal"]), whole, unnamed)


@dataclass(frozen=True, slots=True)
class OperationRole:
    """The role of an operation in a broken promise.

    ``says`` tells in a few words what the operation did or what answer it got.  With ``contradicts``, that cannot be
    true if the other operations are right.
    """

    says: str
    contradicts: bool = False


@dataclass(frozen=True, slots=True)
class Dependency:
    """The reason why transaction ``source`` of a counterexample comes before transaction ``target``.

    Both are positions in the counterexample.  ``kind`` is ww, wr, rw, process or realtime.  For the first three,
    ``key`` is the object that shows it, and ``steps`` are the positions of the two steps that show it, in the source
    and in the target.
    """

    source: int
    target: int
    kind: str
    key: Any
    sentence: str
    steps: tuple[int, ...] = ()

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Dependency:
        return cls(**{**record, "steps": tuple(record.get("steps") or ())})


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A few operations whose answers cannot all be right, with the kind of the anomaly and a sentence that explains it.

    ``linearization`` is None if no operation can be singled out, and in files older than this field.  ``set_aside`` are
    positions of operations that count as unanswered, because another counterexample contradicts their answer or because
    it came after the answers that contradict each other here.  ``roles`` has one role for each operation if a promise
    other than linearizability was broken, and is empty otherwise.  ``dependencies`` are the edges of a cycle of
    transactions, in cycle order.  ``refutes`` names the weakest isolation levels that the transactions violate; all
    stronger levels are violated as well.
    """

    kind: str
    sentence: str
    operations: tuple[Operation, ...]
    linearization: Linearization | None = None
    roles: tuple[OperationRole, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    set_aside: tuple[int, ...] = ()
    refutes: tuple[str, ...] = ()

    @classmethod
    def of_promise(cls, kind: str, sentence: str, *pairs: tuple[Operation, str]) -> Counterexample:
        """Make a counterexample from pairs (operation, its part in a broken promise).

        The last pair's operation contradicts the others.
        """
        texts: dict[int, list[str]] = {}
        for operation, says in pairs:
            texts.setdefault(operation.invoke_index, []).append(says)
        operations = sorted({operation.invoke_index: operation for operation, _ in pairs}.items())
        last = pairs[-1][0].invoke_index
        roles = tuple(OperationRole("; ".join(dict.fromkeys(texts[index])), index == last) for index, _ in operations)
        return cls(kind, sentence, tuple(operation for _, operation in operations), roles=roles)

    @property
    def key(self) -> str | int | None:
        """The object that all operations use; None for several objects or an unnamed one."""
        keys = {operation.key for operation in self.operations}
        return next(iter(keys)) if len(keys) == 1 else None

    @property
    def suspects(self) -> tuple[Operation, ...]:
        """The operations of which at least one must be wrong, in invocation order; empty if unknown."""
        contradicting = (place for place, role in enumerate(self.roles) if role.contradicts)
        places = self.linearization.suspects if self.linearization else tuple(contradicting)
        blamed = (operation for place, operation in enumerate(self.operations) if place in places)
        return tuple(sorted(blamed, key=lambda operation: operation.invoked))

    @property
    def completing(self) -> Operation | None:
        """The operation whose answer rules out every order: the last suspect, or else the last operation, to return."""
        among = self.suspects or [op for place, op in enumerate(self.operations) if place not in self.set_aside]
        answered = [op for op in among if op.outcome != "info" and op.returned is not None]
        return max(answered or among, key=attrgetter("ended"), default=None)

    @property
    def completed_at(self) -> int:
        """Time (ns) of the answer that rules out every order.  Pages sort violations by it."""
        return self.completing.ended if self.completing else 0

    @property
    def shown_at(self) -> int:
        """Time (ns) of the last invocation, from which on the violation can be seen."""
        return max((operation.invoked for operation in self.operations), default=0)

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "kind": self.kind,
            "sentence": self.sentence,
            "operations": [operation.to_json() for operation in self.operations],
            "linearization": asdict(self.linearization) if self.linearization else None,
        }
        if self.roles:
            record["roles"] = [asdict(role) for role in self.roles]
        if self.dependencies:
            record["dependencies"] = [asdict(dependency) for dependency in self.dependencies]
        if self.set_aside:
            record["set_aside"] = list(self.set_aside)
        if self.refutes:
            record["refutes"] = list(self.refutes)
        return record

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Counterexample:
        operations = tuple(Operation.from_json(operation) for operation in record["operations"])
        linearization = Linearization.from_json(record["linearization"]) if record.get("linearization") else None
        roles = tuple(OperationRole(role["says"], role["contradicts"]) for role in record.get("roles") or ())
        dependencies = tuple(map(Dependency.from_json, record.get("dependencies") or ()))
        aside, refutes = (tuple(record.get(name) or ()) for name in ("set_aside", "refutes"))
        return cls(record["kind"], record["sentence"], operations, linearization, roles, dependencies, aside, refutes)


@dataclass(frozen=True, slots=True)
class KindCount:
    """The number of violations of one kind on an object.

    ``first`` and ``last`` are the times (ns) at which the first and the last of them were complete, or None if unknown.
    """

    kind: str
    count: int
    first: int | None = None
    last: int | None = None


def count_kinds(dated: Iterable[tuple[str, int]], total: int) -> tuple[KindCount, ...]:
    """Count violations by kind, earliest kind first.

    ``dated`` has (kind, time in ns) of the explained violations; the rest, up to ``total``, have no known kind.

    >>> count_kinds([("stale-read", 7), ("lost-write", 5), ("stale-read", 9)], 4)[0]
    KindCount(kind='lost-write', count=1, first=5, last=5)
    """
    times: dict[str, list[int]] = {}
    for kind, time in sorted(dated, key=itemgetter(1)):
        times.setdefault(kind, []).append(time)
    kinds = {kind: KindCount(kind, len(moments), moments[0], moments[-1]) for kind, moments in times.items()}
    if (rest := total - sum(entry.count for entry in kinds.values())) > 0:
        known = kinds.get(WITHOUT_KIND, KindCount(WITHOUT_KIND, 0))
        kinds[WITHOUT_KIND] = replace(known, count=known.count + rest)
    return tuple(kinds.values())


def failure_text(error: Exception) -> str:
    """Format an exception that the checker raised."""
    return f"{type(error).__module__}.{type(error).__qualname__}: {error}"


@dataclass(frozen=True, slots=True)
class KeyVerdict:
    """The checker's verdict on one key (None for an unkeyed object).

    - ``reason``: why a verdict is unknown, and how far the engine got.
    - ``seconds``: the time spent.
    - ``violations``, ``kinds``: counts of all violations found, in total and by kind.  With ``more``, there may be
      others that the checker did not look for.
    - ``counterexamples``: those to show, earliest first.
    - ``certificate``: the number of operations in the proof: the verified linearization (None if the engine keeps none)
      or the first counterexample.
    - ``failure``: the exception that the checker itself raised on this key; the verdict is then unknown and the harness
      has failed.
    - ``levels``: the strongest isolation levels that the transactions satisfy.
    """

    key: str | int | None
    verdict: Verdict
    engine: str
    operations: int
    seconds: float
    violations: int = 0
    counterexamples: tuple[Counterexample, ...] = ()
    reason: str | None = None
    certificate: int | None = None
    failure: str | None = None
    levels: tuple[str, ...] = ()
    kinds: tuple[KindCount, ...] = ()
    more: bool = False

    @classmethod
    def of_failure(cls, key: str | int | None, operations: int, error: Exception) -> KeyVerdict:
        """Return the verdict on a key for which the checker raised ``error``."""
        reason, failure = "the checker failed", failure_text(error)
        return cls(key, "unknown", "none", operations, 0.0, reason=reason, failure=failure)

    def to_json(self) -> dict[str, Any]:
        record = {name: getattr(self, name) for name in self.__slots__}
        record["counterexamples"] = [example.to_json() for example in self.counterexamples]
        record["kinds"] = [asdict(kind) for kind in self.kinds]
        return record

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> KeyVerdict:
        examples = tuple(Counterexample.from_json(example) for example in record.get("counterexamples", ()))
        kinds = tuple(KindCount(**kind) for kind in record.get("kinds", ()))
        known = {name: record[name] for name in cls.__slots__ if name in record}
        levels = tuple(record.get("levels", ()))
        return cls(**{**known, "counterexamples": examples, "kinds": kinds, "levels": levels})
