"""The patterns for lines of the nodes' logs in a run's results."""

from __future__ import annotations

import json

from history import RunFiles
from history.json_object import read_object
from history.records.log_words import LogWords

PUSHES = LogWords(noise="Complete closure", milestones="ChangeRole", replication=r"\[Push-[^\]]+\].*Change state")


def declare(files: RunFiles, words: LogWords = PUSHES) -> None:
    """Make the results declare these patterns."""
    results = read_object(files.results)
    results["environment"] = {**results.get("environment", {}), **words.to_environment()}
    files.results.write_text(json.dumps(results))
