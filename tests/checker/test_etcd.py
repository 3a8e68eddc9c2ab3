"""Histories of etcd's robustness tests: the reader and the model against all orders of a store of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checker import check
from harness.cli.main import run_command
from history import FormatError
from history.readers import read_any
from tests.support.draws import draws
from tests.support.history.etcd_report import is_linearizable, report, spoil


def written(operations: list[dict[str, Any]], path: Path) -> Path:
    """As etcd writes them: indented objects, one after the other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one, indent=2) + "\n" for one in operations))
    return path


def test_verdicts_are_those_of_all_orders(tmp_path: Path) -> None:
    path, seen = tmp_path / "operations.json", {"valid": 0, "invalid": 0}
    for seed in range(draws(60, 2000)):
        whole = report(seed)
        for operations in (whole, spoil(seed, whole)):
            if all(one["Input"]["Type"] == "defragment" for one in operations):
                continue
            right = "valid" if is_linearizable(operations) else "invalid"
            assert check(written(operations, path)).verdict == right, seed
            seen[right] += 1
        assert is_linearizable(whole)
    assert min(seen.values()) > 20


def test_dozens_of_requests_in_doubt_leave_a_verdict(tmp_path: Path) -> None:
    """Each could have made any revision, were those not made by answered ones."""
    operations = report(3, 400)
    assert sum(bool(one["Output"]["Error"]) for one in operations) > 40
    assert check(written(operations, tmp_path / "operations.json")).verdict == "valid"


def operation(number: int, asked: dict[str, Any], output: dict[str, Any]) -> dict[str, Any]:
    return {"ClientId": 1, "Input": asked, "Call": 10 * number, "Output": output, "Return": 10 * number + 5}


def put(number: int, key: str, value: str, revision: int) -> dict[str, Any]:
    step = {"Type": "put-operation", "Put": {"Key": key, "Value": {"Value": value}}}
    asked = {"Type": "txn", "Txn": {"Conditions": None, "OperationsOnSuccess": [step], "OperationsOnFailure": None}}
    answer = {"Failure": False, "Results": [{"KVs": None, "Count": 0, "Deleted": 0}]}
    return operation(number, asked, {"Txn": answer, "Revision": revision})


def get(number: int, key: str, revision: int, *pair: Any, asked: int = 0) -> dict[str, Any]:
    pairs = [{"Key": key, "Value": pair[0], "ModRevision": pair[1], **pair[2]}] if pair else []
    output = {"Range": {"KVs": pairs, "Count": len(pairs)}, "Revision": revision}
    return operation(number, {"Type": "range", "Range": {"Start": key, "End": "", "Revision": asked}}, output)


LONG = "x" * 40
VERSION = {"Version": 1}
CASES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "nothing there": ([get(1, "a", 1)], "valid"),
    "a wrong first revision": ([get(1, "a", 2)], "invalid"),
    "read back": ([put(1, "a", "1", 2), get(2, "a", 2, {"Value": "1"}, 2, VERSION)], "valid"),
    "another value": ([put(1, "a", "1", 2), get(2, "a", 2, {"Value": "2"}, 2, VERSION)], "invalid"),
    "gone": ([put(1, "a", "1", 2), get(2, "a", 2)], "invalid"),
    "a wrong version": ([put(1, "a", "1", 2), get(2, "a", 2, {"Value": "1"}, 2, {"Version": 2})], "invalid"),
    "no version recorded": ([put(1, "a", "1", 2), get(2, "a", 2, {"Value": "1"}, 2, {})], "valid"),
    "an old revision": ([put(1, "a", "1", 2), get(2, "a", 2, {"Value": "?"}, 1, VERSION, asked=1)], "valid"),
    "an old revision of a store that was behind": (
        [put(1, "a", "1", 2), put(2, "a", "2", 3), get(3, "a", 2, {"Value": "?"}, 1, VERSION, asked=1)], "invalid"
    ),
    "a revision that went back": ([put(1, "a", "1", 2), put(2, "b", "2", 2)], "invalid"),
    "revisions of all keys together": ([put(1, "a", "1", 2), put(2, "b", "2", 3)], "valid"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_single_promises(name: str, tmp_path: Path) -> None:
    operations, right = CASES[name]
    assert check(written(operations, tmp_path / "operations.json")).verdict == right


def test_a_long_value_is_known_by_its_hash(tmp_path: Path) -> None:
    path = written([put(1, "a", LONG, 2)], tmp_path / "operations.json")
    ((_, ((_, _, text, _),), _),) = [one.value for one in read_any(path).operations or ()]
    number = int(text.removeprefix("#"))
    assert text.startswith("#")
    for found, right in ((number, "valid"), (number + 1, "invalid")):
        operations = [put(1, "a", LONG, 2), get(2, "a", 2, {"Hash": found}, 2, VERSION)]
        assert check(written(operations, path)).verdict == right


def test_a_report_is_read_with_all_of_its_clients(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written([put(1, "a", "1", 2)], tmp_path / "client-1" / "operations.json")
    read = written([get(2, "a", 2, {"Value": "1"}, 2, VERSION)], tmp_path / "client-2" / "operations.json")
    assert run_command(["check", str(tmp_path)]) == 0
    assert "operations of all clients" not in capsys.readouterr().out
    assert run_command(["check", str(read)]) == 1
    assert "these must be the operations of all clients" in capsys.readouterr().out
    assert run_command(["report", "-o", str(tmp_path / "page.html"), str(tmp_path)]) == 0


@pytest.mark.parametrize(
    "spoilt", [{"Output": None}, {"Input": {"Type": "range"}}, {"Input": {"Type": "watch"}}, {"ClientId": "x" * 9}]
)
def test_what_is_none_of_its_operations_is_named_by_its_line(spoilt: dict[str, Any], tmp_path: Path) -> None:
    path = written([put(1, "a", "1", 2), {**get(2, "a", 2), **spoilt}], tmp_path / "operations.json")
    with pytest.raises(FormatError) as caught:
        read_any(path)
    assert caught.value.place == f"line {len(json.dumps(put(1, 'a', '1', 2), indent=2).splitlines()) + 1}"


def test_every_prefix_is_read_or_named_by_its_line(tmp_path: Path) -> None:
    path = written([put(1, "a", "1", 2), get(2, "a", 2, {"Value": "1"}, 2, VERSION)], tmp_path / "operations.json")
    text, unnamed = path.read_text(), []
    for end in range(1, len(text), 7):
        path.write_text(text[:end])
        try:
            read_any(path)
        except FormatError as error:
            unnamed += [] if error.place.startswith("line ") else [end]
    assert not unnamed
