"""Store directories of Maelstrom, each workload with a good and a bad twin; and Jepsen's long-fork."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import run_command
from harness.files import FileCheckOptions, check_file

#: (function, asked, answered): each operation follows the one before.
Steps = list[tuple[str, str, str]]
WORKLOADS: dict[str, tuple[Steps, Steps]] = {
    "lin-kv": (
        [("write", "[0 3]", "[0 3]"), ("cas", "[0 [3 4]]", "[0 [3 4]]"), ("read", "[0 nil]", "[0 4]")],
        [("write", "[0 3]", "[0 3]"), ("cas", "[0 [3 4]]", "[0 [3 4]]"), ("read", "[0 nil]", "[0 3]")],
    ),
    "g-set": (
        [("add", "1", "1"), ("read", "nil", "[]"), ("add", "2", "2"), ("read", "nil", "[2 1]")],
        [("add", "1", "1"), ("read", "nil", "[1]"), ("add", "2", "2"), ("read", "nil", "[2]")],
    ),
    "broadcast": (
        [("topology", ":grid", ":grid"), ("broadcast", "1", "1"), ("read", "nil", "[]"), ("broadcast", "2", "2"),
         ("read", "nil", "[1 2]")],
        [("broadcast", "1", "1"), ("read", "nil", "[1]"), ("broadcast", "2", "2"), ("read", "nil", "[1 2 3]")],
    ),
    "pn-counter": (
        [("add", "-3", "-3"), ("read", "nil", "0"), ("add", "5", "5"), ("read", "nil", "2")],
        [("add", "-3", "-3"), ("read", "nil", "-3"), ("add", "5", "5"), ("read", "nil", "5")],
    ),
    "g-counter": (
        [("add", "3", "3"), ("read", "nil", "0"), ("add", "5", "5"), ("read", "nil", "8")],
        [("add", "3", "3"), ("read", "nil", "3"), ("add", "5", "5"), ("read", "nil", "9")],
    ),
    "unique-ids": (
        [("generate", "nil", '"a-1"'), ("generate", "nil", '"a-2"')],
        [("generate", "nil", '"a-1"'), ("generate", "nil", '"a-1"')],
    ),
    "txn-list-append": (
        [("txn", "[[:append 9 1]]", "[[:append 9 1]]"), ("txn", "[[:r 9 nil]]", "[[:r 9 [1]]]")],
        [("txn", "[[:append 9 1]]", "[[:append 9 1]]"), ("txn", "[[:r 9 nil]]", "[[:r 9 [1 2]]]")],
    ),
    "txn-rw-register": (
        [("txn", "[[:w 9 1]]", "[[:w 9 1]]"), ("txn", "[[:r 9 nil]]", "[[:r 9 1]]")],
        [("txn", "[[:w 9 1]]", "[[:w 9 1]]"), ("txn", "[[:r 9 nil]]", "[[:r 9 2]]")],
    ),
}  # fmt: skip


def edn(steps: Steps) -> str:
    events = [
        f"{{:process {place % 3}, :type {type_}, :f :{f}, :value {value}, :time {place}, :index {2 * place + done}}}"
        for place, (f, asked, answered) in enumerate(steps)
        for done, (type_, value) in enumerate(((":invoke", asked), (":ok", answered)))
    ]
    return "\n".join(events) + "\n"


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_store_of_maelstrom(name: str, tmp_path: Path) -> None:
    for steps, right in zip(WORKLOADS[name], ("valid", "invalid"), strict=True):
        (tmp_path / "history.edn").write_text(edn(steps))
        (tmp_path / "results.edn").write_text("{:valid? true, :workload {:valid? true}}")
        checked = check_file(tmp_path, FileCheckOptions(model=name))
        assert checked.report.verdict == right
        assert any("results.edn says valid" in note for note in checked.notes)


@pytest.mark.parametrize(("name", "strict"), [("g-set", "set"), ("pn-counter", "counter"), ("broadcast", "g-set")])
def test_what_decides_is_named(name: str, strict: str, tmp_path: Path) -> None:
    """A replica that is behind is no violation, and one by the stricter model."""
    (tmp_path / "history.edn").write_text(edn(WORKLOADS[name][0]))
    checked = check_file(tmp_path, FileCheckOptions(model=name))
    assert any("1 reads before that are not judged" in note for note in checked.notes)
    if strict != "g-set":
        assert check_file(tmp_path, FileCheckOptions(model=strict)).report.verdict == "invalid"


@pytest.mark.parametrize("name", ["g-set", "pn-counter"])
def test_without_a_late_read_nothing_is_judged(name: str, tmp_path: Path) -> None:
    (tmp_path / "history.edn").write_text(edn(WORKLOADS[name][0][:3]))
    assert run_command(["check", "--model", name, str(tmp_path)]) == 254


FORK = [("read", "[[:r 1 nil] [:r 2 nil]]", "[[:r 1 1] [:r 2 nil]]"), ("read", "[[:r 1 nil] [:r 2 nil]]", "{}")]
WRITES = [("write", "[[:w 1 1]]", "[[:w 1 1]]"), ("write", "[[:w 2 1]]", "[[:w 2 1]]")]


@pytest.mark.parametrize("order", list(permutations(range(4)))[::2])
@pytest.mark.parametrize(
    ("other", "right"),
    [("[[:r 1 nil] [:r 2 1]]", "invalid"), ("[[:r 1 1] [:r 2 1]]", "valid"), ("[[:r 1 nil] [:r 2 nil]]", "valid")],
)
def test_long_forks(order: tuple[int, ...], other: str, right: str, tmp_path: Path) -> None:
    """All four overlap, so that only what the reads saw orders the writes."""
    steps: list[Any] = [*WRITES, FORK[0], (*FORK[1][:2], other)]
    lines = [f"{{:process {one}, :type :invoke, :f :{steps[one][0]}, :value {steps[one][1]}}}" for one in range(4)]
    lines += [f"{{:process {one}, :type :ok, :f :{steps[one][0]}, :value {steps[one][2]}}}" for one in order]
    path = tmp_path / "history.edn"
    path.write_text("\n".join(lines))
    assert check_file(path, FileCheckOptions(model="long-fork")).report.verdict == right


LATE: dict[str, tuple[Steps, Steps, Steps]] = {
    "g-set": (
        [("add", "1", "1"), ("add", "2", "2"), ("read", "nil", "[2]"), ("read", "nil", "[1 2]")],
        [("add", "1", "1"), ("add", "2", "2"), ("read", "nil", "[1 2]"), ("read", "nil", "[2]")],
        [("add", "1", "1"), ("add", "2", "2"), ("read", "nil", "[2 3]"), ("read", "nil", "[1 2]")],
    ),
    "pn-counter": (
        [("add", "1", "1"), ("add", "2", "2"), ("read", "nil", "2"), ("read", "nil", "3")],
        [("add", "1", "1"), ("add", "2", "2"), ("read", "nil", "3"), ("read", "nil", "2")],
        [("add", "1", "1"), ("add", "2", "2"), ("read", "nil", "3"), ("read", "nil", "9")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LATE)
def test_what_a_later_read_shows_was_late_and_what_none_shows_is_lost(name: str, tmp_path: Path) -> None:
    for steps, right in zip(LATE[name], ("valid", "invalid", "invalid"), strict=True):
        (tmp_path / "history.edn").write_text(edn(steps))
        assert check_file(tmp_path, FileCheckOptions(model=name)).report.verdict == right
