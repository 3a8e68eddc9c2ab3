"""Foreign histories: Jepsen's EDN and console log, as they are found in the wild, and as they are broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checker import check
from checker.models.objects import Log
from history import FormatError
from history.readers import read_any
from history.readers.convert import convert_history
from history.readers.edn import EdnReader, parse_edn
from history.readers.jepsen_events import events_of
from history.readers.jepsen_log import parse_jepsen_log

STORY = """{:type :invoke, :f :write, :value 7, :process 0, :time 10, :index 0}
{:type :ok, :f :write, :value 7, :process 0, :time 20, :index 1}
{:type :info, :f :start-partition, :value nil, :process :nemesis, :time 25, :index 2}
{:type :invoke, :f :read, :value nil, :process 1, :time 30, :index 3}
{:type :ok, :f :read, :value nil, :process 1, :time 40, :index 4}
"""


def written(directory: Path, text: str) -> Path:
    path = directory / "history.edn"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        STORY,
        f"[{STORY}]",
        f"({STORY})",
        f"; a comment\n[{STORY} #_{{:ignored true}}]",
        STORY.replace("{:type", "#jepsen.history.Op{:type"),
        STORY.replace(":invoke", '"invoke"')
        .replace(":ok", '"ok"')
        .replace(":write", '"write"')
        .replace(":read", '"read"'),
        STORY.replace(", :index 0", "").replace(", :index 1", "").replace(", :index 3", ""),
        STORY.replace(", ", "\n   "),
    ],
)
def test_edn_in_all_its_dresses(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    assert read_any(path).format == "edn"
    report = check(path)
    assert report.verdict == "invalid"
    assert report.counterexamples[0].kind == "lost-write"


def test_independent_tuples_become_keys(tmp_path: Path) -> None:
    text = STORY.replace(":value 7", ":value [3 7]")
    text = text.replace("{:type :invoke, :f :read, :value nil", "{:type :invoke, :f :read, :value [3 nil]")
    report = check(
        written(tmp_path, text.replace("{:type :ok, :f :read, :value nil", "{:type :ok, :f :read, :value [3 7]"))
    )
    assert [(key.key, key.verdict) for key in report.keys] == [(3, "valid")]


@pytest.mark.parametrize("large", [0, 1 << 30])
@pytest.mark.parametrize("key", ["3", '"k"'])
@pytest.mark.parametrize(
    "alone", ["{:process 9 :type :invoke :f :read :value nil}", "{:process 9 :type :invoke :f :w}"]
)
def test_a_history_of_which_only_some_values_have_keys_is_refused(
    key: str, alone: str, large: int, tmp_path: Path
) -> None:
    """As values of one register, those of two keys would contradict each other."""
    lines = [
        f"{{:process 0 :type :{type_} :f :{f} :value [{of} {value}]}}"
        for f, of, value in (("write", key, 1), ("write", 4, 2), ("read", key, 1))
        for type_ in ("invoke", "ok")
    ]
    lines[4] = lines[4].replace(" 1]", " nil]")
    path = written(tmp_path, "\n".join([*lines, alone]))
    with pytest.raises(FormatError, match=r"line 5: a read of \[key nil\], as in jepsen\.independent"):
        read_any(path, large=large)
    with pytest.raises(FormatError, match=r"line 5: a read of \[key nil\], as in jepsen\.independent"):
        convert_history(path, tmp_path / "out.jsonl", large=large, by_rows=0 if large == 0 else 1 << 30)
    keys = read_any(written(tmp_path, "\n".join(lines)), large=large)
    assert [one.verdict for one in check(keys).keys] == ["valid", "valid"]


def test_a_cas_pair_is_no_key(tmp_path: Path) -> None:
    text = "{:process 0 :type :invoke :f :cas :value [nil 1]} {:process 0 :type :ok :f :cas :value [nil 1]}"
    report = check(written(tmp_path, text), "cas-register")
    assert [(key.key, key.verdict) for key in report.keys] == [(None, "valid")]


@pytest.mark.parametrize(("shape", "key"), [("{}", None), ("[7 {}]", 7)])
def test_two_steps_of_a_transaction_are_no_key(shape: str, key: int | None, tmp_path: Path) -> None:
    wrote, asked, read = (f"[[:{f} :x {value}] [:{f} :y {value}]]" for f, value in (("w", 1), ("r", "nil"), ("r", 1)))
    text = "".join(
        f"{{:process {process} :type :{type_} :f :txn :value {shape.format(value)}}}"
        for process, type_, value in [(0, "invoke", wrote), (0, "ok", wrote), (1, "invoke", asked), (1, "ok", read)]
    )
    report = check(written(tmp_path, text), "multi-register")
    assert [(reported.key, reported.verdict) for reported in report.keys] == [(key, "valid")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nil", None), ("true", True), ("-12", -12), ("9223372036854775808N", 2**63), ("1.5", 1.5), ("2e3", 2000.0),
        (":a/b", "a/b"), ('"a\\"b\\n"', 'a"b\n'), ("[1, 2 (3)]", [1, 2, [3]]), ("#{2 1}", [1, 2]),
        ("{:a 1, [1 2] 3}", {"a": 1, "[1, 2]": 3}), ("#inst \"2020\"", "2020"), ("\\a", "\\a"), ("#_ 1 2", 2),
        (r'"\u00e9\\u"', "é\\u"),
    ],
)  # fmt: skip
def test_forms(text: str, value: Any) -> None:
    assert [form.value for form in EdnReader(text, "x").forms()] == [value]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (STORY + "{:type :ok", "line 6: expected '}', found the end of the file"),
        (STORY.replace(":process 1, :time 40", ":time 40"), "line 5: the field :process is missing"),
        (STORY.replace("{:type :ok, :f :read", "{:type :done, :f :read"), "line 5: :type must be one of"),
        (STORY.replace(":time 40", ":time ##NaN"), "line 5: :time must be a number, found nan"),
        (STORY.replace(":time 40", ':time "soon"'), "line 5: :time must be a number, found 'soon'"),
        (STORY.replace(":index 3", ":index 0"), "line 4: the events are out of order"),
        (STORY.replace(":process 1, :time 40", ":process 0, :time 40"), "process 0 completes an operation that"),
        (STORY.replace(":process 1, :time 30", ":process 0, :time 30")
              .replace("{:type :ok, :f :write, :value 7, :process 0, :time 20, :index 1}", ""), "open operation"),
        ("[1 2]", "line 1: expected a map, found '1'"),
        ("{:a}", "a map has a key without a value"),
        ("[{]", r"found '\]', expected '}'"),
        ("; only a comment\n[]", "expected a history, found nothing|line 1"),
        ("{:process 0 :type", "line 1: expected"),
    ],
)  # fmt: skip
def test_broken_edn_names_the_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        read_any(written(tmp_path, text))


LOG = """2015-01-01 12:00:00 INFO  jepsen.core - Running test
INFO  jepsen.util - 3\t:invoke\t:write\t2
INFO [2024-01-01 00:00:00,000] jepsen worker 3 - jepsen.util 3 :ok :write 2
INFO  jepsen.util - :nemesis\t:info\t:start\tnil
INFO  jepsen.util - 4\t:invoke\t:cas\t[2 5]
INFO  jepsen.util - 4\t:info\t:cas\t:timed-out
INFO  jepsen.util - 5\t:invoke\t:read\tnil
INFO  jepsen.util - 5\t:ok\t:read\t5
"""


def test_console_logs(tmp_path: Path) -> None:
    events = events_of(parse_jepsen_log(LOG, "log")).events
    assert [(event.process, event.type, event.f, event.value) for event in events] == [
        (3, "invoke", "write", 2), (3, "ok", "write", 2), ("nemesis", "info", "start", None),
        (4, "invoke", "cas", [2, 5]), (4, "info", "cas", [2, 5]), (5, "invoke", "read", None), (5, "ok", "read", 5),
    ]  # fmt: skip
    assert events[4].error == "timed-out"
    path = tmp_path / "jepsen.log"
    path.write_text(LOG)
    assert check(path, "cas-register").verdict == "valid"
    path.write_text(LOG.replace(":ok\t:read\t5", ":ok\t:read\t6"))
    assert check(path, "cas-register").counterexamples[0].kind == "never-written"


@pytest.mark.parametrize("words", ["fully connected, all nodes", "(", '{"n1" #object[Foo 0x1 "x}"]}', "##NaN"])
def test_what_a_nemesis_says_in_a_log_is_for_people(words: str) -> None:
    line = f"INFO  jepsen.util - :nemesis\t:info\t:start\t{words}\n"
    assert [event.type for event in events_of(parse_jepsen_log(LOG + line, "log")).events[7:]] == ["info"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\nworld\n", "expected lines such as"),
        (LOG + "INFO  jepsen.util - 5\t:okay\t:read\t5\n", "line 9: expected process, :type"),
        (LOG + "INFO  jepsen.util - 5\t:ok\t:read\t5\n", "process 5 completes an operation that it never invoked"),
        (LOG + "INFO  jepsen.util - 5\t:invoke\t:write\t[1\n", "expected ']', found the end"),
    ],
)
def test_broken_logs(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "jepsen.log"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_any(path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "noise"
    path.write_bytes(b"[{:a 1}\xff\xfe")
    with pytest.raises(FormatError, match="line 1: expected UTF-8"):
        read_any(path)


def test_a_kv_file_with_other_functions_is_refused(tmp_path: Path) -> None:
    lines = ['{:process 0, :type :invoke, :f :put, :key "a", :value "x"}', '{:process 0, :type :ok, :f :pop, :key "a"}']
    with pytest.raises(FormatError, match="line 2: expected get, put or append"):
        read_any(written(tmp_path, "\n".join(lines)))


@pytest.mark.parametrize("more", [":error :key-not-found", ":key 3"])
def test_a_log_with_keys_is_no_kv_file(more: str, tmp_path: Path) -> None:
    lines = [f"{{:process 0, :type :{type_}, :f :append, :value 0, {more}}}" for type_ in ("invoke", "ok")]
    assert check(written(tmp_path, "\n".join(lines)), "log").verdict == "valid"


@pytest.mark.parametrize("large", [0, 1 << 20])
@pytest.mark.parametrize("more", [", :time 3, :index 0", ", :time 3", ", :index 0", ', :node "n1"', ""])
def test_a_jepsen_log_whose_keys_are_texts_is_no_kv_file(more: str, large: int, tmp_path: Path) -> None:
    """Nor is what looks like one, if it is said to be something else."""
    events = [("invoke", "append", '"x"'), ("ok", "append", "0"), ("invoke", "list", "nil"), ("ok", "list", '["x"]')]
    lines = [
        f'{{:process 0, :type :{type_}, :f :{f}, :key "a", :value {value}{more.replace("0", str(number))}}}'
        for number, (type_, f, value) in enumerate(events)
    ]
    path = written(tmp_path, "\n".join(lines))
    found = [read_any(path, model="log", large=large), *([read_any(path, large=large)] if more else [])]
    assert [(read.format, read.model, len(read.operations or ())) for read in found] == [("edn", None, 2)] * len(found)
    assert {check(read, "log").verdict for read in (*found, path)} == {"valid"}
    assert check(path, Log()).verdict == "valid"
    if not more:
        with pytest.raises(FormatError, match="line 2: expected a string, found :value 0"):
            read_any(path, model="kv", large=large)


def test_an_edn_history_survives_a_round_of_json() -> None:
    events = events_of(parse_edn(STORY, "x")).events
    assert json.loads(json.dumps([event.to_json() for event in events]))[1]["value"] == 7
