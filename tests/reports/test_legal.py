"""What a blamed read could have returned, and how far a register's history is linearizable, as the page says it."""

from __future__ import annotations

import json
from pathlib import Path

from checker import check
from history import RunFiles
from reports.analysis.findings import Legal, violations_of
from reports.load.run import LoadedRun, read_run
from tests.support.reports.recorded_runs import recorded_run


def judged_anew(tmp_path: Path, lose: str = "") -> LoadedRun:
    """A recorded run, judged as today; the completion that ``lose`` names is in doubt."""
    tmp_path.mkdir(exist_ok=True)
    files = RunFiles(recorded_run("stale-reads", tmp_path))
    text = files.history.read_text()
    assert lose in text
    files.history.write_text(text.replace(lose, lose.replace('"ok"', '"info"')))
    results = json.loads(files.results.read_text())
    results["keys"] = [verdict.to_json() for verdict in check(files.history).keys]
    files.results.write_text(json.dumps(results))
    return read_run(files)


def legal_of(run: LoadedRun) -> Legal:
    return next(one.legal for one in violations_of(run, [], []) if one.example.completed_at == 1439462014)


def test_the_prefix_ends_with_the_first_answer_that_leaves_no_order(tmp_path: Path) -> None:
    run = judged_anew(tmp_path)
    events = [json.loads(line) for line in run.files.history.read_text().splitlines()[1:]]
    violations = [one for one in violations_of(run, [], []) if one.prefix]
    assert {one.key for one in violations} == {one.key for one in violations_of(run, [], [])}
    for violation in violations:
        assert violation.prefix is not None
        time = round(violation.prefix[0] * 1e9)
        last = next(event for event in events if event["time"] == time)
        assert (last["type"], last["f"], last["key"]) == ("ok", "read", violation.key)
        mine = [event for event in events if event.get("key") == violation.key and event["type"] == "ok"]
        assert violation.prefix[1] == sum(event["time"] < time for event in mine)


def test_where_not_all_violations_are_shown_no_prefix_is_named(tmp_path: Path) -> None:
    run = judged_anew(tmp_path)
    for record in run.results["keys"]:
        record["violations"] *= 2
    assert all(one.prefix is None for one in violations_of(run, [], []))


def test_where_values_were_written_more_than_once_no_prefix_is_named(tmp_path: Path) -> None:
    """There the search finds violations one by one, and the earliest answer without an order may be none of them."""
    run = judged_anew(tmp_path)
    for record in run.results["keys"]:
        record["engine"] = "search"
    assert all(one.prefix is None for one in violations_of(run, [], []))


def test_answers_that_need_a_write_of_unknown_outcome_come_last(tmp_path: Path) -> None:
    assert legal_of(judged_anew(tmp_path / "known")) == Legal(("28", "33"), whole=True)
    doubted = judged_anew(tmp_path / "doubted", lose='"type":"ok","process":1,"f":"write","key":"k3","value":33')
    assert legal_of(doubted) == Legal(("28",), whole=True, doubtful=("33",))
    legal = Legal(("2585",), whole=True, doubtful=tuple(map(str, range(1, 10))))
    assert legal.text == "2585, or what one of 9 writes wrote whose outcome is not known"
    assert Legal(("1",), whole=True, doubtful=("2",)).text == "1 or 2"
    assert Legal(tuple("123456789"), whole=False).text == "1 or 2 or 3 or 4 or 5 or 6 or 7 or 8 or 1 more"
    assert Legal((), whole=False).text == ""
