"""``harness system check``: each part of a system with a good and a bad twin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.systems.conformance import FAULTS, Rating, Trial, findings
from harness.systems.dledger import SYSTEM
from history import Operation, Probe
from history.metrics.awake_clock import AwakeClock

S = 1_000_000_000
NODES = ("n1", "n2", "n3")
OPERATIONS = (
    Operation(0, "write", "k0", 1, 1, "ok", S, 2 * S, 0, 1),
    Operation(1, "write", "k0", 2, None, "info", S, 5 * S, 2, 3, error="no answer within 4 s"),
    Operation(2, "read", "k0", None, None, "info", S, None, 4, None),
)
PROBES = tuple(Probe(S, node, "follower", term=1, log_end=4, own={"queue": 1}) for node in NODES)


def results(*invalid: str, faults: tuple[str, ...] = FAULTS, ok: int = 9) -> dict[str, Any]:
    windows = [
        {"id": number, "fault": fault, "ok": ok, "least": 5, "exempt": ""} for number, fault in enumerate(faults)
    ]
    checks: list[dict[str, Any]] = [{"name": name, "seen": "seen"} for name in ("linearizable", "recovery")]
    checks.append({"name": "under-fault", "seen": "", "findings": [{"type": "UnderFault", "faults": windows}]})
    for check in checks:
        check["verdict"] = "invalid" if check["name"] in invalid else "valid"
    return {"checks": checks, "receipts": [{"fault": fault, "state": "installed"} for fault in faults]}


@pytest.fixture
def good(tmp_path: Path) -> Trial:
    for node in NODES:
        (tmp_path / node).mkdir()
        (tmp_path / node / "server.log").write_text("started\n")
    return Trial(results(), {"main": S}, OPERATIONS, PROBES, NODES, tmp_path)


def found(trial: Trial, calm: Trial | None = None, planted: Trial | None = None, **system: Any) -> Mapping[str, Rating]:
    wrong = replace(trial, results=results("linearizable"))
    rows = findings(replace(SYSTEM, **system), trial, calm or trial, planted or wrong, 4.0)
    assert len({row.part for row in rows}) == len(rows)
    return {row.part: row for row in rows}


def test_a_system_that_has_all_lacks_nothing(good: Trial) -> None:
    rows = found(good)
    assert {part: row.verdict for part, row in rows.items() if row.verdict != "valid"} == {}
    assert rows["probes"].seen == "role, term, log_end; of its own: queue"
    assert rows["outcomes"].seen == "1 ok, 0 fail, 2 info"
    assert rows["planted bug"].seen == f"{SYSTEM.planted_bugs[0].name} was found by linearizable"
    assert set(FAULTS) <= set(rows)


def test_a_load_that_never_began(good: Trial) -> None:
    assert found(replace(good, moments={}))["start, ready"].verdict == "invalid"
    assert found(good, calm=replace(good, moments={}))["wipe"].verdict == "invalid"


def test_a_client_that_returns_late_or_gives_no_reason(good: Trial) -> None:
    late = replace(OPERATIONS[1], returned=7 * S)
    row = found(replace(good, operations=(*OPERATIONS, late)))["outcomes"]
    assert row.verdict == "invalid"
    assert re.search(r"6\.0 s.* 4 s$", row.seen)
    silent = replace(OPERATIONS[1], error=None)
    row = found(replace(good, operations=(*OPERATIONS, silent)))["outcomes"]
    assert (row.verdict, row.seen) == ("invalid", "1 ok, 0 fail, 3 info; 1 without a reason")
    assert found(replace(good, operations=OPERATIONS[1:]))["outcomes"].verdict == "unknown"


def test_the_time_in_which_the_harness_stood_still_is_none_of_a_client(good: Trial) -> None:
    late = replace(OPERATIONS[1], returned=37 * S)
    slept = replace(good, operations=(*OPERATIONS, late), clock=AwakeClock([(3 * S, 35 * S)]))
    assert found(slept)["outcomes"].verdict == "valid"
    row = found(replace(slept, clock=AwakeClock([(3 * S, 33 * S)])))["outcomes"]
    assert row.verdict == "invalid"
    assert re.search(r"6\.0 s.* 4 s$", row.seen)


def test_a_fault_that_did_not_bite_or_under_which_nothing_was_served(good: Trial) -> None:
    rows = found(replace(good, results=results(faults=FAULTS[1:])))
    assert (rows[FAULTS[0]].verdict, rows[FAULTS[0]].seen[:11]) == ("unknown", "never tried")
    assert {rows[fault].verdict for fault in FAULTS[1:]} == {"valid"}
    rows = found(replace(good, results=results(ok=4)))
    assert {rows[fault].verdict for fault in FAULTS} == {"unknown"}


def test_what_is_judged_of_the_run_is_judged_of_the_system(good: Trial) -> None:
    assert found(replace(good, results=results("recovery")))["heal"].verdict == "invalid"
    assert found(replace(good, results=results("linearizable")))["promises"].verdict == "invalid"
    assert found(replace(good, results={}))["heal"].verdict == "unknown"


def test_probes_that_are_missing_or_never_answered(good: Trial) -> None:
    assert found(good, prober=None)["probes"].verdict == "unknown"
    mute = (*PROBES[:2], Probe(S, "n3", error="no connection"))
    row = found(replace(good, probes=mute))["probes"]
    assert (row.verdict, row.seen) == ("invalid", "n3 never answered: no connection")
    empty = tuple(Probe(S, node) for node in NODES)
    assert found(replace(good, probes=empty))["probes"].verdict == "unknown"


def test_logs_that_are_not_collected(good: Trial) -> None:
    (good.files / "n2" / "server.log").write_text("")
    row = found(good)["collect"]
    assert (row.verdict, row.seen) == ("unknown", "empty logs of n2"), "a program may be silent"
    (good.files / "n2" / "server.log").unlink()
    row = found(good)["collect"]
    assert (row.verdict, row.seen) == ("invalid", "no log of n2")


def test_values_of_an_earlier_run_show_that_it_was_not_wiped(good: Trial) -> None:
    assert found(good, calm=replace(good, results=results("linearizable")))["wipe"].verdict == "invalid"


@pytest.mark.parametrize(
    ("key", "begin", "outcome", "model", "verdict"),
    [
        ("k0", 2.0, "ok", "register", "valid"),
        ("k0", 2.5, "ok", "cas-register", "unknown"),  # while the first write of this run was open
        ("k0", 2.0, "fail", "register", "unknown"),
        ("k9", 2.0, "ok", "register", "unknown"),  # a key that the run before did not write
        ("k0", 4.0, "ok", "set", "valid"),  # it would still hold what was left
    ],
)
def test_what_was_overwritten_before_it_was_read_does_not_show_whether_it_was_wiped(
    good: Trial, key: str, begin: float, outcome: Any, model: str, verdict: str
) -> None:
    good = replace(good, model=model, reads=frozenset({"read"}))
    write = Operation(0, "write", "k0", 1, 1, "ok", 3 * S, 4 * S, 0, 1)
    read = Operation(1, "read", key, None, None, outcome, round(begin * S), round((begin + 1) * S), 2, 3)
    refused = replace(write, outcome="fail", invoked=S, returned=2 * S)
    row = found(good, calm=replace(good, operations=(refused, write, read)))["wipe"]
    assert row.verdict == verdict
    assert ("every key was written before it was read" in row.seen) == (verdict == "unknown")


def test_a_planted_bug_that_is_missing_or_not_found(good: Trial) -> None:
    assert found(good, planted=good)["planted bug"].verdict == "invalid"
    rows = findings(replace(SYSTEM, planted_bugs=()), good, good, None, 4.0)
    assert rows[-1].verdict == "unknown"
