"""Reports: pages, plots and texts about runs.  Reads a run directory, imports only ``history``.

=========================  =======================================================================================
``site``                   the pages over many runs, as text for the server and as files
``write``                  writes page, plots and texts of one run
``page``                   ``report.html``, its data and its links
``plots``                  the static set: PNG and SVG
``text``                   summary, terminal, JUnit
``export``                 a run for other tools: a trace for Perfetto, CSV, Parquet
``story``                  the page's first sentences, from what was computed
``analysis``               computed from the records: timelines, faults, findings, trends, layout of pictures
``words``                  the sentences that are made of findings
``load``                   reads those files of a run or a store that are there
``style``                  colours, and how numbers and hostile text are written
``assets``, ``templates``  styles, scripts and templates of the pages
``vendor``                 third-party code, unchanged, with its licence
``errors``                 warnings in place of exceptions
=========================  =======================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reports.errors import ReportOutcome
    from reports.write import (
        Story,
        prepared,
        render_brief,
        render_run,
        render_summary,
        story_of,
        write_all,
        write_report,
    )

__all__ = [
    "ReportOutcome",
    "Story",
    "prepared",
    "render_brief",
    "render_run",
    "render_summary",
    "story_of",
    "write_all",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Import the writers of reports when first asked for: drawing a counterexample alone needs no pyarrow."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from reports import write

    return getattr(write, name)
