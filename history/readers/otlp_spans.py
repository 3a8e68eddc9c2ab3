"""Read OpenTelemetry spans with database attributes from OTLP JSON, as whole operations.

A span becomes a flat object with ``start``, ``end``, ``operation`` (``db.operation.name``), ``error`` (if the span
failed), ``name``, ``kind``, ``attributes`` and ``resource``.  No convention says where the key and value are, so the
user must give a mapping: ``key=attributes.db.key,value=attributes.db.value,result=attributes.db.result``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from history.readers.json_records import JsonObjects, records_of
from history.readers.mapping import FieldMap
from history.readers.records import Record, Records

_FAILED: Final = (2, "STATUS_CODE_ERROR")
_OPERATIONS: Final = ("db.operation.name", "db.operation")


def parse_otlp(text: str, source: str, chosen: FieldMap | None = None) -> Records:
    """Parse a file's text, in which each object is an export, into records.  Raises FormatError with the line."""
    objects = JsonObjects(text, source)
    spans: list[Record] = []
    for line, item in objects.items:
        try:
            spans += [(line, _flat(span, resource)) for span, resource in _spans(item)]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise objects.wrong(line, f"expected spans in the form of OTLP: {error!r}"[:200]) from None
    kept = [(line, span) for line, span in spans if any(name.startswith("db.") for name in span["attributes"])]
    if not kept:
        raise objects.wrong(1, f"expected spans with attributes db.…, found none in {len(spans)} spans")
    records = records_of(kept, chosen, objects.wrong)
    left = f"{len(kept)} spans of a database were read, and {len(spans) - len(kept)} others were not"
    return replace(records, notes=(left, *records.notes))


def _spans(item: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each span with the attributes of its resource; ``item`` is an export or one resource's part of it."""
    for of_resource in item.get("resourceSpans", [item]):
        resource = _attributes(of_resource.get("resource", {}).get("attributes"))
        for scope in of_resource.get("scopeSpans") or of_resource.get("instrumentationLibrarySpans") or ():
            for span in scope.get("spans", ()):
                yield span, resource


def _flat(span: dict[str, Any], resource: dict[str, Any]) -> dict[str, Any]:
    attributes, status = _attributes(span.get("attributes")), span.get("status") or {}
    operation = next((attributes[name] for name in _OPERATIONS if name in attributes), None)
    end = span.get("endTimeUnixNano")
    flat = {
        "start": int(span["startTimeUnixNano"]), "end": int(end) if end else None, "name": span.get("name"),
        "kind": span.get("kind"), "attributes": attributes, "resource": resource,
    }  # fmt: skip
    if operation is not None:
        flat["operation"] = operation
    if status.get("code") in _FAILED:
        flat["error"] = status.get("message") or "error"
    return flat


def _attributes(pairs: list[dict[str, Any]] | None) -> dict[str, Any]:
    return {pair["key"]: _value(pair["value"]) for pair in pairs or ()}


def _value(value: dict[str, Any]) -> Any:
    """Return the value of an attribute, in which OTLP writes integers as strings."""
    empty: tuple[str, Any] = ("", None)
    kind, content = next(iter(value.items()), empty)
    if kind == "intValue":
        return int(content)
    if kind == "arrayValue":
        return [_value(item) for item in content["values"]]
    return _attributes(content["values"]) if kind == "kvlistValue" else content
