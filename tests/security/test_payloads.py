"""Texts of a stranger in all places of a run: no page, picture, document, table or terminal takes one for its own."""

# ruff: noqa: E501 (payloads stand as they are)

from __future__ import annotations

import csv
import json
import unicodedata
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import run_command
from harness.runstate import RunState
from harness.store import create_run
from history import Header, HistoryWriter, Probe, RunFiles
from history.records.probes import probes_header
from reports.site.site import write_site
from tests.support.harness.recorded_run import MOMENTS, PLAN, S

#: What a page could take for its own.
HTML = [
    "<script>window.hit=1</script>", "</script><script>window.hit=1</script>", "<img src=x onerror=window.hit=1>",
    "<svg onload=window.hit=1>", "<svg><script>window.hit=1</script></svg>", "<iframe src=//evil.example></iframe>",
    "<object data=//evil.example></object>", "<embed src=//evil.example>", "<base href=//evil.example>",
    "<link rel=stylesheet href=//evil.example/x.css>", "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<form action=//evil.example><button>x</button></form>", "<style>*{display:none}</style>", "<!--", "-->", "]]>",
    "<![CDATA[", "'\"><b onclick=window.hit=1>", "\" onmouseover=\"window.hit=1", "' onfocus='window.hit=1' autofocus='",
    "javascript:window.hit=1", "data:text/html,<script>window.hit=1</script>", "vbscript:x", "//evil.example/x",
    "https://evil.example/?a=b", "{{7*7}}", "{% raw %}", "${7*7}", "<%= 7*7 %>", "`${window.hit=1}`", "\\u003cscript>",
    "&lt;script&gt;", "&#60;script&#62;", "</title><script>window.hit=1</script>", "</textarea><script>1</script>",
    "</style><script>window.hit=1</script>", "<math><mi xlink:href=javascript:1>x</mi></math>", "<details open ontoggle=1>",
    "<a href=javascript:window.hit=1>x</a>", "<input autofocus onfocus=1>", "<video><source onerror=1></video>",
]  # fmt: skip
XML = ['<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>', "&e;", "<?php 1 ?>"]
SHELL = [
    "; touch hit",
    "$(touch hit)",
    "`touch hit`",
    "| sh",
    "&& touch hit",
    "> hit",
    "\ntouch hit\n",
    "' ; touch hit ; '",
]
TERMINAL = [
    "\x1b]0;hit\x07",
    "\x1b[2J\x1b[H",
    "\x1b[1A\x1b[2K",
    "\x9b2J",
    "\r",
    "\x08\x08",
    "\x00",
    "\u202ehit",
    "\u2066",
]
FORMULAS = ["=1+1", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1"]
PATHS = ["../../../etc/passwd", "/etc/passwd", "..\\..\\x", "%2e%2e%2f", "file:///etc/passwd", "a/../../b", "."]
ODD = ["%s%s%n", "\ud800", "\ufeff", "A" * 3000, "\u0000", "null", "__proto__", "constructor", "ａ＝１", "𝕏" * 50, ""]
PAYLOADS = [*HTML, *XML, *SHELL, *TERMINAL, *FORMULAS, *PATHS, *ODD]


def hostile(store: Path) -> RunFiles:
    """A run in which every text that others chose is one of the payloads, each of them in turn."""
    run = create_run(store, PLAN, datetime(2026, 1, 1, tzinfo=UTC))
    turn = count()

    def odd() -> str:
        return PAYLOADS[next(turn) % len(PAYLOADS)]

    nodes = [f"n1{text}" for text in PAYLOADS[:40:4]]
    ticks = count(0, S // 100)
    header = Header(odd(), "register", 7, "2026-01-01T00:00:00+00:00", {"nodes": nodes, odd(): odd()})
    writer = HistoryWriter(run.history, header, started_ns=0, clock=lambda: next(ticks))
    for number, text in enumerate(PAYLOADS * 2):
        key, node, phase = f"k{text}", nodes[number % len(nodes)], "main"
        writer.append("invoke", 0, "write", value=text, key=key, node=node, phase=phase)  # type: ignore[arg-type]
        if number % 3:
            writer.append("ok", 0, "write", value=text, key=key, node=node, phase=phase)  # type: ignore[arg-type]
        else:
            writer.append("fail", 0, "write", value=text, key=key, node=node, error=text, phase=phase)  # type: ignore[arg-type]
    writer.append("invoke", 1, "read", value=None, key="k", node=nodes[0], phase="main")
    writer.append("ok", 1, "read", value=HTML[0], key="k", node=nodes[0], phase="main")  # never written: a violation
    for number, text in enumerate(PAYLOADS):
        value = {"action": "inject", "id": number, "family": text, "nodes": [nodes[number % len(nodes)]], "leader": text,
                 "targets": {"nodes": [nodes[0]], text: text}, "summary": text}  # fmt: skip
        writer.append("invoke", "nemesis", f"kill{text}", value=value)
        done = {"action": "inject", "id": number, "witness": {text: text}, "reason": text}
        writer.append("ok" if number % 2 else "info", "nemesis", f"kill{text}", value=done, error=None)
    writer.close()
    probes = [
        Probe(number * S // 10, node, "leader", 1, odd(), 0, 9, 9, 9, digest=odd()) for number, node in enumerate(nodes)
    ]
    probes += [Probe(number * S // 10, node, error=odd()) for number, node in enumerate(nodes, 20)]
    probes.sort(key=lambda probe: probe.time)
    run.probes.write_text("\n".join([probes_header(), *(json.dumps(probe.to_json()) for probe in probes), ""]))
    state = RunState(
        run.state, dict(MOMENTS), ended=True, warnings=PAYLOADS, environment={"system": odd(), odd(): odd()}
    )
    state.save()
    plan = json.loads(run.plan.read_text())
    for name in ("test", "label", "command", "replay_command", "cluster"):
        plan[name] = f"{plan.get(name, '')} {odd()} ; touch hit"
    plan["nemesis"] = [f"kill-one{text}" for text in PAYLOADS]
    run.plan.write_text(json.dumps(plan))
    folder = run.nodes / "n1"
    folder.mkdir(parents=True)
    (folder / "<b onclick=1>.log").write_text(
        "".join(f"2026-01-01 00:00:00.{number:03} ERROR {text!r} {text}\n" for number, text in enumerate(PAYLOADS)),
        encoding="utf-8", errors="replace",
    )  # fmt: skip
    return run


class Tags(HTMLParser):
    """The elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


OURS = (
    "#", "./", "../", "runs/", "nemesis/", "system/", "fault/", "defect/", "data:image/", "index.html", "trends.html",
    "coverage.html", "compare.html", "subjects.html", "report.html",
)  # fmt: skip
FOREIGN = {"iframe", "object", "embed", "base", "link", "math", "video", "source", "textarea"}


def complaints(path: Path) -> list[str]:
    """What in a page is not ours."""
    wrong = []
    tags = Tags(path.read_text()).found
    for tag, attributes in tags:
        if tag in FOREIGN:
            wrong.append(f"<{tag}>")
        wrong += [f"<{tag} {name}>" for name in attributes if name.startswith("on")]
        for name in ("href", "src", "xlink:href", "action"):
            address = attributes.get(name, "#")
            if not address.startswith(OURS):
                wrong.append(f"<{tag} {name}={address[:40]}>")
        if tag == "meta" and attributes.get("http-equiv", "").lower() == "refresh":
            wrong.append("<meta refresh>")
    policies = [one for tag, one in tags if tag == "meta" and one.get("http-equiv") == "Content-Security-Policy"]
    return wrong if len(policies) == 1 else [*wrong, "no policy"]


def commands_a_terminal(text: str) -> bool:
    direction = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    return any(unicodedata.category(mark) == "Cc" or mark in direction for mark in text.replace("\n", ""))


def test_there_are_payloads_enough() -> None:
    assert len(set(PAYLOADS)) >= 70


@pytest.mark.slow
def test_no_text_of_a_run_is_more_than_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = hostile(tmp_path / "store")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    said = ""
    for words in (["check", str(run.root), "--no-spark"], ["show", str(run.root)], ["ls"], ["diff", str(run.root), str(run.root)],
                  ["export", str(run.root), "--format", "csv", "-o", "x.csv"], ["report", "--plots", str(run.root)],
                  ["export", str(run.root), "--format", "perfetto", "-o", "x.trace"]):  # fmt: skip
        assert run_command([*words, "--store", str(tmp_path / "store")]) in (0, 1, 2), capsys.readouterr().err
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        said += printed.out
    assert json.loads(run.results.read_text())["verdict"] == "invalid"
    assert not commands_a_terminal(said)
    assert not commands_a_terminal(run.summary.read_text())
    write_site(tmp_path / "store", here / "site")
    pages = [run.report, *(here / "site").rglob("*.html")]
    assert {str(page): found for page in pages if (found := complaints(page))} == {}
    scripts = {sum(tag == "script" for tag, _ in Tags(page.read_text()).found) for page in pages}
    assert max(scripts) <= 3
    ET.parse(run.junit)
    assert list(run.plots.glob("*.svg"))
    for picture in run.plots.glob("*.svg"):
        names = {element.tag.rpartition("}")[2] for element in ET.parse(picture).iter()}
        assert names.isdisjoint({"script", "foreignObject", "image", "a"})
    with (here / "x.csv").open(newline="", encoding="utf-8", errors="surrogateescape") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [
        cell
        for cell in cells
        if cell[:1] in tuple("=+-@\t\r＝＋－＠") and not cell.lstrip("+-").replace(".", "").isdigit() and cell
    ]
    assert sorted(one.name for one in here.iterdir()) == ["site", "x.csv", "x.trace"]


def test_a_plan_says_nothing_that_a_shell_would_run(tmp_path: Path) -> None:
    from reports.load.run import commands_of

    run = hostile(tmp_path)
    plan: dict[str, Any] = json.loads(run.plan.read_text())
    for _, command in commands_of(plan):
        assert "; touch hit" not in command.replace("';'", "")
