"""Values of options from plan files, the project file and systems under test."""

from __future__ import annotations

from pathlib import Path
from typing import Final

#: The file with the user's own defaults.  ``harness.cli.options.project`` documents its content.
PROJECT_FILE: Final = Path("harness.toml")
