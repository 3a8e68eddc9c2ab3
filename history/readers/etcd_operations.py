"""Read operations of etcd's robustness tests: the concatenated ``client-*/operations.json`` files of a report.

These files replace values of 20 bytes or more by their FNV hashes.  Here a hash is a string such as ``#123``, so all
values are strings.

===============  ============================================  ====================================================
function         value                                         result, after the store's revision
===============  ============================================  ====================================================
``range``        start, end, limit, keys only (0, 1), revision   count, [[key, value, revision, version], …]
``transaction``  conditions [[key, revision, version], …],     whether a condition failed (0, 1), for each operation
                 operations if they hold, and if not           [deleted, count, [[key, value, …], …]]
``leaseGrant``   the lease                                     nothing
``leaseRevoke``  the lease                                     nothing
``compact``      the revision                                  the error, or nothing
===============  ============================================  ====================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from history.readers.intervals import events_of_operations
from history.readers.json_records import JsonObjects
from history.readers.records import Record, Records

#: Values of this many bytes or more are hashed.
_HASHED: Final = 20
_FNV: Final = (0x811C9DC5, 0x01000193)


def parse_etcd(text: str, source: str) -> Records:
    """Parse the operations of a report into records.  Raises FormatError with the line."""
    objects = JsonObjects(text, source)
    operations: list[Record] = []
    for line, item in objects.items:
        try:
            operation = _operation(item)
        except (KeyError, TypeError, AttributeError, ValueError):
            raise objects.wrong(
                line, f"expected an operation of etcd's robustness tests, found {str(item)[:120]}"
            ) from None
        if operation is not None:
            operations.append((line, operation))
    return Records(events_of_operations(operations, objects.wrong), objects.wrong)


def _operation(item: dict[str, Any]) -> dict[str, Any] | None:
    """Convert one operation; None for one that does not concern the state."""
    request, output = item["Input"], item["Output"]
    kind = request["Type"]
    if kind == "defragment":
        return None
    f, request_of, answered = _KINDS[kind]
    error = output.get("Error") or None
    unanswered = error is not None or output.get("Persisted")
    return {
        "process": item["ClientId"], "f": f, "value": request_of(request), "start": item["Call"], "end": item["Return"],
        "type": "info" if unanswered else "ok", "error": error,
        "result": None if unanswered else [output.get("Revision", 0), *answered(output)],
    }  # fmt: skip


def _range(options: dict[str, Any]) -> list[Any]:
    keys_only = int(options.get("KeysOnly", False))
    return [options["Start"], options.get("End", ""), options.get("Limit", 0), keys_only]


def _found(response: dict[str, Any]) -> list[Any]:
    pairs = [
        [pair["Key"], _value(pair.get("Value")), pair.get("ModRevision", 0), pair.get("Version")]
        for pair in response.get("KVs") or ()
    ]
    return [response.get("Count", 0), pairs]


def _value(value: dict[str, Any] | None) -> str:
    if not value:
        return ""
    if value.get("Hash"):
        return f"#{value['Hash']}"
    text = str(value.get("Value", ""))
    data = text.encode()
    if len(data) < _HASHED:
        return text
    hashed = _FNV[0]
    for byte in data:
        hashed = (hashed ^ byte) * _FNV[1] & 0xFFFFFFFF
    return f"#{hashed}"


def _steps(operations: Iterable[dict[str, Any]] | None) -> list[list[Any]]:
    return [_STEPS[operation["Type"]](operation) for operation in operations or ()]


_STEPS: Final[dict[str, Callable[[dict[str, Any]], list[Any]]]] = {
    "range-operation": lambda operation: ["range", *_range(operation["Range"])],
    "put-operation": lambda operation: [
        "put", operation["Put"]["Key"], _value(operation["Put"].get("Value")), operation["Put"].get("LeaseID", 0)
    ],
    "delete-operation": lambda operation: ["delete", operation["Delete"]["Key"]],
}  # fmt: skip


def _asked_transaction(request: dict[str, Any]) -> list[Any]:
    txn = request["Txn"]
    conditions = [
        [cmp["Key"], cmp.get("ExpectedRevision", 0), cmp.get("ExpectedVersion", 0)] for cmp in txn["Conditions"] or ()
    ]
    return [conditions, _steps(txn["OperationsOnSuccess"]), _steps(txn["OperationsOnFailure"])]


def _answered_transaction(output: dict[str, Any]) -> list[Any]:
    txn = output["Txn"]
    return [int(txn["Failure"]), [[result.get("Deleted", 0), *_found(result)] for result in txn["Results"] or ()]]


#: Maps a request's type to our function and to the functions that extract the request's value and the answer.
_KINDS: Final[dict[str, tuple[str, Callable[[dict[str, Any]], Any], Callable[[dict[str, Any]], list[Any]]]]] = {
    "range": (
        "range",
        lambda request: [*_range(request["Range"]), request["Range"].get("Revision", 0)],
        lambda output: [output["ClientError"]] if output.get("ClientError") else _found(output["Range"]),
    ),
    "txn": ("transaction", _asked_transaction, _answered_transaction),
    "leaseGrant": ("leaseGrant", lambda request: request["LeaseGrant"]["LeaseID"], lambda _: []),
    "leaseRevoke": ("leaseRevoke", lambda request: request["LeaseRevoke"]["LeaseID"], lambda _: []),
    "compact": (
        "compact",
        lambda request: request["Compact"]["Revision"],
        lambda output: [output["ClientError"]] if output.get("ClientError") else [],
    ),
}
