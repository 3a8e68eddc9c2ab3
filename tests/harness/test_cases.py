"""Files that people arrived with: each case and its bad twin, in every format that can hold it."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from checker import check
from harness.files import FileCheckOptions, check_file, write_plainly
from tests.support.history.jepsen_file import Fressian, Key, block, index, reference

#: type, process, function, value.
Event = tuple[str, int, str, Any]


@dataclass(frozen=True)
class Case:
    """Operations (function, asked, answered), one after the other; the last answer of the bad twin is another."""

    options: FileCheckOptions
    operations: tuple[tuple[str, Any, Any], ...]
    bad: Any

    def events(self, *, good: bool) -> list[Event]:
        found = []
        for number, (f, asked, answered) in enumerate(self.operations):
            spoilt = not good and number == len(self.operations) - 1
            found += [("invoke", number % 3, f, asked), ("ok", number % 3, f, self.bad if spoilt else answered)]
        return found


MOVE = {"from": 0, "to": 1, "amount": 2}
CAS = FileCheckOptions(model="cas-register")
CASES: dict[str, Case] = {
    "bank-map": Case(
        FileCheckOptions(model="bank"),
        (("read", None, {"0": 6, "1": 4}), ("transfer", MOVE, MOVE), ("read", None, {"0": 4, "1": 6})),
        {"0": 4, "1": 4},
    ),
    "bank-list": Case(
        FileCheckOptions(model="bank"),
        (("read", None, [6, 4]), ("transfer", MOVE, MOVE), ("read", None, [4, 6])), [4, 4],
    ),
    "counter-unknown": Case(
        FileCheckOptions(model="counter", null="unknown"), (("add", 2, 2), ("read", None, None), ("read", None, 2)), 3
    ),
    "counter-nil-read": Case(
        FileCheckOptions(model="counter"), (("read", None, None), ("add", 2, 2), ("read", None, 2)), None
    ),
    "ingest-cas": Case(
        CAS,
        (("write", [0, 1], [0, 1]), ("cas", [0, [1, 2]], [0, [1, 2]]), ("read", [0, None], [0, 2])), [0, 1],
    ),
    "jepsen-log-colon": Case(FileCheckOptions(), (("write", 7, 7), ("read", None, 7)), None),
    "json-array": Case(FileCheckOptions(), (("write", 3, 3), ("read", None, 3)), 4),
    "jsonl-kv-tuples": Case(
        FileCheckOptions(), (("write", [0, 3], [0, 3]), ("write", [1, 5], [1, 5]), ("read", [0, None], [0, 3])), [0, 5]
    ),
    "nil-read": Case(
        FileCheckOptions(model="cas-register", null="unknown"),
        (("write", 5, 5), ("read", None, None), ("read", None, 5)), 6,
    ),
    "set-twice": Case(FileCheckOptions(model="set"), (("add", 7, 7), ("read", None, [7])), [7, 7]),
    "tri-cas": Case(
        CAS,
        (
            ("write", ["a", "x"], ["a", "x"]), ("cas", ["a", "x", "y"], ["a", "x", "y"]),
            ("write", ["b", "z"], ["b", "z"]), ("read", ["a", None], ["a", "y"]),
        ),
        ["a", "x"],
    ),
    "initial": Case(FileCheckOptions(initial="9"), (("read", None, 9), ("write", 3, 3), ("read", None, 3)), 9),
    "mutex": Case(
        FileCheckOptions(model="mutex"), (("lock", None, None), ("try_acquire", None, False)), bad=True
    ),
    "unique-ids": Case(FileCheckOptions(model="unique-ids"), (("generate", None, "a"), ("generate", None, "b")), "a"),
    "queue": Case(
        FileCheckOptions(model="queue"),
        (("enqueue", 1, 1), ("enqueue", 2, 2), ("dequeue", None, 1), ("dequeue", None, 2)), 1,
    ),
}  # fmt: skip


def edn(value: Any) -> str:
    if isinstance(value, dict):
        names = {name: name if name.isdigit() else f":{name}" for name in value}
        return "{" + ", ".join(f"{names[name]} {edn(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + " ".join(map(edn, value)) + "]"
    return "nil" if value is None else json.dumps(value)


def maps(events: list[Event], separator: str = "\n", tag: str = "", more: bool = False) -> str:
    return separator.join(
        f"{tag}{{:type :{type_}, :process {process}, :f :{f}, :value {edn(value)}"
        + (f", :time {place * 1000}, :index {place * 2}" if more else "") + "}"
        for place, (type_, process, f, value) in enumerate(events)
    )  # fmt: skip


def log(begin: str) -> Callable[[list[Event]], str]:
    return lambda events: "".join(f"{begin}{p}\t:{type_}\t:{f}\t{edn(value)}\n" for type_, p, f, value in events)


def records(events: list[Event], process: str = "process") -> list[dict[str, Any]]:
    return [{process: p, "type": type_, "f": f, "value": value} for type_, p, f, value in events]


def table(events: list[Event]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["process", "type", "f", "value"])
    writer.writerows([p, type_, f, json.dumps(value)] for type_, p, f, value in events)
    return out.getvalue()


def ours(events: list[Event]) -> str:
    lines = [{"index": n, "time": 10 * n, **record} for n, record in enumerate(records(events))]
    return "".join(json.dumps(line) + "\n" for line in [{"format": "harness-history", "version": 2}, *lines])


def blocks(events: list[Event]) -> bytes:
    spell = Fressian(cached=True)
    root = block(2, Fressian()({Key("history"): reference(2)}))
    items = [
        {Key("type"): Key(type_), Key("process"): p, Key("f"): Key(f), Key("value"): value}
        for type_, p, f, value in events
    ]
    return index([root, block(4, b"".join(map(spell, items)))], 1)


DRESSES: dict[str, Callable[[list[Event]], str | bytes]] = {
    "maps": maps,
    "a vector": lambda events: f"[{maps(events, ' ')}]\n",
    "a list of records": lambda events: f"({maps(events, tag='#jepsen.history.Op')})",
    "times and indexes": lambda events: maps(events, more=True),
    "a comment": lambda events: f"; a test\n{maps(events)}\n#_{{:gone 1}}",
    "packed": lambda events: gzip.compress(maps(events).encode()),
    "log of 2014": log("INFO  jepsen.util - "),
    "log of 2016": log("2016-08-25 10:11:12,101{GMT}\tINFO\t[jepsen worker 0] jepsen.util: "),
    "log of 2026": log("2026-03-05 10:11:12,101{GMT}\tINFO\t[jepsen worker 0] jepsen.print: "),
    "history.txt": log(""),
    "array": lambda events: json.dumps(records(events)),
    "lines": lambda events: "\n".join(map(json.dumps, records(events))),
    "upper case": lambda events: json.dumps([{**r, "type": r["type"].upper()} for r in records(events, "client")]),
    "table": table,
    "ours": ours,
    "test.jepsen": blocks,
}


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("name", CASES)
def test_a_case_and_its_bad_twin_in_every_format(name: str, dress: str, tmp_path: Path) -> None:
    case = CASES[name]
    for good in (True, False):
        content = DRESSES[dress](case.events(good=good))
        path = tmp_path / f"history-{good}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        right = "valid" if good else "invalid"
        assert check_file(path, case.options).report.verdict == right
        plain = tmp_path / f"plain-{good}.jsonl"
        write_plainly(path, case.options, plain)
        assert check(plain).verdict == right
