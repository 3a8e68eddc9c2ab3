"""Porcupine's public test data (licence beside it): 103 etcd logs, one of them empty, and key-value histories."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker import check, check_operations
from checker.core.calls import calls_of
from checker.core.model import StrictCasRegister
from checker.core.result import Limits
from checker.dispatch import decide
from history import FormatError, Operation
from history.readers import read_any
from tests.support.draws import draws

DATA = Path(__file__).parent / "porcupine"
LINEARIZABLE = {2, 5, 7, 18, 25, 31, 38, 45, 48, 49, 51, 53, 56, 67, 75, 76, 80, 87, 92, 98, 100, 101, 102}

EMPTY = 95


def operations_of(number: int) -> list[Operation]:
    operations = read_any(etcd_log(number)).operations
    assert operations
    return operations


def etcd_log(number: int) -> Path:
    return DATA / "jepsen" / f"etcd_{number:03}.log"


def test_an_empty_log_is_no_history() -> None:
    with pytest.raises(FormatError, match="an empty file"):
        read_any(etcd_log(EMPTY))


def test_etcd_logs() -> None:
    """The verdicts; explaining the 79 that are invalid would take most of the time."""
    found = {}
    for number in set(range(103)) - {EMPTY}:
        model = StrictCasRegister()
        found[number] = decide(calls_of(operations_of(number), model), model, Limits(lambda: 0.0)).verdict
    assert found == {number: "valid" if number in LINEARIZABLE else "invalid" for number in found}
    assert len(found) == 102


@pytest.mark.slow
def test_whole_checks_of_etcd_logs() -> None:
    """With the explanations, of every ninth."""
    numbers = set(range(0, 103, draws(9, 1))) - {EMPTY}
    found = {one: check_operations(operations_of(one), "cas-register-strict", deadline_s=60) for one in numbers}
    wrong = {one: verdict for one, verdict in found.items() if (verdict.verdict == "valid") != (one in LINEARIZABLE)}
    assert not wrong
    assert all(verdict.verdict == "valid" or verdict.counterexamples for verdict in found.values())
    assert {verdict.verdict for verdict in found.values()} == {"valid", "invalid"}


def judged(name: str) -> str:
    history = read_any(DATA / "kv" / f"{name}.txt")
    assert (history.format, history.model) == ("porcupine-kv", "kv")
    return check(history, deadline_s=60).verdict


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        (f"c{clients}-{twin}", word)
        for clients in ("01", "10", "50")
        for twin, word in (("ok", "valid"), ("bad", "invalid"))
    ],
)
def test_key_value_histories(name: str, verdict: str) -> None:
    assert judged(name) == verdict
