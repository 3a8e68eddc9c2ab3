"""The published schemas: fresh, valid, and of the same mind as the readers."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from harness.options import plan_file
from harness.plan import HELP
from harness.schemas import FOLDER, schemas
from harness.suite.file_types import SUITE
from history.schema import convert

ROOT = Path(__file__).resolve().parents[2]


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((FOLDER / f"{name}.schema.json").read_text()))


def test_they_are_what_the_types_say_today() -> None:
    written = {path.name: path.read_text() for path in FOLDER.iterdir()}
    assert written == schemas(), "run `python -m harness.schemas`"


@pytest.mark.parametrize("name", sorted(schemas()))
def test_each_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(json.loads(schemas()[name]))


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("suite", "suites/*.toml"),
        ("defects", "suites/defects/*.toml"),
        ("schedule", "suites/scenarios/*.toml"),
        ("system", "examples/*/*.toml"),
    ],
)
def test_the_files_of_the_project_name_them_and_fit(name: str, files: str) -> None:
    found = sorted(path for path in ROOT.glob(files) if path.name != "pyproject.toml")
    assert found
    for path in found:
        first = path.read_text().splitlines()[0]
        assert first.startswith("#:schema ")
        assert (path.parent / first.removeprefix("#:schema ")).resolve() == FOLDER / f"{name}.schema.json"
        assert [error.message for error in validator(name).iter_errors(tomllib.loads(path.read_text()))] == []


@pytest.mark.parametrize(
    "matrix",
    [
        {}, {"nemesis": "a,b"}, {"nemesis": ["a", ""]}, {"rate": 5}, {"rate": [5, 0.5]}, {"keys": 1, "seed": [0]},
        {"override": [{"where": {"keys": 5}, "expect": ["valid"]}]}, {"weights": {"a": 2}}, {"exclude": []},
        {"nemesis": "a,,b"}, {"nemesis": []}, {"rate": 0}, {"rate": True}, {"rate": [5, "x"]}, {"keys": 0.5},
        {"keys": 10_001}, {"keyz": 5}, {"seed": -1}, {"expect": "wrong"}, {"expect": []}, {"kinds": [""]},
        {"override": [{}]}, {"override": {}}, {"weights": {"a": 0}}, {"cluster": "netns"}, {"snapshot": "yes"},
    ],
)  # fmt: skip
def test_they_refuse_what_is_refused_and_nothing_else(matrix: dict[str, Any]) -> None:
    assert validator("suite").is_valid({"matrix": [matrix]}) == reads({"matrix": [matrix]}, SUITE)


@pytest.mark.parametrize(
    "plan",
    [{}, {"dledger-version": "0.4.0"}, {"nemesis": ["a"]}, {"fault-options": {"loss": 1}}, {"seed": 3},
     {"dledger-version": "0.5"}, {"nemesis": [1]}, {"fault-options": 3}, {"schedule": []}, {"seed": -3},
     {"fault-options": {"los": 0.5}}, {"fault-options": {"loss": 2}}],
)  # fmt: skip
def test_so_does_that_of_plans(plan: dict[str, Any]) -> None:
    assert validator("plan").is_valid(plan) == reads(plan, plan_file())


def test_an_option_says_what_the_command_line_says_of_it() -> None:
    properties = json.loads(schemas()["plan.schema.json"])["$defs"]["Plan"]["properties"]
    assert properties["rate"]["description"].startswith(HELP["rate"])


def reads(record: dict[str, Any], wanted: type) -> bool:
    try:
        convert(record, wanted)
    except ValueError:
        return False
    return True
