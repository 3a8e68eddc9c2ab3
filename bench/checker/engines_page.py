"""The table of the engines in ``docs/checker.md``, from their registry: ``python -m bench.checker.engines_page``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bench.generated import with_table
from checker.core.engine import ANY_SIZE, BY_NAME_ONLY, Engine
from checker.dispatch import NAMES, engine_named

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "checker.md"
BEGIN: Final = "<!-- made by python -m bench.checker.engines_page -->"
END: Final = "<!-- end of the engines -->"


HEAD: Final = ("| engine | title | for | cost | tried | by columns |", "| --- | --- | --- | --- | --- | --- |")


def table() -> str:
    """Return the engines as a table, in the order in which they are tried."""
    rows = [
        f"| `{engine.name}` | {engine.title} | {engine.about} | {engine.cost} | {_asked(engine)} | {_columns(engine)} |"
        for engine in map(engine_named, NAMES)
    ]
    return "\n".join([*HEAD, *rows])


def _asked(engine: Engine) -> str:
    if engine.unasked == BY_NAME_ONLY:
        return "only by name"
    if engine.unasked == ANY_SIZE:
        return "wherever it applies"
    first, last = engine.unasked[0], engine.unasked[-1]
    return f"from {first} calls on" if last == ANY_SIZE[-1] else f"up to {last} calls"


def _columns(engine: Engine) -> str:
    """Return what an engine decides directly from columns, without an object for each operation."""
    ways = {
        "operations": engine.by_columns,
        "all registers at once": engine.by_keys,
        "a register": engine.by_register,
    }
    return ", ".join(what for what, way in ways.items() if way is not None)


def page(text: str) -> str:
    """Return the page's text with the current table."""
    return with_table(text, BEGIN, END, table())


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
