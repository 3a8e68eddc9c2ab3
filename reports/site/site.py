"""The site over many runs: the list, a page per subject, coverage and trends, as text for the server or files for CI.

Both have the same pages.  Links are relative, and the list is packed into the page as in the report, so filtering,
searching and comparing happen in the browser.  Names of runs are untrusted: links are percent-encoded and text is
escaped.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from markupsafe import Markup

from history.safe_open import open_below, regular_files, replacing, write_below
from reports.analysis import trends
from reports.analysis.trend_rows import DrawnRegression, Group, Trends
from reports.load.run_row import RunRow
from reports.load.store_index import StoreIndex
from reports.page.compare import DRAWN, comparison
from reports.page.pack import pack
from reports.page.page import asset, environment, page_styles, policy, with_charts
from reports.site.coverage import matrix_of
from reports.site.live import Overview
from reports.site.subjects import Subject, subjects_of

COPIED: Final = ("report.html", "summary.txt", "results.json", "junit.xml")
#: Number of rows that the page holds as plain HTML, for readers without scripts; the packed list holds all.
PLAIN_ROWS: Final = 200


@lru_cache(1024)
def slug(name: str) -> str:
    """Turn any name into a file name: its harmless characters, and a digest of the whole name."""
    kept = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-.") else "_" for letter in name)
    return f"{kept[:60].strip('.') or 'none'}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:8]}"


def href(place: str, base: str = "") -> str:
    """Return a relative link to a run's folder or a file in it."""
    return base + "runs/" + quote(os.fsencode(place), safe="/")


def page_of(row: RunRow) -> str:
    """Return a relative link to a run's report, or to its files if it has no report."""
    return f"{href(row.place)}/{'report' if 'report.html' in row.files else 'index'}.html"


def _render(template: str, base: str, title: str, *, charts: bool = False, polls: bool = False, **context: Any) -> str:
    styles = page_styles() + "\n" + asset("site.css")
    scripts, styles = with_charts("compare.js", styles) if charts else (asset("site.js"), styles)
    return (
        environment()
        .get_template(template)
        .render(
            base=base,
            title=title,
            scripts=Markup(scripts),  # noqa: S704 (our own files)
            styles=Markup(styles),  # noqa: S704
            policy=policy(scripts, styles) + "; connect-src 'self'" * polls,
            href=href,
            slug=slug,
            **context,
        )
    )


def list_page(
    rows: Sequence[RunRow],
    base: str = "",
    title: str = "Runs",
    groups: Sequence[Group] = (),
    subject: Subject | None = None,
) -> str:
    """Render the list of runs, newest first, below the ``groups`` of a nemesis or the rate of a ``subject``."""
    data = pack({}, {"rows": [packed_row(row) for row in rows], "base": base}, cleaned=True)
    context: dict[str, Any] = {
        "rows": rows[:PLAIN_ROWS],
        "total": len(rows),
        "lost": sum(row.lost for row in rows),
        "by_bug": sum(row.lost and bool(row.planted_bug) for row in rows),
        "groups": _drawn(groups),
        "links": _links(rows),
        "subject": subject,
    }
    return _render("site_list.html.j2", base, title, data=data, **context)


def trends_page(rows: Sequence[RunRow], trend_data: Trends) -> str:
    """Render verdicts, recovery and rate by nemesis, version and workload, and what got worse."""
    verdicts = {sample.place: sample.shown for group in trend_data.groups for sample in group.samples}
    worse = [_worse(item, verdicts) for item in trend_data.regressions]
    context: dict[str, Any] = {
        "trends": trend_data,
        "groups": _drawn(trend_data.groups),
        "regressions": worse,
        "links": _links(rows),
    }
    return _render("site_trends.html.j2", "", "Trends", data="", **context)


def _worse(item: DrawnRegression, verdicts: Mapping[str, str]) -> dict[str, Any]:
    dots = trends.evidence(item, verdicts)
    first = len(item.before)
    onset = (dots[first - 1].x + dots[first].x) / 2 if 0 < first < len(dots) else 0.0
    return {"regression": item, "dots": dots, "onset_x": onset}


def nemesis_page(rows: Sequence[RunRow], trend_data: Trends, nemesis: str) -> str:
    """Render the page of one nemesis: its groups (by version and workload), and below them its runs."""
    groups = [group for group in trend_data.groups if group.nemesis == nemesis]
    return list_page(rows, "../", nemesis or "no fault", groups)


def subject_page(subject: Subject) -> str:
    """Render the page of a fault, system or known defect: its rate over time, and below it its runs."""
    kind = "known defect" if subject.kind == "defect" else subject.kind
    return list_page(subject.rows, "../", f"{kind.capitalize()} {subject.name}", subject=subject)


