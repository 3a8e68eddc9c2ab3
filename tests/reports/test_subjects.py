"""Pages of systems, faults and known defects: which runs they count, and their rates over time."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from history import RunFiles
from reports.load.run_row import RunRow, row_of
from reports.site import site
from reports.site.serve import Site
from reports.site.subjects import PERIODS, Period, Subject, subjects_of
from tests.support.reports.answer import Answer
from tests.support.reports.recorded_runs import recorded_run
from tests.support.reports.run_rows import row

DRAWN = st.lists(
    st.builds(
        lambda number, day, verdict, system, nemesis, defects: row(
            number, started=f"2026-03-{day:02d}T02:00:00Z", verdict=verdict, system=system, nemesis=nemesis,
            defects=defects,
        ),
        st.integers(1, 99), st.integers(1, 4), st.sampled_from(["valid", "invalid", "unknown", "harness failure"]),
        st.sampled_from(["dledger", "etcd", ""]), st.sampled_from(["kill@leader+pause", "pause", ""]),
        st.sampled_from([(), ("d1",), ("d1", "d2")]),
    ),
    max_size=12,
)  # fmt: skip


def named(rows: list[RunRow]) -> dict[tuple[str, str], Subject]:
    return {(one.kind, one.name): one for one in subjects_of(rows)}


@given(DRAWN)
def test_every_run_counts_once_for_each_of_its_names(rows: list[RunRow]) -> None:
    found = named(rows)
    expected = Counter(("system", one.system) for one in rows if one.system)
    expected += Counter(("fault", name) for one in rows for name in ("kill", "pause") if name in one.nemesis)
    expected += Counter(("defect", name) for one in rows for name in one.defects)
    assert {name: len(one.rows) for name, one in found.items()} == expected
    for (kind, name), one in found.items():
        systems = {row.system for row in one.rows}
        among = [row for row in rows if row.system in systems] if kind == "defect" else one.rows
        judged = [row for row in among if row.verdict in ("valid", "invalid")]
        assert [(period.name, period.runs, period.bad) for period in one.periods] == [
            (
                day,
                sum(row.started[:10] == day for row in judged),
                sum(
                    row.started[:10] == day and (name in row.defects if kind == "defect" else row.verdict == "invalid")
                    for row in judged
                ),
            )
            for day in sorted({row.started[:10] for row in judged})
        ]


def test_a_planted_bug_that_was_found_is_no_failure_of_the_system() -> None:
    rows = [
        row(1, system="s", verdict="invalid", planted_bug="found", lost=True),
        row(2, system="s", planted_bug="missed"),
        row(3, system="s", verdict="invalid", planted_bug="found", beside="no commits"),
    ]
    found = named(rows)["system", "s"]
    assert (found.invalid, found.lost) == (2, 1)


def test_many_days_are_counted_by_month() -> None:
    rows = [row(1, system="s", started=f"2026-{3 + day // 28:02d}-{1 + day % 28:02d}") for day in range(PERIODS + 1)]
    assert named(rows)["system", "s"].periods == [Period("2026-03", 28, 0), Period("2026-04", 3, 0)]


@pytest.mark.parametrize(
    ("system", "version", "shown"),
    [
        ("dledger", "0.4.0 snapshot", "dledger 0.4.0 snapshot"),
        ("zookeeper", "zookeeper 3.9.3", "zookeeper 3.9.3"),
        ("/etc/systems/kv.toml", "kv 1", "kv 1"),
        ("dledger", "", "dledger"),
        ("", "0.4.0", "0.4.0"),
    ],
)
def test_every_system_has_its_name_once(system: str, version: str, shown: str) -> None:
    assert row(1, system=system, version=version).system_version == shown


def test_names_of_runs_are_text_on_every_page() -> None:
    hostile = "<script>alert(1)</script>"
    rows = [row(1, system=hostile, nemesis=hostile, defects=(hostile,), started=f"{hostile}-2026")]
    pages = [site.subjects_page(rows), *map(site.subject_page, subjects_of(rows))]
    assert len(pages) == 4
    for page in pages:
        assert hostile not in page
        assert "&lt;script&gt;alert" in page


def test_server_and_files_have_the_same_pages(tmp_path: Path) -> None:
    (tmp_path / "store" / "t").mkdir(parents=True)
    recorded_run("three-losses", tmp_path / "store" / "t")
    out = tmp_path / "out"
    written = {str(path.relative_to(out)) for path in site.write_site(tmp_path / "store", out)}
    served = Site(tmp_path / "store")
    for place in ("subjects.html", *(f"{kind}/{site.slug(name)}.html" for kind, name in
                                     (("system", "zookeeper"), ("fault", "rolling-kill")))):  # fmt: skip
        assert place in written
        assert Answer(served, f"/{place}").status == 200
    for place in ("/fault/nothing.html", "/defect/x.html", "/system"):
        assert Answer(served, place).status == 404


def test_a_row_knows_defects_and_losses_of_its_results(tmp_path: Path) -> None:
    root = recorded_run("ledgers-lost", tmp_path)
    path = root / "results.json"
    results = json.loads(path.read_text())
    known = [{"name": "B-1", "kinds": ["unreadable-entry"]}, {"name": "B-1", "kinds": ["x"]}, {"bad": 1}]
    path.write_text(json.dumps({**results, "known_defects": known}))
    found = row_of(RunFiles(root))
    assert (found.lost, found.defects, found.planted_bug) == (True, ("B-1",), "found")
