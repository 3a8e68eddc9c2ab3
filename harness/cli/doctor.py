"""``harness doctor``: what this machine supports, and which faults work on its nodes."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

import click

from harness.terminal.tables import fitted

if TYPE_CHECKING:
    from harness.doctor import Examined, FaultTable


@click.command("doctor")
@click.option(
    "--cluster", default="netns:doctor",
    help="Cluster to test the faults on. If it is down, it is brought up for the test and taken down afterwards.",
)  # fmt: skip
@click.option("--faults/--no-faults", default=True, help="Also test whether each fault can work on the cluster.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def doctor(cluster: str, faults: bool, as_json: bool) -> int:
    """Show what this machine can do. The exit code is 0 if the default cluster can run here, else 255."""
    from harness.doctor import examine, examine_faults

    findings = examine()
    table = examine_faults(cluster) if faults else None
    if as_json:
        click.echo(json.dumps(_as_json(findings, table), indent=2))
    else:
        click.echo(fitted(map(_row, findings)))
        if table is not None:
            _show_faults(table)
    return 0 if all(finding.good for finding in findings if finding.weight == "needed") else 255


def _row(finding: Examined) -> tuple[str, str, str]:
    mark = "ok" if finding.good else "MISSING" if finding.weight == "needed" else "without"
    return mark, finding.name, finding.value + (f"  -> {finding.mend}" if finding.mend else "")


def _show_faults(table: FaultTable) -> None:
    if table.untried is not None:
        click.echo(f"\nFaults were not tested: {table.untried}")
        return
    count = sum(fault.available for fault in table.faults)
    click.echo(f"\nFaults on {table.cluster}: {count} of {len(table.faults)} can be used")
    rows: list[tuple[str, ...]] = []
    for family, members in groupby(table.faults, key=lambda fault: fault.family):
        rows.append((f"{family}:",))
        for fault in members:
            works = ("  ok", fault.name, fault.summary)
            rows.append(works if fault.reason is None else ("  without", fault.name, f"-> {fault.reason}"))
    click.echo(fitted(rows))


def _as_json(findings: tuple[Examined, ...], table: FaultTable | None) -> dict[str, object]:
    record: dict[str, object] = {"machine": [asdict(finding) for finding in findings]}
    if table is not None:
        faults = [{**asdict(fault), "available": fault.available} for fault in table.faults]
        record["faults"] = {"cluster": table.cluster, "untried": table.untried, "faults": faults}
    return record
