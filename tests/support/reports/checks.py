"""Runs with failed checks of nodes."""

from __future__ import annotations

import json
from typing import Any

from history import RunFiles
from reports.analysis.findings import Drawn, prepare
from reports.load.run import read_run

S = 10**9


def with_checks(files: RunFiles, *checks: dict[str, Any]) -> Drawn:
    results = json.loads(files.results.read_text())
    plain = {"kind": "check", "verdict": "invalid", "asked": "asked", "seen": "seen"}
    results.update(verdict="invalid", checks=[{**plain, **check} for check in checks])
    files.results.write_text(json.dumps(results))
    return prepare(read_run(files))


DELETED: dict[str, Any] = {
    "name": "committed-kept",
    "seen": "n1's log ended at 5 although 90 had been committed there; n2's log ended at -1",
    "details": {
        "kind": "committed-entries-deleted",
        "moments": [
            {"node": "n1", "time": 7 * S + S // 2, "log_end": 5, "committed": 90},
            {"node": "n2", "time": 2 * S, "log_end": -1, "committed": 60},
        ],
    },
}
