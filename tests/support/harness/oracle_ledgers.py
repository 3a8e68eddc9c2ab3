"""Judge ledgers that a fence ends by brute force, testing every promise on all pairs of operations; small histories."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from random import Random
from typing import Any

from history import Operation


def kinds_of(operations: Sequence[Operation]) -> set[tuple[Any, str]]:
    """Return the kinds of violations by ledger."""
    keys = {one.key for one in operations}
    return {(key, kind) for key in keys for kind in _of_one([one for one in operations if one.key == key])}


def _of_one(operations: Sequence[Operation]) -> set[str]:  # noqa: C901 (each promise by itself, straight from the definition)
    ok = [one for one in operations if one.outcome == "ok"]
    if not any(one.f == "create" for one in ok):
        return set()
    windows = [one for one in operations if one.f == "window"]
    tails = [one for one in ok if one.f == "tail"]
    wholes = [one for one in ok if one.f == "read" and one.result is not None]
    acks = [
        (one.value[0] + place, id_, one)
        for one in windows if one.outcome == "ok"
        for place, id_ in enumerate(one.result) if id_ is not None
    ]  # fmt: skip
    firsts = [ack for ack in acks if not any(other[1] == ack[1] and other[0] < ack[0] for other in acks)]
    ends = [
        (last, one)
        for one in ok if one.f in ("recover", "close", "read") and one.result is not None
        for last in (one.result["last"], one.result.get("closed")) if last is not None
    ]  # fmt: skip
    found: set[str] = set()
    if any(one.f == "read" and one.result is None for one in ok):
        found.add("ledger-gone")
    for (p, i, _), (q, j, _) in combinations(acks, 2):
        found |= {"duplicate"} if i == j else {"order"} if (p < q) != (i < j) else set()
    if len({last for last, _ in ends}) > 1:
        found.add("ends-differ")
    for _, i, window in firsts:
        short = [one for last, one in ends if last < i]
        for one in short:
            if all(one is other or not _earlier(other, one) for other in short):
                found.add("lost-add" if _before(window, one) else "acknowledged-beyond-end")
    if any(tail.result["lac"] > last for tail, (last, _) in product(tails, ends)):
        found.add("confirmed-beyond-end")
    for whole in wholes:
        found |= _of_whole(whole, windows, firsts, tails)
    read = [(i, p) for one in tails for i, p in enumerate(one.result["entries"], one.result["first"])]
    acknowledged = [(i, p) for p, i, _ in firsts]
    if any(i == j and p != q for (i, p), (j, q) in product(read, read + acknowledged)):
        found.add("other-payload")
    for one, other in combinations(wholes, 2):
        both = (one.result["entries"], other.result["entries"])
        if len(both[0]) == len(both[1]) and None not in both[0] + both[1] and both[0] != both[1]:
            found.add("other-payload")
    return found


def _of_whole(whole: Operation, windows: Any, acks: Any, tails: Any) -> set[str]:  # noqa: C901 (each promise by itself, straight from the definition)
    found: set[str] = set()
    entries = whole.result["entries"]
    if len(entries) != whole.result["last"] + 1:
        found.add("hole")
    if None not in entries and whole.result["length"] not in (None, whole.result["bytes"]):
        found.add("wrong-length")
    for p, i, _ in acks:
        if i < len(entries) and entries[i] != p:
            found.add("unreadable-entry" if entries[i] is None else "other-payload")
    for tail in tails:
        for i, p in enumerate(tail.result["entries"], tail.result["first"]):
            if i >= len(entries) or entries[i] is None:
                found.add("read-then-gone")
            elif entries[i] != p:
                found.add("other-payload")
    origin = {p: one for one in windows for p in range(one.value[0], sum(one.value))}
    for i, p in enumerate(entries):
        if p is None:
            found |= set() if any(i == j for _, j, _ in acks) else {"hole"}
        elif p in entries[:i]:
            found.add("duplicate")
        elif p not in origin:
            found.add("never-added")
        elif origin[p].outcome == "fail":
            found.add("failed-add-found")
    shown = [p for i, p in enumerate(entries) if p in origin and p not in entries[:i]]
    for earlier, later in combinations(shown, 2):
        if later < earlier and (origin[later] is origin[earlier] or _before(origin[later], origin[earlier])):
            found.add("order")
    return found


def _earlier(one: Operation, other: Operation) -> bool:
    """Return whether one was answered before the other; both were answered."""
    return one.return_index is not None and other.return_index is not None and one.return_index < other.return_index


def _before(one: Operation, other: Operation) -> bool:
    return one.outcome != "info" and one.return_index is not None and one.return_index < other.invoke_index


# -- histories --------------------------------------------------------------------------------------------------------


def ledger_history(rng: Random, wrong: float) -> list[Operation]:
    """Make a ledger's history that is right, except that each value of an answer is wrong with this probability."""
    log = _Log(rng, wrong)
    log.operation("create", None, 7)
    payload, truth = 0, list[int]()
    for _ in range(rng.randint(0, 4)):
        count = rng.randint(1, 3)
        kept = [rng.random() < 0.8 for _ in range(count)]
        outcome = rng.choice(["ok", "ok", "ok", "info", "fail"])
        ids: list[int | None] = []
        for place in range(count):
            stays = kept[place] and outcome != "fail" and all(kept[:place])
            ids.append(len(truth) if stays and rng.random() < 0.9 else None)
            truth += [payload + place] if stays else []
        log.operation("window", [payload, count], [log.slip(id_, 4) for id_ in ids], outcome)
        payload += count
        if rng.random() < 0.5:
            lac = rng.randint(-1, len(truth) - 1)
            first = rng.randint(0, max(lac, 0))
            entries = [log.slip(one, payload + 2) for one in truth[first : lac + 1]]
            log.operation("tail", first, {"lac": log.slip(lac, 5), "first": first, "entries": entries})
        if not all(kept):
            break
    for f in rng.sample(["recover", "recover", "close"], rng.randint(0, 3)):
        log.operation(f, None, {"last": log.slip(len(truth) - 1, 5), "length": 1}, rng.choice(["ok", "ok", "info"]))
    for _ in range(rng.randint(0, 3)):
        entries = [log.slip(one, payload + 2) for one in truth]
        entries = [None if rng.random() < wrong / 2 else one for one in entries]
        if entries and rng.random() < wrong / 2:
            entries.pop()
        last = log.slip(len(truth) - 1, 5)
        size = 10 * len(entries)
        whole = {"last": last, "closed": rng.choice([last, None]), "length": log.slip(size, 99), "bytes": size}
        gone = rng.random() < wrong / 4
        log.operation("read", None, None if gone else {**whole, "entries": entries}, rng.choice(["ok", "ok", "fail"]))
    return log.operations


class _Log:
    """Make operations whose intervals may overlap, except those of the writer."""

    def __init__(self, rng: Random, wrong: float) -> None:
        self.operations: list[Operation] = []
        self._rng, self._wrong, self._at, self._free = rng, wrong, 0, 0

    def slip(self, value: Any, most: int) -> Any:
        return self._rng.randint(0, most) if value is not None and self._rng.random() < self._wrong else value

    def operation(self, f: str, value: Any, result: Any, outcome: Any = "ok") -> None:
        begin = max(self._at, self._free) if f in ("create", "window") else self._at
        length = self._rng.choice([1, 1, 6])
        end = begin + 2 * length + 1
        if f in ("create", "window"):
            self._free = end + 1
        self._at += 2
        while any({begin, end} & {one.invoke_index, one.return_index} for one in self.operations):
            begin, end = begin + 1, end + 1
            self._free += f in ("create", "window")
        self.operations.append(
            Operation(len(self.operations), f, "l0", value, result if outcome == "ok" else None, outcome,
                      begin * 10**6, end * 10**6, begin, end, "n1")
        )  # fmt: skip
