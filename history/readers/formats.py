"""Detect the format of a history from the file's content, and read foreign formats event by event."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from history.errors import FormatError
from history.file_signatures import MAGIC, recognized_format
from history.records.events import TYPES

if TYPE_CHECKING:
    from history.readers.jepsen_events import TextHistory
    from history.readers.mapping import FieldMap
    from history.readers.records import Record, Records

#: The compiled reader, which takes 0.3 s to load, pays off from this size on, in bytes.
LARGE: Final = 8 << 20
#: Largest foreign file, in bytes, to read event by event, which takes about 15 times as much memory.
BY_ROWS: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class Format:
    """A foreign format: an example line, the module and function that parse it, and the model that it implies, if any.

    With ``by_lines``, a compiled scanner reads large files.  With ``mapped``, the format has no fixed field names, so
    the parser maps them.  A ``binary`` format is parsed from bytes.
    """

    title: str
    example: str
    parser: tuple[str, str]
    model: str | None = None
    by_lines: bool = False
    mapped: bool = False
    binary: bool = False

    def parse(self, data: Any, source: str, fields: FieldMap | None) -> Records:
        """Return the records in a file's text, or bytes; loads the parser.  Raises FormatError."""
        module, function = self.parser
        parse = getattr(import_module(f"history.readers.{module}"), function)
        records: Records = parse(data, source, fields) if self.mapped else parse(data, source)
        return records


FORMATS: Final = {
    "edn": Format(
        "Jepsen's history.edn", "{:type :invoke, :f :write, :value 3, :process 0, :time 10, :index 0}",
        ("edn", "parse_edn"), by_lines=True,
    ),
    "jepsen-log": Format(
        "Jepsen's jepsen.log and history.txt", "INFO  [worker 0] jepsen.util: 0\t:invoke\t:write\t3",
        ("jepsen_log", "parse_jepsen_log"), by_lines=True,
    ),
    "porcupine-kv": Format(
        "porcupine's key-value logs", '{:process 0, :type :invoke, :f :get, :key "3", :value nil}',
        ("edn", "parse_edn"), model="kv", by_lines=True,
    ),
    "test-jepsen": Format(
        "Jepsen's test.jepsen", "JEPSEN, then blocks", ("jepsen_blocks", "parse_blocks"), binary=True
    ),
    "etcd": Format(
        "operations of etcd's robustness tests",
        '{"ClientId": 1, "Input": {"Type": "range", …}, "Call": 10, "Output": {…}, "Return": 20}',
        ("etcd_operations", "parse_etcd"), model="etcd",
    ),
    "otlp": Format(
        "OpenTelemetry spans as OTLP JSON", '{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "SET", …}]}]}]}',
        ("otlp_spans", "parse_otlp"), mapped=True,
    ),
    "json": Format(
        "JSON of other tools, events or operations", '{"process": 0, "type": "invoke", "f": "write", "value": 3}',
        ("json_records", "parse_json"), mapped=True,
    ),
    "csv": Format(
        "CSV of operations or events", "process,f,value,result,outcome,start,end", ("csv_records", "parse_csv"),
        mapped=True,
    ),
}  # fmt: skip
#: The model that a format implies, if any.
MODELS: Final = {name: entry.model for name, entry in FORMATS.items() if entry.model is not None}
#: Number of characters used to detect the format.
_HEAD: Final = 4096
#: JSON has a colon after a name.  EDN may have a keyword there, in which the name follows the colon directly.
_JSON: Final = re.compile(r"""[\s\[]*\{\s*(\}|"(?:[^"\\]|\\.)*"\s*:(\s|["\d\[{-]|(true|false|null)\b))""")
_ETCD: Final = re.compile(r'"Input"\s*:\s*\{\s*"Type"\s*:\s*"(range|txn|leaseGrant|leaseRevoke|compact|defragment)"')
_OTLP: Final = re.compile(r'[\s\[]*\{\s*"resourceSpans"')
_OURS: Final = re.compile(rb"""\s*\{\s*"format"\s*:""")
#: Porcupine's events have exactly these fields.  Jepsen's have times and indexes, and other values.
_KV_EVENT: Final = re.compile(
    r"""\{(?=[^}]*:key\s)(?:[\s,]*:(?:process\s+\d+|type\s+:\w+|f\s+:(?:get|put|append)|key\s+"[^"]*\""""
    r"""|value\s+(?:nil|"(?:[^"\\]|\\.)*"))(?=[\s,}]))+[\s,]*\}"""
)

Kind: TypeAlias = Literal["jsonl", "parquet", "text"]


@dataclass(frozen=True, slots=True)
class ForeignText:
    """A foreign history with its events, which are not paired yet."""

    format: str
    history: TextHistory
    model: str | None
    records: Records


