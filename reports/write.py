"""Write the page, plots and texts of a run.  This is the interface for programs.

``wording`` puts operations into words as the model that judged them does.  Without it, their values are shown.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, TypeAlias

from history import RunFiles
from history.recording import Recording
from history.safe_open import write_below
from reports.analysis.findings import Drawn, prepare
from reports.errors import ReportOutcome
from reports.load.run import read_run
from reports.story.diagnosis import diagnosis_of
from reports.story.planted_bug import grouped, led_by
from reports.style.wording import Wording, by_values
from reports.text import brief, junit, terminal

__all__ = ["Story", "prepared", "render_brief", "render_run", "story_of", "write_all", "write_report"]


#: A run, given by its files, its recording, or the result of :func:`prepared`.
Source: TypeAlias = RunFiles | Recording | Drawn


class Story(NamedTuple):
    """Headlines about what broke, worst first, and what to look at next.

    If the run has a planted bug, each headline starts by saying whether a check that looks for that bug found it.
    """

    headlines: tuple[str, ...]
    next_step: str


def prepared(run: Source, wording: Wording = by_values) -> Drawn:
    """Compute what page, plots, texts and headlines share.  Never raises for the contents of a run."""
    return run if isinstance(run, Drawn) else prepare(read_run(run, wording))


def write_report(run: Source, wording: Wording = by_values) -> ReportOutcome:
    """Write ``report.html``.  Never raises for the contents of a run; parts that cannot be drawn become warnings."""
    return _write_page(prepared(run, wording))


def write_all(run: Source, wording: Wording = by_values, *, plots: bool = False) -> ReportOutcome:
    """Write the page, ``junit.xml`` and the plots, and return the warnings of all three.

    The plots are written only if ``plots`` is set or the run already has some.
    """
    drawn = prepared(run, wording)
    # Draw plots before the page, which links to them.  They take three quarters of the time, and few runs need them.
    with_plots = plots or drawn.run.files.plots.exists()
    outcomes = [*([_write_plots(drawn)] if with_plots else []), _write_page(drawn)]
    paths = drawn.run.notes.attempt_list("junit.xml", lambda: _write_junit(drawn, drawn.run.files.junit))
    return ReportOutcome([path for part in outcomes for path in part.paths] + paths, list(drawn.run.notes.warnings))


def story_of(run: Source, wording: Wording = by_values) -> Story:
    """Return the sentences on top of the page, as in ``results.json``; they are empty if no check failed."""
    drawn = prepared(run, wording)
    diagnosis = diagnosis_of(drawn)
    groups = grouped(drawn.run, diagnosis.breaks) if diagnosis else []
    headlines = (f"{led_by(title)}{break_.label}: {break_.headline}" for title, ones in groups for break_ in ones)
    return Story(tuple(headlines), diagnosis.step if diagnosis else "")


def render_run(
    run: Source, columns: int = 80, *, colour: bool = False, page: bool = True, wording: Wording = by_values
) -> str:
    """Render all texts and tables of a run in ``columns`` columns; with ``page``, name its page.  Needs no results."""
    return terminal.render(prepared(run, wording), columns, colour=colour, page=page)


def render_brief(
    run: Source, columns: int = 80, *, colour: bool = False, page: bool = True, wording: Wording = by_values
) -> str:
    """Render a run on one screen: at most 40 lines at 80 columns.  With ``page``, name the run's page."""
    return brief.render(prepared(run, wording), columns, colour=colour, page=page)


def _write_page(drawn: Drawn) -> ReportOutcome:
    from reports.page import page  # jinja2 and templates, which `harness show` does not need

    notes = drawn.run.notes
    paths = notes.attempt_list("report.html", lambda: _write(drawn.run.files.report, page.render(drawn)))
    return ReportOutcome(paths, list(notes.warnings))


def _write_plots(drawn: Drawn) -> ReportOutcome:
    def draw() -> list[Path]:
        from reports.plots import plots  # matplotlib takes half a second to import; the page does not need it

        return plots.draw_all(drawn)

    return ReportOutcome(drawn.run.notes.attempt_list("plots", draw), list(drawn.run.notes.warnings))


def _write_junit(drawn: Drawn, path: Path) -> list[Path]:
    junit.write(drawn.run, path)
    return [path]


def _write(path: Path, text: str) -> list[Path]:
    """Replace a file of a run atomically, so that nobody reads half a page.  Raises UnsafeFileError, OSError."""
    write_below(path.parent, path, text.encode("utf-8", "replace"))
    return [path]