def subjects_page(rows: Sequence[RunRow]) -> str:
    """Render the list of systems, faults and known defects."""
    return _render("site_subjects.html.j2", "", "Systems, faults, defects", subjects=subjects_of(rows), data="")


def _links(rows: Sequence[RunRow]) -> dict[str, str]:
    return {row.place: page_of(row) for row in rows}


def coverage_page(rows: Sequence[RunRow]) -> str:
    """Render the matrix of faults, systems and workloads with the latest result in each cell."""
    return _render("site_coverage.html.j2", "", "Coverage", matrix=matrix_of(rows), data="")


def live_page(run: Overview | None, newest: RunRow | None) -> str:
    """Render the run that is under way, which the page requests repeatedly; without one, the end of the newest run."""
    return _render("site_live.html.j2", "", "Live", polls=True, run=run, newest=newest, page_of=page_of, data="")


def compare_page(store: Path, rows: Sequence[RunRow], choices: Sequence[RunRow] = ()) -> str:
    """Render the comparison of two of ``rows``, which the URL names: ``?a=<test>/<run>&b=<test>/<run>``.

    ``choices`` are further runs that can be chosen, whose curves the server has.
    """
    data = pack({}, comparison(store, rows, _links(rows), choices)) if len(rows) > 1 else ""
    return _render("site_compare.html.j2", "", "Comparison", charts=True, total=len(rows), data=data)


def folder_page(row: RunRow, files: Sequence[tuple[str, int]], base: str = "") -> str:
    """Render the files of one run, (path inside the run, bytes), for download."""
    return _render("site_folder.html.j2", base, row.place, row=row, files=files, data="")


def _drawn(groups: Sequence[Group]) -> list[dict[str, Any]]:
    drawn = []
    for group in groups:
        dots, top = trends.strip(group)
        drawn.append({"group": group, "dots": dots, "top": top})
    return drawn


def packed_row(row: RunRow) -> dict[str, Any]:
    """Return the fields of a run that the list needs."""
    shown = {name: getattr(row, name) for name in RunRow.__slots__ if name not in ("settings", "machine")}
    named = {"verdict": row.shown, "finding": row.finding, "group": row.group, "fault": row.faults}
    named["version"] = row.system_version
    return {**shown, **named, "href": href(row.place), "nemesisHref": f"nemesis/{slug(row.nemesis)}.html"}


def by_nemesis(rows: Sequence[RunRow]) -> dict[str, list[RunRow]]:
    """Group rows by nemesis, ordered by each nemesis's newest run."""
    groups: dict[str, list[RunRow]] = {}
    for row in rows:
        groups.setdefault(row.nemesis, []).append(row)
    return groups


def write_site(store: Path, target: Path) -> list[Path]:
    """Write the static site of a store.  Runs without a drawn report are listed without a link.  Raises OSError.

    Reports, summaries, results, JUnit files and PNG plots are copied, so that the folder can be kept without the
    store.
    """
    rows = StoreIndex(store, remember=False).rows()
    trend_data = trends.trends_of(store, rows)
    target.mkdir(parents=True, exist_ok=True)
    pages = {
        target / "index.html": list_page(rows),
        target / "coverage.html": coverage_page(rows),
        target / "trends.html": trends_page(rows, trend_data),
        target / "compare.html": compare_page(store, rows[:DRAWN]),
        target / "subjects.html": subjects_page(rows),
    }
    for subject in subjects_of(rows):
        pages[target / subject.kind / f"{slug(subject.name)}.html"] = subject_page(subject)
    for nemesis, members in by_nemesis(rows).items():
        pages[target / "nemesis" / f"{slug(nemesis)}.html"] = nemesis_page(members, trend_data, nemesis)
    for path, text in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_below(target, path, text.encode("utf-8", "replace"))
    copied = [path for row in rows for path in _copy_run(store, target, row)]
    return [*pages, *copied]


def _copy_run(store: Path, target: Path, row: RunRow) -> list[Path]:
    """Copy the files of a run that the site keeps, but no symbolic links, which may lead anywhere."""
    root, folder = store / row.test / row.run, target / "runs" / row.test / row.run
    folder.mkdir(parents=True, exist_ok=True)
    copied: list[tuple[str, int]] = []
    for name, size in regular_files(root):
        if name in COPIED or (name.startswith("plots/") and name.endswith(".png")):
            place = folder / name
            place.parent.mkdir(exist_ok=True)
            with open_below(store, root / name) as source, replacing(target, place) as copy:
                shutil.copyfileobj(source, copy)
            copied.append((name, size))
    index = folder / "index.html"
    write_below(target, index, folder_page(row, copied, "../../../").encode("utf-8", "replace"))
    return [index, *(folder / name for name, _ in copied)]
