"""The tables of a run's conclusions: checks, coverage, environment, counterexamples, events.

They are made when the run is added to the warehouse, from ``results.json`` and the tables of faults and verdicts,
because ``results.json`` itself may be removed later.  Without it (a history alone, or a run that was never judged),
there are no checks and no environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from history import SECOND, FormatError
from history.metrics.recovery import LoadSpan, moment_or
from history.recording import Recording
from history.records.events import PHASES
from history.records.finding import UnderFault, findings_in
from history.records.violations import found_in, violations_of
from history.tables.operations import json_text, operations_table, table_of_rows
from history.tables.schemas import CHECKS, COUNTEREXAMPLES, COVERAGE, ENVIRONMENT
from pipeline.tables.events import event_table
from pipeline.tables.judging import verdicts_of
from pipeline.tables.load_figures import OfLoad

_OWN: Final = ("name", "kind", "verdict", "asked", "seen")


def conclusion_tables(run: Recording, tables: Mapping[str, pa.Table], of_load: OfLoad) -> dict[str, pa.Table]:
    """Return the tables ``history.tables.schemas.CONCLUSIONS`` of a run.

    ``tables`` holds its verdicts and faults; ``of_load`` is the result of ``pipeline.tables.load_figures``.  Raises
    FormatError if ``results.json`` does not have our format.
    """
    results = run.lenient("results")
    try:
        return {
            "checks": table_of_rows(_checks(results), CHECKS),
            "coverage": coverage_table(tables["faults"].to_pylist(), of_load.load, _ok_under(results)),
            "environment": table_of_rows(_flat(results.get("environment") or {}), ENVIRONMENT),
            "counterexamples": counterexample_table(tables["verdicts"]),
            "events": event_table(run, results, tables, of_load.gaps),
        }
    except (AttributeError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise FormatError(
            str(run.files.results), "the file", f"not what we write: {type(error).__name__}: {error}"
        ) from None


def source_of(run: Recording) -> dict[str, int]:
    """Return the sources of a run's tables that may change: the history's size in bytes and all standstills (ns)."""
    return {
        "history.jsonl": run.files.history.stat().st_size,
        "standstills": sum(end - begin for begin, end in run.clock.spans),
    }


# -- checks, environment ----------------------------------------------------------------------------------------------


def _checks(results: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    violations = violations_of(results)
    for check in results.get("checks", ()):
        yield {
            **{name: check[name] for name in _OWN},
            "kinds": sorted({violation.kind for violation in violations if violation.check == check["name"]}),
            "nodes": sorted({node for finding in findings_in(check) for node in finding.nodes}),
            "findings": json_text(check.get("findings") or []),
        }


def _flat(record: Mapping[str, Any], before: str = "") -> Iterator[dict[str, str]]:
    """Yield nested values under keys with dots: text as it is, anything else as JSON."""
    for key, value in record.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield {"key": f"{before}{key}", "value": value if isinstance(value, str) else json_text(value)}


# -- coverage ---------------------------------------------------------------------------------------------------------


def _ok_under(results: Mapping[str, Any]) -> dict[int, int]:
    """Count, by fault id, the operations that began and ended under a fault in the main phase, as the gate did."""
    under = found_in(results, UnderFault)
    return {window.id: window.ok for window in under.faults} if under else {}


def coverage_table(faults: Iterable[Mapping[str, Any]], load: LoadSpan, ok: Mapping[int, int]) -> pa.Table:
    """List which faults hit which phases, from the table of faults, in the order of each fault's first start.

    A fault has no row for a phase in which it neither started nor was in effect.
    """
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for fault in faults:
        phases = rows.setdefault(fault["fault"], {})
        begun = _phase(fault["started"], load)
        _count(phases.setdefault(begun, _nothing(fault, begun)), fault)
        for phase, seconds in _stood(fault, load).items():
            phases.setdefault(phase, _nothing(fault, phase))["stood_s"] += seconds
        if fault["id"] in ok:
            row = phases.setdefault("main", _nothing(fault, "main"))
            row["ok"] = (row["ok"] or 0) + ok[fault["id"]]
    ordered = [phases[phase] for phases in rows.values() for phase in PHASES if phase in phases]
    return table_of_rows(ordered, COVERAGE)


def _nothing(fault: Mapping[str, Any], phase: str) -> dict[str, Any]:
    counts = dict.fromkeys(("installed", "skipped", "indeterminate", "on_leader"), 0)
    same = {name: fault[name] for name in ("fault", "family")}
    return {**same, "phase": phase, **counts, "stood_s": 0.0, "nodes": [], "ok": None}


def _count(row: dict[str, Any], fault: Mapping[str, Any]) -> None:
    row[fault["state"]] += 1
    if fault["state"] == "installed":
        nodes = fault["target_nodes"] or []
        row["on_leader"] += fault["leader"] in nodes
        row["nodes"] = sorted({*row["nodes"], *nodes})


def _phase(time: int, load: LoadSpan) -> str:
    """Return the phase at a time; without a load, there is only the main phase."""
    if load.begin == load.end:
        return "main"
    return "warm-up" if time < load.begin else "main" if time <= load.end else "final"


def _stood(fault: Mapping[str, Any], load: LoadSpan) -> dict[str, float]:
    """Return for how many seconds an installed fault was in effect in each phase; other phases are left out."""
    if fault["state"] != "installed":
        return {}
    begin, end = fault["started"], moment_or(fault["healed"], load.last)
    edges = (begin, load.begin, load.end, end) if load.begin < load.end else (begin, begin, end, end)
    cuts = [min(max(edge, begin), max(end, begin)) for edge in edges]
    spans = {phase: cuts[place + 1] - cuts[place] for place, phase in enumerate(PHASES)}
    return {phase: span / SECOND for phase, span in spans.items() if span}


# -- counterexamples --------------------------------------------------------------------------------------------------


def counterexample_table(verdicts: pa.Table) -> pa.Table:
    """Return the counterexamples in the details of a table of verdicts."""
    rows = [
        {
            "key": None if verdict.key is None else json_text(verdict.key),
            "place": place,
            "kind": example.kind,
            "sentence": example.sentence,
            "shown_at": example.shown_at,
            "core": operations_table(example.operations).to_pylist(),
            "suspects": [suspect.invoke_index for suspect in example.suspects],
        }
        for verdict in verdicts_of(verdicts.filter(pc.equal(verdicts["verdict"], "invalid")))
        for place, example in enumerate(verdict.counterexamples)
    ]
    return table_of_rows(rows, COUNTEREXAMPLES)
