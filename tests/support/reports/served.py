"""A store that a thread of the test serves over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reports.site import serve


@contextmanager
def served(store: Path) -> Iterator[str]:
    """Serve the store as ``harness serve`` does until the end of the block, and yield its address."""
    server = serve.make(store)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
