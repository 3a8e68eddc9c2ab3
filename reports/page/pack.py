"""Data for the page: columns as little-endian byte planes after a JSON head, deflated and base64-encoded.

A column of integers is zigzag-coded (as differences if that makes the numbers smaller), split into as many bytes as its
largest number needs, and stored plane by plane: all low bytes, then all second bytes, and so on.  Deflate compresses
empty planes well, and the page needs only ten lines to read the format.  Base64 has no ``<``, so no value can escape
its element.

Layout before deflating: ``u32 length of the head | head (UTF-8 JSON) | planes``.
"""

from __future__ import annotations

import base64
import json
import math
import struct
import zlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from history.columns.operations import NONE, Coded, Ints, Operations
from reports.analysis.counterexample import LONGEST_WORDING
from reports.style.format import LONGEST, short
from reports.style.wording import Wording, by_values

MAX_TEXTS: Final = 50_000
#: Limit of distinct keys, nodes and errors; all further ones share one name.
MAX_NAMES: Final = 20_000
_LONGEST_STEPS: Final = 2000
_INTEGER: Final = r"^-?\d{1,15}$"
_PAIR: Final = r"^\[(?P<a>-?\d{1,15}|null), ?(?P<b>-?\d{1,15})\]$"


def pack(columns: Mapping[str, Ints], data: Mapping[str, Any], *, cleaned: bool = False) -> str:
    """Pack columns and a JSON object into one base64 text; ``cleaned``: the object has been through :func:`clean`."""
    described, planes = [], list[bytes]()
    for name, column in columns.items():
        entry, planes_of_it = _column(name, column)
        described.append(entry)
        planes += planes_of_it
    record = {"columns": described, "data": data if cleaned else clean(data)}
    head = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    return base64.b64encode(_deflate([struct.pack("<I", len(head)) + head, *planes])).decode("ascii")


def _deflate(parts: list[bytes]) -> bytes:
    """Deflate the parts as one zlib stream.

    Each part is deflated with matches and with runs only, and the shorter result is kept.  Both together take half the
    time of zlib's default level, which looks for longer matches in the low bytes of times in vain.
    """
    check, packed = 1, [b"\x78\x9c"]
    for part in parts:
        check = zlib.adler32(part, check)
        packed.append(min(_segment(part, 4, zlib.Z_DEFAULT_STRATEGY), _segment(part, 1, zlib.Z_RLE), key=len))
    end = zlib.compressobj(wbits=-zlib.MAX_WBITS).flush()
    return b"".join([*packed, end, struct.pack(">I", check)])


