"""A register that starts with a value: every engine and every reader, where it is needed and where it contradicts."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from checker import CasRegister, ModelError, check
from checker.models.registry import MODELS, starting_with
from history import Operation
from history.readers import read_any
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


def test_only_registers_that_start_absent_can_start_otherwise() -> None:
    able = []
    for name in MODELS:
        try:
            model = starting_with(name, True)  # noqa: FBT003
        except ModelError as error:
            assert f"a {name} has no initial value to choose" in str(error)  # noqa: PT017 (one of many)
        else:
            able.append(name)
            assert model.initial == True  # noqa: E712 (a truth of our own, equal to it)
            assert model.initial != 1
    assert able == ["register", "cas-register", "cas-register-strict"]
