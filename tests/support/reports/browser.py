"""A headless Chromium for the tests, and a page that remembers its errors."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
AXE = Path(__file__).parent / "vendor" / "axe.min.js"


@dataclass
class Tab:
    """A page; ``complaints`` has everything that it wrote to the console, and every request that left it."""

    page: Any
    complaints: list[str] = field(default_factory=list)

    def hear(self, text: str) -> None:
        """Note a complaint, except about canvases that are read back, because only the tests do that."""
        if "willReadFrequently" not in text:
            self.complaints.append(text)

    def js(self, expression: str) -> Any:
        return self.page.evaluate(expression)

    def until(self, expression: str, within_s: float = 30.0) -> None:
        """Wait until an expression is true. Playwright's own waiting compiles text, which the page's policy forbids."""
        deadline = time.monotonic() + within_s
        while not self.js(expression):
            assert time.monotonic() < deadline, f"still not true after {within_s:g} s: {expression}"
            self.settle()

    def look(self, theme: str, width: int) -> None:
        """Show the same page in another theme and width, drawn again."""
        self.page.emulate_media(color_scheme=theme)
        self.page.set_viewport_size({"width": width, "height": 900})
        self.settle()
        self.settle()

    def settle(self) -> None:
        """Wait until everything requested has been drawn."""
        self.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


@dataclass(frozen=True)
class Pictures:
    """Where screenshots go: the folder named by SCREENSHOTS, which CI keeps; without it, none are taken."""

    folder: Path | None

    def take(self, shown: Tab, name: str, **options: Any) -> None:
        if self.folder is not None:
            shown.page.screenshot(path=self.folder / name, full_page=True, **options)


def need_chromium() -> None:
    """Skip the test without a browser; in CI, where the test script installs it, fail."""
    if CHROMIUM.exists():
        return
    reason = f"no Chromium at {CHROMIUM}: apt-get install chromium, or set CHROMIUM"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def chromium() -> Iterator[Any]:
    need_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        _idle.pop(browser, None)
        browser.close()


#: The page of each browser that waits for its next test: a new one takes twice as long as one that is used again.
_idle: dict[Any, Any] = {}


@contextmanager
def tab(
    browser: Any, address: str, *, theme: str = "light", width: int = 1400, ready: bool = True, new: bool = False
) -> Iterator[Tab]:
    """Open a page at an address; with ``ready``, wait until the report's scripts have drawn everything.

    With ``new``, open it in a separate process, as a reader would the first time, for measurements.
    """
    page = browser.new_page() if new or browser not in _idle else _idle.pop(browser)
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme, media="screen")
    page.mouse.move(0, 0)
    found = Tab(page)
    hears = {
        "console": lambda message: found.hear(message.text),
        "pageerror": lambda error: found.complaints.append(f"error: {error}"),
        "request": lambda request: (
            found.complaints.append(f"request: {request.url}")
            if not request.url.startswith((address.split("#")[0], "data:", "blob:"))
            else None
        ),
    }
    for event, hear in hears.items():
        page.on(event, hear)
    try:
        page.goto(address)
        if ready:
            page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
            found.settle()
        yield found
        for event, hear in hears.items():
            page.remove_listener(event, hear)
        if new:
            page.close()
        else:
            _put_back(browser, page)
    except BaseException:
        page.close()
        raise


def _put_back(browser: Any, page: Any) -> None:
    """Undo everything that a test did: what the page stored, its address, a key that is held down."""
    if browser in _idle:
        page.close()
        return
    for key in ("Shift", "Control"):
        page.keyboard.up(key)
    page.evaluate("localStorage.clear(), sessionStorage.clear()")
    page.goto("about:blank")
    _idle[browser] = page


def serious_faults(shown: Tab, *, colours_only: bool = False) -> list[str]:
    """Return what axe-core calls serious or critical, one line for each element.

    For a page that was seen before in other colours, it checks only what depends on colours.
    """
    if not shown.js("'axe' in window"):
        shown.js(AXE.read_text(encoding="utf-8") + "\n;0")
    rules = ", runOnly: ['color-contrast', 'link-in-text-block']" if colours_only else ""
    found = shown.js(f"axe.run(document, {{resultTypes: ['violations']{rules}}})")
    shown.complaints[:] = [text for text in shown.complaints if "axe" not in text]
    return [
        f"{violation['id']}: {node['target']}: {node['failureSummary'][:200]}"
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]
