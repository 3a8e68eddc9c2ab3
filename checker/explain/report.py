"""Report for a terminal: verdict, sentences, certificate, engine and time."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from checker.core.engine import MAX_PROVEN_OPERATIONS
from checker.core.result import Report
from checker.core.wording import plain
from checker.transactions.transaction import ENGINE as TRANSACTIONS
from checker.weak_levels import ENGINES as WITHOUT_ORDER
from history import Counterexample, KeyVerdict
from history.records.text import and_listed, counted

#: Draws a counterexample as text of a number of columns.
Draw: TypeAlias = Callable[[Counterexample, int], str]
_MAX_SHOWN: Final = 3
_MAX_LISTED: Final = 20


def render(report: Report, *, width: int = 100, draw: Draw | None = None) -> str:
    """Return the whole report as lines of at most ``width`` columns, keys that are not valid first.

    ``draw`` draws the counterexamples, for example ``reports.text.text_diagram.draw``.
    """
    bad = [key for key in report.keys if key.verdict != "valid"]
    good = [key for key in report.keys if key.verdict == "valid"]
    operations = sum(key.operations for key in report.keys)
    engines = ", ".join(sorted({key.engine for key in report.keys})) or "none"
    lines = [f"{report.verdict}: {counted(operations, 'operation')}, {counted(len(report.keys), 'key')}, by {engines}"]
    if good and not bad and good[0].engine not in WITHOUT_ORDER:
        lines.append(_levels(good[0]) if good[0].engine == TRANSACTIONS else _linearizations(good))
    for reason in dict.fromkeys(key.reason for key in good if key.reason):
        lines += _wrapped(reason, width)
    for key in bad[:_MAX_LISTED]:
        lines += ["", *_key(key, width, draw)]
    if len(bad) > _MAX_LISTED:
        lines += ["", f"… and {counted(len(bad) - _MAX_LISTED, 'more key')} not valid"]
    if good and bad:
        lines += ["", f"{counted(len(good), 'other key')} valid"]
    return "\n".join(map(plain, lines))


def _levels(key: KeyVerdict) -> str:
    """Name the strongest isolation levels that the transactions satisfy."""
    if not key.levels:
        return "satisfied: no isolation level"
    return f"satisfied: {and_listed(key.levels)}, and all weaker levels"


def _linearizations(keys: list[KeyVerdict]) -> str:
    """Say how many linearizations the definition verified, and why some are missing."""
    proven = [key.certificate for key in keys if key.certificate is not None]
    large = sum(key.certificate is None and key.operations > MAX_PROVEN_OPERATIONS for key in keys)
    absent = [f"none is kept of more than {MAX_PROVEN_OPERATIONS} operations"] if large else []
    if len(keys) - len(proven) - large:
        absent.append("none was found in the time that was left, which leaves the verdict as it is")
    if not proven:
        return f"certificate: {'; '.join(absent)}"
    some = f" of {len(proven)} of {len(keys)} keys" if absent else ""
    summary = f"{counted(len(proven), 'linearization')} of {counted(sum(proven), 'operation')}, verified{some}"
    return "; ".join([f"certificate: {summary}", *absent])


def _key(key: KeyVerdict, width: int, draw: Draw | None) -> Iterator[str]:
    name = "the object" if key.key is None else str(key.key)
    yield f"{name}: {key.verdict} ({counted(key.operations, 'operation')}, {key.engine}, {key.seconds:.3f} s)"
    if key.violations > 1:
        from history.records.caveats import violations_text

        shown = min(_MAX_SHOWN, len(key.counterexamples))
        some = f", the first {shown} of them:" if shown else ", none of which is shown"
        yield f"  {violations_text(key.violations, least=key.more)}" + (some if shown < key.violations else ":")
    if key.engine == TRANSACTIONS:
        yield f"  {_levels(key)}"
    if key.reason:
        yield from _wrapped(key.reason, width)
    for example in key.counterexamples[:_MAX_SHOWN]:
        text = f"{example.kind} in {counted(len(example.operations), 'operation')}: {example.sentence}"
        yield from _wrapped(text, width)
        if draw is not None:
            yield from ("", *(f"    {line}" for line in draw(example, width - 4).splitlines()))


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 40), initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