def _segment(part: bytes, level: int, strategy: int) -> bytes:
    """Deflate a part so that another one can follow, which does not refer to it."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, 9, strategy)
    return packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH)


def _column(name: str, column: Ints) -> tuple[dict[str, Any], list[bytes]]:
    plain, steps = _zigzag(column), _zigzag(np.diff(column, prepend=np.int64(0)))
    delta = bool(len(column)) and _cost(steps) < _cost(plain)
    coded = steps if delta else plain
    largest = int(coded.max(initial=0))
    width = max(1, (largest.bit_length() + 7) // 8)
    planes = coded.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T
    wide = bool(len(column)) and max(abs(int(column.min())), abs(int(column.max()))) >= 2**31
    return {"name": name, "n": len(column), "width": width, "delta": delta, "wide": wide}, [
        plane.tobytes() for plane in planes
    ]


def _zigzag(column: Ints) -> Any:
    return ((column << 1) ^ (column >> 63)).astype(np.uint64)


def _cost(coded: Any) -> float:
    """Return the bits that numbers need, of a long column those of a sample."""
    sample = coded[:: 1 + len(coded) // 50_000]
    return float(np.log2(sample.astype(np.float64) + 1).sum())


def clean(value: Any) -> Any:
    """Convert to JSON that a browser can read: arrays to lists, NaN to null, floats to at most four decimals."""
    if isinstance(value, np.ndarray):
        return clean(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): clean(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    if isinstance(value, float):
        return round(value, 4) if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def operation_columns(
    operations: Operations, lanes: Ints, wording: Wording = by_values
) -> tuple[dict[str, Ints], dict[str, Any]]:
    """Return the columns of all operations, with times in microseconds, and the names for their codes.

    A row of the timeline seldom changes its process: ``p1`` marks the operations where it does, and ``ps`` has the new
    processes in that order.
    The ``w`` column holds the model's words for each operation; it is missing if the model has none.
    """
    done = operations.returned != NONE
    started = operations.invoked // 1000
    columns = {
        "t": started,
        "d": np.where(done, np.maximum(operations.returned // 1000 - started, 0), -1),
        "i": operations.invoke_index,
        "r": np.where(done, operations.return_index - operations.invoke_index, -1),
        "lane": lanes,
        **_processes(operations.process, lanes),
        "o": operations.outcome,
    }
    coded: dict[str, Coded] = {
        "f": operations.f,
        "k": operations.key,
        "n": operations.node,
        "ph": operations.phase,
        "e": operations.error,
    }
    names: dict[str, Any] = {}
    for name, column in coded.items():
        columns[name] = np.minimum(column.codes, MAX_NAMES)
        names[name] = [short(text) for text in column.names[:MAX_NAMES]]
        names[name] += ["…"] if len(column.names) > MAX_NAMES else []
    texts: list[str] = []
    for letter, column in (("v", operations.value), ("q", operations.result)):
        columns.update(_values(letter, column, texts))
    if wording is not by_values:
        columns["w"], names["w"] = _wordings(operations, wording)
    return columns, {**names, "texts": texts}


def _processes(processes: Ints, lanes: Ints) -> dict[str, Ints]:
    order = np.argsort(lanes, kind="stable")
    new = np.ones(len(lanes), dtype=np.int64)
    same = (lanes[order][1:] == lanes[order][:-1]) & (processes[order][1:] == processes[order][:-1])
    new[order[1:][same]] = 0
    return {"p1": new, "ps": processes[new == 1]}


def _wordings(operations: Operations, wording: Wording) -> tuple[Ints, list[str]]:
    """Encode the words for each operation; -1 means none."""
    places: dict[str, int] = {}
    codes = np.full(len(operations), -1, dtype=np.int64)
    for row in range(len(operations)):
        words = short(wording(operations.at(row)), LONGEST_WORDING)
        if words and (words in places or len(places) < MAX_TEXTS):
            codes[row] = places.setdefault(words, len(places))
    return codes, list(places)


def _values(letter: str, column: Any, texts: list[str]) -> dict[str, Ints]:
    """Encode JSON values as a kind and two numbers.

    Kinds: 0 null, 1 integer, 2 pair, 3 place in ``texts`` (beyond them: no text is kept), 4 pair with null.
    """
    count = len(column)
    kind, first, second = (np.zeros(count, dtype=np.int64) for _ in range(3))
    filled = pc.fill_null(column, "null")
    integers = np.asarray(pc.match_substring_regex(filled, _INTEGER).to_numpy(zero_copy_only=False), dtype=np.bool_)
    kind[integers], first[integers] = 1, _numbers(filled, integers)
    rest = np.nonzero(~integers & np.asarray(pc.not_equal(filled, "null").to_numpy(zero_copy_only=False)))[0]
    if len(rest):
        _odd_values(rest, filled.take(pa.array(rest)), (kind, first, second), texts)
    return {f"{letter}k": kind, f"{letter}a": first, f"{letter}b": second}


def _numbers(column: Any, chosen: Any) -> Ints:
    return np.asarray(pc.cast(column.filter(pa.array(chosen)), pa.int64()).to_numpy(), dtype=np.int64)


def _odd_values(rows: Ints, column: Any, out: tuple[Ints, Ints, Ints], texts: list[str]) -> None:
    kind, first, second = out
    known = {text: place for place, text in enumerate(texts)}
    for row, pair, text in zip(rows, pc.extract_regex(column, _PAIR).to_pylist(), column.to_pylist(), strict=True):
        if pair is not None:
            nothing = pair["a"] == "null"
            kind[row], first[row], second[row] = 4 if nothing else 2, 0 if nothing else int(pair["a"]), int(pair["b"])
            continue
        # The page reads the steps of transactions, so those stay whole.
        shown = short(text, _LONGEST_STEPS if text.startswith("[[") else LONGEST)
        if len(texts) < MAX_TEXTS and known.setdefault(shown, len(texts)) == len(texts):
            texts.append(shown)
        kind[row], first[row] = 3, known.get(shown, MAX_TEXTS)
