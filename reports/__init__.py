"""Pages, plots and texts about runs.  Reads run directories and imports only ``history``.

=========================  =======================================================================================
``site``                   the pages over many runs, as text for the server and as files
``write``                  writes the page, plots and texts of one run
``page``                   ``report.html``, its data and its links
``plots``                  the static set of plots: PNG and SVG
``text``                   summary, terminal, JUnit
``export``                 exports a run to other tools: a trace for Perfetto, CSV, Parquet
``story``                  the first sentences of the page, written from the analysis
``analysis``               computes timelines, faults, findings, trends and the layout of pictures from the records
``words``                  sentences about findings
``load``                   reads the files that a run or a store has
``style``                  colours, and how numbers and untrusted text are written
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
    "story_of",
    "write_all",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Import the report writers on first use, so that drawing a counterexample alone does not need pyarrow."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from reports import write

    return getattr(write, name)
