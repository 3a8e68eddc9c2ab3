"""One history in the formats in which people have histories."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from typing import Any

from tests.support.history.jepsen_file import Fressian, Key, block, index, reference

#: type, process, function, value.
Event = tuple[str, int, str, Any]


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
    return "".join(json.dumps(line) + "\n" for line in [{"format": "harness-history", "version": 1}, *lines])


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
