"""A small recorded run, with the files that a run leaves: good, or with one thing wrong."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from harness.plan import Plan
from harness.runstate import RunState
from harness.store import create_run, link_latest
from history import Header, HistoryWriter, Probe, RunFiles
from history.records.probes import probes_header

S = 1_000_000_000
NODES = ("n1", "n2", "n3")
PLAN = Plan(seed=7, keys=1, nodes=3, rate=1.0)
MOMENTS = {"warm-up": 0, "main": S, "main-end": 5 * S, "healed": 5 * S, "recovered": 6 * S, "final-reads": 6 * S}


def record(store: Path, *, last_read: int | None = 2, ended: bool = True, seen_by: tuple[str, ...] = NODES) -> RunFiles:
    """Record a run with three writes and two reads of one register.

    ``last_read`` is what the last read saw; ``seen_by`` are the nodes that caught up.
    """
    run = create_run(store, PLAN, datetime(2026, 1, 1, tzinfo=UTC))
    link_latest(run)
    _history(run, last_read)
    state: dict[str, Any] = {"state_index": 9, "digest": "of 9"}
    probes = [Probe(tenth * S // 10, "n1", "leader", 1, "n1", 0, 9, 9, 9, **state) for tenth in (45, 47, 49)]
    probes += [Probe(55 * S // 10, node, "follower", 1, "n1", 0, 9, 9, 9, **state) for node in seen_by]
    probes += [Probe(56 * S // 10, node, error="no connection") for node in NODES if node not in seen_by]
    run.probes.write_text("\n".join([probes_header(), *(json.dumps(probe.to_json()) for probe in probes), ""]))
    RunState(run.state, dict(MOMENTS), ended=ended).save()
    for node in NODES:
        (run.nodes / node).mkdir(parents=True)
        (run.nodes / node / "register.log").write_text("started\n")
    return run


def _history(run: RunFiles, last_read: int | None) -> None:
    ticks = count(0, S // 2)
    header = Header(PLAN.test, PLAN.model, PLAN.seed, "2026-01-01T00:00:00+00:00", {"nodes": list(NODES)})
    writer = HistoryWriter(run.history, header, started_ns=0, clock=lambda: next(ticks))

    def operation(f: str, asked: Any, answered: Any, phase: Any) -> None:
        for kind, value in (("invoke", asked), ("ok", answered)):
            writer.append(kind, 0, f, value=value, key="k0", node="n1", phase=phase)  # type: ignore[arg-type]

    operation("write", 1, 1, "warm-up")
    operation("write", 3, 3, "main")
    operation("read", None, 3, "main")
    for _ in range(2):
        next(ticks)
        next(ticks)
    operation("write", 2, 2, "final")
    operation("read", None, last_read, "final")
    writer.close()
