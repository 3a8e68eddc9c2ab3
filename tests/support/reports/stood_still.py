"""Change the files of a run as if the harness had been stalled at some moment."""

from __future__ import annotations

import json
from typing import Any

from history import RunFiles


def stand_still(files: RunFiles, at: int, by: int, *, recorded: bool = True) -> None:
    """Rewrite a run in place: everything recorded from ``at`` (ns) on comes ``by`` later."""

    def later(time: Any) -> Any:
        return time + by if isinstance(time, int) and time >= at else time

    for path in (files.history, files.probes):
        head, *lines = path.read_text().splitlines() if path.exists() else [""]
        moved = [json.loads(line) for line in lines]
        for line in moved:
            line |= {name: later(line[name]) for name in ("time", "intended") if name in line}
        if head:
            path.write_text("\n".join([head, *map(json.dumps, moved), ""]))
    state = json.loads(files.state.read_text()) if files.state.exists() else {}
    state["moments"] = {name: later(moment) for name, moment in state.get("moments", {}).items()}
    files.state.write_text(json.dumps(state | {"standstills": [[at, at + by]] if recorded else []}))
