"""OpenTelemetry spans, as several exporters write them, read by a mapping."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checker import check
from checker.foreign import take
from harness.cli.main import run_command
from history import FormatError
from history.readers import read_any
from history.readers.mapping import FieldMap

Span = dict[str, Any]
START = 1_710_000_000_000_000_000
MAPPING = "key=attributes.db.key,value=attributes.db.value,result=attributes.db.result,f.SET=write,f.GET=read"


def attribute(name: str, value: Any) -> dict[str, Any]:
    kinds = {str: "stringValue", bool: "boolValue", float: "doubleValue"}
    kind = kinds.get(type(value), "intValue")
    return {"key": name, "value": {kind: str(value) if kind == "intValue" else value}}


def span(operation: str, begin: int, end: int | None, *, failed: bool = False, **attributes: Any) -> Span:
    named = {"db.system.name": "redis", "db.operation.name": operation, "db.key": "x", **attributes}
    found = {
        "traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "00f067aa0ba902b7", "name": operation, "kind": 3,
        "startTimeUnixNano": str(START + begin), "attributes": [attribute(*pair) for pair in named.items()],
        "status": {"code": 2, "message": "timeout"} if failed else {},
    }  # fmt: skip
    return found if end is None else {**found, "endTimeUnixNano": str(START + end)}


def spans(answer: int) -> list[Span]:
    value: Span = {"db.value": 3}
    four: Span = {"db.value": 4}
    result: Span = {"db.result": answer}
    return [
        span("SET", 0, 10, **value), span("SET", 20, 30, failed=True, **four), span("GET", 40, 50, **result),
    ]  # fmt: skip


def export(*batches: list[Span], **more: Any) -> dict[str, Any]:
    resource = {"attributes": [attribute("service.name", "shop")]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": one}]} for one in batches], **more}


def changed(records: list[Span], change: Callable[[Span], Any]) -> list[Span]:
    for record in records:
        change(record)
    return records


OTHER: Span = {"name": "GET /cart", "startTimeUnixNano": str(START), "endTimeUnixNano": str(START + 5)}
#: Each a way to write the three spans.
SHAPES: dict[str, Callable[[list[Span]], str]] = {
    "one export": lambda some: json.dumps(export(some)),
    "indented": lambda some: json.dumps(export(some), indent=2),
    "an export a line": lambda some: "\n".join(json.dumps(export([one])) for one in some),
    "an array of exports": lambda some: json.dumps([export(some[:1]), export(some[1:])]),
    "a resource each": lambda some: json.dumps(export(*([one] for one in some))),
    "spans of other things": lambda some: json.dumps(export([OTHER, *some, OTHER])),
    "backwards": lambda some: json.dumps(export(some[::-1])),
    "the library's old name": lambda some: json.dumps(export(some)).replace(
        "scopeSpans", "instrumentationLibrarySpans"
    ),
    "the attribute's old name": lambda some: json.dumps(export(some)).replace("db.operation.name", "db.operation"),
    "times as numbers": lambda some: json.dumps(
        export(changed(some, lambda one: one.update(startTimeUnixNano=int(one["startTimeUnixNano"]))))
    ),
    "a status by name": lambda some: json.dumps(export(some)).replace('"code": 2', '"code": "STATUS_CODE_ERROR"'),
    "no resource": lambda some: json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": some}]}]}),
    "byte order mark": lambda some: "\ufeff" + json.dumps(export(some)),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(("answer", "right"), [(3, "valid"), (4, "valid"), (5, "invalid")])
def test_spans_in_every_shape(name: str, answer: int, right: str, tmp_path: Path) -> None:
    path = tmp_path / "traces.json"
    path.write_text(SHAPES[name](spans(answer)))
    history = read_any(path, fields=FieldMap.parse(MAPPING))
    assert history.format == "otlp"
    assert [one.outcome for one in history.operations or ()] == ["ok", "info", "ok"]
    taken = take(history, "register")
    assert check(taken.history, taken.model).verdict == right


def test_a_mapping_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, mapping = tmp_path / "traces.json", tmp_path / "redis.map"
    path.write_text(json.dumps(export(spans(3), [OTHER])))
    mapping.write_text("# how our client names them\n" + MAPPING.replace(",", "\n") + "  # words\n")
    assert run_command(["check", "--map", f"@{mapping}", str(path)]) == 0
    assert "3 spans of a database were read, and 1 others were not" in capsys.readouterr().out
    assert run_command(["check", "--map", f"@{tmp_path / 'none'}", str(path)]) == 254


def test_without_a_mapping_the_functions_are_those_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(export(spans(3))))
    assert [one.f for one in read_any(path).operations or ()] == ["SET", "SET", "GET"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (json.dumps(export([OTHER])), "line 1: expected spans with attributes db.…, found none in 1 spans"),
        (
            json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{}]}]}]}),
            "line 1: expected spans in the form of OTLP",
        ),
        (json.dumps(export(spans(3))) + "\n" + json.dumps({"resourceSpans": 3}), "line 2: expected spans in the form"),
        (json.dumps(export(spans(3)))[:-9], "line 1: expected a JSON object"),
    ],
)
def test_what_is_wrong_is_named_by_its_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "traces.json"
    path.write_text(text)
    with pytest.raises(FormatError) as caught:
        read_any(path)
    assert message in str(caught.value)
