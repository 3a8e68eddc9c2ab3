"""Detect stale pages: a page's head holds a digest of the results from which it was drawn.

``harness check`` judges a run again, perhaps with other words or another verdict, and redraws its page.  A page is
stale if that redraw failed, or if something else replaced the results.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from history import RunFiles

NAME: Final = "drawn-from"
#: How many bytes of a page are read; they include the first lines of its head.
HEAD: Final = 4096
_DIGEST: Final = re.compile(rb'<meta name="drawn-from" content="([0-9a-f]*)">')
STALE: Final = "page of an earlier verdict: harness report draws it again"


def digest_of(results: Mapping[str, Any]) -> str:
    """Return a digest of the parts of the results that a page shows, without timings."""
    shown = {name: results.get(name) for name in ("verdict", "sentence", "harness_failure", "checks")}
    keys = [(key.get("key"), key.get("violations"), _sentences(key)) for key in results.get("keys") or ()]
    text = json.dumps([shown, keys], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _sentences(key: Mapping[str, Any]) -> list[Any]:
    examples = key.get("counterexamples")
    return [row.get("sentence") for row in examples if isinstance(row, Mapping)] if isinstance(examples, list) else []


def is_stale(files: RunFiles, results: Mapping[str, Any]) -> bool:
    """Return whether the run's page was drawn from other results."""
    recorded = _recorded(files.report)
    return recorded is not None and recorded != digest_of(results)


def _recorded(page: Path) -> str | None:
    try:
        with page.open("rb") as file:
            match = _DIGEST.search(file.read(HEAD))
    except OSError:
        return None
    return match[1].decode() if match else None
