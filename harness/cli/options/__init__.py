"""Values of options from plan files, the project file and systems under test."""

from __future__ import annotations

from pathlib import Path
from typing import Final

#: Defaults of a user's own; ``harness.cli.options.project`` says what may stand in it.
PROJECT_FILE: Final = Path("harness.toml")
