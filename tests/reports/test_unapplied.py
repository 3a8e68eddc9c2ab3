"""Operations that were acknowledged without their entries having been applied are marked wherever they are accused."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import reports
from history import UNAPPLIED, Counterexample, Operation, RunFiles
from reports.analysis.counterexample import label_of, picture_of
from reports.analysis.findings import prepare
from reports.analysis.rows import unapplied_text
from reports.load.run import read_run
from reports.story.aftermath import outages_text
from reports.text import text_diagram
from tests.support.reports.made import Maker
from tests.support.reports.raw import Raw
from tests.support.reports.recorded_runs import recorded_run

S = 10**9
WRITE = Operation(1, "write", "k", 7, 7, "ok", S, 2 * S, 0, 1, "n3")
READ = Operation(2, "read", "k", None, 4, "ok", 3 * S, 4 * S, 2, 3, "n3")


def said(*operations: Operation) -> str:
    return unapplied_text(Counterexample("stale-read", "x", operations), label_of)


def test_what_was_not_applied_is_named_with_its_node() -> None:
    empty = replace(READ, error=UNAPPLIED)
    assert said(WRITE, READ) == ""
    assert said(WRITE, empty) == ("The server's library acknowledged “read 4” on n3 without having applied its entry.")
    assert said(replace(WRITE, error=UNAPPLIED, node="n2"), empty) == (
        "The server's library acknowledged “write 7” on n2 and “read 4” on n3 without having applied their entries."
    )
    assert said(WRITE, replace(READ, outcome="fail", error=UNAPPLIED)) == ""


def test_the_drawing_says_so_beside_the_times() -> None:
    example = Counterexample("stale-read", "x", (WRITE, replace(READ, error=UNAPPLIED)))
    picture = picture_of(example)
    assert picture
    assert [box.times for box in picture.boxes] == ["1.000 – 2.000 s", "3.000 – 4.000 s, not applied"]
    assert [box.narrow_times for box in picture.boxes][1].endswith(", not applied")
    assert "3.000 – 4.000 s, not applied" in text_diagram.draw(example)


def marked(files: RunFiles) -> str:
    """Mark the accused read of a run in its results, and return what is said of it."""
    results = json.loads(files.results.read_text())
    (example,) = (one for key in results["keys"] for one in key.get("counterexamples") or ())
    accused = example["operations"][example["linearization"]["suspects"][0]]
    accused["error"] = UNAPPLIED
    files.results.write_text(json.dumps(results))
    label = f"“read {accused['result']}” on {accused['node']}"
    return f"The server's library acknowledged {label} without having applied its entry."


def test_page_and_terminal_say_so_once(fresh: Maker) -> None:
    files = fresh("invalid")
    sentence = marked(files)
    assert reports.write_report(files).warnings == []
    page = html.unescape(files.report.read_text())
    head, _, rest = page.partition('<section id="counterexample"')
    assert sentence not in head
    assert rest.count(sentence) == 1
    assert ", not applied" in rest
    assert sentence in " ".join(reports.render_run(files, 200).split())


@pytest.mark.slow
def test_a_recorded_run_says_how_many_acknowledgements_fell_into_its_outage(tmp_path: Path) -> None:
    """Of entries that went from all logs; reads were answered all the time, from what their nodes held."""
    files = RunFiles(recorded_run("entries-lost", tmp_path))
    raw, drawn = Raw(files.root), prepare(read_run(files))
    said = re.fullmatch(
        r".* no operation .* applied for ([\d.]+) s until ([\d.]+) s: .* at ([\d.]+) s, .* (\d+) were acknowledged .*",
        outages_text(drawn),
    )
    assert said is not None
    length, stop, start = map(float, said.groups()[:3])
    assert not [at for at in raw.served() if start + 0.1 < at < stop - 0.1]
    assert length == pytest.approx(stop - start, abs=0.11)
    empty = [one for one in raw.events if one["type"] == "ok" and one.get("error") == UNAPPLIED]
    assert int(said[4]) == sum(start <= one["time"] / S <= stop for one in empty) == 331
    accused = [one for one in drawn.violations if "“read 1166” on n3" in one.unapplied]
    assert [one.key for one in accused] == ["k3"]
    assert accused[0].unapplied == (
        "The server's library acknowledged “write 1999” on n3 and “read 1166” on n3 without having applied their "
        "entries."
    )


def test_counts_and_legend_say_how_many_successes_are_none(fresh: Maker) -> None:
    files = fresh("valid")
    head, *lines = files.history.read_text().splitlines()
    events = [json.loads(line) for line in lines]
    oks = [one for one in events if one["type"] == "ok" and one["process"] != "nemesis"]
    for event in oks[:3]:
        event["error"] = UNAPPLIED
    files.history.write_text("\n".join([head, *map(json.dumps, events)]) + "\n")
    assert reports.write_report(files).warnings == []
    page = " ".join(files.report.read_text().split())
    assert "3 ok operations were acknowledged without having been applied." in page
    assert "ok (3 acknowledged without having been applied)" in page


def test_nothing_is_said_of_what_was_applied(with_page: Maker) -> None:
    page = Path(with_page("invalid").report).read_text()
    assert "not applied" not in page.partition("<script")[0]
    assert "without having been applied" not in page.partition('id="words"')[0]
    assert 'class="unapplied"' not in page
