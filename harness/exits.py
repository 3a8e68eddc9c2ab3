"""How the command line ends: one table of exit codes."""

from __future__ import annotations

from typing import Final

EXIT_OF_VERDICT: Final = {"valid": 0, "invalid": 1, "unknown": 2}
EXIT_USAGE: Final = 254
EXIT_FAILURE: Final = 255
EXIT_INTERRUPTED: Final = 130
