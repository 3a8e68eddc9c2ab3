"""Histories as lines of JSON."""

from __future__ import annotations

from pathlib import Path

from history import Header, HistoryWriter, Operation


def jsonl(path: Path, operations: list[Operation]) -> Path:
    moments = [(o.invoke_index, "invoke", o.value, o) for o in operations]
    for o in operations:
        answer = o.result if o.result is not None or o.f == "read" else o.value
        moments.append((o.return_index or 0, o.outcome, answer if o.outcome == "ok" else o.value, o))
    moments.sort(key=lambda moment: moment[0])
    times = iter(range(len(moments)))
    writer = HistoryWriter(path, Header(model="cas-register"), started_ns=0, clock=lambda: next(times))
    for _, type_, value, o in moments:
        writer.append(type_, o.process, o.f, value=value, key=o.key)  # type: ignore[arg-type]
    writer.close()
    return path
