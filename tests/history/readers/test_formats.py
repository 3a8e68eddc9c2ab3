"""Histories of other tools: each kind in many spellings, with the verdict that is right."""

from __future__ import annotations

import gzip
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checker import check
from checker.foreign import take
from harness.cli.main import run_command
from history import FormatError
from history.readers import Foreign, read_any
from history.readers.mapping import FieldMap, MappingError
from tests.support.history.foreign_files import TEXTS, story_of

Record = dict[str, Any]


def written(directory: Path, text: str, name: str = "history") -> Path:
    path = directory / name
    path.write_text(text)
    return path


def verdict(path: Path, model: str = "register", **options: Any) -> str:
    history = read_any(path, **options)
    taken = take(history, model)
    return check(taken.history, taken.model).verdict


# -- Jepsen's logs ----------------------------------------------------------------------------------------------------

EVENTS = [(0, "invoke", "write", "7"), (0, "ok", "write", "7"), (1, "invoke", "read", "nil"), (1, "ok", "read", "7")]
#: How the line of an event began over the years.
BEGINS = [
    "INFO  jepsen.util - ",
    "INFO  [worker 0] jepsen.util - ",
    "2014-06-01 10:11:12,101 INFO  jepsen.util - ",
    "INFO [2016-08-25 10:11:12,101] jepsen worker 3 - jepsen.util ",
    "2024-03-05 10:11:12,101{GMT}\tINFO\t[jepsen worker 0] jepsen.util: ",
    "2024-03-05 10:11:12,101\tINFO\t[jepsen worker 0] jepsen.util: ",
    "INFO\t[jepsen worker 0] jepsen.util: ",
    "2026-03-05 10:11:12,101{GMT}\tINFO\t[jepsen worker 0] jepsen.print: ",
    "INFO\t[jepsen worker 0] jepsen.print: ",
    "INFO  jepsen.print - ",
    "",
]
OTHER_LINES = [
    "2024-03-05 10:11:12,000{GMT}\tINFO\t[main] jepsen.core: Running test 3 :invoke",
    "2024-03-05 10:11:12,000{GMT}\tWARN\t[main] jepsen.util: Process 3 crashed",
    "clojure.lang.ExceptionInfo: throw+: {:type :nope}",
    "    at java.base/java.lang.Thread.run(Thread.java:829)",
    "",
]


@pytest.mark.parametrize("begin", BEGINS)
@pytest.mark.parametrize("answer", ["7", "nil"])
def test_logs_of_all_years(begin: str, answer: str, tmp_path: Path) -> None:
    lines = [begin + "\t".join([str(p), f":{type_}", f":{f}", value]) for p, type_, f, value in EVENTS]
    lines[3] = lines[3].removesuffix("7") + answer
    nemesis = begin + ":nemesis\t:info\t:start-partition\t[:isolated {n1 #{n2}}]"
    path = written(tmp_path, "\n".join([*OTHER_LINES, *lines[:2], nemesis, *OTHER_LINES, *lines[2:]]) + "\n")
    assert read_any(path).format == "jepsen-log"
    assert verdict(path) == ("valid" if answer == "7" else "invalid")


@pytest.mark.parametrize("begin", BEGINS)
def test_a_large_log_is_read_as_a_small_one(begin: str, tmp_path: Path) -> None:
    lines = [begin + "\t".join([str(p), f":{type_}", f":{f}", value]) for p, type_, f, value in EVENTS]
    path = written(tmp_path, "\n".join([*OTHER_LINES, *lines]) + "\n")
    columns = read_any(path, large=0).columns
    assert columns is not None
    assert [columns.operation(row) for row in range(2)] == read_any(path).operations


