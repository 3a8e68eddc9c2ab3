"""What a run's results say of the words in its nodes' logs."""

from __future__ import annotations

import json

from history import RunFiles
from history.json_object import read_object
from history.records.log_words import LogWords

PUSHES = LogWords(noise="Complete closure", milestones="ChangeRole", replication=r"\[Push-[^\]]+\].*Change state")


def declare(files: RunFiles, words: LogWords = PUSHES) -> None:
    """Have the results declare these words."""
    results = read_object(files.results)
    results["environment"] = {**results.get("environment", {}), **words.to_environment()}
    files.results.write_text(json.dumps(results))
