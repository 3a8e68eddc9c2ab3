"""``harness heal``: undo what a killed run left behind on its nodes."""

from __future__ import annotations

import shlex

import click

from harness.plan import HELP
from history.extras import require


@click.command("heal")
@click.option("--cluster", default="netns", help=HELP["cluster"])
def heal(cluster: str) -> int:
    """Remove every fault that the harness left on a cluster's nodes.

    Anything without the harness's tag is left alone.
    """
    require("run")
    from harness.clusters import open_cluster
    from harness.execution.leftovers import heal_leftovers
    from harness.remote.nodes import Remote

    target = open_cluster(cluster)
    with target.lock(), Remote(target.nodes) as remote:
        healed = heal_leftovers(remote)
    for line in healed.undone or ([] if healed.failed else ["nothing to heal"]):
        click.echo(line)
    if target.orphaned():
        mend = f"the next run removes them; to remove them now: harness cluster down --cluster {shlex.quote(cluster)}"
        click.echo(f"these nodes were left behind by a run that was killed; {mend}", err=True)
    healed.check()
    return 0
