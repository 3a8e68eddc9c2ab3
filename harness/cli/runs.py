"""``harness ls`` and ``harness diff``: list the runs of a store, and compare two of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from harness.cli.completion import complete_faults, complete_runs, complete_systems, complete_workloads
from harness.cli.json_output import json_line, json_option
from harness.cli.shared_options import Directory, store_option
from harness.systems import DEFAULT, split_version
from harness.terminal.screen import Screen
from harness.terminal.tables import fitted, render
from history.extras import require
from history.schema import hint

if TYPE_CHECKING:
    from reports.load.run_row import RunRow

    Moment = click.ParamType[datetime]
else:  # not generic at run time before click 8.4
    Moment = click.ParamType

_AGO: Final = re.compile(r"(\d{1,6})([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
#: The values of :attr:`reports.load.run_row.RunRow.shown`.  *missed*: valid, although a planted bug should have been
#: found.  *as-intended*: invalid only because of the planted bug.
_VERDICTS: Final = ("valid", "invalid", "as-intended", "missed", "unknown", "harness-failure")


class Since(Moment):
    """The parameter type for a time in UTC: an age (``90m``, ``12h``, ``3d``, ``2w``), or an ISO date or time."""

    name = "3d|2026-11-20"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            if ago := _AGO.fullmatch(value):
                return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
            moment = datetime.fromisoformat(value)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not a time; examples are 12h, 3d, 2026-11-20 or 2026-11-20T18:30", param, ctx)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


@click.command("ls")
@click.argument("directory", metavar="[STORE]", type=Directory(), required=False)
@click.option(
    "--verdict",
    type=click.Choice(_VERDICTS),
    multiple=True,
    help="Only runs with this verdict; if repeated, with any of these verdicts.",
)
@click.option("--system", metavar="NAME[@VERSION]", shell_complete=complete_systems, help="Only runs of this system.")
@click.option("--workload", shell_complete=complete_workloads, help="Only runs of this workload.")
@click.option(
    "--nemesis", "-n", multiple=True, shell_complete=complete_faults,
    help="Only runs with this fault; if repeated, only runs with all of them.",
)  # fmt: skip
@click.option("--since", type=Since(), help="Only runs that started after this time.")
@click.option(
    "--limit", type=click.IntRange(0), default=30, help="Maximum number of runs to show, newest first; 0 for all."
)
@json_option
@store_option
def ls(
    directory: Path | None, store: Path, limit: int, as_json: bool, verdict: tuple[str, ...], system: str | None,
    workload: str | None, nemesis: tuple[str, ...], since: datetime | None,
) -> int:  # fmt: skip
    """List the runs of a store, newest first: start, verdict, worst finding, and the name for other commands."""
    require("report")
    from harness.store import require_store
    from reports.load.store_index import StoreIndex

    root = directory or store
    require_store(root)
    index = StoreIndex(root)
    if limit and not (as_json or verdict or system or workload or nemesis or since):
        shown, count = index.newest(limit)
        if not shown:
            click.echo("none of 0 runs", err=True)
            return 0
        return _show(shown, count)
    rows = index.rows()
    matches = [
        row
        for row in rows
        if (not verdict or row.shown.replace(" ", "-") in verdict)
        and (system is None or _is_of(row, system))
        and workload in (None, row.workload)
        and set(nemesis) <= set(row.faults)
        and (since is None or row.started >= f"{since:%Y-%m-%dT%H:%M:%SZ}")
    ]
    shown = matches[:limit] if limit else matches
    if as_json:
        click.echo(json_line({"store": str(root), "count": len(matches), "runs": [_document(root, r) for r in shown]}))
        return 0
    if not matches:
        click.echo("\n".join(_none_of(rows, system, workload, nemesis)), err=True)
        return 0
    return _show(shown, len(matches))


def _show(shown: Sequence[RunRow], count: int) -> int:
    click.echo(_listed(shown))
    if len(shown) < count:
        click.echo(f"{len(shown)} of {count} runs; --limit 0 shows all", err=True)
    return 0


def _listed(rows: Sequence[RunRow]) -> str:
    """Format a row for each run.

    On a narrow terminal, the run's full name gets a line of its own below, so that it can be copied.
    """
    width = max(len(row.shown) for row in rows)
    about = [(_begin(row), row.shown.ljust(width), row.finding) for row in rows]
    names, room = [_printable(row.place) for row in rows], Screen(sys.stdout).room
    whole = [(*cells, name) for cells, name in zip(about, names, strict=True)]
    if room is None or max(map(len, render(whole).splitlines())) <= room:
        return fitted(whole)
    return "\n".join(f"{fitted([cells])}\n    {name}" for cells, name in zip(about, names, strict=True))


def _none_of(rows: Sequence[RunRow], system: str | None, workload: str | None, nemesis: Sequence[str]) -> Iterator[str]:
    """Explain why nothing is listed: name each filter that no run of the store matches, and suggest similar names."""
    yield f"none of {len(rows)} runs"
    if system is not None and rows and not any(_is_of(row, split_version(system)[0]) for row in rows):
        names = {Path(row.system or DEFAULT).stem for row in rows}
        yield f"--system {system}: no run used it; {hint(system, names)}"
    workloads = {row.workload for row in rows if row.workload}
    if workload is not None and workloads and workload not in workloads:
        yield f"--workload {workload}: no run used it; {hint(workload, workloads)}"
    faults = {fault for row in rows for fault in row.faults}
    for name in nemesis:
        if name not in faults:
            yield f"--nemesis {name}: no run used it" + (f"; {hint(name, faults)}" if faults else "")


def _is_of(row: RunRow, wanted: str) -> bool:
    """Return whether a run was of this system, given by name or, if it is defined in a file, by path."""
    name, version = split_version(wanted)
    system = row.system or DEFAULT
    words = row.version.split()
    mine = name in (system, Path(system).stem) or (system != DEFAULT and words[:1] == [name])
    return mine and (not version or version in words)


def _begin(row: RunRow) -> str:
    return row.started[:16].replace("T", " ")


def _printable(text: str) -> str:
    from reports.style.format import one_line

    return one_line(text, 400)


def _document(store: Path, row: RunRow) -> dict[str, Any]:
    left_out = {"test", "run", "options", "files", "settings", "checks", "system", "place"}
    own = {name: value for name, value in asdict(row).items() if name not in left_out}
    return {"run": str(store / row.place), "system": row.system or DEFAULT, **own, "checks": dict(row.checks)}


@click.command("diff")
@click.argument("first", metavar="RUN", shell_complete=complete_runs)
@click.argument("second", metavar="RUN", shell_complete=complete_runs)
@json_option
@store_option
def diff(first: str, second: str, as_json: bool, store: Path) -> int:
    """Print what differs between two runs (plan, environment, verdict, checks), and the figures of both.

    The exit code is 0 whether they differ or not.
    """
    require("report")
    from harness.store import find_run
    from reports.text.difference import difference, render_difference

    runs = find_run(first, store), find_run(second, store)
    differences = difference(*runs)
    names = str(runs[0].root), str(runs[1].root)
    if as_json:
        click.echo(json_line({"runs": names, **differences.to_json()}))
    else:
        click.echo(render_difference(differences, names, Screen(sys.stdout).room))
    return 0
