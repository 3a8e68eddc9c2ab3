"""``harness list-nemeses``: every fault and what it means."""

from __future__ import annotations

from itertools import groupby

import click


@click.command("list-nemeses")
def list_nemeses() -> int:
    """Every fault that --nemesis knows, by family."""
    from nemesis.catalogue import FAULTS

    width = max(len(name) for name in FAULTS)
    faults = sorted(FAULTS.values(), key=lambda fault: (fault.family, fault.name))
    for family, members in groupby(faults, key=lambda fault: fault.family):
        click.echo(f"{family}:")
        for fault in members:
            click.echo(f"  {fault.name:<{width}}  {fault.summary}")
    return 0