def kind_of(path: Path) -> Kind:
    """Return ``jsonl`` or ``parquet`` for our own formats, ``text`` for a foreign one.

    Raises OSError, and FormatError if the file obviously is none of them.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise FormatError(str(path), "line 1", "expected a history, found an empty file")
    if head.startswith(b"PAR1"):
        return "parquet"
    if (message := recognized_format(head)) is not None:
        raise FormatError(str(path), "byte 0", f"expected a history, but {message}")
    head = head.removeprefix(BOM_UTF8)
    if _OURS.match(head):
        return "jsonl"
    if head.startswith(MAGIC):
        return "text"
    if size := _nuls(path):
        end = path.stat().st_size - size
        raise FormatError(
            str(path), f"byte {end}",
            f"expected text, found {size} NUL bytes up to the end: what had been written there was lost; "
            f"`head -c {end} FILE` gives what is left",
        )  # fmt: skip
    return "text"


def _nuls(path: Path) -> int:
    """Count the NUL bytes at the end of a file."""
    with path.open("rb") as file:
        size, count = path.stat().st_size, 0
        while count < size:
            step = min(size - count, 1 << 16)
            file.seek(size - count - step)
            zeros = step - len(file.read(step).rstrip(b"\0"))
            count += zeros
            if zeros < step:
                break
    return count


def read_text(
    path: Path, model: str | None = None, name: str | None = None, fields: FieldMap | None = None
) -> ForeignText:
    """Read the events of a foreign file, whose format is ``name`` or else detected.  Accepts a BOM and CRLF.

    ``fields`` maps the file's fields to ours.  Raises OSError, and FormatError with the line.
    """
    from history.readers.jepsen_events import events_of
    from history.readers.mapping import Mapped

    name = name or format_of(path, model)
    data = path.read_bytes()
    records = FORMATS[name].parse(data if FORMATS[name].binary else _decoded(data, path), str(path), fields)
    theirs = records.records
    if fields is not None and not FORMATS[name].mapped:
        mapped = Mapped(fields, [record for _, record in records.records])
        records = replace(
            records, records=[(place, mapped(entry)) for place, entry in records.records], mapping=mapped.fields
        )
    _require_events(records, theirs, fields)
    history = events_of(records)
    if name == "porcupine-kv":
        from history.readers.porcupine_kv import check_kv

        check_kv(records, history)
    return ForeignText(name, history, FORMATS[name].model, records)


def _require_events(records: Records, theirs: Sequence[Record], fields: FieldMap | None) -> None:
    """Refuse records none of which is an event, with a mapping of ``theirs`` to paste.  Raises FormatError."""
    from history.readers.jepsen_events import is_transaction
    from history.readers.json_records import SAMPLE, unknown_shape
    from history.readers.mapping import FieldMap, Mapped

    if not any(entry.get("type") in TYPES and ("f" in entry or is_transaction(entry)) for _, entry in records.records):
        sample = [entry for _, entry in theirs[:SAMPLE]]
        raise records.wrong(records.records[0][0], unknown_shape(sample, Mapped(fields or FieldMap(), sample)))


def _decoded(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line, place = data.count(b"\n", 0, error.start) + 1, error.start - data.rfind(b"\n", 0, error.start)
        raise FormatError(
            str(path), f"line {line}", f"expected UTF-8 text, found an invalid byte at column {place}"
        ) from None


def format_of(path: Path, model: str | None = None) -> str:
    """Detect the format of a foreign file and return its name in ``FORMATS``.  Raises OSError."""
    with path.open("rb") as file:
        return _text_format(file.read(4 * _HEAD).decode("utf-8-sig", errors="ignore")[:_HEAD], model)


def too_large(path: Path, why: str, limit: int) -> FormatError:
    """Make the error for a file that is too large to be read event by event and cannot be read otherwise."""
    return FormatError(str(path), "the lines", f"a file of over {limit >> 20} MB must be read line by line: {why}")


def _text_format(start: str, model: str | None) -> str:
    if start.startswith(MAGIC.decode()):
        return "test-jepsen"
    if _JSON.match(start):
        return "etcd" if _ETCD.search(start) else "otlp" if _OTLP.match(start) else "json"
    code = "\n".join(line for line in start.split("\n") if not line.lstrip().startswith(";")).lstrip()
    if code.startswith(("{", "[", "(", "#")):
        is_kv = model in (None, FORMATS["porcupine-kv"].model) and _KV_EVENT.match(code)
        return "porcupine-kv" if is_kv else "edn"
    from history.readers.csv_records import is_table

    return "csv" if is_table(code) else "jepsen-log"
