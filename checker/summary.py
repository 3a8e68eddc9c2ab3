"""A report for a terminal: verdict, sentence, drawing, engine and time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checker.api import Report
from checker.drawing import draw
from history import KeyVerdict

_SHOWN: Final = 3
_LISTED: Final = 20


def render(report: Report, *, width: int = 100) -> str:
    """The whole report as lines of text; the keys that are not valid first."""
    bad = [key for key in report.keys if key.verdict != "valid"]
    good = [key for key in report.keys if key.verdict == "valid"]
    operations = sum(key.operations for key in report.keys)
    engines = ", ".join(sorted({key.engine for key in report.keys})) or "none"
    head = f"{report.verdict}: {operations} operations, {len(report.keys)} keys, by {engines}"
    lines = [head]
    for key in bad[:_LISTED]:
        lines += ["", *_key(key, width)]
    if len(bad) > _LISTED:
        lines += ["", f"… and {len(bad) - _LISTED} more keys that are not valid"]
    if good and bad:
        lines += ["", f"{len(good)} other keys are valid"]
    return "\n".join(lines)


def _key(key: KeyVerdict, width: int) -> Iterator[str]:
    name = "the object" if key.key is None else str(key.key)
    yield f"{name}: {key.verdict} ({key.operations} operations, {key.engine}, {key.seconds:.3f} s)"
    if key.reason:
        yield f"  {key.reason}"
    for example in key.counterexamples[:_SHOWN]:
        yield f"  {example.kind} in {len(example.operations)} operations: {example.sentence}"
        yield from (f"    {line}" for line in draw(example, width=width - 4).splitlines())
    if key.violations > _SHOWN:
        yield f"  {key.violations} violations in all"
