"""Links from the page to the files next to it in the run's directory."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import quote

from history import RunFiles
from history.node_logs import log_files

BESIDE: Final = ("history.jsonl", "probes.jsonl", "results.json", "plan.json", "run.json", "harness.log", "summary.txt")
MAX_LINKS: Final = 100


def links_of(files: RunFiles) -> list[tuple[str, str]]:
    """Return (path in the run's directory, relative link) for its records, its nodes' logs, and its plots."""
    plots = sorted((files.root / "plots").glob("*.svg"))
    paths = [*(files.root / name for name in BESIDE), *(path for _, path in log_files(files)), *plots]
    names = [path.relative_to(files.root).as_posix() for path in paths if path.is_file() and not path.is_symlink()]
    return [(name, address(name)) for name in names[:MAX_LINKS]]


def address(path: str | Path) -> str:
    """Quote a relative path as a link, so that no part of it can be taken for a scheme, a query or a host."""
    return "./" + quote(str(path))
