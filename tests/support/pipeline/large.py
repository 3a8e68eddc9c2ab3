"""Histories with long keys."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from history import HistoryWriter, Operation, RunFiles
from tests.support.pipeline.big_keys import random_register


def record(run: RunFiles, operations: list[Operation]) -> RunFiles:
    """Write a history whose events come in the order of the operations' places."""
    from history import Header

    run.root.mkdir(parents=True)
    ticks = iter(range(0, 10**15, 10**7))
    writer = HistoryWriter(run.history, Header(), started_ns=0, clock=lambda: next(ticks))
    events = [(o.invoke_index, "invoke", o) for o in operations]
    events += [(o.return_index, o.outcome, o) for o in operations if o.return_index is not None]
    for _, kind, o in sorted(events, key=lambda event: event[0]):
        value = o.value if kind == "invoke" or o.f == "write" else o.result
        writer.append(kind, o.process, o.f, key=o.key, value=value)  # type: ignore[arg-type]
    writer.close()
    return run


LENGTHS: dict[Any, int] = {"long": 120, 'it\'s \\ "long"': 80, "short": 9, 5: 12, None: 60, "tiny": 1}


def long_keys(root: Path) -> RunFiles:
    """Write a history of registers of different lengths, some of them invalid."""
    rng = random.Random(11)
    operations: list[Operation] = []
    for place, (key, size) in enumerate(LENGTHS.items()):
        operations += [_moved(o, place, len(LENGTHS)) for o in random_register(key, rng, size)]
    return record(RunFiles(root), sorted(operations, key=lambda o: o.invoke_index))


def _moved(o: Operation, place: int, keys: int) -> Operation:
    import dataclasses

    back = None if o.return_index is None else o.return_index * keys + place
    return dataclasses.replace(
        o, process=o.process * keys + place, invoke_index=o.invoke_index * keys + place, return_index=back
    )
