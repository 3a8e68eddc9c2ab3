"""Files that people arrived with: each case and its bad twin, in every format that can hold it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from checker import check
from harness.files import FileCheckOptions, check_file, write_plainly
from tests.support.history.dresses import DRESSES, Event


@dataclass(frozen=True)
class Case:
    """Operations (function, asked, answered), one after the other; the last answer of the bad twin is another."""

    options: FileCheckOptions
    operations: tuple[tuple[str, Any, Any], ...]
    bad: Any

    def events(self, *, good: bool) -> list[Event]:
        found = []
        for number, (f, asked, answered) in enumerate(self.operations):
            spoilt = not good and number == len(self.operations) - 1
            found += [("invoke", number % 3, f, asked), ("ok", number % 3, f, self.bad if spoilt else answered)]
        return found


MOVE = {"from": 0, "to": 1, "amount": 2}
CAS = FileCheckOptions(model="cas-register")
CASES: dict[str, Case] = {
    "bank-map": Case(
        FileCheckOptions(model="bank"),
        (("read", None, {"0": 6, "1": 4}), ("transfer", MOVE, MOVE), ("read", None, {"0": 4, "1": 6})),
        {"0": 4, "1": 4},
    ),
    "bank-list": Case(
        FileCheckOptions(model="bank"),
        (("read", None, [6, 4]), ("transfer", MOVE, MOVE), ("read", None, [4, 6])), [4, 4],
    ),
    "counter-unknown": Case(
        FileCheckOptions(model="counter", null="unknown"), (("add", 2, 2), ("read", None, None), ("read", None, 2)), 3
    ),
    "counter-nil-read": Case(
        FileCheckOptions(model="counter"), (("read", None, None), ("add", 2, 2), ("read", None, 2)), None
    ),
    "ingest-cas": Case(
        CAS,
        (("write", [0, 1], [0, 1]), ("cas", [0, [1, 2]], [0, [1, 2]]), ("read", [0, None], [0, 2])), [0, 1],
    ),
    "jepsen-log-colon": Case(FileCheckOptions(), (("write", 7, 7), ("read", None, 7)), None),
    "json-array": Case(FileCheckOptions(), (("write", 3, 3), ("read", None, 3)), 4),
    "jsonl-kv-tuples": Case(
        FileCheckOptions(), (("write", [0, 3], [0, 3]), ("write", [1, 5], [1, 5]), ("read", [0, None], [0, 3])), [0, 5]
    ),
    "nil-read": Case(
        FileCheckOptions(model="cas-register", null="unknown"),
        (("write", 5, 5), ("read", None, None), ("read", None, 5)), 6,
    ),
    "set-twice": Case(FileCheckOptions(model="set"), (("add", 7, 7), ("read", None, [7])), [7, 7]),
    "tri-cas": Case(
        CAS,
        (
            ("write", ["a", "x"], ["a", "x"]), ("cas", ["a", "x", "y"], ["a", "x", "y"]),
            ("write", ["b", "z"], ["b", "z"]), ("read", ["a", None], ["a", "y"]),
        ),
        ["a", "x"],
    ),
    "initial": Case(FileCheckOptions(initial="9"), (("read", None, 9), ("write", 3, 3), ("read", None, 3)), 9),
    "mutex": Case(
        FileCheckOptions(model="mutex"), (("lock", None, None), ("try_acquire", None, False)), bad=True
    ),
    "unique-ids": Case(FileCheckOptions(model="unique-ids"), (("generate", None, "a"), ("generate", None, "b")), "a"),
    "queue": Case(
        FileCheckOptions(model="queue"),
        (("enqueue", 1, 1), ("enqueue", 2, 2), ("dequeue", None, 1), ("dequeue", None, 2)), 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("name", CASES)
def test_a_case_and_its_bad_twin_in_every_format(name: str, dress: str, tmp_path: Path) -> None:
    case = CASES[name]
    for good in (True, False):
        content = DRESSES[dress](case.events(good=good))
        path = tmp_path / f"history-{good}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        right = "valid" if good else "invalid"
        assert check_file(path, case.options).report.verdict == right
        plain = tmp_path / f"plain-{good}.jsonl"
        write_plainly(path, case.options, plain)
        assert check(plain).verdict == right
