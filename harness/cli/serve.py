"""``harness serve``: the site for all runs of a store."""

from __future__ import annotations

import errno
import os
import subprocess
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from harness.cli.shared_options import store_option
from harness.errors import CheckError, UsageError
from history import Event, FormatError


@click.command("serve")
@store_option
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, help="Port to listen on; 0 picks a free one.")
def serve(store: Path, host: str, port: int) -> int:
    """Serve the runs of a store to a browser on this machine, until Ctrl-C."""
    from reports.site.serve import make

    try:
        server = make(store, host, port, watch_of)
    except (OSError, ValueError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        mend = "; --port 0 picks a free one" if getattr(error, "errno", None) == errno.EADDRINUSE else ""
        raise UsageError(f"cannot serve {store} on {host}:{port}: {why}{mend}") from None
    with server:
        click.echo(f"http://{host}:{server.server_port}/  (Ctrl-C ends it)")
        server.serve_forever()
    return 0


def watch_of(root: Path) -> Callable[[Event], str | None] | None:
    """Return a monitor for the run in a directory, or None if no monitor can follow its workload."""
    from checker.monitor import Monitor
    from harness.judge.recorded import plan_of
    from harness.plan import watchable
    from history.recording import Recording

    try:
        if not watchable(plan_of(Recording(root)).load):
            return None
    except (CheckError, FormatError, OSError):  # an odd plan costs the page its monitor and nothing else
        return None
    monitor = Monitor()

    def see(event: Event) -> str | None:
        violation = monitor.feed(event)
        return None if violation is None else violation.text

    return see


@contextmanager
def live_page(store: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Serve the site of a store while the block lasts, and open the page of the run that is under way.

    The server is a process of its own, so that drawing pages never delays the clients of the run.  It leads its own
    session, so Ctrl-C does not end it while the run heals and collects.
    """
    from harness.suite.cell_process import OURSELVES, end_with_parent

    store.mkdir(parents=True, exist_ok=True)
    command = [*OURSELVES, "serve", "--store", str(store), "--port", "0"]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=end_with_parent,  # noqa: PLW1509 (it takes no lock)
    ) as server:  # fmt: skip
        try:
            assert server.stdout is not None
            if address := server.stdout.readline().partition(" ")[0]:
                say(f"live page: {address}live.html")
                open_in_browser(f"{address}live.html")
            yield
        finally:
            server.terminate()


def open_in_browser(address: str) -> None:
    """Open an address in a desktop browser, if there is one: a text browser would take over the terminal."""
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(address)
