"""Static plots, drawn with matplotlib."""

from pathlib import Path

from history.safe_open import require_plain_if_any

require_plain_if_any(Path("matplotlibrc"))  # matplotlib reads it on import
