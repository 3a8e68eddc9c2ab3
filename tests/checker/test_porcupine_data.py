"""Porcupine's public test data (licence beside it): 103 etcd logs, one of them empty, and key-value histories."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker import check, check_operations
from history import FormatError
from history.readers import read_any

DATA = Path(__file__).parent / "porcupine"
LINEARIZABLE = {2, 5, 7, 18, 25, 31, 38, 45, 48, 49, 51, 53, 56, 67, 75, 76, 80, 87, 92, 98, 100, 101, 102}

EMPTY = 95


@pytest.mark.slow
def test_etcd_logs() -> None:
    wrong = {}
    for number in range(103):
        path = DATA / "jepsen" / f"etcd_{number:03}.log"
        if number == EMPTY:
            with pytest.raises(FormatError, match="an empty file"):
                read_any(path)
            continue
        operations = read_any(path).operations
        verdict = check_operations(operations or [], "cas-register-strict", deadline_s=60)
        if verdict.verdict != ("valid" if number in LINEARIZABLE else "invalid"):
            wrong[number] = verdict
    assert not wrong


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
