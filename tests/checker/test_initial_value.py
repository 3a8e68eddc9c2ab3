"""A register that starts with a value: every engine and every reader, where it is needed and where it contradicts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from checker import CasRegister, ModelError, check
from checker.foreign import take
from checker.models.registry import MODELS, model_named
from harness.files import FileCheckOptions, plainly
from history import Operation
from history.readers import Foreign, read_any
from tests.support.checker.jsonl import jsonl
from tests.support.checker.oracle import Sampler


@pytest.mark.parametrize(
    ("values", "cas", "engine"),
    [
        (None, False, "zones"), (3, False, "value-timeline automaton"), (None, True, "cas chains"),
        (3, True, "just-in-time search"),
    ],
)  # fmt: skip
def test_long_histories_by_rows_and_by_columns(values: int | None, cas: bool, engine: str, tmp_path: Path) -> None:
    sampler = Sampler(Random(1), values=values, cas=cas, truth=1.0, doubt=False, refusals=True, initial=1)
    begin = Operation(9, "read", None, None, 1, "ok", 0, 0, -2, -1)
    operations = [
        Operation.from_json(
            {**o.to_json(), "invoke_index": o.invoke_index + 2, "return_index": (o.return_index or 0) + 2}
        )
        for o in [begin, *sampler.history(900, 4)]
    ]
    path = jsonl(tmp_path / "history.jsonl", operations)
    for large in (0, 1 << 30):
        history = read_any(path, large=large)
        report = check(history, CasRegister(1))
        assert (report.verdict, report.keys[0].engine) == ("valid", engine)
        for other in (None, 2):
            assert check(history, CasRegister(other)).verdict == "invalid"


STARTS: dict[str, tuple[Any, tuple[str, Any, Any], tuple[str, Any, Any]]] = {
    "register": (5, ("read", None, 5), ("read", None, None)),
    "cas-register": (True, ("read", None, True), ("read", None, 1)),
    "cas-register-strict": ("x", ("cas", ["x", 1], None), ("read", None, None)),
    "counter": (5, ("read", None, 5), ("read", None, 0)),
    "set": ([1, 2], ("read", None, [2, 1]), ("read", None, [])),
    "queue": ([1, 2], ("dequeue", None, 1), ("dequeue", None, 2)),
    "unordered-queue": ([1, 2], ("dequeue", None, 2), ("dequeue", None, 3)),
    "total-queue": ([1, 2], ("dequeue", None, 2), ("drain", None, [1])),
    "unique-ids": ([1], ("generate", None, 2), ("generate", None, 1)),
    "log": (["a"], ("append", "b", 1), ("append", "b", 0)),
    "kv": ("a", ("get", None, "a"), ("get", None, "")),
    "mutex": ("held", ("release", None, None), ("acquire", None, None)),
    "multi-register": (
        {"x": 1},
        ("txn", [["r", "x", None]], [["r", "x", 1]]),
        ("txn", [["r", "x", None]], [["r", "x", None]]),
    ),
    "list-append": (
        {"x": [1, 2]},
        ("txn", [["r", "x", None]], [["r", "x", [1, 2]]]),
        ("txn", [["r", "x", None]], [["r", "x", []]]),
    ),
    "rw-register": (
        {"7": 1},
        ("txn", [["r", 7, None]], [["r", 7, 1]]),
        ("txn", [["r", 7, None]], [["r", 7, None]]),
    ),
    "long-fork": (
        {"x": 1},
        ("read", [["r", "x", None]], [["r", "x", 1]]),
        ("read", [["r", "x", None]], [["r", "x", None]]),
    ),
    "bank": ({"0": 5}, ("read", None, [[0, 5]]), ("read", None, [])),
    "bank-solvent": ({"0": 5}, ("transfer", [0, 1, 5], None), ("transfer", [0, 1, 6], None)),
}


@pytest.mark.parametrize("model", STARTS)
def test_every_object_that_has_a_state_may_start_with_one(model: str) -> None:
    initial, right, wrong = STARTS[model]
    for (f, asked, answer), verdict in ((right, "valid"), (wrong, "invalid")):
        for key in (None, "k"):
            history = Foreign("edn", [Operation(0, f, key, asked, answer, "ok", 10, 20, 0, 1)])
            taken = take(history, model, initial)
            assert check(taken.history, taken.model).verdict == verdict


@pytest.mark.parametrize("model", ["list-append", "rw-register"])
def test_the_start_of_transactions_in_a_large_file_and_in_its_plain_form(model: str, tmp_path: Path) -> None:
    """In a plain file it is the first transaction of process -1, and precedes all others without real time, too."""
    lists = model == "list-append"
    for answer, verdict in (([5] if lists else 5, "valid"), ([] if lists else None, "invalid")):
        steps = [["r", "x", answer]]
        read = Operation(0, "txn", None, [["r", "x", None]], steps, "ok", 0, 1, 0, 1)
        path = jsonl(tmp_path / f"{verdict}.jsonl", [read])
        initial = {"x": [5] if lists else 5}
        for large in (0, 1 << 30):
            taken = take(read_any(path, model=model, large=large), model, initial)
            assert check(taken.history, taken.model).verdict == verdict
            plain, _ = plainly(path, FileCheckOptions(model=model, initial=json.dumps(initial)), large)
            assert check(plain.events, model).verdict == verdict


def test_a_read_that_only_a_start_explains_names_it() -> None:
    for model, answer, start in (("list-append", [5, 1], {"7": [5]}), ("rw-register", 5, {"7": 5})):
        steps = [["r", 7, answer], ["append" if model == "list-append" else "w", 7, 1]]
        read = Operation(0, "txn", None, steps, steps, "ok", 10, 20, 0, 1)
        assert model_named(model).likely_start([read]) == start
        assert not model_named(model).likely_start([replace(read, result=steps[1:])])


@pytest.mark.parametrize(("model", "held"), [("list-append", [1]), ("rw-register", 1), ("multi-register", 1)])
@pytest.mark.parametrize("key", [7, "7", "x"])
def test_a_key_of_digits_is_an_integer_or_a_text(model: str, held: Any, key: Any) -> None:
    for answer, verdict in ((held, "valid"), (None, "invalid")):
        steps = [["r", key, answer]]
        history = Foreign("edn", [Operation(0, "txn", None, [["r", key, None]], steps, "ok", 10, 20, 0, 1)])
        taken = take(history, model, {str(key): held})
        assert check(taken.history, taken.model).verdict == verdict


def test_objects_without_a_state_to_choose_say_so() -> None:
    for name in MODELS.keys() - STARTS.keys():
        with pytest.raises(
            ModelError, match=r"no initial value to choose|starts with (a list|a number|balances|a map)"
        ):
            model_named(name).start_with(True)  # noqa: FBT003
