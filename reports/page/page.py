"""``report.html``: one self-contained page per run.

The page is written in parts.  A part that cannot be made is left out and named in a list of warnings.  Data of a run
reaches the page only through Jinja2's escaping or inside the packed data (base64).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

import jinja2
from markupsafe import Markup, escape

from reports.analysis.findings import Drawn
from reports.page.context import charts_context, head_context, record_context, violations_context
from reports.style import format as texts
from reports.style.palette import fault_styles


def asset(name: str) -> str:
    """Read a file of ``reports/assets``."""
    return (resources.files("reports") / "assets" / name).read_text(encoding="utf-8")


def page_styles() -> str:
    """Return the style sheet that all pages share."""
    return asset("page.css") + "\n" + fault_styles()


def vendor(name: str) -> str:
    """Read a file of the bundled uPlot."""
    return (resources.files("reports") / "vendor" / "uplot" / name).read_text(encoding="utf-8")


def with_charts(script: str, styles: str) -> tuple[str, str]:
    """Add uPlot before the script of a page with charts, and its styles before the page's."""
    scripts = (vendor("LICENSE.js"), vendor("uPlot.iife.min.js"), asset(script))
    return "\n".join(scripts), vendor("uPlot.min.css") + "\n" + styles


#: A number with its unit.
_UNIT: Final = re.compile(r"\b[\d,.]+ (?:s|ms|%)(?!\w)")


@cache
def environment() -> jinja2.Environment:
    """Return the environment with the templates; they escape everything that this module does not mark as safe."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        number=texts.number,
        s=texts.seconds,
        ms=texts.milliseconds,
        line=texts.one_line,
        lead=texts.lead,
        sentence=texts.sentence,
        printable=texts.printable,
        compact=texts.compact,
        witness=witness_text,
        units=with_units,
    )
    return made


def with_units(text: str) -> Markup:
    """Escape text and keep each number on one line with its unit."""
    return Markup(_UNIT.sub(r'<span class="nowrap">\g<0></span>', str(escape(text))))  # noqa: S704


def witness_text(value: Any, limit: int = 160) -> str:
    """Format a witness without JSON's punctuation, durations last: ``packets counted: 40; …``."""
    if not isinstance(value, Mapping):
        return texts.compact(value, limit)
    parts = []
    for name, item in sorted(value.items(), key=lambda pair: str(pair[0]).endswith("_ms")):
        text = ", ".join(f"{k} {_plain(v)}" for k, v in item.items()) if isinstance(item, Mapping) else _plain(item)
        parts.append(f"{name}: {text}")
    return texts.one_line("; ".join(parts).replace("_", " "), limit)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def policy(scripts: str, styles: str) -> str:
    """Return the page's content security policy: no network, no frames, only this script and this style sheet."""

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    return (
        f"default-src 'none'; script-src 'sha256-{digest(scripts)}'; style-src 'sha256-{digest(styles)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def render(drawn: Drawn) -> str:
    """Render ``report.html`` as text."""
    run = drawn.run
    scripts, styles = with_charts("report.js", page_styles())
    context = {
        "run": run,
        "nodes": run.nodes,
        "recorded": run.recorded,
        "windows": drawn.windows,
        "violations": drawn.violations,
        **head_context(drawn),
        **violations_context(drawn),
        **charts_context(drawn),
        **record_context(drawn),
        "styles": Markup(styles),  # noqa: S704 (our own files)
        "scripts": Markup(scripts),  # noqa: S704
        "policy": policy(scripts, styles),
    }
    context["warnings"] = [*run.notes.warnings, *run.results.get("warnings", ())]
    return environment().get_template("report.html.j2").render(context)
