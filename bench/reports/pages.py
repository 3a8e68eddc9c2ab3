"""Measure how large and how fast the pages are: ``python -m bench.reports.pages 1000 12000``, ``--large 10000000``.

``--list 10000`` measures the site's list of that many runs.

For each size, a run is made (``tests/support/reports/runs.py``), drawn, and opened in headless Chromium.  The browser's
figures are the best of ``--repeat``. CPU seconds are those of this process, which stay meaningful if the machine does
other work.  The last line has the ratios of the last size to the first.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import reports
from history import RunFiles
from history.recording import Recording
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.load.store_index import INDEX_NAME, StoreIndex, remember, runs_of
from reports.plots import plots
from reports.site import serve, site
from tests.support.reports.browser import Tab, chromium, tab
from tests.support.reports.large_runs import make_large
from tests.support.reports.runs import make
from tests.support.reports.shapes import Shape
from tests.support.reports.stores import many_runs

TIMED = """(work) => {
    const t = performance.now(); work(); for (const l of page.View.listeners) l(); return performance.now() - t; }"""
INTERACTIONS = {
    "zoom": "() => { page.View.from = page.View.end * 0.25; page.View.to = page.View.end * 0.75; }",
    "next": "() => page.step(1, page.isError)",
    "search": "() => { document.getElementById('f-search').value = 'no answer in 2'; page.search(1); }",
    "filter": "() => { document.getElementById('f-outcome').value = 'errors'; page.applyFilters(); }",
    "group": "() => page.groupRows('key')",
}


@contextmanager
def cpu(into: dict[str, float], name: str) -> Iterator[None]:
    started = time.process_time()
    yield
    into[name] = time.process_time() - started


@contextmanager
def took(into: dict[str, float], name: str) -> Iterator[None]:
    """Measure wall time and CPU seconds of this process."""
    started = time.monotonic()
    with cpu(into, f"{name} cpu s"):
        yield
    into[f"{name} s"] = time.monotonic() - started


def measure(operations: int, folder: Path, browser: Any, repeat: int) -> dict[str, float]:
    files = _make(operations, folder / str(operations) / "register" / "run")
    found: dict[str, float] = {"operations": operations}
    with cpu(found, "page cpu s"):
        reports.write_report(files)
    found["memory MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with cpu(found, "plots cpu s"):
        plots.draw_all(prepare(read_run(files)))
    found["page MB"] = files.report.stat().st_size / 1e6
    looks = [_look(browser, files.report) for _ in range(repeat)]
    return found | {name: min(look[name] for look in looks) for name in looks[0]}


def measure_large(operations: int, folder: Path, browser: Any, repeat: int) -> dict[str, float]:
    """Measure the page and plots of a run with very many operations, made as a table."""
    files = make_large(folder / f"large-{operations}" / "register" / "run", operations)
    found: dict[str, float] = {"operations": operations}
    with took(found, "page"):
        outcome = reports.write_report(files)
    assert outcome.warnings == [], outcome.warnings
    found["memory MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with took(found, "plots"):
        assert plots.draw_all(prepare(read_run(files)))
    found["page MB"] = files.report.stat().st_size / 1e6
    looks = [_look(browser, files.report) for _ in range(repeat)]
    return found | {name: min(look[name] for look in looks) for name in looks[0]}


def _make(operations: int, root: Path) -> RunFiles:
    rate = 200.0 if operations <= 12_000 else 1000.0 if operations <= 100_000 else 2000.0
    clients = 10 if operations <= 12_000 else 20 if operations <= 100_000 else 50
    return make(root, Shape(operations=operations, rate=rate, clients=clients, fault="all", keys=20), tables=True)


def _look(browser: Any, report: Path) -> dict[str, float]:
    with tab(browser, report.as_uri(), new=True) as page:
        found = {
            "first paint ms": page.js("performance.getEntriesByName('first-contentful-paint')[0].startTime"),
            "usable ms": page.js("performance.getEntriesByName('usable')[0].startTime"),
            "complete ms": page.js("performance.getEntriesByName('complete')[0].startTime"),
        }
        for name, work in INTERACTIONS.items():
            found[f"{name} ms"] = page.js(f"({TIMED})({work})")
            page.settle()
        assert page.complaints == [], page.complaints
    return found


def measure_list(count: int, folder: Path, browser: Any) -> dict[str, float]:
    """Measure a list of many runs, without an index, with the one that judging leaves, and again; then use it."""
    store = folder / "store"
    many_runs(store, count)
    found: dict[str, float] = {"runs": count}
    with took(found, "no index"):
        site.list_page(StoreIndex(store, remember=False).rows())
    with took(found, "all added when judged"):
        for files in runs_of(store):
            remember(Recording(files.root), store)
    found["index MB"] = (store / INDEX_NAME).stat().st_size / 1e6
    with took(found, "first list"):
        application = serve.Site(store)
        b"".join(application({"REQUEST_METHOD": "GET", "PATH_INFO": "/", "HTTP_HOST": "localhost"}, _ignore))
    with took(found, "next list"):
        page = site.list_page(application.rows())
    with took(found, "coverage"):
        site.coverage_page(application.rows())
    (folder / "index.html").write_text(page)
    found["page MB"] = len(page.encode()) / 1e6
    with tab(browser, (folder / "index.html").as_uri(), new=True) as shown:
        found["usable ms"] = shown.js("performance.getEntriesByName('usable')[0].startTime")
        found["search ms"] = _typed(shown, "page.byId('s-search').value = 'sentence 77'; page.filterRows()")
        work = "page.byId('s-search').value = ''; page.byId('s-verdict').value = 'invalid'; page.filterRows()"
        found["filter ms"] = _typed(shown, work)
        found["sort ms"] = _typed(shown, "document.querySelector('#runs th[data-sort=rate] button').click()")
    return found


def _ignore(*_: object) -> None:
    """Ignore the status and headers of an answer that is requested only for its cost."""


def _typed(shown: Tab, work: str) -> float:
    return float(shown.js(f"(() => {{ const t = performance.now(); {work}; return performance.now() - t; }})()"))


def tell(rows: list[dict[str, float]], say: Callable[[str], None] = print) -> None:
    names = list(rows[0])
    say("| " + " | ".join(names) + " |")
    say("|" + " ---: |" * len(names))
    for row in rows:
        say(
            "| " + " | ".join(f"{row[name]:,.3g}" if row[name] < 1000 else f"{row[name]:,.0f}" for name in names) + " |"
        )
    if len(rows) > 1:
        last, first = rows[-1], rows[0]
        say("last to first: " + ", ".join(f"{name} {last[name] / first[name]:.3g}" for name in names if first[name]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operations", nargs="*", type=int)
    parser.add_argument("--large", type=int, nargs="*", default=[], help="operations of runs made as a table")
    parser.add_argument("--list", type=int, default=0, help="runs of a store")
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        if asked.operations:
            tell([measure(count, Path(folder), browser, asked.repeat) for count in asked.operations])
        if asked.large:
            tell([measure_large(count, Path(folder), browser, asked.repeat) for count in asked.large])
        if asked.list:
            tell([measure_list(asked.list, Path(folder) / "list", browser)])


if __name__ == "__main__":
    main()
