"""``harness list-nemeses``: every fault and what it means."""

from __future__ import annotations

from itertools import groupby

import click

from harness.cli.json_output import json_line, json_option
from harness.terminal.screen import hanging
from history.extras import require


@click.command("list-nemeses")
@json_option
def list_nemeses(as_json: bool) -> int:
    """Every fault that --nemesis knows, by family."""
    require("run")
    from nemesis.faults.registry import FAULTS

    width = max(len(name) for name in FAULTS)
    faults = sorted(FAULTS.values(), key=lambda fault: (fault.family, fault.name))
    if as_json:
        told = [{"name": fault.name, "family": fault.family, "summary": fault.summary} for fault in faults]
        click.echo(json_line({"faults": told}))
        return 0
    for family, members in groupby(faults, key=lambda fault: fault.family):
        click.echo(f"{family}:")
        for fault in members:
            click.echo(hanging(f"  {fault.name:<{width}}  ", fault.summary))
    return 0
