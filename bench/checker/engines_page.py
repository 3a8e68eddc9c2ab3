"""The table of the engines in ``docs/checker.md``, from their registry: ``python -m bench.checker.engines_page``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bench.generated import with_table
from checker.core.engine import ANY_SIZE, BY_NAME_ONLY, Engine
from checker.dispatch import ENGINES

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "checker.md"
BEGIN: Final = "<!-- made by python -m bench.checker.engines_page -->"
END: Final = "<!-- end of the engines -->"


def table() -> str:
    """The engines in the order in which they are tried."""
    rows = [
        f"| `{engine.name}` | {engine.title} | {engine.about} | {engine.cost} | {_asked(engine)} |"
        for engine in ENGINES
    ]
    return "\n".join(["| engine | title | for | cost | tried |", "| --- | --- | --- | --- | --- |", *rows])


def _asked(engine: Engine) -> str:
    if engine.unasked == BY_NAME_ONLY:
        return "only by name"
    if engine.unasked == ANY_SIZE:
        return "wherever it applies"
    first, last = engine.unasked[0], engine.unasked[-1]
    return f"from {first} calls on" if last == ANY_SIZE[-1] else f"up to {last} calls"


def page(text: str) -> str:
    """The page's text with the table of today."""
    return with_table(text, BEGIN, END, table())


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
