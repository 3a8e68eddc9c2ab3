"""Files that our faults damaged, and what that excuses, in words."""

from __future__ import annotations

from collections.abc import Iterable


def file_text(kind: str, file: str) -> str:
    """Return text such as "its damaged data file /data/…/00000000"; nothing is known of a file of ``unknown`` kind."""
    of_kind = f"{kind} " if kind in ("data", "index", "term", "snapshot") else ""
    return f"its damaged {of_kind}file" + (f" {file}" if kind != "unknown" else "")


def voided_text(since: int, nodes: Iterable[str], whole: int, members: int) -> str:
    """Say why a loss since some time (ns) proves nothing against the system."""
    cut = f"injected faults cut the log on {', '.join(nodes)} at {since / 1e9:.1f} s"
    return f"{cut}, and at most {whole} of {members} members had everything committed by then in an intact log"


def damaged_text(nodes: Iterable[str], members: int) -> str:
    return f"faults damaged files on {', '.join(nodes)}, more than a minority of {members}, which may lose data"


def cut_text(nodes: Iterable[str]) -> str:
    return f"a fault cut the log on {', '.join(nodes)}, which may lose entries that only a bare majority held"