#: What clients threw, as the end of a line.
ERRORS = [
    "nil\tindeterminate: Read timed out",
    "nil\t:timeout",
    "nil\ttimeout",
    'nil\t[:timeout "read timed out"]',
    "nil\tCarmine connection error",
    "nil\t[:retry-failure org.x.TimeoutIOException: Timed out 3s for id->n5, RO]",
    "nil\t[:retry-failure org.x.ReadException: reply {",
    "nil\t#error {:cause 3s",
    "nil\t)",
    'nil\t"unterminated',
    "nil\tjava.net.SocketTimeoutException: 5s (at 10.0.0.1:2379)",
    ":timed-out",
    "nil",
]


@pytest.mark.parametrize("type_", ["info", "fail"])
@pytest.mark.parametrize("rest", ERRORS)
def test_what_a_client_threw_is_free_text(rest: str, type_: str, tmp_path: Path) -> None:
    lines = [
        "0\t:invoke\t:write\t3", "0\t:ok\t:write\t3", "1\t:invoke\t:read\tnil", f"1\t:{type_}\t:read\t{rest}",
        "  and more of the message }", "2\t:invoke\t:read\tnil", "2\t:ok\t:read\t3",
    ]  # fmt: skip
    path = written(tmp_path, "\n".join(lines) + "\n")
    operations = read_any(path).operations
    assert operations is not None
    assert [one.outcome for one in operations] == ["ok", type_, "ok"]
    assert (operations[1].error is None) == (rest == "nil")
    assert verdict(path) == "valid"
    assert verdict(written(tmp_path, path.read_text().replace(":ok\t:read\t3", ":ok\t:read\t4"))) == "invalid"


@pytest.mark.parametrize("rest", [rest.replace("nil", "[1 nil]", 1) for rest in ERRORS if rest.startswith("nil")])
def test_a_key_is_kept_where_a_client_threw(rest: str, tmp_path: Path) -> None:
    lines = [
        "0\t:invoke\t:write\t[1 3]", "0\t:ok\t:write\t[1 3]", "1\t:invoke\t:read\t[1 nil]", f"1\t:info\t:read\t{rest}",
        "2\t:invoke\t:read\t[2 nil]", "2\t:ok\t:read\t[2 nil]",
    ]  # fmt: skip
    path = written(tmp_path, "\n".join(lines) + "\n")
    assert [one.key for one in read_any(path).operations or ()] == [1, 1, 2]
    assert verdict(path) == "valid"


@pytest.mark.parametrize("rest", ["3 4", "3\tand more", "[3", "foo)", "3s"])
def test_an_answer_is_one_value(rest: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"0\t:invoke\t:write\t3\n0\t:ok\t:write\t{rest}\n")
    with pytest.raises(FormatError, match="line 2: expected"):
        read_any(path)


# -- JSON -------------------------------------------------------------------------------------------------------------


def events(value: Any = 3, answer: Any = 3) -> list[Record]:
    return [
        {"process": 0, "type": "invoke", "f": "write", "value": value},
        {"process": 0, "type": "ok", "f": "write", "value": value},
        {"process": 1, "type": "invoke", "f": "read", "value": None},
        {"process": 1, "type": "ok", "f": "read", "value": answer},
    ]


def renamed(**names: str) -> Callable[[list[Record]], str]:
    def dress(records: list[Record]) -> str:
        return json.dumps([{names.get(name, name): value for name, value in record.items()} for record in records])

    return dress


def retyped(**types: str) -> Callable[[list[Record]], str]:
    return lambda records: json.dumps([{**record, "type": types[record["type"]]} for record in records])


