"""The table of events: what happened in a run and when, as single points in time.

A violation has one row for each counterexample in the results, and one for each other finding.  Alarms in logs have no
time.  A gap has the time at which clients had waited 1 s, so a gap that a fault caused comes after the fault even if
the last ok came just before it.  Log lines are those of the report's timeline.  If the logs of a run exceed
24 MB, only lines up to 2 s before or after another event are kept.  Logs that cannot be read have no events, and runs
that Spark reads from a URI have no logs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from history import SECOND, FormatError, Probe
from history.node_logs import MAX_BYTES, by_second, log_files, merged
from history.recording import Recording
from history.records.check_records import check_records
from history.records.finding import Comeback, findings_in
from history.records.probes import leader_now
from history.records.violations import counterexamples_of
from history.tables.operations import table_of_rows
from history.tables.schemas import EVENTS
from pipeline.tables.load_figures import GAP_S

ROOM_S: Final = 2.0
#: The time that the column cannot hold, which a node's log may name all the same.
_LAST_S: Final = 2**63 // SECOND
#: Longest text of a log line that is kept, in characters.
MAX_TEXT: Final = 200


def event_table(
    run: Recording, results: Mapping[str, Any], tables: Mapping[str, pa.Table], gaps: Sequence[tuple[int, float]]
) -> pa.Table:
    """Return the events of a run, earliest first; those without a time come last.

    ``tables`` holds its verdicts and faults, and ``gaps`` (start in ns, length in s) the times without an ok.  Raises
    FormatError and OSError.
    """
    events = [
        *_violations(results, tables["verdicts"]),
        *_faults(tables["faults"].to_pylist()),
        *_leader_changes(run.probes),
        *_silences(run.probes),
        *(_event("gap", start + GAP_S * SECOND, seconds=length) for start, length in gaps),
    ]
    events += _log_lines(run, [event["time"] / SECOND for event in events if event["time"] is not None])
    return table_of_rows(sorted(events, key=lambda event: (event["time"] is None, event["time"] or 0)), EVENTS)


def _event(
    kind: str, time: int | None, name: str | None = None, nodes: Sequence[str] = (), seconds: float | None = None
) -> dict[str, Any]:
    return {"time": time, "kind": kind, "name": name, "nodes": list(nodes), "seconds": seconds}


def _violations(results: Mapping[str, Any], verdicts: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the violations in the results; those of the keys' verdicts if the run has no results."""
    if not results:
        results = {"keys": [json.loads(text) for text in verdicts["details"].to_pylist()]}
    shown = set()
    for counterexample in counterexamples_of(results):
        example = counterexample.example
        last = example.completing
        shown.add(example.kind)
        yield _event("violation", example.completed_at, example.kind, [last.node] if last and last.node else [])
    for check in check_records(results):
        for finding in findings_in(check):
            if finding.verdict == "invalid" and finding.kind not in shown:
                since = finding.healed_ns if isinstance(finding, Comeback) else finding.since
                yield _event("violation", since, finding.kind, finding.nodes)


def _faults(faults: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for fault in faults:
        if fault["state"] == "skipped":
            continue
        begun, ended, nodes = fault["started"], fault["healed"], fault["target_nodes"] or []
        stood = None if ended is None else (ended - begun) / SECOND
        yield _event("fault", begun, fault["fault"], nodes, stood)
        if ended is not None:
            yield _event("heal", ended, fault["fault"], nodes)


def _leader_changes(probes: Sequence[Probe]) -> Iterator[dict[str, Any]]:
    """Yield each leader after the first, when a probe showed it; a leader counts once in each term."""
    members = {probe.node for probe in probes}
    newest: dict[str, Probe] = {}
    led = set[tuple[str, int]]()
    last = None
    for probe in sorted(probes, key=lambda p: p.time):
        newest[probe.node] = probe
        leader = leader_now(newest, members)
        if leader is None:
            continue
        now = leader, newest[leader].term
        if now != last and now not in led:
            if last is not None:
                yield _event("leader-change", probe.time, nodes=[leader])
            last = now
            if now[1] >= 0:  # without terms, a node may lead again
                led.add(now)


def _silences(probes: Sequence[Probe]) -> Iterator[dict[str, Any]]:
    """Yield when nodes that had answered stopped, and when they answered again or the probes ended."""
    answered = dict[str, bool]()
    last = max((probe.time for probe in probes), default=0)
    silent = dict[str, dict[str, Any]]()
    for probe in sorted(probes, key=lambda p: p.time):
        if not probe.answered and answered.get(probe.node):
            silent[probe.node] = _event("silent", probe.time, nodes=[probe.node])
        elif probe.answered and (since := silent.pop(probe.node, None)) is not None:
            yield since | {"seconds": (probe.time - since["time"]) / SECOND}
            yield _event("back", probe.time, nodes=[probe.node])
        answered[probe.node] = probe.answered
    for since in silent.values():
        yield since | {"seconds": (last - since["time"]) / SECOND}


def _log_lines(run: Recording, moments: Sequence[float]) -> Iterator[dict[str, Any]]:
    documents = (run.lenient("plan"), run.lenient("state"))
    started = run.header.started or next((str(file["started"]) for file in documents if file.get("started")), "")
    try:
        size = sum(path.stat().st_size for _, path in log_files(run.files))
        spans = [(0.0, float("inf"))] if size <= MAX_BYTES else merged(moments, ROOM_S)
        lines = [line for start, end in spans for line in by_second(run, started, start, end)]
    except (OSError, FormatError):
        return
    for line in lines:
        if line.node and line.seconds < _LAST_S:  # the harness has a log too
            text = line.text[line.stamp :].strip()[:MAX_TEXT]
            yield _event("log", round(line.seconds * SECOND), text, [line.node])
