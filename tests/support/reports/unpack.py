"""The data inside a report."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from typing import Any

import numpy as np


def unpack(page: str) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
    """Do in Python what a run's page does with its two packed texts."""
    charts, operations = (unpacked(page, name) for name in ("packed", "packed-operations"))
    columns = operations[0]
    current, changes, processes = dict[int, int](), iter(columns["ps"].tolist()), []
    for lane, new in zip(columns["lane"].tolist(), columns["p1"].tolist(), strict=True):
        if new:
            current[lane] = next(changes)
        processes.append(current[lane])
    columns["p"] = np.array(processes)
    return charts[0] | columns, charts[1] | operations[1]


def unpacked(page: str, name: str = "packed") -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
    """Return the columns and the other data of one packed text."""
    packed = re.search(rf'<script id="{name}" type="text/plain">([^<]*)</script>', page)
    assert packed is not None
    body = zlib.decompress(base64.b64decode(packed.group(1)))
    (length,) = struct.unpack_from("<I", body)
    head = json.loads(body[4 : 4 + length])
    offset, columns = 4 + length, dict[str, np.ndarray[Any, Any]]()
    for entry in head["columns"]:
        planes = np.frombuffer(body, np.uint8, entry["n"] * entry["width"], offset).reshape(entry["width"], entry["n"])
        raw: Any = sum(plane.astype(np.int64) << (8 * place) for place, plane in enumerate(planes))
        value = (raw >> 1) ^ -(raw & 1)
        columns[entry["name"]] = np.cumsum(value) if entry["delta"] else value
        offset += entry["n"] * entry["width"]
    assert offset == len(body)
    return columns, head["data"]
