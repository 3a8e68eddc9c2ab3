"""``harness cluster``: bring nodes up, take them down, show their state, and provision machines."""

from __future__ import annotations

import time
from dataclasses import asdict

import click

from harness.cli.json_output import json_line, json_option
from harness.clusters import Cluster, is_netns, open_cluster
from harness.execution.progress import Progress
from harness.plan import HELP
from harness.terminal.tables import fitted

_cluster_option = click.option("--cluster", "spec", default="netns", show_default=True, help=HELP["cluster"])


def _say(line: str) -> None:
    Progress().result(line)  # never raises: a vanished reader must not leave nodes half made


@click.group("cluster")
def cluster() -> None:
    """Bring nodes up, take them down and show their state."""


@cluster.command("up")
@_cluster_option
@click.option("--nodes", type=int, default=5, show_default=True, help="Number of nodes in a netns cluster.")
def up(spec: str, nodes: int) -> int:
    """Bring up all nodes, and wait until they answer over SSH. Healthy nodes are kept."""
    started = time.monotonic()
    target = open_cluster(spec, nodes=nodes, say=_say)
    target.up()
    _show(target)
    click.echo(f"up after {time.monotonic() - started:.2f} s")
    return 0


@cluster.command("down")
@_cluster_option
def down(spec: str) -> int:
    """Remove the nodes that `up` created.

    This also removes what a killed run left behind. Machines of an inventory stay as they are.
    """
    started = time.monotonic()
    target = open_cluster(spec, say=_say)
    target.down()
    click.echo(f"cluster {target.name}: down after {time.monotonic() - started:.2f} s")
    return 0


@cluster.command("provision")
@_cluster_option
def provision(spec: str) -> int:
    """Turn every machine of a cluster into a node.

    This installs what a node lacks, and creates its data filesystem if there is none. The nodes of a netns cluster use
    this machine's programs, so for them, this machine is provisioned.
    """
    from harness.clusters.provision import provision as provision_all
    from harness.clusters.provision import provision_here

    started = time.monotonic()
    target = open_cluster(spec, say=_say)
    if is_netns(spec):
        provision_here()
    else:
        with target.lock():
            provision_all(target.nodes, _say)
    click.echo(f"cluster {target.name}: provisioned after {time.monotonic() - started:.2f} s")
    return 0


@cluster.command("status")
@_cluster_option
@json_option
def status(spec: str, as_json: bool) -> int:
    """Show the nodes and which process is using the cluster.

    The exit code is 0 if all nodes are up, else 255.
    """
    if as_json:
        state = open_cluster(spec, say=Progress().say).status()
        click.echo(json_line({"cluster": state.name, "up": state.is_up, "nodes": [asdict(node) for node in state.nodes],
                              "holder": state.holder, "notes": list(state.notes)}))  # fmt: skip
        return 0 if state.is_up else 255
    return 0 if _show(open_cluster(spec, say=_say)) else 255


def _show(target: Cluster) -> bool:
    """Print the cluster's state, and return whether all nodes are up."""
    state = target.status()
    nodes = fitted((node.name, node.address, node.state, node.detail) for node in state.nodes)
    click.echo(nodes or f"cluster {state.name} is not up")
    holder = f"in use by {state.holder}" if state.holder else "not in use"
    click.echo(fitted(("  ", text) for text in (*state.notes, holder)))
    return state.is_up
