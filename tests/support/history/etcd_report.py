"""Reports of etcd's robustness tests, made by our own store, which keeps its whole history."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

Operation = dict[str, Any]
KEYS = ("a", "b", "c")
COMPACTED = "mvcc: required revision has been compacted"


class Store:
    """An etcd in memory: keys with [value, revision, version, lease]."""

    def __init__(self) -> None:
        self.revision, self.compacted = 1, -1
        self.pairs: dict[str, list[Any]] = {}
        self.leases: set[int] = set()

    def found(self, start: str, end: str = "", limit: int = 0, *, keys_only: bool = False) -> dict[str, Any]:
        names = sorted(name for name in self.pairs if (start <= name < end if end else name == start))
        shown = names[:limit] if end and limit else names
        pairs = []
        for name in shown:
            value, revision, version, _ = self.pairs[name]
            pairs.append(
                {"Key": name, "Value": {} if keys_only and end else {"Value": value}, "ModRevision": revision,
                 "Version": version}
            )  # fmt: skip
        return {"KVs": pairs, "Count": len(names)}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the output of a request, which takes effect now."""
        match request["Type"]:
            case "range":
                asked = request["Range"]
                body: dict[str, Any] = {"Range": self.found(asked["Start"], asked["End"], asked["Limit"])}
            case "txn":
                body = {"Txn": self._transaction(request["Txn"])}
            case "leaseGrant":
                self.leases.add(request["LeaseGrant"]["LeaseID"])
                body = {"LeaseGrant": {}}
            case "leaseRevoke":
                lease = request["LeaseRevoke"]["LeaseID"]
                gone = [name for name, pair in self.pairs.items() if pair[3] == lease]
                for name in gone:
                    del self.pairs[name]
                self.leases.discard(lease)
                self.revision += bool(gone)
                body = {"LeaseRevoke": {}}
            case "compact":
                if request["Compact"]["Revision"] <= self.compacted:
                    return {"ClientError": COMPACTED, "Revision": 0}
                self.compacted = request["Compact"]["Revision"]
                return {"Compact": {}, "Revision": -1}
            case _:
                return {"Defragment": {}, "Revision": -1}
        return {**body, "Revision": self.revision}

    def _transaction(self, txn: dict[str, Any]) -> dict[str, Any]:
        failed = any(
            (self.pairs.get(one["Key"], ["", 0, 0, 0])[2] != one["ExpectedVersion"])
            if one["ExpectedVersion"]
            else (self.pairs.get(one["Key"], ["", 0, 0, 0])[1] != one["ExpectedRevision"])
            for one in txn["Conditions"]
        )
        results, changed, after = [], False, self.revision + 1
        for one in txn["OperationsOnFailure" if failed else "OperationsOnSuccess"]:
            result: dict[str, Any] = {"KVs": None, "Count": 0, "Deleted": 0}
            if one["Type"] == "range-operation":
                result = {**self.found(one["Range"]["Start"]), "Deleted": 0}
            elif one["Type"] == "delete-operation":
                if self.pairs.pop(one["Delete"]["Key"], None) is not None:
                    result["Deleted"], changed = 1, True
            elif not one["Put"]["LeaseID"] or one["Put"]["LeaseID"] in self.leases:
                put = one["Put"]
                version = self.pairs.get(put["Key"], [0, 0, 0, 0])[2] + 1
                self.pairs[put["Key"]] = [put["Value"]["Value"], after, version, put["LeaseID"]]
                changed = True
            results.append(result)
        self.revision += changed
        return {"Failure": failed, "Results": results}


def step(random: Random, number: int) -> dict[str, Any]:
    """Carry out one of a transaction's operations."""
    key = random.choice(KEYS)
    put = {"Key": key, "Value": {"Value": f"v{number}"}, "LeaseID": random.choice([0, 0, 7])}
    whole = {"Range": {"Start": "", "End": ""}, "Put": {"Key": "", "Value": {}}, "Delete": {"Key": ""}}
    return random.choice(
        [
            {**whole, "Type": "put-operation", "Put": put},
            {**whole, "Type": "put-operation", "Put": put},
            {**whole, "Type": "delete-operation", "Delete": {"Key": key}},
            {**whole, "Type": "range-operation", "Range": {"Start": key, "End": "", "Limit": 0, "KeysOnly": False}},
        ]
    )


