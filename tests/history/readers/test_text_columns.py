"""Texts read by lines: what the row-wise reader reads, and its errors, whatever stands in the file."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from history import FormatError, Operation
from history.codes import ABSENT, CAS, FAIL, INFO, OK, READ
from history.readers import OperationColumns, read_any
from history.readers.scanned import NotColumnarError
from history.readers.text_columns import read_lines
from history.tables.operations import operations_table
from tests.support.draws import draws
from tests.support.history.foreign_files import TEXTS, story_of
from tests.support.history.spoilt import spoilt

FUZZ = settings(max_examples=draws(30, 500), suppress_health_check=[HealthCheck.function_scoped_fixture])
KINDS = ("edn", "jepsen-log", "porcupine-kv")


def read(path: Path, large: int) -> tuple[Any, ...]:
    """What a file is read as, its columns as operations, or the error."""
    try:
        found = read_any(path, large=large)
    except FormatError as error:
        return (str(error),)
    operations = found.operations
    if isinstance(found.columns, OperationColumns):
        operations = [found.columns.operation(row) for row in range(found.columns.invoke.size)]
        columns_are_of(found.columns, operations)
    return found.format, found.model, [(repr(one), one) for one in operations or ()]


def columns_are_of(columns: OperationColumns, operations: list[Operation]) -> None:
    for row, one in enumerate(operations):
        assert columns.keys[columns.key[row]] == one.key
        assert columns.outcome[row] == {"ok": OK, "fail": FAIL, "info": INFO}[one.outcome]
        assert (columns.invoke[row], columns.ret[row]) == (
            one.invoke_index, -1 if one.return_index is None else one.return_index,
        )  # fmt: skip
        if columns.kind[row] == READ:
            reported = (one.seen if one.refused else one.result) if one.outcome == "ok" else None
            assert one.outcome != "ok" or columns.value[row] == (ABSENT if reported is None else reported)
        elif columns.kind[row] == CAS:
            assert [columns.old[row], columns.value[row]] == [ABSENT if v is None else v for v in one.value]
        else:
            assert columns.value[row] == (ABSENT if one.value is None else one.value)


def same(path: Path, data: bytes) -> tuple[Any, ...]:
    path.write_bytes(data)
    quick, slow = read(path, 0), read(path, sys.maxsize)
    assert quick == slow
    return slow


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
@FUZZ
def test_spoilt_files_are_read_as_row_by_row(name: str, data: Any, tmp_path: Path) -> None:
    same(tmp_path / "history", data.draw(spoilt(name)))


@given(data=spoilt("jsonl"))
@example(data=b'{":index 0, :time 0, :type :invoke, :process 0, :f :write, :value 7}\n{:index 1}\n')
@example(data=b'{"format": "harness-history", "version": 1\n{}\n')
@example(
    data=b'{"format": "harness-history", "version": 1}\n'
    b'{"index": 1, "time": 10, "type": " ok", "process": 0, "f": "write", "value": 7}\n{"index"\n'
)
@FUZZ
def test_spoilt_files_of_ours_are_read_as_row_by_row(data: bytes, tmp_path: Path) -> None:
    same(tmp_path / "history", data)


# -- files as they are, and a little beside them ----------------------------------------------------------------------

BLANKS = st.sampled_from([" ", ", ", ",", "  ", "\t", " ,"])
INTEGERS = st.sampled_from(
    ["0", "1", "2", "7", "-3", "-0", "007", "+1", "1N", "922337203685477580", "9" * 19, "9" * 25]
)
PLAIN = st.sampled_from(["nil", "0", "1", "2", "3"])
ODD = st.one_of(
    INTEGERS,
    st.sampled_from(
        ["1.5", '"x"', '"a b"', '"é"', '"a\\"b"', ":timed-out", "true", "{}", "[]", "[1]", "[1 2 3]", "[nil 1]",
         "[1, 2]", "[ 1 2 ]", "[1 [2 3]]", "[:x 1]", '["k" 1]', "[nil nil]", "#{1 2}", "##NaN", "1;c", "nil;c", "x"]
    ),
)  # fmt: skip
PAIRS = st.sampled_from(["[1 2]", "[0 1]", "[-1 3]", "[1 nil]", "[0 nil]", "[-1 nil]"])
TEXT_VALUES = st.sampled_from(['"x"', '"y"', '""'])
FUNCTIONS = (["read", "write"], ["read", "write", "cas"], ["add"])
FIELDS = st.sampled_from(["value", "time", "index", "process", "type", "f", "key", "node", "error", "link"])
BESIDE_MAPS = st.sampled_from(["", " ", "; a word", "#_ {}", "#_", "[", "]", "{", '"', "nil", "{:a 1}"])
BESIDE_LOGS = st.sampled_from(
    ["", " ", "INFO jepsen.core - Run", "3 :foo :bar 1", "jepsen.util- 1 :ok :read 1", "jepsen.util - 1 :no :read 1",
     "1 :invoke", "é", ":nemesis :info :x", "12345678901234567890 :ok :read 1", "x 1 :ok :read 2",
     "jepsen.util - jepsen.util - 0 :ok :read 1", "1  :invoke :read  nil  "]
)  # fmt: skip
ODDLY = st.sampled_from([False] * 30 + [True])


@st.composite
def events(draw: st.DrawFn, kv: bool = False) -> list[dict[str, str]]:
    """Events of two or three processes that mostly pair, their fields as EDN."""
    found: list[dict[str, str]] = []
    open_: dict[int, dict[str, str]] = {}
    values = TEXT_VALUES if kv else draw(st.sampled_from([PLAIN, PLAIN, PAIRS, PAIRS | PLAIN]))
    functions = ["get", "put", "append"] if kv else draw(st.sampled_from(FUNCTIONS))
    with_key, with_time, with_index = (kv or draw(ODDLY), *(not kv and draw(st.booleans()) for _ in range(2)))
    for number in range(draw(st.integers(1, 8))):
        if draw(ODDLY):
            found.append({"type": ":info", "process": ":nemesis", "f": ":start", "value": draw(ODD)})
            continue
        process = draw(st.integers(0, 2))
        if process in open_ and not draw(ODDLY):
            one = {**open_.pop(process), "type": draw(st.sampled_from([":ok", ":ok", ":fail", ":info"]))}
            if one["f"] in (":read", ":get") or draw(ODDLY):
                one["value"] = draw(values)
            elif one["f"] == ":cas" and one["value"][-1] == "]" and draw(st.booleans()):
                one["value"] = one["value"][:-1] + draw(st.sampled_from([" 5]", " nil]", " 1]", " 1 2]", ' "x"]']))
        else:
            f = draw(st.sampled_from(functions))
            one = {"type": ":invoke", "process": str(process), "f": f":{f}", "value": draw(values)}
            one["value"] = "nil" if f in ("read", "get") and one["value"][0] != "[" else one["value"]
            one |= {"key": draw(st.sampled_from(['"k"', '"l"', "1"]))} if with_key else {}
            open_[process] = one
        one |= {"time": str(10 * number)} if with_time else {}
        one |= {"index": str(number)} if with_index else {}
        if draw(ODDLY):
            one[draw(FIELDS)] = draw(ODD)
        if draw(ODDLY):
            one |= {"node": '"n1"', "error": draw(st.sampled_from([":timeout", '"why"', "nil", "[1]"]))}
        found.append(one)
    return found


@st.composite
def maps(draw: st.DrawFn, kv: bool = False) -> bytes:
    """EDN, a map a line, with the fields in any order."""
    lines = []
    for one in draw(events(kv)):
        names = draw(st.permutations(list(one)))
        between = draw(BLANKS)
        line = "{" + between.join(f":{name} {one[name]}" for name in names) + "}"
        lines.append(draw(st.sampled_from(["", "", "", " ", "#op "])) + line)
        if draw(ODDLY):
            lines.append(draw(BESIDE_MAPS))
    return ("\n".join(lines) + draw(st.sampled_from(["\n", "", "\r\n", "\n\n"]))).encode()


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """A console log with its events and other lines."""
    lines = []
    for one in draw(events()):
        head = draw(st.sampled_from(["INFO  jepsen.util - ", "jepsen.util ", "jepsen.util -", "é jepsen.util - ", ""]))
        error = [one["error"]] if "error" in one else []
        between = draw(st.sampled_from([" ", "\t", "  "]))
        lines.append(head + between.join([one["process"], one["type"], one["f"], one["value"], *error]))
        if draw(ODDLY):
            lines.append(draw(BESIDE_LOGS))
    return "\n".join([*lines, ""]).encode()


@given(data=maps())
@example(data=b"{:process 0 :type :invoke :f :write :value [-1 3]}\n{:process 0 :type :ok :f :write :value [-1 3]}")
@example(data=b"{:process 0 :type :invoke :f :cas :value [1 nil]}\n")
@example(data=b"{:process 0 :type :invoke :f :read :value [:x nil]}\n")
@example(data=b"{:process 0 :type :invoke :f :read :key nil :value [1 2]}\n")
@example(data=b"{:process 0 :process 1 :type :invoke :f :read}\n")
@FUZZ
def test_edn_by_lines(data: bytes, tmp_path: Path) -> None:
    same(tmp_path / "history", data)


@given(data=logs())
@FUZZ
def test_logs_by_lines(data: bytes, tmp_path: Path) -> None:
    same(tmp_path / "history", data)


@given(data=maps(kv=True))
@FUZZ
def test_kv_by_lines(data: bytes, tmp_path: Path) -> None:
    same(tmp_path / "history", data)


# -- and quickly ------------------------------------------------------------------------------------------------------


def quick(path: Path, data: bytes, kind: str) -> OperationColumns | list[Operation]:
    path.write_bytes(data)
    return read_lines(path, kind)[0]


@pytest.mark.parametrize("dress", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("kind", KINDS)
def test_plain_files_are_read_by_lines(kind: str, end: bytes, dress: bytes, tmp_path: Path) -> None:
    data = dress + TEXTS[kind](story_of(kind)).replace(b"\n", end)
    found = quick(tmp_path / "history", data, kind)
    assert isinstance(found, list if kind == "porcupine-kv" else OperationColumns)
    same(tmp_path / "history", data)


JEPSEN = b"""{:type :info, :f :start, :process :nemesis, :time 5, :index 0, :value {"n1" #{"n2"}}}
{:type :invoke, :f :write, :value [7 1], :process 0, :time 10, :index 1}
{:type :invoke, :f :read, :value [8 nil], :process 1, :time 11, :index 3}
{:type :info, :f :write, :value [7 1], :process 0, :time 12, :index 4, :error :timeout}

{:type :ok, :f :read, :value [8 nil], :process 1, :time 13, :index 5}
"""


def test_keys_in_the_values_and_nemesis_lines_are_no_obstacle(tmp_path: Path) -> None:
    found = quick(tmp_path / "history", JEPSEN, "edn")
    assert isinstance(found, OperationColumns)
    assert [found.keys[key] for key in found.key] == [7, 8]
    assert [found.operation(row).error for row in range(2)] == ["timeout", None]
    same(tmp_path / "history", JEPSEN)


@pytest.mark.parametrize("answer", [b":info :write nil", b":info :write :timed-out", b":fail :write nil"])
def test_an_answer_without_a_value_has_the_key_of_its_invocation(answer: bytes, tmp_path: Path) -> None:
    data = b"jepsen.util: 0 :invoke :write [7 3]\njepsen.util: 0 %s\njepsen.util: 1 :invoke :write [8 3]\n" % answer
    _, _, operations = same(tmp_path / "history", data)
    assert [(one.key, one.value) for _, one in operations] == [(7, 3), (8, 3)]


def test_other_functions_are_operations(tmp_path: Path) -> None:
    found = quick(tmp_path / "history", JEPSEN.replace(b":f :write", b":f :add"), "edn")
    assert isinstance(found, list)
    assert [one.f for one in found] == ["add", "read"]


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"[" + JEPSEN + b"]", b"{:type\n:invoke}", JEPSEN + b"#_", JEPSEN * 2, b"; nothing\n"]
)
def test_what_is_no_map_a_line_is_left_to_the_other_reader(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(NotColumnarError):
        quick(tmp_path / "history", data, "edn")


def test_files_that_others_recorded(tmp_path: Path) -> None:
    recorded = Path(__file__).parents[2] / "checker" / "porcupine"
    logs, texts = sorted(recorded.glob("jepsen/*_00*.log")), sorted(recorded.glob("kv/c[15]0-*.txt"))
    assert logs
    assert texts
    for file in (*logs, *texts):
        same(tmp_path / "history", file.read_bytes())
    assert all(isinstance(read_lines(file, "jepsen-log")[0], OperationColumns) for file in logs)
    assert all(isinstance(read_lines(file, "porcupine-kv")[0], list) for file in texts)


@pytest.mark.parametrize("dress", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_our_own_files_too_are_read_alike_in_any_dress(end: bytes, dress: bytes, tmp_path: Path) -> None:
    found = same(tmp_path / "history", dress + TEXTS["jsonl"](story_of("jsonl")).replace(b"\n", end))
    assert (found[0], len(found[2])) == ("jsonl", 2)


# -- our own, with everything that a completion may say ----------------------------------------------------------------

OUR_VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, 1, 2, 1, 2, 3, [1, 2], [2, 1], [None, 1], [1, 2, 1], [1, 2, 3], [1, 2, None], [1, 2, 3, 4], [1], [], True,
     1.0, "1", 2**62, 2**63, [1, "x"], [1, 2, "x"], {}]
)  # fmt: skip


@st.composite
def ours(draw: st.DrawFn) -> bytes:
    """A history of ours; a completion mostly repeats what was asked."""
    lines: list[dict[str, Any]] = [{"format": "harness-history", "version": 1}]
    open_: dict[int, dict[str, Any]] = {}
    for index in range(draw(st.integers(1, 10))):
        process = draw(st.integers(0, 2))
        one: dict[str, Any] = {"index": index, "time": 10 * index}
        if process in open_ and not draw(ODDLY):
            asked = open_.pop(process)
            value = asked["value"]
            if asked["f"] == "read" or draw(ODDLY):
                value = draw(OUR_VALUES)
            elif asked["f"] == "cas" and isinstance(value, list) and draw(st.booleans()):
                value = [*value, draw(st.sampled_from([None, 1, 2, 3]))]
            one |= {**asked, "type": draw(st.sampled_from(["ok", "ok", "ok", "fail", "info"])), "value": value}
        else:
            f = draw(st.sampled_from(["read", "write", "cas", "cas"]))
            value = {"read": None, "cas": [draw(st.sampled_from([1, 2, None])), 2], "write": draw(st.integers(0, 3))}[f]
            value = draw(OUR_VALUES) if draw(ODDLY) else value
            asked = {"process": process, "f": f, "value": value} | ({"key": draw(OUR_KEYS)} if draw(ODDLY) else {})
            open_[process] = asked
            one |= {**asked, "type": "invoke"}
        lines.append(one)
    separators = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    return "".join(json.dumps(line, separators=separators) + "\n" for line in lines).encode()


OUR_KEYS = st.sampled_from(["k", "l", 1, "1", "é"])


@given(data=ours())
@FUZZ
def test_our_own_by_lines(data: bytes, tmp_path: Path) -> None:
    same(tmp_path / "history", data)


@given(data=ours())
@FUZZ
def test_tables_of_ours_by_columns(data: bytes, tmp_path: Path) -> None:
    """What is paired comes back from a table as it was; one whose answers were changed is refused."""
    path, table = tmp_path / "history.jsonl", tmp_path / "operations.parquet"
    path.write_bytes(data)
    try:
        operations = read_any(path).operations or []
        pq.write_table(operations_table(operations), table)
    except FormatError:
        return
    found = read_any(table)
    assert (found.operations or [found.columns.operation(row) for row in range(found.columns.invoke.size)]
            if found.columns is not None else found.operations) == operations  # fmt: skip
    if isinstance(found.columns, OperationColumns):
        columns_are_of(found.columns, operations)
    for place, one in enumerate(operations):
        if one.outcome == "ok" and one.f in ("write", "cas") and one.result is not None:
            changed = [*operations[:place], replace(one, result=[9, 9]), *operations[place + 1 :]]
            pq.write_table(operations_table(changed), table)
            with pytest.raises(FormatError, match="was invoked, but was completed as"):
                read_any(table)


@pytest.mark.parametrize(
    "text",
    [
        "; a comment\n\n{:process 0 :type :invoke :f :write :value 3}\n\n{:process 0 :type :ok :f :write :value 3}\n",
        "noise\n0\t:invoke\t:write\t3\nmore of it\n\n0\t:ok\t:write\t3\n",
        "noise\n0\t:invoke\t:add\t3\nmore of it\n\n0\t:ok\t:add\t3\n",
        '{:process 0 :type :invoke :f :put :key "k" :value ""}\n\n{:process 0 :type :ok :f :put :key "k" :value ""}',
    ],
)
def test_large_files_name_lines_like_small_ones(text: str, tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text(text)
    large, small = read_any(path, large=0), read_any(path)
    assert large.line is not None
    assert small.line is not None
    one = (small.operations or [])[0]
    other = one if large.columns is None else large.columns.operation(0)
    events = (other.invoke_index, other.return_index or 0)
    assert [large.line(event) for event in events] == [small.line(one.invoke_index), small.line(one.return_index or 0)]