DRESSES: dict[str, Callable[[list[Record]], str]] = {
    "array": json.dumps,
    "indented": lambda records: json.dumps(records, indent=2),
    "lines": lambda records: "\n".join(map(json.dumps, records)),
    "lines with blanks": lambda records: "\n\n".join(map(json.dumps, records)) + "\n",
    "one after the other": lambda records: " ".join(json.dumps(record, indent=1) for record in records),
    "wrapped": lambda records: json.dumps({"name": "test", "history": records}),
    "times and indexes": lambda records: json.dumps(
        [{**record, "time": 10 * n, "index": n} for n, record in enumerate(records)]
    ),
    "dates": lambda records: json.dumps(
        [{**record, "timestamp": f"2024-03-05T10:11:1{n}.5Z"} for n, record in enumerate(records)]
    ),
    "upper case": retyped(invoke="INVOKE", ok="OK"),
    "keywords": retyped(invoke=":invoke", ok=":ok"),
    "call and success": retyped(invoke="call", ok="success"),
    "client": renamed(process="client"),
    "worker and op": renamed(process="worker", f="op"),
    "names of processes": lambda records: json.dumps(
        [{**record, "process": f"client-{record['process']}"} for record in records]
    ),
    "numbers as texts": lambda records: json.dumps([{**r, "process": str(r["process"])} for r in records]),
    "a nemesis": lambda records: json.dumps(
        [*records[:2], {"process": "nemesis", "type": "info", "f": "start", "value": "n1"}, *records[2:]]
    ),
    "independent": lambda records: json.dumps([{**record, "value": [4, record["value"]]} for record in records]),
    "keys": lambda records: json.dumps([{**record, "key": "x"} for record in records]),
    "our events without a header": lambda records: "\n".join(
        json.dumps({"index": n, "time": n, **record}) for n, record in enumerate(records)
    ),
    "byte order mark": lambda records: "\ufeff" + json.dumps(records),
}


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize(("answer", "right"), [(3, "valid"), (None, "invalid"), (4, "invalid")])
def test_events_in_json(dress: str, answer: Any, right: str, tmp_path: Path) -> None:
    path = written(tmp_path, DRESSES[dress](events(answer=answer)))
    assert read_any(path).format == "json"
    assert verdict(path) == right
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert verdict(packed) == right


def operations(answer: Any = 3) -> list[Record]:
    return [
        {"f": "write", "value": 3, "start": 10, "end": 20},
        {"f": "write", "value": 4, "start": 30, "end": None},
        {"f": "read", "start": 40, "end": 50, "result": answer},
    ]


SPANS: dict[str, Callable[[list[Record]], str]] = {
    "array": json.dumps,
    "lines": lambda records: "\n".join(map(json.dumps, records)),
    "processes": lambda records: json.dumps([{**record, "client": n} for n, record in enumerate(records)]),
    "one process": lambda records: json.dumps([{**record, "process": 7} for record in records]),
    "porcupine": renamed(start="Call", end="Return", value="Input", result="Output", f="Op"),
    "seconds": lambda records: json.dumps(
        [{**r, "start": r["start"] / 8, "end": r["end"] and r["end"] / 8} for r in records]
    ),
    "dates": lambda records: json.dumps(
        [{**r, "start": _date(r["start"]), "end": _date(r["end"])} for r in records]
    ),
    "types": lambda records: json.dumps([{**r, "status": "OK" if r["end"] else "unknown"} for r in records]),
    "errors": lambda records: json.dumps(
        [{**r, "end": r["end"] or 35, "error": None if r["end"] else "timeout"} for r in records]
    ),
    "backwards": lambda records: json.dumps(records[::-1]),
    "table": lambda records: "f,value,result,start,end\n" + "".join(
        f"{r['f']},{_cell(r.get('value'))},{_cell(r.get('result'))},{r['start']},{_cell(r['end'])}\n" for r in records
    ),
    "table with semicolons": lambda records: "f;value;result;start;end\n" + "".join(
        f"{r['f']};{_cell(r.get('value'))};{_cell(r.get('result'))};{r['start']};{_cell(r['end'])}\n" for r in records
    ),
    "table with tabs": lambda records: "f\tvalue\tresult\tstart\tend\r\n" + "".join(
        f"{r['f']}\t{_cell(r.get('value'))}\t{_cell(r.get('result'))}\t{r['start']}\t{_cell(r['end'])}\r\n"
        for r in records
    ),
    "table with processes": lambda records: "process,op,key,value,output,call,return\n" + "".join(
        f"{n},{r['f']},x,{_cell(r.get('value'))},{_cell(r.get('result'))},{r['start']},{_cell(r['end'])}\n"
        for n, r in enumerate(records)
    ),
}  # fmt: skip


