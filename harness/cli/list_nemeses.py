"""``harness list-nemeses``: all faults by family, each with its summary."""

from __future__ import annotations

from itertools import groupby

import click

from harness.cli.json_output import json_line, json_option
from harness.terminal.tables import fitted
from history.extras import require


@click.command("list-nemeses")
@json_option
def list_nemeses(as_json: bool) -> int:
    """Every fault that --nemesis knows, by family."""
    require("run")
    from nemesis.faults.registry import FAULTS

    faults = sorted(FAULTS.values(), key=lambda fault: (fault.family, fault.name))
    if as_json:
        document = [{"name": fault.name, "family": fault.family, "summary": fault.summary} for fault in faults]
        click.echo(json_line({"faults": document}))
        return 0
    rows: list[tuple[str, ...]] = []
    for family, members in groupby(faults, key=lambda fault: fault.family):
        rows += [(f"{family}:",), *((f"  {fault.name}", fault.summary) for fault in members)]
    click.echo(fitted(rows))
    return 0
