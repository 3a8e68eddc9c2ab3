"""Sets of unique integers, and what became of every element by the end of the run."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from harness.generators import Generator, Invocation, Stream, chain, limit, mix, operations, seeded
from harness.workloads.final_reads import last_reads
from history import Check, Counterexample, Operation, Verdict
from history.records.finding import Elements, Loss, Severity, contradictions
from history.records.text import counted

#: The number of operations on a set before a new one replaces it.  Limited, because reading a set takes time
#: proportional to its size.
SIZE: Final = 1000
#: The share of all operations that are reads.
READS: Final = 0.05
_ASKED: Final = "at the end every set holds exactly what was added to it, each element once"
#: At most this many elements of a class are named, which is all of them except in the largest runs.
_NAMED: Final = 10_000
#: A counterexample shows at most this many elements, with their adds.
_SHOWN: Final = 3
#: Losses in two sets count as one if the lost elements were acknowledged within this time (ns).
SAME_NS: Final = 1_000_000_000
#: Maps each class of elements to its kind of violation and the phrase for the read that shows it; the gravest first.
_KINDS: Final = {
    "lost": ("lost-element", "does not hold {}"),
    "unexpected": ("never-written", "holds {} that were never added"),
    "duplicated": ("duplicate", "holds {} twice"),
}
#: Ranks the outcomes of an add by how strongly they suggest that the element is present.
_SAYS: Final = {"fail": 0, "info": 1, "ok": 2}
_COUNTED: Final = ("ok", "lost", "unexpected", "recovered", "duplicated")
#: Classes that are counted in the last read of one node, and classes that are counted over all nodes.
_OF_ONE: Final = ("ok", "recovered")
_OF_ALL: Final = ("unexpected", "duplicated")
_WORDS: Final = {
    "lost": "an element that the last read of its set lacks, although its add was acknowledged before that read began",
    "recovered": "an element that a read has although its add was never acknowledged: the add was in doubt",
    "unexpected": "an element that was never added, or whose add certainly failed",
    "duplicated": "an element that a read had more than once",
}


class Sets:
    """Adds unique integers to ``keys`` sets in parallel; one operation in twenty reads a whole set.

    After :data:`SIZE` operations on a set, a new one takes its place.
    """

    def __init__(self, keys: int) -> None:
        self._keys = keys

    def generator(self) -> Generator:
        parts = [(1.0, self._one_after_the_other(place)) for place in range(self._keys)]
        return seeded("mix", lambda rng: mix(Stream(rng), *parts))

    def _one_after_the_other(self, place: int) -> Generator:
        def make(rng: random.Random) -> Generator:
            elements = count(1 + place, self._keys)
            return chain(
                limit(SIZE, operations(_adds_and_reads(rng, f"set-{number}", elements)))
                for number in count(place, self._keys)
            )

        return seeded(f"set {place}", make)

    @staticmethod
    def final_reads(used: Iterable[str | int]) -> list[Invocation]:
        """Return one read of each set."""
        return last_reads(used)


def _adds_and_reads(rng: random.Random, key: str, elements: Iterator[int]) -> Iterator[Invocation]:
    while True:
        yield Invocation("read", key) if rng.random() < READS else Invocation("add", key, next(elements))


@dataclass(frozen=True, slots=True)
class NodeLoss:
    """The adds whose elements one node lost at one moment.

    ``read`` is the first read to show the loss. It shows the loss of the adds ``shown``; the others were acknowledged
    later.  ``elsewhere`` counts the elements that the last reads of other nodes still hold.
    """

    adds: Sequence[Operation]
    shown: Sequence[Operation]
    read: Operation
    elsewhere: int

    @property
    def acknowledged(self) -> tuple[int, int]:
        """The times at which the first and the last of the adds were acknowledged (ns)."""
        times = [add.ended for add in self.adds]
        return min(times), max(times)


@dataclass(frozen=True, slots=True)
class SetAccount:
    """The elements of one set by class, with counterexamples for each class that breaks a promise.

    ``unread`` means that nothing was read at the end of the run, so only duplicates can be seen.
    """

    classes: Mapping[str, list[Any]]
    wrong: Sequence[tuple[str, Counterexample]]
    losses: Sequence[NodeLoss] = ()
    unread: bool = False
    #: Nodes that answered no final read, although some client asked them.
    silent: Sequence[str] = ()
    #: The number of acknowledged elements that some node's last read lacks, and that every node's last read lacks.
    missing: int = 0
    gone: int = 0


def account_of(operations: Sequence[Operation]) -> SetAccount:
    """Account for every element of one set, using the last read of the node that lacks the most.

    Each loss (one node, one moment) has a counterexample: the first read that showed it.
    """
    reads = [op for op in operations if op.f == "read" and op.applied and isinstance(op.result, list)]
    twice = {element: op for op in reversed(reads) for element, times in Counter(op.result).items() if times > 1}
    wrong = []
    if twice:
        first = min(twice.values(), key=lambda op: op.invoke_index)
        wrong.append(_wrong("duplicated", [element for element, where in twice.items() if where is first], [], first))
    finals = sorted((op for op in reads if op.phase == "final"), key=lambda op: op.invoke_index)
    if not finals:
        return SetAccount({"duplicated": list(twice)}, wrong, unread=True)
    lacking = [(_lost(operations, op), op) for op in {op.node: op for op in finals}.values()]
    lacking.sort(key=lambda pair: (len(pair[0]), pair[1].invoke_index), reverse=True)
    lost, last = lacking[0]
    held, added = set(last.result), _added_before(operations, last)
    outcomes = {element: added[element].outcome if element in added else None for element in held}
    unexpected = dict[Any, None]()
    for _, read in lacking:
        adds = _added_before(operations, read)
        mine = [element for element in set(read.result) if element not in adds or adds[element].outcome == "fail"]
        if not unexpected.keys() >= {*mine}:
            wrong.append(_wrong("unexpected", mine, [adds[element] for element in mine if element in adds], read))
        unexpected |= dict.fromkeys(mine)
    missing = [op.value for op in lost]
    known = {op.value for lacks, _ in lacking for op in lacks}
    losses = [loss for lacks, read in lacking for loss in _losses(lacks, read, reads, lacking)]
    losses.sort(key=lambda entry: entry.read.invoke_index)
    wrong += [_wrong("lost", [op.value for op in entry.shown], entry.shown, entry.read) for entry in losses]
    ok, recovered = ([e for e in held if outcomes[e] in which] for which in (("ok", "info"), ("info",)))
    classes = {"ok": ok, "lost": missing, "recovered": recovered}
    classes |= {"unexpected": list(unexpected), "duplicated": list(twice)}
    gone = known.difference(*(read.result for _, read in lacking))
    nodes = {op.node for op in operations if op.f == "read" and op.phase == "final" and op.node is not None}
    silent = sorted(nodes.difference(op.node for op in finals))
    return SetAccount(classes, wrong, losses, silent=silent, missing=len(known), gone=len(gone))


def _added_before(operations: Iterable[Operation], read: Operation) -> dict[Any, Operation]:
    """Return the add of each element whose add was invoked before this read ended.

    If an element was added several times, because a failed add was retried, return the add that is most likely to have
    taken effect.
    """
    adds = (op for op in operations if op.f == "add" and op.invoke_index < read.end_index)
    return {op.value: op for op in sorted(adds, key=lambda op: _SAYS[op.outcome])}


def elements_check(operations: Sequence[Operation]) -> Check:
    """Account for every element, as Jepsen's ``checker/set`` does, using the last read of each set.

    If several nodes were read at the end, lost elements are counted in the last read of the node that lacks the most,
    and unexpected and duplicated elements over all nodes.  ``losses`` lists the losses of every node, in the order in
    which they were first seen.

    An ``ok`` element is present; for the other classes see :data:`_WORDS`.
    """
    sets: defaultdict[str | int | None, list[Operation]] = defaultdict(list)
    for operation in operations:
        sets[operation.key].append(operation)
    accounts = {key: account_of(mine) for key, mine in sets.items()}
    lists = {name: [e for account in accounts.values() for e in account.classes.get(name, ())] for name in _COUNTED}
    counts = {name: len(elements) for name, elements in lists.items()}
    classes = [name for name in _KINDS if counts[name]]
    summary = ", ".join(f"{number} {name}" for name, number in counts.items())
    named = {name: tuple(sorted(lists[name], key=_by_kind)[:_NAMED]) for name in classes}
    losses = _joined(loss for account in accounts.values() for loss in account.losses)
    gone = sum(account.gone for account in accounts.values())
    missing = sum(account.missing for account in accounts.values())
    if losses:
        summary = _seen(counts, losses, missing, gone)
    wrong = [pair for account in accounts.values() for pair in account.wrong]
    unread = [str(key) for key, account in accounts.items() if account.unread]
    silent = sorted({node for account in accounts.values() for node in account.silent})
    # "inconsistent": every last read holds the element, but some earlier read lacked it.
    severity: Severity = "data lost" if gone or unread else "missing on nodes" if missing else "inconsistent"
    elements = Elements(
        check="elements", severity=severity, ok=counts["ok"], lost=counts["lost"], unexpected=counts["unexpected"],
        recovered=counts["recovered"], duplicated=counts["duplicated"], named=named, losses=tuple(losses),
        missing=missing, gone=gone, unread=tuple(unread), silent=tuple(silent),
    )  # fmt: skip
    verdict: Verdict = "valid"
    if wrong:
        verdict = "invalid"
    elif unread or not sets:
        verdict = "unknown"
        why = f"not read at the end: {', '.join(unread)}" if unread else "nothing was added"
        summary += f"; {why}"
    elif silent:
        summary += f", but no client of {', '.join(silent)} was answered at the end"
    examples = tuple(example for _, example in sorted(wrong, key=lambda pair: classes.index(pair[0])))
    findings = (elements, *contradictions("elements", examples))
    return Check("elements", "check", verdict, _ASKED, summary, findings, examples, _WORDS)


def _seen(counts: Mapping[str, int], losses: Sequence[Loss], missing: int, gone: int) -> str:
    """Say which elements the nodes lack and whether others have them, then what the node that lacks the most holds."""
    parts: dict[str, list[Loss]] = {}
    for loss in losses:
        parts.setdefault(loss.node, []).append(loss)
    lost = {node: sum(loss.lost for loss in mine) for node, mine in parts.items()}
    first, *rest = (f"{lost[node]}{_moments(mine)}" for node, mine in parts.items())
    lacking = [f"the last read of {losses[0].node} lacks {first}"]
    lacking += [f"that of {node} {text}" for node, text in zip(list(parts)[1:], rest, strict=True)]
    whole = "all together " if len(parts) > 1 else ""
    if not gone:
        held = "another node's read has it" if missing == 1 else "each is in another node's read"
    elif gone == missing:
        held = "no node's read has it" if missing == 1 else "no node's read has any of them"
    else:
        held = f"{gone} of them {'is' if gone == 1 else 'are'} in no node's read, the others in another node's"
    worst = max(lost, key=lambda node: lost[node])
    more = ", ".join(f"{counts[name]} {name}" for name in _OF_ONE if name != "ok")
    others = ", ".join(f"{counts[name]} {name}" for name in _OF_ALL)
    return (
        f"{', '.join(lacking)}: {whole}{counted(missing, 'acknowledged element')}, and {held}; "
        f"that of {worst} holds {counts['ok']} that were added ({more}), those of all nodes hold {others}"
    )


def _lost(operations: Iterable[Operation], read: Operation) -> list[Operation]:
    """Return the adds that were acknowledged before this read began and whose elements the read lacks."""
    held = set(read.result)
    return [
        op
        for op in operations
        if op.f == "add" and op.outcome == "ok" and op.value not in held and op.end_index < read.invoke_index
    ]  # fmt: skip


def _moments(losses: Sequence[Loss]) -> str:
    """Say how many elements a node lost and when, if it lost them at several moments."""
    if len(losses) == 1:
        return ""
    return f" ({', '.join(f'{loss.lost} seen since {loss.seen_ns / 1e9:.1f} s' for loss in losses)})"


def _losses(
    lost: Sequence[Operation],
    last: Operation,
    reads: Iterable[Operation],
    lacking: Iterable[tuple[Sequence[Operation], Operation]],
) -> list[NodeLoss]:
    """Return the losses of the node whose ``last`` read lacks these adds.

    ``lacking`` holds the last reads of all nodes.  An element counts as missed from the first read after which the node
    never shows it again.  Two losses are separate if a read between them showed something new and missed nothing new:
    until then, the node had kept up.
    """
    mine = sorted((op for op in reads if op.node == last.node), key=lambda op: op.invoke_index)
    missed: dict[int, tuple[Operation, Operation]] = {}
    left = list(lost)
    # Go back from the last read: an add stays missed until a read is found that holds its element.
    for place in reversed(range(len(mine))):
        held = set(mine[place].result)
        left = [add for add in left if add.value not in held]
        for add in left:
            if add.end_index < mine[place].invoke_index:
                missed[add.invoke_index] = add, mine[place]
    others = set[Any]().union(*(read.result for _, read in lacking if read.node != last.node))
    groups: list[tuple[int, list[Operation], Operation]] = []
    places = {read.invoke_index: place for place, read in enumerate(mine)}
    for add, read in sorted(missed.values(), key=lambda pair: pair[1].invoke_index):
        place = places[read.invoke_index]
        if not groups or _kept_up(mine[groups[-1][0] : place]):
            groups.append((place, [add], read))
        else:
            groups[-1] = (place, [*groups[-1][1], add], groups[-1][2])
    return [
        NodeLoss(
            adds,
            [add for add in adds if missed[add.invoke_index][1] is read],
            read,
            sum(add.value in others for add in adds),
        )
        for _, adds, read in groups
    ]


def _kept_up(reads: Sequence[Operation]) -> bool:
    """Return whether any read after the first (which missed something) holds an element that the first lacks."""
    return any(set(read.result).difference(reads[0].result) for read in reads[1:])


def _joined(losses: Iterable[NodeLoss]) -> list[Loss]:
    """Add up the losses of all sets by node and moment, in the order in which they were first seen.

    Losses in different sets count as one if their elements were acknowledged at the same time.
    """
    groups: list[list[NodeLoss]] = []
    for new in sorted((part for part in losses if part.read.node), key=lambda part: part.acknowledged):
        near = (
            known
            for known in groups
            if known[0].read.node == new.read.node
            and all(part.read.key != new.read.key for part in known)
            and new.acknowledged[0] <= max(part.acknowledged[1] for part in known) + SAME_NS
        )
        if (known := next(near, None)) is None:
            groups.append([new])
        else:
            known.append(new)
    joined = (
        Loss(
            str(known[0].read.node),
            sum(len(part.adds) for part in known),
            sum(part.elsewhere for part in known),
            min(part.read.ended for part in known),
        )
        for known in groups
    )
    return sorted(joined, key=lambda loss: (loss.seen_ns, loss.node))


def _by_kind(element: Any) -> tuple[bool, Any]:
    """Return a sort key that puts numbers first, by value, then everything else by its ``repr``."""
    return (False, element) if isinstance(element, int | float) else (True, repr(element))


def _wrong(name: str, elements: list[Any], adds: Sequence[Operation], read: Operation) -> tuple[str, Counterexample]:
    """Return the name of a class of elements and a counterexample that shows its first elements."""
    named = ", ".join(map(str, sorted(elements, key=_by_kind)[:_SHOWN])) + (", …" if len(elements) > _SHOWN else "")
    where = f" on {read.node}" if read.node else ""
    many = counted(len(elements), "element")
    kind, says = _KINDS[name]
    sentence = f"{read.key}: the read of process {read.process}{where} {says.format(many)}: {named}"
    notes = [
        (add, f"adds {add.value}: {add.outcome}") for add in sorted(adds, key=lambda add: _by_kind(add.value))[:_SHOWN]
    ]
    return name, Counterexample.of_promise(kind, sentence, *notes, (read, says.format(named)))