def _date(second: int | None) -> str | None:
    return None if second is None else f"2024-03-05T10:11:{second}Z"


def _cell(value: Any) -> str:
    return "" if value is None else json.dumps(value)


@pytest.mark.parametrize("dress", SPANS)
@pytest.mark.parametrize(("answer", "right"), [(3, "valid"), (4, "valid"), (5, "invalid"), (None, "invalid")])
def test_whole_operations(dress: str, answer: Any, right: str, tmp_path: Path) -> None:
    path = written(tmp_path, SPANS[dress](operations(answer)))
    assert verdict(path) == right


def test_operations_that_touch_overlap(tmp_path: Path) -> None:
    """Their times do not say which was first."""
    records = [
        {"f": "write", "value": 3, "start": 10, "end": 20},
        {"f": "read", "start": 20, "end": 30, "result": None},
    ]
    assert verdict(written(tmp_path, json.dumps(records))) == "valid"
    records[1]["start"] = 21
    assert verdict(written(tmp_path, json.dumps(records))) == "invalid"


def test_a_flag_that_nobody_mapped_is_no_success(tmp_path: Path) -> None:
    """The write of 2 may have had no effect, and then a read of 1 is right."""
    records = [
        {"f": "write", "value": 1, "start": 10, "end": 20, "ok": True},
        {"f": "write", "value": 2, "start": 30, "end": 40, "ok": False},
        {"f": "read", "result": 1, "start": 50, "end": 60, "ok": True},
    ]
    path = written(tmp_path, json.dumps(records))
    with pytest.raises(FormatError, match=r"'ok' is false.*--map 'type=ok,type.true=ok,type.false=info'"):
        read_any(path)
    records[1]["ok"] = True
    assert verdict(written(tmp_path, json.dumps(records))) == "invalid"


def test_events_whose_times_go_back_are_noted(tmp_path: Path) -> None:
    """The logs of two clients, one after the other."""
    reader = [{"process": 1, "type": "invoke", "f": "read", "time": 50}]
    reader.append({"process": 1, "type": "ok", "f": "read", "value": 1, "time": 60})
    writer = [{"process": 0, "type": type_, "f": "write", "value": 1, "time": 10} for type_ in ("invoke", "ok")]
    for events, notes, right in ((reader + writer, 1, "invalid"), (writer + reader, 0, "valid")):
        path = written(tmp_path, "".join(json.dumps(event) + "\n" for event in events))
        assert (len(read_any(path).assumed), verdict(path)) == (notes, right)


def test_a_run_that_was_exported_as_a_table_comes_back(tmp_path: Path) -> None:
    header = "invoke_index,return_index,process,f,key,value,result,outcome,invoked,returned,node,error,phase,intended"
    rows = [
        '0,2,0,"write","""k""","3","3","ok",5,9,"n1",,"main",',
        '1,,1,"write","""k""","4",,"info",5,,"n1","lost","main",',
        '3,4,2,"read","""k""","null","{}","ok",9,9,"n1",,"main",',
    ]
    for answer, right in (("4", "valid"), ("3", "valid"), ("null", "invalid")):
        path = written(tmp_path, "\n".join([header, *rows]).replace("{}", answer) + "\n")
        history = read_any(path)
        assert history.format == "csv"
        assert [(one.key, one.invoked, one.outcome) for one in history.operations or ()] == [
            ("k", 5, "ok"), ("k", 5, "info"), ("k", 9, "ok"),
        ]  # fmt: skip
        assert verdict(path) == right


# -- mappings ---------------------------------------------------------------------------------------------------------