def request(random: Random, number: int, store: Store) -> dict[str, Any]:
    kind = random.choice(["range", "range", "txn", "txn", "txn", "leaseGrant", "leaseRevoke", "compact", "defragment"])
    if kind == "range":
        end, limit = random.choice([("", 0), ("z", 0), ("z", 1)])
        return {"Type": kind, "Range": {"Start": random.choice(KEYS), "End": end, "Limit": limit, "Revision": 0}}
    if kind == "txn":
        known = store.pairs.get("a", ["", 0, 0, 0])
        condition = {"Key": "a", "ExpectedRevision": random.choice([0, known[1]]), "ExpectedVersion": 0}
        by_version = {"Key": "a", "ExpectedRevision": 0, "ExpectedVersion": random.choice([1, known[2] or 1])}
        txn = {
            "Conditions": random.choice([[], [], [condition], [by_version]]),
            "OperationsOnSuccess": [step(random, number)],
            "OperationsOnFailure": random.choice([[], [step(random, number + 1000)]]),
        }
        return {"Type": kind, "Txn": txn}
    if kind == "compact":
        return {"Type": kind, "Compact": {"Revision": store.revision}}
    return {"Type": kind, "LeaseGrant": {"LeaseID": 7}, "LeaseRevoke": {"LeaseID": 7}}


def report(seed: int, count: int = 6) -> list[Operation]:
    """Make overlapping operations, some of which were not answered; each took effect while it was open."""
    random, store = Random(seed), Store()
    operations = []
    for number in range(count):
        moment = 10 * (number + 1)
        asked = request(random, number, store)
        output = {**store.answer(asked), "Error": "", "Persisted": False}
        if random.random() < 0.15:
            output = {"Revision": 0, "Error": "etcdserver: request timed out"}
        begin, end = moment - random.randint(1, 25), moment + random.randint(1, 25)
        operations.append({"ClientId": number, "Input": asked, "Call": begin, "Output": output, "Return": end})
    return operations


def spoil(seed: int, operations: list[Operation]) -> list[Operation]:
    """Change one number or text of the answers."""
    random, spoilt = Random(seed), copy.deepcopy(operations)
    places = [place for one in spoilt for place in _places(one["Output"])]
    within, name = random.choice(places)
    within[name] = within[name] + 1 if type(within[name]) is int else "v1" if type(within[name]) is str else True
    return spoilt


def _places(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        inside = [place for item in value.values() for place in _places(item)]
        named = ("Revision", "Value", "ModRevision", "Version", "Count", "Deleted", "Failure")
        return inside + [(value, name) for name in named if name in value and not isinstance(value[name], dict)]
    return [place for item in value for place in _places(item)] if isinstance(value, list) else []


def is_linearizable(operations: list[Operation]) -> bool:
    """Try all orders, straight from the definition."""
    left = [one for one in operations if one["Input"]["Type"] != "defragment"]
    return _fits(Store(), [one for one in left if not one["Output"].get("Error") or one["Input"]["Type"] != "range"])


def _fits(store: Store, left: list[Operation]) -> bool:
    if all(one["Output"].get("Error") for one in left):
        return True
    last = min(one["Return"] for one in left if not one["Output"].get("Error"))
    for place, one in enumerate(left):
        if one["Call"] > last:
            continue
        after, known = copy.deepcopy(store), one["Output"]
        answer = after.answer(one["Input"])
        same = all(answer.get(name) == known.get(name) for name in {*answer, *known} - {"Error", "Persisted"})
        if (known.get("Error") or same) and _fits(after, left[:place] + left[place + 1 :]):
            return True
    return False
