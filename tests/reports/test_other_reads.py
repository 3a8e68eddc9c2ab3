"""An element that one read lacks: held by reads of other nodes, as recorded, or by none, in a changed history."""

from __future__ import annotations

import json
from pathlib import Path

from harness.judge.judge import settled
from harness.workloads import elements_check
from history import Check, RunFiles, pair, read_history
from history.records.finding import findings_in
from history.records.violations import violations_of
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.story.breaks import Break
from reports.story.diagnosis import diagnosis_of
from tests.support.reports.recorded_runs import recorded_run


def first_break(root: Path) -> Break:
    found = diagnosis_of(prepare(read_run(RunFiles(root))))
    assert found is not None
    return next(one for one in found.breaks if "linearizable" in one.checks)


def first_sentence(root: Path) -> str:
    return first_break(root).detail


def changed(root: Path, nodes: tuple[str, ...]) -> Path:
    """The same run, but that these nodes' last reads lack the element as well."""
    lines = (root / "history.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    for event in events:
        late = event.get("phase") == "final" and event.get("type") == "ok" and event.get("f") == "read"
        if late and event["node"] in nodes:
            event["value"] = [item for item in event["value"] if item != 122]
    (root / "history.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return root


def test_reads_of_other_nodes_that_hold_it_are_named(tmp_path: Path) -> None:
    found = first_break(recorded_run("element-lost", tmp_path))
    assert found.detail.endswith(" Reads answered by n2, n3, n4, n5 then or later hold it.")
    assert found.title == "missing on n1"


def test_a_node_of_which_one_read_lacks_it_is_not_among_them(tmp_path: Path) -> None:
    found = first_break(changed(recorded_run("element-lost", tmp_path), ("n3", "n5")))
    assert found.detail.endswith(" Reads answered by n2, n4 then or later hold it.")
    assert found.title == "missing on n1, n3, n5"


def test_a_node_that_shows_it_later_does_not_lack_it(tmp_path: Path) -> None:
    """One read without it is stale, and nothing is lost: at the end every node's last read holds it."""
    root = recorded_run("element-lost", tmp_path)
    events = [json.loads(line) for line in (root / "history.jsonl").read_text().splitlines()]
    held = next(e["value"] for e in reversed(events) if e.get("f") == "read" and e.get("node") == "n2" and e["value"])
    for event in events:
        if (event.get("phase"), event.get("type"), event.get("f"), event.get("node")) == ("final", "ok", "read", "n1"):
            event["value"] = held
    (root / "history.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    results = json.loads((root / "results.json").read_text())
    of_sets = elements_check(pair(read_history(root / "history.jsonl").events))
    assert of_sets.verdict == "valid"
    (read,) = (one for one in results["checks"] if one["name"] == "linearizable")
    of_clients = Check("linearizable", "check", "invalid", read["asked"], read["seen"], findings_in(read))
    again = {one.name: one.to_json() for one in settled([of_clients, of_sets])}
    results["checks"] = [again.get(one["name"], one) for one in results["checks"]]
    (root / "results.json").write_text(json.dumps(results))
    found = first_break(root)
    assert found.detail.endswith(" Reads answered by n1, n2, n3, n4, n5 then or later hold it.")
    assert found.title == "inconsistent"
    assert [one.severity for one in violations_of(results) if one.kind == "lost-element"] == ["inconsistent"]


def test_that_no_read_holds_it_is_said(tmp_path: Path) -> None:
    found = first_break(changed(recorded_run("element-lost", tmp_path), ("n2", "n3", "n4", "n5")))
    assert found.detail.endswith(" No read that was answered then or later holds it.")
    assert found.title == "data lost"


def test_nothing_is_said_of_an_element_that_all_nodes_held_and_lacked(tmp_path: Path) -> None:
    """Later reads without it do not make it true that none held it."""
    root = recorded_run("element-lost", tmp_path)
    lines = (root / "history.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    reads = {e["node"]: e for e in events if e.get("f") == "read" and e.get("type") == "ok" and e.get("node")}
    last, index = max(e["time"] for e in events if "time" in e), max(e["index"] for e in events if "index" in e)
    for number, (node, read) in enumerate(sorted(reads.items())):
        for step, kind in enumerate(("invoke", "ok")):
            at = 2 * number + step + 1
            value = None if kind == "invoke" else [item for item in read["value"] if item != 122]
            event = {
                **read,
                "index": index + at,
                "time": last + at,
                "type": kind,
                "value": value,
                "process": 9000 + number,
            }
            lines.append(json.dumps({**event, "node": node}))
    (root / "history.jsonl").write_text("\n".join(lines) + "\n")
    text = first_sentence(root)
    assert "then or later" not in text
    assert "hold it" not in text
