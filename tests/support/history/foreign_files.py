"""The same history in every format that we read: events as dicts, rendered as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Record = dict[str, Any]


def story(f: tuple[str, str] = ("write", "read"), value: Any = 7, key: Any = None) -> list[Record]:
    """Return a write, and a read that sees it."""
    more = {} if key is None else {"key": key}
    shape = [("invoke", 0, f[0], value), ("ok", 0, f[0], value), ("invoke", 1, f[1], None), ("ok", 1, f[1], value)]
    return [
        {"index": index, "time": 10 * index, "type": type_, "process": process, "f": name, "value": reported, **more}
        for index, (type_, process, name, reported) in enumerate(shape)
    ]


def jsonl(records: list[Record]) -> bytes:
    lines = [{"format": "harness-history", "version": 1}, *records]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _edn(value: Any, name: str) -> str:
    if value is None:
        return "nil"
    if isinstance(value, float):
        return "##NaN" if value != value else str(value)
    if isinstance(value, str) and name in ("type", "f", "process"):
        return f":{value}"
    if isinstance(value, list):
        return "[" + " ".join(_edn(item, "") for item in value) + "]"
    return json.dumps(value)


def edn(records: list[Record]) -> bytes:
    lines = ["{" + ", ".join(f":{name} {_edn(value, name)}" for name, value in r.items()) + "}\n" for r in records]
    return "".join(lines).encode()


def log(records: list[Record]) -> bytes:
    lines = ["INFO  jepsen.core - Running test"]
    for r in records:
        parts = (_edn(r[name], name) for name in ("process", "type", "f", "value") if name in r)
        lines.append("INFO  jepsen.util - " + "\t".join(parts))
    return "\n".join([*lines, ""]).encode()


def kv(records: list[Record]) -> bytes:
    return edn([{name: r[name] for name in r if name not in ("index", "time")} for r in records])


def parquet(columns: dict[str, Any], directory: Path) -> Path:
    path = directory / "operations.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def operations() -> dict[str, list[Any]]:
    """Return the columns of the same history."""
    return {
        "invoke_index": [0, 2], "return_index": [1, 3], "process": [0, 1], "f": ["write", "read"], "key": [None, None],
        "value": ["7", "null"], "result": ["7", "7"], "outcome": ["ok", "ok"], "invoked": [0, 20], "returned": [10, 30],
    }  # fmt: skip


TEXTS: dict[str, Callable[[list[Record]], bytes]] = {"jsonl": jsonl, "edn": edn, "jepsen-log": log, "porcupine-kv": kv}


def story_of(name: str) -> list[Record]:
    return story(("put", "get"), "x", "k") if name == "porcupine-kv" else story()
