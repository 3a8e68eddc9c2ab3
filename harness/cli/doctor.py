"""``harness doctor``: what this machine can do."""

from __future__ import annotations

import click


@click.command("doctor")
def doctor() -> int:
    """Show what this machine can do.  Ends with 255 when it lacks what the default cluster needs, else with 0."""
    from harness.doctor import examine

    findings = examine()
    for finding in findings:
        mark = "ok" if finding.good else "MISSING" if finding.weight == "needed" else "without"
        mend = f"  -> {finding.mend}" if finding.mend else ""
        click.echo(f"{mark:<8} {finding.name:<9} {finding.value}{mend}")
    return 0 if all(finding.good for finding in findings if finding.weight == "needed") else 255
