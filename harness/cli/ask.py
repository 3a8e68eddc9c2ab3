"""``harness ask``: questions about what happened, across all runs."""

from __future__ import annotations

import shlex
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.json_output import json_line, json_option
from harness.cli.shared_options import store_option
from harness.errors import UsageError
from history.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.warehouse.ask import Match, QueryResult

#: Number of matches of a run that are printed.
_SHOWN = 3


@click.command("ask")
@click.argument("question", nargs=-1, required=True)
@click.option("--sql", "only_sql", is_flag=True, help="Print the question as SQL for DuckDB instead of the answer.")
@click.option(
    "--limit", type=click.IntRange(0), default=20, help="Maximum number of runs to show, newest first; 0 for all."
)
@json_option
@store_option
def ask(question: tuple[str, ...], only_sql: bool, limit: int, as_json: bool, store: Path) -> int:
    """Search all runs for events, optionally before or after other events.

    A question is an EVENT, alone or with conditions joined by "and":

    \b
      EVENT
      EVENT [not] preceded by EVENT [within 5 s]
      EVENT [not] followed by EVENT [within 5 s]

    An EVENT is one of these words, with an optional NAME:

    \b
      violation [NAME]   what a check found: lost-write, no-recovery, ...
      fault [NAME]       a fault begins: kill, partition, ...
      heal [NAME]        a fault ends
      leader-change      another leader, or a new term
      gap                clients waited over 1 s for an ok
      silent, back       a node stops answering probes, or answers again
      log [TEXT]         a warning, error or milestone in a node's log

    \b
    "kill" means every fault with that word in its name, such as kill-leader.
    "on n1" limits an EVENT to a node; "over 5 s" limits a gap, a silence or a
    fault to longer ones.  A NAME alone is enough: lost-write, kill.

    \b
    Examples:
      harness ask violation not preceded by kill
      harness ask leader-change followed by gap over 5 s within 10 s
      harness ask 'log "snapshot" on n1 followed by lost-element'

    The runs must be in the warehouse: `harness ingest` adds the store's runs.
    """
    require("report", "query")
    from history.records.layout import WAREHOUSE
    from pipeline.errors import QuestionError
    from pipeline.warehouse import ask as warehouse_questions
    from reports.style.format import one_line

    try:
        words = shlex.split(question[0]) if len(question) == 1 else list(question)
        if only_sql:
            click.echo(warehouse_questions.script(words, store / WAREHOUSE))
            return 0
        answer = warehouse_questions.ask(words, store / WAREHOUSE)
    except FileNotFoundError:
        raise UsageError(f"{store / WAREHOUSE} holds no events yet: `harness ingest` adds the store's runs") from None
    except (QuestionError, ValueError) as error:  # shlex raises ValueError for an open quote
        raise UsageError(f"{one_line(error, 2000)} (see harness ask --help)") from None
    if as_json:
        click.echo(json_line(_document(answer, store)))
    else:
        click.echo("\n".join(_lines(answer, store, limit)))
    return 0


def _by_run(answer: QueryResult) -> list[tuple[str, list[Match]]]:
    return [(run, list(matches)) for run, matches in groupby(answer.matches, key=lambda match: match.run)]


def _document(answer: QueryResult, store: Path) -> dict[str, object]:
    matches = [{**match._asdict(), "run": str(store / match.run)} for match in answer.matches]
    return {"events": answer.events, "runs": answer.runs, "matches": matches, "sql": answer.sql}


def _lines(answer: QueryResult, store: Path, limit: int) -> Iterator[str]:
    from reports.style.format import one_line

    runs = _by_run(answer)
    yield f"{len(answer.matches)} of {answer.events} events, in {len(runs)} of {answer.runs} runs"
    for run, matches in runs[: limit or None]:
        yield f"\n{one_line(_page(store, run), 400)}  {matches[0].verdict}"
        yield from (f"    {_event(match)}" for match in matches[:_SHOWN])
        if len(matches) > _SHOWN:
            yield f"    and {len(matches) - _SHOWN} more"
    if limit and len(runs) > limit:
        yield f"\n{len(runs) - limit} more runs; --limit 0 shows all"


def _event(match: Match) -> str:
    from reports.style.format import one_line

    at = "no time" if match.seconds is None else f"{match.seconds:.3f} s"
    words = match.kind, match.name or "", ", ".join(match.nodes)
    return f"{at:>12}  {one_line(' '.join(words), 120)}"


def _page(store: Path, run: str) -> str:
    """Return the path of a run's page, or of its directory if it has no page."""
    root = store / run
    return str(root / "report.html" if (root / "report.html").is_file() else root)
