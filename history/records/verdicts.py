"""Verdicts on keys, with their counterexamples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from operator import attrgetter, itemgetter
from typing import Any, Final, Literal, TypeAlias

from history.records.operations import Operation

Verdict: TypeAlias = Literal["valid", "invalid", "unknown"]
#: At most this many violations of one object are shown by a counterexample; all are counted.
MAX_COUNTEREXAMPLES: Final = 8
#: At most this many violations of one object are explained, the earliest ones, so that their kinds are known.
MAX_EXPLAINED: Final = 256
#: The kind of a violation that is proven, and of which nothing else is known: it was not explained.
WITHOUT_KIND: Final = "not-linearizable"
_BADNESS: Final[dict[str, int]] = {"valid": 0, "unknown": 1, "invalid": 2}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of some verdicts: invalid before unknown before valid; valid if there is none."""
    return max(verdicts, key=_BADNESS.__getitem__, default="valid")


@dataclass(frozen=True, slots=True)
class Point:
    """A linearization point: an operation (its place) takes effect ``at`` (ns) and leaves the object in ``state``."""

    operation: int
    at: int
    state: Any


@dataclass(frozen=True, slots=True)
class Linearization:
    """A linearization of a counterexample's operations but the ``suspects``, which are operations by their places.

    One of the suspects must be wrong; mostly there is a single one, and several are reads that contradict each other.
    ``initial`` is the state before the first point; only registers have points.  ``legal`` are the results that a
    single suspect could have had: beside these operations, or with ``whole`` beside all that had happened to the object
    until it returned; ``unnamed`` says why those are not known.
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
        whole, unnamed = bool(record.get("whole")), str(record.get("unnamed") or "")  # not before 24 November 2026
        return cls(record["initial"], points, tuple(record["suspects"]), tuple(record["legal"]), whole, unnamed)


@dataclass(frozen=True, slots=True)
class Role:
    """The part of an operation in a broken promise.

    ``says``, in a few words, what it did or was answered; ``contradicts``: that cannot be true beside what the others
    say.
    """

    says: str
    contradicts: bool = False


@dataclass(frozen=True, slots=True)
class Dependency:
    """Why one of a counterexample's transactions (their places) comes before another.

    ``kind`` is ww, wr, rw, process or realtime; ``key`` is where one of the first three shows, and ``steps`` are the
    places of the two steps that show it, among those of the source and of the target.
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
    """A few operations that cannot all be true, with the kind of the anomaly and a sentence for people.

    ``linearization`` is None where no operation can be singled out, and in files older than the field.
    ``set_aside`` are operations, by their places, that count as if they had not been answered: another counterexample
    contradicts that answer, or it came after those that contradict each other here.
    ``roles`` has one for each operation if a promise other than linearizability was broken, else none.
    ``dependencies`` are the edges of a cycle of transactions, in its order; ``refutes`` names the weakest isolation
    levels that transactions break, all stronger ones fall with them.
    """

    kind: str
    sentence: str
    operations: tuple[Operation, ...]
    linearization: Linearization | None = None
    roles: tuple[Role, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    set_aside: tuple[int, ...] = ()
    refutes: tuple[str, ...] = ()

    @classmethod
    def of_promise(cls, kind: str, sentence: str, *said: tuple[Operation, str]) -> Counterexample:
        """Say what each operation has to do with a broken promise; the last of them contradicts the others."""
        texts: dict[int, list[str]] = {}
        for one, says in said:
            texts.setdefault(one.invoke_index, []).append(says)
        operations = sorted({one.invoke_index: one for one, _ in said}.items())
        last = said[-1][0].invoke_index
        roles = tuple(Role("; ".join(dict.fromkeys(texts[index])), index == last) for index, _ in operations)
        return cls(kind, sentence, tuple(one for _, one in operations), roles=roles)

    @property
    def key(self) -> str | int | None:
        """The object that all of the operations are on; None for several objects, or one without a name."""
        keys = {operation.key for operation in self.operations}
        return next(iter(keys)) if len(keys) == 1 else None

    @property
    def suspects(self) -> tuple[Operation, ...]:
        """The operations one of which must be wrong, by their invocations; empty if that is not known."""
        contradicting = (place for place, role in enumerate(self.roles) if role.contradicts)
        places = self.linearization.suspects if self.linearization else tuple(contradicting)
        found = (operation for place, operation in enumerate(self.operations) if place in places)
        return tuple(sorted(found, key=lambda operation: operation.invoked))

    @property
    def completing(self) -> Operation | None:
        """The operation whose answer leaves no order: the suspect that returned last, or else the last of all."""
        among = self.suspects or [one for place, one in enumerate(self.operations) if place not in self.set_aside]
        answered = [one for one in among if one.outcome != "info" and one.returned is not None]
        return max(answered or among, key=attrgetter("ended"), default=None)

    @property
    def completed_at(self) -> int:
        """The time (ns) of the answer that leaves no order, by which violations are ordered on a page."""
        return self.completing.ended if self.completing else 0

    @property
    def shown_at(self) -> int:
        """The time (ns) from which on it can be seen, by which violations are ordered: its last invocation."""
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
        found = Linearization.from_json(record["linearization"]) if record.get("linearization") else None
        roles = tuple(Role(role["says"], role["contradicts"]) for role in record.get("roles") or ())
        dependencies = tuple(map(Dependency.from_json, record.get("dependencies") or ()))
        aside, refutes = (tuple(record.get(name) or ()) for name in ("set_aside", "refutes"))
        return cls(record["kind"], record["sentence"], operations, found, roles, dependencies, aside, refutes)


@dataclass(frozen=True, slots=True)
class KindCount:
    """How many violations of one kind an object has, and when the first and the last were complete (ns).

    None where that is not known.
    """

    kind: str
    count: int
    first: int | None = None
    last: int | None = None


def count_kinds(dated: Iterable[tuple[str, int]], total: int) -> tuple[KindCount, ...]:
    """Count violations by kind, the earliest kind first: each with its time (ns), and those up to ``total`` without.

    >>> count_kinds([("stale-read", 7), ("lost-write", 5), ("stale-read", 9)], 4)[0]
    KindCount(kind='lost-write', count=1, first=5, last=5)
    """
    times: dict[str, list[int]] = {}
    for kind, time in sorted(dated, key=itemgetter(1)):
        times.setdefault(kind, []).append(time)
    kinds = {kind: KindCount(kind, len(found), found[0], found[-1]) for kind, found in times.items()}
    if (rest := total - sum(one.count for one in kinds.values())) > 0:
        known = kinds.get(WITHOUT_KIND, KindCount(WITHOUT_KIND, 0))
        kinds[WITHOUT_KIND] = replace(known, count=known.count + rest)
    return tuple(kinds.values())


def failure_text(error: Exception) -> str:
    """Write how the checker broke down."""
    return f"{type(error).__module__}.{type(error).__qualname__}: {error}"


@dataclass(frozen=True, slots=True)
class KeyVerdict:
    """The checker's verdict on one key (``key`` None: an unkeyed object).

    ``reason`` says why an unknown verdict is unknown and how far the engine came.  ``seconds`` is time spent.
    ``violations`` counts all of them, ``kinds`` by kind; with ``more`` there may be others that were not looked for.
    ``counterexamples`` holds those that are shown, earliest first.
    ``certificate`` is the number of operations in the proof: the linearization that was verified (None if the engine
    keeps none), or the first counterexample.  ``failure`` is how the checker itself broke down on this key, whose
    verdict is then unknown: a failure of the harness.  ``levels`` are the strongest isolation levels that transactions
    keep.
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
        """The verdict on a key on which the checker raised ``error``."""
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
