"""The checks and gates of a run as rows of a table, worst first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from history.records.check_records import check_records
from history.records.finding import Alarms, Elements, first_of
from history.records.violations import contents_differ, state_of
from reports.load.cut_record import is_cut, judged_whole
from reports.load.run import LoadedRun

#: State of the check *recovery* if it passed but the nodes' contents differ.
DIFFER: Final = "contents differ"
#: Shown with the log check if the run's directory no longer has the logs.
LOGS_GONE: Final = "the logs were read when the run was judged, but are no longer in its directory"
#: Gates that count operations.  They counted the history as it was when the run was judged.
_COUNTING: Final = frozenset({"operations", "under-fault", "read-back", "final-reads"})
_STATES: Final = ("invalid", "unknown", DIFFER, "skipped", "valid")


def checks_of(run: LoadedRun) -> list[dict[str, Any]]:
    """Return the checks and gates of a run as rows, worst first, with notes on a cut history or missing logs."""
    rows = worst_first(check_rows(run.results))
    if is_cut(run):
        which = "before the history was cut" if judged_whole(run) else "of what is left of the history"
        for row in rows:
            row["seen"] += f"; {which}" if row["name"] in _COUNTING and row["state"] == "valid" else ""
    if logs_gone(run):
        for row in rows:
            row["seen"] += f"; {LOGS_GONE}" if row["name"] == "node-logs" else ""
    return rows


def worst_first(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort rows by state, worst first; rows with the same state keep their order."""
    return sorted(rows, key=lambda row: _STATES.index(row["state"]))


def logs_gone(run: LoadedRun) -> bool:
    """Return whether node logs were read when the run was judged but are no longer in its directory."""
    for check in check_records(run.results):
        alarms = first_of(Alarms, check)
        if check.get("name") == "node-logs" and (state_of(check) == "valid" or (alarms and alarms.patterns)):
            return not any(path.is_file() for path in run.files.nodes.rglob("*"))
    return False


def check_rows(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the recorded checks and gates as rows, in the recorded order.

    ``state`` is valid, invalid, unknown, skipped or :data:`DIFFER`. ``elements`` are those that a check of sets
    names, by class (see :func:`_elements_of`).
    """
    rows = []
    checks = check_records(results)
    differ = contents_differ(checks)
    for check in checks:
        row, state = {name: str(check.get(name) or "") for name in ("name", "kind", "asked", "seen")}, state_of(check)
        if differ and (row["name"], state) == ("recovery", "valid"):
            row["seen"] += f"; it does not require equal contents, and they differ: {', '.join(differ)}"
            state = DIFFER
        rows.append({**row, "state": state, "elements": _elements_of(check)})
    return rows


def _elements_of(check: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return pairs such as ("61 lost", the elements) for the elements that a check named.

    If the check named only some of the elements, the first text says how many.
    """
    elements = first_of(Elements, check)
    if elements is None:
        return []
    lost = elements.lost_by_node
    worst = max(lost, key=lambda node: lost[node], default=None)
    held = any(loss.elsewhere for loss in elements.losses if loss.node == worst)
    pairs = []
    for name, named in elements.named.items():
        if not named:
            continue
        total = int(getattr(elements, name, len(named)))
        first = f", the first {len(named):,} of them" if total > len(named) else ""
        text = f"{total:,} {name}"
        if name == "lost" and worst is not None and held:
            text = f"{total:,} that {worst if lost[worst] == total else 'some node'} lacks"
        pairs.append((f"{text}{first}", ", ".join(map(str, named))))
    return pairs


def undecided_of(run: LoadedRun) -> list[tuple[str, str]]:
    """Return the name and finding of each unknown check.

    A run that broke off has none, because its sentence already gives the reason.
    """
    return [] if run.failure else [(row["name"], row["seen"]) for row in checks_of(run) if row["state"] == "unknown"]
