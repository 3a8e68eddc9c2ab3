"""Histories written to files."""

from __future__ import annotations

from pathlib import Path

from history import Event, Header, HistoryWriter


def written(path: Path, events: list[Event], keys: int = 1) -> Path:
    clock = iter([0, *(event.time for event in events)])
    writer = HistoryWriter(path, Header(), started_ns=next(clock), clock=lambda: next(clock))
    for event in events:
        key = None if keys == 1 else f"k{event.process if isinstance(event.process, int) else 0}"
        writer.append(event.type, event.process, event.f, value=event.value, key=key, node=event.node)
    writer.close()
    return path
