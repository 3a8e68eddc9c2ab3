"""Ten thousand runs are listed, searched and filtered without waiting: for the night, as making them takes a while."""

from __future__ import annotations

import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from history.recording import Recording
from reports.load.store_index import StoreIndex, remember, runs_of
from reports.site import serve, site
from tests.support.reports.browser import chromium, tab
from tests.support.reports.stores import many_runs

pytestmark = [pytest.mark.nightly, pytest.mark.browser]
#: A machine may be this many times slower than the one second that is promised.
SLACK = 3


def spent(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def test_ten_thousand_runs(tmp_path: Path) -> None:
    few, many = tmp_path / "few", tmp_path / "many"
    many_runs(few, 1_000)
    many_runs(many, 10_000)
    for store in (few, many):
        for files in runs_of(store):  # as each of them is judged
            remember(Recording(files.root), store)
    small = spent(lambda: site.list_page(StoreIndex(few).rows()))
    large = spent(lambda: site.list_page(StoreIndex(many).rows()))
    assert large < SLACK * 1.0
    assert large < SLACK * 10 * small, "the list grows faster than the number of runs"

    application = serve.Site(many)
    first = spent(lambda: application({"REQUEST_METHOD": "GET", "PATH_INFO": "/", "HTTP_HOST": "localhost"}, _ignore))
    assert first < SLACK * 1.0

    page = tmp_path / "index.html"
    page.write_text(site.list_page(StoreIndex(many).rows()))
    with chromium() as browser, tab(browser, page.as_uri()) as shown:
        assert "10,000 runs" in shown.page.inner_text("#s-said")
        with_77 = sum("77" in str(number) for number in range(10_000))
        took = "(work) => { const t = performance.now(); work(); return performance.now() - t; }"
        for work, said in (
            (f"() => {{ {value('s-search', 'sentence 77')}; page.filterRows(); }}", f"{with_77} of 10,000"),
            (f"() => {{ {value('s-search', '')}; {value('s-verdict', 'invalid')}; page.filterRows(); }}", "2,500 of"),
            ("() => document.querySelector('#runs th[data-sort=seed] button').click()", "2,500 of"),
        ):
            assert shown.js(f"({took})({work})") < SLACK * 1000
            assert said in shown.page.inner_text("#s-said")
        assert shown.complaints == []


def value(field: str, text: str) -> str:
    return f"page.byId('{field}').value = '{text}'"


def _ignore(*_: object) -> None:
    """The status and headers of an answer of which only the cost matters."""


def test_the_server_answers_in_time_over_a_socket(tmp_path: Path) -> None:
    many_runs(tmp_path, 10_000)
    StoreIndex(tmp_path).rows()
    with serve.make(tmp_path) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        started = time.monotonic()
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/") as answer:
            assert b"Runs" in answer.read()
        assert time.monotonic() - started < 10 * SLACK
        server.shutdown()
        thread.join()
