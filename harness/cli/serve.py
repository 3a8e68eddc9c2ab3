"""``harness serve``: the site for all runs of a store."""

from __future__ import annotations

import errno
from pathlib import Path

import click

from harness.cli.shared_options import store_option
from harness.errors import UsageError


@click.command("serve")
@store_option
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, help="Port to listen on; 0 picks a free one.")
def serve(store: Path, host: str, port: int) -> int:
    """Serve the runs of a store to a browser on this machine, until Ctrl-C."""
    from reports.site.serve import make

    try:
        server = make(store, host, port)
    except (OSError, ValueError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        mend = "; --port 0 picks a free one" if getattr(error, "errno", None) == errno.EADDRINUSE else ""
        raise UsageError(f"cannot serve {store} on {host}:{port}: {why}{mend}") from None
    with server:
        click.echo(f"http://{host}:{server.server_port}/  (Ctrl-C ends it)")
        server.serve_forever()
    return 0