def test_an_unknown_shape_ends_with_a_mapping_that_can_be_pasted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Filled in, it reads the file."""
    records = [
        {"who": "a", "what": "begin", "call": {"name": "set", "arg": 3}},
        {"who": "a", "what": "done", "call": {"name": "set", "arg": 3}},
        {"who": "b", "what": "begin", "call": {"name": "get", "arg": None}},
        {"who": "b", "what": "done", "call": {"name": "get", "arg": 3}},
    ]
    path = written(tmp_path, json.dumps(records), "history.json")
    assert run_command(["check", str(path)]) == 254
    said = capsys.readouterr().err
    assert '"who": "a"' in said
    assert "--map '" in said
    for path_of in ("who", "what", "call.name", "call.arg"):
        assert f"={path_of}" in said
    mapping = "process=who,type=what,f=call.name,value=call.arg,type.begin=invoke,type.done=ok,f.set=write,f.get=read"
    assert run_command(["check", str(path), "--map", mapping]) == 0
    assert run_command(["check", str(path), "--map", mapping, "--explain-format"]) == 0
    assert "process from who" in capsys.readouterr().out
    bad = written(tmp_path, json.dumps([*records[:3], {**records[3], "call": {"name": "get", "arg": 4}}]), "bad.json")
    assert run_command(["check", str(bad), "--map", mapping]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "{:who 0 :what :begin :does :write :arg 3}\n{:who 0 :what :end :does :write :arg 3}\n",
        "who,what,does,arg\n0,begin,write,3\n0,end,write,3\n",
        '{"who": 0, "what": "begin", "does": "write", "arg": 3}\n{"who": 0, "what": "end", "does": "write", "arg": 3}',
    ],
)
def test_the_mapping_of_an_unknown_shape_reads_it_in_every_format(text: str, tmp_path: Path) -> None:
    """Pasting twice is enough: the first mapping names the fields, the second also the words."""
    path, fields = written(tmp_path, text), None
    for _ in range(2):
        with pytest.raises(FormatError) as caught:
            read_any(path, fields=fields)
        assert '"who": 0' in caught.value.message
        fields = FieldMap.parse(caught.value.message.partition("--map '")[2].partition("'")[0])
    read = read_any(path, fields=fields).operations or []
    assert [(one.f, one.value, one.outcome) for one in read] == [("write", 3, "ok")]


@pytest.mark.parametrize(("error", "reads"), [("", True), (None, True), (0, True), (False, True), ("no", False)])
def test_an_ok_event_has_no_error(error: Any, reads: bool, tmp_path: Path) -> None:
    records = [{**record, "error": error} for record in events()]
    path = written(tmp_path, json.dumps(records))
    if reads:
        assert verdict(path) == "valid"
    else:
        with pytest.raises(FormatError, match="line 1: an event that is ok and has the error 'no'"):
            read_any(path)


@pytest.mark.parametrize("type_", ["error", "failed", "failure", "aborted", "return", "done"])
def test_a_word_that_may_mean_two_things_is_asked_about(type_: str, tmp_path: Path) -> None:
    records = events()
    records[1]["type"] = type_
    with pytest.raises(FormatError, match=rf"line 1: type must be one of .*--map 'type.{type_}=info'"):
        read_any(written(tmp_path, json.dumps(records)))
    fields = FieldMap.parse(f"type.{type_}=info")
    assert verdict(written(tmp_path, json.dumps(records)), fields=fields) == "valid"


def test_names_in_a_command_to_paste_do_not_end_its_quotes(tmp_path: Path) -> None:
    hostile = "a' $(touch here) '"
    shape = written(tmp_path, json.dumps([{hostile: 1, "b": 2, "c": 3}]))
    words = [{**record, "type": hostile} if number == 1 else record for number, record in enumerate(events())]
    for path in (shape, written(tmp_path, json.dumps(words), "words.json")):
        with pytest.raises(FormatError) as caught:
            read_any(path)
        option, mapping, *_ = shlex.split(caught.value.message[caught.value.message.rindex("--map") :])
        assert option == "--map"
        assert hostile in mapping


@pytest.mark.parametrize("text", ["process", "process=", "prozess=x", "f.=read", "=x", "f"])
def test_a_mapping_that_is_none(text: str) -> None:
    with pytest.raises(MappingError, match="expected FIELD=THEIRS"):
        FieldMap.parse(text)


def test_words_of_edn_are_mapped_too(tmp_path: Path) -> None:
    text = "{:process 0 :type :invoke :f :put :value 1} {:process 0 :type :ok :f :put :value 1}"
    assert verdict(written(tmp_path, text), fields=FieldMap.parse("f.put=write")) == "valid"


# -- keys -------------------------------------------------------------------------------------------------------------

HEADER = {"format": "harness-history", "version": 1, "model": "register"}


def numbered(records: list[Record]) -> list[Record]:
    return [{"index": n, "time": 10 * n, **record} for n, record in enumerate(records)]


def ours(records: list[Record], **header: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in [{**HEADER, **header}, *numbered(records)])


@pytest.mark.parametrize("dress", [ours, json.dumps, lambda records: "\n".join(map(json.dumps, records))])
@pytest.mark.parametrize("keys", [(0, 1), ("a", "b"), (0, "b"), (7, 8)])
def test_tuples_are_keys_in_every_format(
    dress: Callable[[list[Record]], str], keys: tuple[Any, Any], tmp_path: Path
) -> None:
    first, second = (
        [{**r, "value": [key, r["value"]]} for r in events(n, n)] for key, n in zip(keys, (3, 5), strict=True)
    )
    path = written(tmp_path, dress([*first[:2], *second[:2], *first[2:], *second[2:]]))
    assert [key.key for key in check(path).keys] == list(keys)
    assert verdict(path) == "valid"
    first[3]["value"] = [keys[0], None]
    assert verdict(written(tmp_path, dress([*first[:2], *second[:2], *first[2:], *second[2:]]))) == "invalid"


@pytest.mark.parametrize("dress", [ours, json.dumps])
def test_tuples_beside_other_values_are_refused(dress: Callable[[list[Record]], str], tmp_path: Path) -> None:
    keyed = [{**record, "value": [0, record["value"]]} for record in events()]
    with pytest.raises(FormatError, match=r"a read of \[key nil\].* is not"):
        read_any(written(tmp_path, dress([*keyed, {"process": 5, "type": "invoke", "f": "write", "value": 1}])))


def test_our_own_registers_may_hold_pairs(tmp_path: Path) -> None:
    """Their reads ask for null, so that not all values look like tuples."""
    pair = [4, 7]
    path = written(tmp_path, ours(events(pair, pair)))
    assert [(one.key, one.value) for one in read_any(path).operations or ()] == [(None, pair), (None, None)]


CAS = [
    ("write", ["a", "x"], None),
    ("cas", ["a", "x", "y"], None),
    ("write", ["b", "z"], None),
    ("read", ["a", None], ["a", "y"]),
]


@pytest.mark.parametrize("answer", ["x", "y"])
def test_a_cas_of_key_old_new(answer: str, tmp_path: Path) -> None:
    records = []
    for number, (f, asked, answered) in enumerate(CAS):
        result = ["a", answer] if f == "read" else answered or asked
        records += [
            {"process": number, "type": "invoke", "f": f, "value": asked},
            {"process": number, "type": "ok", "f": f, "value": result},
        ]
    assert verdict(written(tmp_path, json.dumps(records)), "cas-register") == ("valid" if answer == "y" else "invalid")


# -- bad files --------------------------------------------------------------------------------------------------------


PREFIXED: dict[str, str] = {
    **{name: TEXTS[name](story_of(name)).decode() for name in TEXTS},
    **{name: dress(events()) for name, dress in DRESSES.items()},
    **{f"operations, {name}": dress(operations()) for name, dress in SPANS.items()},
    "EDN with all it has": (
        '; a comment\n[{:type :invoke, :f :read, :value [1 nil], :process 0, :time 1.5, :index 0}\n'
        ' #jepsen.history.Op{:type :ok, :f :read, :value #{1 2}, :process 0, :error [:a "\\u00e9\\n"]}\n'
        ' #_{:gone 1} {:type :info, :f :start, :process :nemesis, :value {:a (1 \\c ##NaN)}}]\n'
    ),
    **{
        f"a log, {number}": "\n".join([
            *OTHER_LINES, f"{begin}0\t:invoke\t:write\t[1 7]", f"{begin}:nemesis\t:info\t:kill\t{{n1 #{{n2}}}}",
            f"{begin}0\t:info\t:write\t[1 7]\t[:timeout x y 3s", "  and more }", "",
        ])
        for number, begin in enumerate(BEGINS)
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PREFIXED)
def test_every_prefix_is_read_or_named_by_its_line(name: str, tmp_path: Path) -> None:
    text = PREFIXED[name]
    path = tmp_path / "history"
    unnamed = []
    for end in range(1, len(text)):
        path.write_text(text[:end])
        try:
            read_any(path)
        except FormatError as error:
            unnamed += [] if error.place.startswith("line ") else [(text[:end], str(error))]
    assert not unnamed


@pytest.mark.parametrize("name", ["edn", "jepsen-log", "jsonl", "porcupine-kv", "array"])
@pytest.mark.parametrize("wrap", [lambda data: b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"), gzip.compress])
def test_every_prefix_of_the_bytes_is_read_or_named_by_its_line(
    name: str, wrap: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    data = wrap(PREFIXED[name].replace("k", "ключ").encode())
    path = tmp_path / "history"
    unnamed = []
    for end in range(len(data)):
        path.write_bytes(data[:end])
        try:
            read_any(path)
        except FormatError as error:
            unnamed += [] if error.place.startswith("line ") else [(end, str(error))]
    assert not unnamed


@pytest.mark.parametrize(("name", "order"), [("UTF-16LE", "le"), ("UTF-16BE", "be")])
def test_utf_16_without_a_mark_is_named(name: str, order: str, tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(PREFIXED["edn"].encode(f"utf-16-{order}"))
    with pytest.raises(FormatError, match=f"iconv -f {name} -t UTF-8"):
        read_any(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[{"process": 0, "type": "invoke", "f": "write", "value": NaN}]',
            "line 1: expected a JSON object: NaN is not JSON",
        ),
        ('[{"process": 0,\n "type": "invoke",\n "f": "write" "value": 1}]', "line 3: expected a JSON object"),
        ('[{"process": 0, "process": 1, "type": "invoke", "f": "write"}]', "given twice"),
        ('[{"process": 0, "type": "invoke", "f": "write"}, 3]', "line 1: expected a JSON object, found '3]'"),
        ('[{"process": 0, "type": "invoke", "f": "write"}] x', "line 1: expected the end of the file"),
        ('{"f": "read", "start": 5, "end": 3}', "line 1: the operation ends at 3, before it starts at 5"),
        ('{"f": "read", "start": "soon", "end": 3}', "'start' must be a number or an ISO 8601 date"),
        (
            '{"f": "read", "start": 5, "end": 6, "type": "failed"}',
            "expected an operation to end as one of ok, fail, info",
        ),
        ('{"f": "read", "start": 5, "end": null, "type": "ok"}', "must have an end"),
        ("f,value,start,end\nread,1,2\n", "line 2: expected 4 cells, found 3"),
        ("f,value,start,start\nread,1,2,3\n", "two columns have the same name"),
        ("f,value,start,end\n", "found no row"),
    ],
)
def test_what_is_wrong_is_named_by_its_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        read_any(written(tmp_path, text))
    assert message in str(caught.value)


def test_foreign_is_a_value() -> None:
    assert Foreign("edn").mapping == {}
