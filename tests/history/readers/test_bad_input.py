"""Every mistake that a history can have, in every format: an error that names the place, or the right answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from checker import check
from history import FormatError
from history.codes import ABSENT
from history.readers import read as reading
from history.readers import read_any
from history.readers.formats import FORMATS
from history.readers.jsonl_columns import Scan, read_columns
from history.readers.scanned import NotColumnarError
from history.safe_open import require_short_lines
from tests.support.history.foreign_files import TEXTS, Record, jsonl, operations, parquet, story, story_of

Change = Callable[[list[Record]], list[Record]]


def changed(number: int, **fields: Any) -> Change:
    """One event with other fields; a field that is None goes."""

    def change(records: list[Record]) -> list[Record]:
        merged = {**records[number], **fields}
        other = {name: value for name, value in merged.items() if value is not None or name == "value"}
        return [*records[:number], other, *records[number + 1 :]]

    return change


def swapped(records: list[Record]) -> list[Record]:
    return [records[0], records[2], records[1], records[3]]


def twice(records: list[Record]) -> list[Record]:
    return [records[0], {**records[2], "process": 0, "index": 1, "time": 10}, *records[2:]]


def never_invoked(records: list[Record]) -> list[Record]:
    return [records[0], {**records[1], "process": 9}, *records[2:]]


MISTAKES: dict[str, tuple[Change, dict[str, tuple[str, str]]]] = {
    "events out of order": (
        swapped,
        {
            "jsonl": ("line 3", "expected index 1, found 2"),
            "edn": ("line 3", "out of order: expected :index above 2, found 1"),
        },
    ),
    "a completion without an invocation": (
        never_invoked,
        {
            "jsonl": ("line 3", "process 9 completes an operation that it never invoked"),
            "edn": ("line 2", "process 9 completes an operation that it never invoked"),
            "jepsen-log": ("line 3", "process 9 completes an operation that it never invoked"),
            "porcupine-kv": ("line 2", "process 9 completes an operation that it never invoked"),
        },
    ),
    "a process with two open operations": (
        twice,
        {
            "jsonl": ("line 3", "process 0 has an open operation, invoked at line 2"),
            "edn": ("line 2", "process 0 has an open operation, invoked at line 1"),
            "jepsen-log": ("line 3", "process 0 has an open operation, invoked at line 2"),
            "porcupine-kv": ("line 2", "process 0 has an open operation, invoked at line 1"),
        },
    ),
    "a missing field": (
        changed(2, f=None),
        {
            "jsonl": ("line 4", "the field 'f' is missing"),
            "edn": ("line 3", "the field :f is missing"),
            "jepsen-log": ("line 4", "expected process, :type, :f and value"),
            "porcupine-kv": ("line 3", "the field :f is missing"),
        },
    ),
    "a time that is no number": (
        changed(3, time=float("nan")),
        {
            "jsonl": ("line 5", "NaN is not JSON"),
            "edn": ("line 4", ":time must be a number, found nan"),
        },
    ),
    "a value that equals nothing": (
        changed(3, value=float("nan")),
        {
            "jsonl": ("line 5", "NaN is not JSON"),
            "edn": ("line 4", ":value must be comparable, found nan"),
            "jepsen-log": ("line 5", ":value must be comparable, found nan"),
            "porcupine-kv": ("line 4", ":value must be comparable, found nan"),
        },
    ),
    "a process that is neither a number nor the nemesis": (
        changed(1, process="worker"),
        {
            "jsonl": ("line 3", "process must be an integer or 'nemesis', found 'worker'"),
            "edn": ("line 2", ":process must be an integer or :nemesis, found 'worker'"),
            "jepsen-log": ("line 3", "expected process, :type, :f and value"),
            "porcupine-kv": ("line 2", ":process must be an integer or :nemesis, found 'worker'"),
        },
    ),
}
CASES = [(mistake, name) for mistake, (_, places) in MISTAKES.items() for name in places]


def written(directory: Path, data: bytes) -> Path:
    path = directory / "history"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(("mistake", "name"), CASES)
def test_the_mistake_and_its_line_are_named(mistake: str, name: str, tmp_path: Path) -> None:
    change, places = MISTAKES[mistake]
    path = written(tmp_path, TEXTS[name](change(story_of(name))))
    place, message = places[name]
    readers: list[Callable[[Path], object]] = [read_any, *([read_columns] if name == "jsonl" else [])]
    for read in readers:
        with pytest.raises(FormatError) as caught:
            read(path)
        assert (caught.value.source, caught.value.place) == (str(path), place)
        assert message in caught.value.message


@pytest.mark.parametrize("name", TEXTS)
def test_the_good_twin_is_read_and_valid(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, TEXTS[name](story_of(name)))
    assert read_any(path).format == name
    assert check(path).verdict == "valid"


@pytest.mark.parametrize("value", [2**63, -(2**70), "seven", 1.5, [1, 2, 3]])
@pytest.mark.parametrize("name", ["jsonl", "edn", "jepsen-log"])
def test_values_of_any_size_and_kind_are_compared_as_they_are(name: str, value: Any, tmp_path: Path) -> None:
    records = story(value=value)
    assert check(written(tmp_path, TEXTS[name](records))).verdict == "valid"
    other = changed(3, value=value + 1 if isinstance(value, int) else 0)(records)
    assert check(written(tmp_path, TEXTS[name](other))).counterexamples[0].kind == "never-written"


@pytest.mark.parametrize("name", ["index", "time", "type", "process", "f", "key", "value", "node", "error", "phase"])
def test_a_field_that_is_given_twice_is_refused(name: str, tmp_path: Path) -> None:
    more = {"key": "k", "node": "n", "error": "e", "phase": "main"}
    lines = jsonl([{**one, **more} for one in story()]).decode().splitlines(keepends=True)
    again = json.dumps(json.loads(lines[2])[name])
    lines[2] = lines[2].replace("{", f'{{"{name}": {again}, ', 1)
    for read in (read_any, read_columns):
        with pytest.raises(FormatError, match=f"line 3: expected a JSON object: the field '{name}' is given twice"):
            read(written(tmp_path, "".join(lines).encode()))


@pytest.fixture(params=[0, 1 << 30], ids=["by lines", "row by row"])
def read_text(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Any]:
    """Read a text of a few lines as a large file is read, and as a small one."""
    return lambda text: read_any(written(tmp_path, text.encode()), large=request.param)


_READ_TEXT = Callable[[str], Any]
_WRITE = "{:process 0, :type :invoke, :f :write, :value %s}\n{:process 0, :type :ok, :f :write, :value %s}\n"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("{:process 1, :type :invoke, :f :read, :f :write, :value 8}", "f"),
        ("{:process 1, :type :invoke, :f :write, :value 7, :value 8}", "value"),
        ('{:process 1, :type :invoke, :f :write, :value 7, "value" 8}', "value"),
        ("{:process 1, :type :invoke, :f :write, :value {:a 1, :a 2}}", "a"),
        ("#op{:process 1, :process 2, :type :invoke, :f :write, :value 7}", "process"),
    ],
)
def test_a_field_of_edn_that_is_given_twice_is_refused(read_text: _READ_TEXT, line: str, name: str) -> None:
    with pytest.raises(FormatError, match=f"line 3: the field :{name} is given twice"):
        read_text(_WRITE % (7, 7) + line + "\n")


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("010", "a number, found '010'"), ("-00", "a number"), ("2r11", "a number"), (".5", "a number"),
        ("1_000", "a number"), ("[1 08]", "a number, found '08'"), ("\u0661", "a number"),
        (r'"\q"', r"an escape of EDN, found \\q"), (r'"\101"', "an escape of EDN"), (r'"\u00"', "an escape of EDN"),
    ],
)  # fmt: skip
def test_numbers_and_escapes_that_are_none_are_no_texts(read_text: _READ_TEXT, word: str, why: str) -> None:
    with pytest.raises(FormatError, match=f"line 1: expected {why}"):
        read_text(_WRITE % (word, word))


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("0x10", 16), ("-0XfN", -15), ("+7", 7), ("-0", 0), ("10N", 10), ("1.5M", 1.5), ("2/3", "2/3"), ("-", "-"),
        (r'"\b\f\n\"\\"', '\b\f\n"\\'), (r'"\u0041\uD83D\uDE00"', "A\U0001f600"), ('"0x10"', "0x10"),
    ],
)  # fmt: skip
def test_what_a_word_of_edn_stands_for(read_text: _READ_TEXT, word: str, value: Any) -> None:
    found = read_text(_WRITE % (word, word))
    assert (found.operations or [found.columns.operation(0)])[0].value == value


@pytest.mark.parametrize("name", ["jsonl", "edn"])
@pytest.mark.parametrize("large", [0, 1 << 30])
def test_an_ok_read_without_its_value_is_none_of_nothing(name: str, large: int, tmp_path: Path) -> None:
    records = story()
    del records[3]["value"]
    with pytest.raises(
        FormatError, match=r"line \d: the field '?:?value'? is missing: an ok read states what was read"
    ):
        read_any(written(tmp_path, TEXTS[name](records)), large=large)


def test_a_kv_file_takes_texts_only(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"line 2: expected a string, found :value 9223372036854775808"):
        read_any(written(tmp_path, TEXTS["porcupine-kv"](changed(1, value=2**63)(story_of("porcupine-kv")))))


@pytest.mark.parametrize("data", [b"", b"\n", b" \n\n", b"; nothing\n", b"\xef\xbb\xbf", b"[]", b"()", b"{}", b"#{}"])
def test_files_without_a_history(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"(byte 0|line 1): expected|line 1: the field"):
        read_any(written(tmp_path, data))


def test_a_json_array_is_distinguished_from_edn(tmp_path: Path) -> None:
    assert read_any(written(tmp_path, json.dumps(story()).encode())).format == "json"
    assert read_any(written(tmp_path, b"[" + TEXTS["edn"](story()) + b"]")).format == "edn"


@pytest.mark.parametrize("name", TEXTS)
def test_forms_in_forms_without_end_and_endless_numbers(name: str, tmp_path: Path) -> None:
    for value in ("[" * 5000, "[" * 5000 + "]" * 5000, "9" * 5000):
        data = TEXTS[name](story_of(name)).replace(b'"x"', value.encode()).replace(b" 7", b" " + value.encode())
        data = data.replace(b"\t7", b"\t" + value.encode())
        with pytest.raises(FormatError, match=r"line \d: expected"):
            read_any(written(tmp_path, data))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"index":0,"time":1,"type":"invoke","process":0,"f":"write","value":1,"phase":"dinner"}', "phase must be"),
        ('{"indox":0,"time":1,"type":"invoke","process":0,"f":"write","value":1}', "the field 'index' is missing"),
        ('{"index":0,"time":1,"type":"invoke","process":0,"f":"write","value":1,"node":7}', "'node' must be a string"),
        ('{"index":0,"time":1,"type":"invoke","process":0,"f":"write","value":1,"key":1.5}', "key must be a string"),
        ('{"index":0,"time":1,"type":"invoke","process":0,"f":"write","value":01}', "expected a JSON object"),
    ],
)
def test_the_fast_reader_of_jsonl_is_as_strict_as_the_slow_one(line: str, reason: str, tmp_path: Path) -> None:
    path = written(tmp_path, ('{"format":"harness-history","version":1}\n' + line + "\n").encode())
    for read in (read_any, read_columns):
        with pytest.raises(FormatError, match=f"line 2: {reason}"):
            read(path)


@pytest.mark.parametrize("blank", ["", " ", "\t ", "\r"])
def test_blanks_between_fields_and_at_the_end_do_not_slow_the_fast_reader(
    blank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ['{"format":"harness-history","version":1}']
    for record in story(("cas", "read"), value=[3, None])[:2]:
        line = json.dumps(record, separators=(f"{blank},{blank}", f"{blank}:{blank}"))
        lines.append(f"{{{blank}{line[1:-1]}{blank}}}{blank}".replace("[3", f"[{blank}3").replace("l]", f"l{blank}]"))
    path = written(tmp_path, "".join(f"{line}\n" for line in lines).encode())
    slow = read_any(path).operations
    assert slow is not None
    columns = read_columns(path).columns
    assert [columns.operation(0)] == slow
    monkeypatch.setattr(Scan, "event", None)
    columns = read_columns(path).columns
    assert (columns.old.tolist(), columns.value.tolist()) == ([3], [ABSENT])


@pytest.mark.parametrize("field", ["time", "process"])
def test_numbers_too_large_for_columns_go_to_the_slow_reader(field: str, tmp_path: Path) -> None:
    records = story()
    for record in records[2:]:
        record[field] = 2**70
    path = written(tmp_path, TEXTS["jsonl"](records))
    with pytest.raises(NotColumnarError):
        read_columns(path)
    assert check(path).verdict == "valid"


# -- Parquet ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        ({"return_index": [1, 1]}, "the operation invoked at 2", "it returns at 1, before its invocation"),
        ({"return_index": [2, 3]}, "the operation invoked at 0", "shares a place in the history"),
        ({"return_index": [1, None]}, "the operation invoked at 2", "'return_index' is missing"),
        ({"invoke_index": [0, None]}, "row 1", "'invoke_index' must be an integer, found None"),
        ({"process": [0, 0], "return_index": [3, 4]}, "the operation invoked at 2", "process 0 has an open operation"),
        ({"f": None}, "the schema", "the column 'f' is missing"),
        ({"f": ["write", None]}, "row 1", "'f' must be a string, found None"),
        ({"invoked": [0.0, float("nan")]}, "the schema", "'invoked' must hold integers, found double"),
        (
            {"invoked": pa.array([0, 2**63], pa.uint64())},
            "the schema",
            "the column 'invoked': Integer value 9223372036854775808 not in range",
        ),
        ({"outcome": ["ok", "maybe"]}, "the operation invoked at 2", "outcome must be ok, fail or info, found maybe"),
        ({"value": ["7", "{"]}, "the operation invoked at 2", "expected JSON"),
        ({"value": ["NaN", "null"]}, "the operation invoked at 0", "expected JSON: NaN is not JSON"),
        ({"value": [7, 8]}, "the schema", "the column 'value' must hold strings, found int64"),
    ],
)
def test_bad_tables(change: dict[str, Any], place: str, message: str, tmp_path: Path) -> None:
    columns = {name: column for name, column in {**operations(), **change}.items() if column is not None}
    with pytest.raises(FormatError) as caught:
        read_any(parquet(columns, tmp_path))
    assert caught.value.place == place
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("value", "by_columns"), [(7, True), (-3, True), (2**63, False), ("seven", False), (1.5, False), ([1, 2], False)]
)
def test_values_of_a_table(value: Any, by_columns: bool, tmp_path: Path) -> None:
    text = json.dumps(value)
    path = parquet({**operations(), "value": [text, "null"], "result": [text, text]}, tmp_path)
    assert (read_any(path).columns is not None) == by_columns
    assert check(path).verdict == "valid"
    path = parquet({**operations(), "value": [text, "null"], "result": [text, "null"]}, tmp_path)
    assert check(path).counterexamples[0].kind == "lost-write"


def test_a_table_without_rows_and_one_that_is_torn(tmp_path: Path) -> None:
    path = parquet({name: [] if name in ("f", "value", "outcome") else column[:0]
                    for name, column in operations().items()}, tmp_path)  # fmt: skip
    assert check(path).verdict == "valid"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FormatError, match="byte 0: expected Parquet"):
        read_any(path)


def test_swaps_and_keys_of_a_table(tmp_path: Path) -> None:
    swaps = {"f": ["cas", "cas"], "value": ["[null, 1]", "[1, 2]"], "result": [None, None], "key": ['"a"', '"a"']}
    path = parquet({**operations(), **swaps}, tmp_path)
    found = read_any(path).columns
    assert found is not None
    assert (found.keys, found.value.tolist()) == (("a",), [1, 2])
    assert check(path, "cas-register").verdict == "valid"
    path = parquet({**operations(), **swaps, "value": ["[null, 1]", "[2, 3]"]}, tmp_path)
    assert check(path, "cas-register").verdict == "invalid"
    path = parquet({**operations(), **swaps, "value": ["1", "[2, 3]"]}, tmp_path)
    assert read_any(path).columns is None


@pytest.mark.parametrize("name", ["edn", "jepsen-log", "porcupine-kv"])
def test_a_line_that_is_too_long_is_refused_before_it_is_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LINE", 1000)
    monkeypatch.setattr(reading, "require_short_lines", partial(require_short_lines, most=1000))
    file = tmp_path / "history"
    file.write_text(f"{FORMATS[name].example}\n{'x' * 2000}")
    with pytest.raises(FormatError, match=r"line 2.*at most 1000 bytes"):
        read_any(file, name=name)


def test_arrow_without_memory_says_nothing_about_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(_: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 4000064 failed")

    file = tmp_path / "operations.parquet"
    pa.parquet.write_table(pa.table({"a": [1]}), file)
    monkeypatch.setattr(pa.parquet, "read_table", lacks)
    with pytest.raises(MemoryError):
        read_any(file)
