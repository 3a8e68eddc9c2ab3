"""`harness check FILE`, `shrink` and `serve`: verdicts as exit codes, and errors that name the file and the place."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import ANY

import pytest

from checker import check, per_key
from harness import files as files_module
from harness.cli.main import run_command
from history import Header, HistoryWriter, Operation
from history.readers import read_any
from reports.site.serve import make

#: Without an initial value Jepsen's register starts as nil.
EDN_GOOD = """{:process 0, :type :invoke, :f :write, :value [1 7]}
{:process 0, :type :ok, :f :write, :value [1 7]}
{:process 1, :type :invoke, :f :read, :value [1 nil]}
{:process 1, :type :ok, :f :read, :value [1 7]}
"""
EDN_BAD = EDN_GOOD.replace(":read, :value [1 7]}", ":read, :value [1 nil]}")


def history(path: Path, *events: tuple[str, int, str, object]) -> Path:
    times = iter(range(0, 10**9, 1_000_000))
    writer = HistoryWriter(path, Header(), started_ns=0, clock=lambda: next(times))
    for type_, process, f, value in events:
        writer.append(type_, process, f, value=value)  # type: ignore[arg-type]
    writer.close()
    return path


def stale(path: Path) -> Path:
    events: list[tuple[str, int, str, object]] = []
    for value in (1, 2):
        events += [("invoke", 0, "write", value), ("ok", 0, "write", value)]
    for _ in range(5):
        events += [("invoke", 2, "read", None), ("ok", 2, "read", 2)]
    events += [("invoke", 1, "read", None), ("ok", 1, "read", 1)]
    return history(path, *events)


def test_a_stale_read_is_1_reported_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["check", str(stale(tmp_path / "history.jsonl"))]) == 1
    said = capsys.readouterr().out
    assert said.startswith("invalid: 8 operations, 1 key, by zones")
    assert "stale-read" in said
    assert "read 1 0.0" in said
    assert "✕" in said


def test_half_a_surrogate_pair_is_printed_and_shrunk_as_an_escape(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """JSON may hold what UTF-8 does not know."""
    path = history(tmp_path / "h.jsonl", ("invoke", 0, "read", None), ("ok", 0, "read", "\ud800"))
    for arguments in (["check"], ["check", "--json"]):
        assert run_command([*arguments, str(path)]) == 1
        assert r'"\ud800"' in capsys.readouterr().out.replace(r"\"", '"')
    assert run_command(["shrink", str(path), "-o", str(tmp_path / "shrunk.jsonl")]) == 0
    assert run_command(["check", str(tmp_path / "shrunk.jsonl")]) == 1


@pytest.mark.parametrize(("text", "code"), [(EDN_GOOD, 0), (EDN_BAD, 1)])
def test_a_foreign_history_and_its_bad_twin(tmp_path: Path, text: str, code: int) -> None:
    (tmp_path / "history.edn").write_text(text)
    assert run_command(["check", str(tmp_path / "history.edn"), "--model", "register"]) == code


@pytest.mark.parametrize(("model", "code"), [("log", 0), ("kv", 254)])
def test_the_model_that_is_asked_for_wins_over_what_the_file_looks_like(model: str, code: int, tmp_path: Path) -> None:
    maps = [
        '{:process 0, :type :invoke, :f :append, :key "a", :value "x"}',
        '{:process 0, :type :ok, :f :append, :key "a", :value 0}',
    ]
    (tmp_path / "history.edn").write_text("\n".join(maps))
    assert run_command(["check", str(tmp_path / "history.edn"), "--model", model]) == code


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([], 2),
        ([("info", "nemesis", "start", None)], 2),
        ([("invoke", 0, "read", None)], 2),
        ([("invoke", 0, "read", None), ("fail", 0, "read", None)], 2),
        ([("invoke", 0, "write", 1)], 2),
        ([("invoke", 0, "write", 1), ("info", 0, "write", 1), ("invoke", 1, "write", 2), ("fail", 1, "write", 2)], 2),
        ([("invoke", 0, "write", 1), ("ok", 0, "write", 1)], 0),
        ([("invoke", 0, "read", None), ("ok", 0, "read", None)], 0),
        ([("invoke", 0, "read", None), ("ok", 0, "read", 1)], 1),
    ],
)
def test_a_history_of_no_operation_is_unknown(
    events: list[Any], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = history(tmp_path / "history.jsonl", *events)
    assert run_command(["check", str(path)]) == code
    assert ("there was nothing to judge" in capsys.readouterr().out) == (code == 2)


@contextmanager
def piped(data: bytes, directory: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[str]:
    """What a user types for standard input, or for a pipe, that brings the data."""
    monkeypatch.setattr("tempfile.tempdir", str(directory))
    if name == "-":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        yield name
        return
    fifo = directory / name
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=[data], daemon=True)
    writer.start()
    yield str(fifo)
    writer.join(10)
    fifo.unlink()


@pytest.mark.parametrize("name", ["-", "pipe"])
@pytest.mark.parametrize("kind", ["good", "bad", "jsonl", "no history", "nothing"])
def test_what_a_pipe_brings_is_checked_and_nothing_of_it_stays(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = stale(tmp_path / "history.jsonl")
    data, code, said = {
        "good": (EDN_GOOD.encode(), 0, "valid: 2 operations"),
        "bad": (EDN_BAD.encode(), 1, "invalid: 2 operations"),
        "jsonl": (ours.read_bytes(), 1, "stale-read"),
        "no history": (b"{:a 1}", 254, f"{name}: line 1: expected events or operations"),
        "nothing": (b"", 254, f"{name}: line 1: expected a history"),
    }[kind]
    ours.unlink()
    with piped(data, tmp_path, monkeypatch, name) as typed:
        assert run_command(["check", typed]) == code
    output = capsys.readouterr()
    assert said in output.out + output.err
    assert not list(tmp_path.iterdir())


def test_what_a_pipe_brings_is_shrunk_to_a_file_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = tmp_path / "small.jsonl"
    with piped(EDN_BAD.encode(), tmp_path, monkeypatch, "-"):
        assert run_command(["shrink", "-"]) == 254
        assert "--output" in capsys.readouterr().err
        assert run_command(["shrink", "-", "-o", str(small)]) == 0
    assert run_command(["check", str(small)]) == 1


def test_json_holds_the_whole_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["check", "--json", str(stale(tmp_path / "history.jsonl"))]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "invalid"
    assert answer["keys"][0]["counterexamples"][0]["kind"] == "stale-read"


def test_several_files_end_in_a_table_and_with_the_worst_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = history(tmp_path / "good.jsonl", ("invoke", 0, "write", 1), ("ok", 0, "write", 1))
    torn = tmp_path / "torn.jsonl"
    torn.write_text("{}")
    names = [str(good), str(torn), str(good)]
    assert run_command(["check", *names]) == 254
    output = capsys.readouterr()
    assert [line.split()[0] for line in output.out.splitlines()[-4:]] == ["verdict", "valid", "not", "valid"]
    assert [line.split()[-1] for line in output.out.splitlines()[-3:]] == names
    assert str(torn) in output.err
    bad = str(stale(tmp_path / "bad.jsonl"))
    assert run_command(["check", *names, bad]) == 1
    assert capsys.readouterr().out.splitlines()[-1].split() == ["invalid", "8", "zones", ANY, bad]
    assert run_command(["check", "--json", str(good), bad]) == 1
    answers = json.loads(capsys.readouterr().out)
    assert [(one["file"], one["exit_code"], one["verdict"]) for one in answers] == [
        (str(good), 0, "valid"), (bad, 1, "invalid"),
    ]  # fmt: skip
    assert run_command(["check", str(good), str(good)]) == 0


def test_a_run_is_judged_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = str(history(tmp_path / "good.jsonl", ("invoke", 0, "write", 1), ("ok", 0, "write", 1)))
    assert run_command(["check", good, str(tmp_path)]) == 254
    assert str(tmp_path) in capsys.readouterr().err


@pytest.mark.parametrize(("violated", "code", "verdict"), [(True, 1, "invalid"), (False, 255, "unknown")])
@pytest.mark.parametrize("columns", [False, True])
def test_a_checker_that_breaks_down_on_one_key_costs_no_verdict_on_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    violated: bool, code: int, verdict: str, columns: bool,
) -> None:  # fmt: skip
    path = tmp_path / "history.jsonl"
    ticks = iter(range(100))
    writer = HistoryWriter(path, Header("t", "register", 1, ""), started_ns=0, clock=lambda: next(ticks))
    for key, read in (("bad", 1), ("odd", 2), ("good", 2)):
        for f, asked, answered in (("write", 1, 1), ("write", 2, 2), ("read", None, read if violated else 2)):
            writer.append("invoke", 0, f, value=asked, key=key)
            writer.append("ok", 0, f, value=answered, key=key)
    writer.close()

    def breaking_on_odd(function: Callable[..., Any]) -> Callable[..., Any]:
        def broken(operations: Sequence[Operation], *more: Any) -> Any:
            if any(operation.key == "odd" for operation in operations):
                raise ZeroDivisionError("a bug")
            return function(operations, *more)

        return broken

    for function in ("columns_of_list", "check_object"):
        monkeypatch.setattr(per_key, function, breaking_on_odd(getattr(per_key, function)))
    if columns:
        monkeypatch.setattr("harness.files.check", lambda *_, **__: 1 // 0)
        monkeypatch.setattr("harness.files.read_any", partial(read_any, large=1))
    assert run_command(["check", str(path), "--json"]) == code
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == verdict
    assert answer["harness_failure"].startswith("the checker failed: builtins.ZeroDivisionError: ")
    assert {key["key"]: key["verdict"] for key in answer["keys"]} == {
        "bad": "invalid" if violated else "valid", "odd": "unknown", "good": "valid",
    }  # fmt: skip
    assert [key["failure"] for key in answer["keys"] if key["key"] == "odd"] == ["builtins.ZeroDivisionError: a bug"]
    assert run_command(["check", str(path)]) == code
    output = capsys.readouterr()
    assert output.out.startswith(f"{verdict}: ")
    assert "harness failure: the checker failed: builtins.ZeroDivisionError: " in output.err


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("", (), "history"),
        ('{"format":"harness-history","version":1}\n{"index":0}\n', (), "line 2"),
        (EDN_GOOD, ("--model", "regster"), "there is no model 'regster'; did you mean register"),
        (EDN_GOOD, ("--engine", "zone"), "zones"),
        (EDN_GOOD, ("--deadline", "0"), "--deadline"),
    ],
)
def test_bad_input_is_254_and_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: tuple[str, ...], said: str
) -> None:
    path = tmp_path / ("history.edn" if text == EDN_GOOD else "history.jsonl")
    path.write_text(text)
    assert run_command(["check", str(path), *words]) == 254
    assert said in capsys.readouterr().err


def test_shrink_writes_what_check_still_calls_invalid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = stale(tmp_path / "history.jsonl")
    assert run_command(["shrink", str(path)]) == 0
    small = tmp_path / "history.shrunk.jsonl"
    assert len(small.read_text().splitlines()) <= 1 + 2 * 3
    capsys.readouterr()
    assert run_command(["check", str(small)]) == 1
    assert run_command(["shrink", str(path)]) == 254
    assert "already exists" in capsys.readouterr().err


BAD: dict[str, list[tuple[str, int, str, object]]] = {
    "queue": [("invoke", 0, "dequeue", None), ("ok", 0, "dequeue", 8)],
    "mutex": [("invoke", 0, "release", None), ("ok", 0, "release", None)],
    "counter": [("invoke", 0, "add", 1), ("ok", 0, "add", 1), ("invoke", 0, "read", None), ("ok", 0, "read", 0)],
    "set": [("invoke", 0, "add", 1), ("ok", 0, "add", 1), ("invoke", 0, "read", None), ("ok", 0, "read", [])],
    "log": [("invoke", 0, "append", "a"), ("ok", 0, "append", 0), ("invoke", 0, "list", None), ("ok", 0, "list", [])],
    "ledger": [("invoke", 0, "append", "a"), ("ok", 0, "append", 5), ("invoke", 0, "append", "b"),
               ("ok", 0, "append", 7), ("invoke", 0, "list", None), ("ok", 0, "list", [[7, "b"]])],
    "kv": [("invoke", 0, "put", "a"), ("ok", 0, "put", "a"), ("invoke", 0, "get", None), ("ok", 0, "get", "b")],
}  # fmt: skip


@pytest.mark.parametrize("model", BAD)
def test_what_shrink_writes_names_its_model_and_is_invalid_again(model: str, tmp_path: Path) -> None:
    path = history(tmp_path / "history.jsonl", *BAD[model])
    assert run_command(["shrink", str(path), "--model", model]) == 0
    small = tmp_path / "history.shrunk.jsonl"
    assert json.loads(small.read_text().splitlines()[0])["model"] == model
    assert run_command(["check", str(small)]) == 1


@pytest.mark.parametrize(
    ("model", "events"),
    [
        (
            "set",
            [*(("add", n, n) for n in (1, 2, 3)), ("read", None, [1, 2]), ("read", None, [1, 2, 3])],
        ),
        (
            "log",
            [*(("append", f"v{n}", n) for n in range(3)), ("list", None, ["v0", "v1"]), ("get", 1, "v1")],
        ),
    ],
)
def test_what_was_seen_stands_in_what_shrink_writes(
    model: str, events: list[tuple[str, object, object]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else the history that is written would be wrong for another reason."""
    output = [pair for f, asked, answer in events for pair in (("invoke", 0, f, asked), ("ok", 0, f, answer))]
    path, small = history(tmp_path / "history.jsonl", *output), tmp_path / "small.jsonl"
    assert run_command(["shrink", str(path), "--model", model, "-o", str(small)]) == 0
    assert re.search(rf"2 operations, and 2 .*: {re.escape(str(small))}", capsys.readouterr().out)
    found = [check(file, model).counterexamples for file in (path, small)]
    assert [[(example.kind, len(example.operations)) for example in examples] for examples in found] == [
        [("lost-element" if model == "set" else "lost-write", 2)]
    ] * 2


@pytest.mark.parametrize(
    ("options", "code", "note"),
    [
        ([], 1, "--null unknown"),
        (["--null", "unknown"], 0, ""),
        (["--model", "register-unknown"], 1, "--null unknown"),
        (["--format", "json"], 254, "expected a JSON object"),
        (["--format", "jsonn"], 254, "json"),
    ],
)
def test_a_convention_that_decides_is_named(
    options: list[str], code: int, note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [("invoke", 0, "write", 5), ("ok", 0, "write", 5), ("invoke", 1, "read", "nil"), ("ok", 1, "read", "nil")]
    path = tmp_path / "history.edn"
    path.write_text("".join(f"{{:type :{t} :process {p} :f :{f} :value {v}}}\n" for t, p, f, v in events))
    exited, said = said_of(path, capsys, *options)
    assert (exited, note in said) == (code, True), said
    if code < 254:
        assert ("note:" in said) == (code == 1)


@pytest.mark.parametrize(("model", "f"), [("counter", "add"), ("set", "add"), ("register", "write")])
def test_a_read_of_nil_that_decides_is_named_for_every_model(
    model: str, f: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [("invoke", f, "2"), ("ok", f, "2"), ("invoke", "read", "nil"), ("ok", "read", "nil")]
    path = tmp_path / "history.edn"
    path.write_text("".join(f"{{:type :{t} :process 0 :f :{f} :value {v}}}\n" for t, f, v in events))
    code, said = said_of(path, capsys, "--model", model)
    assert (code, "--null unknown" in said) == (1, True), said
    assert said_of(path, capsys, "--model", model, "--null", "unknown")[0] == 0


@pytest.mark.parametrize(
    ("model", "events", "start"),
    [
        ("counter", [("add", 2, 2), ("read", None, 11)], "9"),
        ("set", [("add", 2, 2), ("read", None, [1, 2])], "[1]"),
        ("queue", [("dequeue", None, 7), ("dequeue", None, 8)], "[7, 8]"),
        ("unordered-queue", [("dequeue", None, 7)], "[7]"),
        ("total-queue", [("dequeue", None, 7), ("dequeue", None, 7)], "[7]"),
        ("mutex", [("release", None, None)], '"held"'),
        ("counter", [("read", None, 5), ("read", None, 4)], None),
        ("queue", [("enqueue", 1, 1), ("dequeue", None, 7), ("dequeue", None, None)], None),
    ],
)
def test_a_start_that_decides_is_named(
    model: str, events: list[tuple[str, Any, Any]], start: str | None, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """And with the option that the note names the history is valid."""
    records = [
        {"process": 0, "type": type_, "f": f, "value": value}
        for f, asked, answer in events
        for type_, value in (("invoke", asked), ("ok", answer))
    ]
    path = tmp_path / "history.json"
    path.write_text(json.dumps(records))
    code, said = said_of(path, capsys, "--model", model)
    assert (code, f"--initial '{start}'" in said) == (1, start is not None), said
    if start is not None:
        assert said_of(path, capsys, "--model", model, "--initial", start)[0] == 0


@pytest.mark.parametrize(("f", "value"), [("cas", "[1 2]"), ("steal", "1")])
def test_a_misfit_in_a_large_file_is_named_by_its_line(
    f: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "read_foreign", partial(files_module.read_foreign, large=0))
    path = tmp_path / "history.edn"
    events = [("write", 1), ("write", 2), (f, value)]
    path.write_text(
        "".join(f"{{:process 0 :type :{t} :f :{name} :value {v}}}\n" for name, v in events for t in ("invoke", "ok"))
    )
    code, said = said_of(path, capsys)
    assert (code, f"line 6: a register has no operation '{f}'" in said) == (254, True), said


STRICTER: dict[str, tuple[str, list[tuple[str, Any, Any]]]] = {
    "set": ("g-set", [("add", 1, 1), ("read", None, []), ("add", 2, 2), ("read", None, [1, 2])]),
    "counter": ("pn-counter", [("add", 1, 1), ("read", None, 0), ("add", 2, 2), ("read", None, 3)]),
    "queue": ("unordered-queue", [("enqueue", 1, 1), ("enqueue", 2, 2), ("dequeue", None, 2), ("dequeue", None, 1)]),
    "unordered-queue": ("total-queue", [("enqueue", 1, 1), ("dequeue", None, 1), ("dequeue", None, 1)]),
}


@pytest.mark.parametrize("model", STRICTER)
def test_a_model_that_asks_for_more_than_another_tool_names_the_other(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, operations = STRICTER[model]
    events = [
        {"process": 0, "type": type_, "f": f, "value": value}
        for f, *values in operations
        for type_, value in zip(("invoke", "ok"), values, strict=True)
    ]
    path = tmp_path / "history.json"
    path.write_text(json.dumps(events))
    code, said = said_of(path, capsys, "--model", model)
    named = f"--model {other}" in said
    assert (code, named) == (1, True)
    assert said_of(path, capsys, "--model", other)[0] == 0


def test_the_level_that_transactions_are_judged_by_is_named_where_it_decides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A read that misses an acknowledged append is serializable."""
    path = tmp_path / "history.edn"
    for answer, codes in (("[]", (0, 0, 1)), ("[7]", (0, 0, 0))):
        steps = ("[:append 1 7]", "[:append 1 7]", "[:r 1 nil]", f"[:r 1 {answer}]")
        path.write_text("".join(
            f"{{:type :{('invoke', 'ok')[place % 2]} :process {place // 2} :f :txn :value [{step}]}}\n"
            for place, step in enumerate(steps)
        ))  # fmt: skip
        found = [
            said_of(path, capsys, "--model", "list-append", *options)
            for options in ((), ("--level", "serializable"), ("--level", "strict-serializable"))
        ]
        assert tuple(code for code, _ in found) == codes
        assert ["--level strict-serializable" in said for _, said in found] == [codes[2] == 1, False, False]


def test_what_the_register_held_before_is_asked_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = history(tmp_path / "history.jsonl", ("invoke", 0, "read", None), ("ok", 0, "read", 5))
    code, said = said_of(path, capsys)
    assert (code, "--initial" in said and "register-unknown" in said) == (1, True), said
    assert said_of(path, capsys, "--initial", "5")[0] == 0
    assert said_of(path, capsys, "--model", "register-unknown")[0] == 0


def test_an_operation_that_is_none_of_the_models_is_named_by_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history.edn"
    path.write_text("; counts\n{:type :invoke :process 0 :f :add :value 2}\n{:type :ok :process 0 :f :add :value 2}\n")
    code, said = said_of(path, capsys)
    assert code == 254
    assert "line 3: a register has no operation 'add', in {:type :ok :process 0 :f :add :value 2}" in said
    assert "--model counter" in said
    assert said_of(path, capsys, "--model", "counter")[0] == 0
    path.write_text(path.read_text().replace(":add", ":set"))
    assert "--map 'f.set=" in said_of(path, capsys)[1]
    assert said_of(path, capsys, "--map", "f.set=write")[0] == 0


@pytest.mark.parametrize("seed", range(6))
def test_what_is_shrunk_of_any_log_is_invalid(seed: int, tmp_path: Path) -> None:
    """Also of one with a hole, where what is missing is no operation that a counterexample could show."""
    random, events = Random(seed), list[tuple[str, int, str, object]]()
    for number in range(9):
        f = random.choice(["append", "append", "get", "list"])
        asked = f"v{number}" if f == "append" else random.randint(0, 6) if f == "get" else None
        some = [f"v{n}" for n in sorted(random.sample(range(9), random.randint(0, 5)))]
        answer: object = random.randint(0, 6) if f == "append" else random.choice([*some, None]) if f == "get" else some
        doubt = f == "append" and random.random() < 0.4
        events += [("invoke", number, f, asked), ("info" if doubt else "ok", number, f, asked if doubt else answer)]
    path, small = history(tmp_path / "history.jsonl", *events), tmp_path / "small.jsonl"
    report = check(path, "log")
    assert report.verdict == "invalid"
    assert run_command(["shrink", str(path), "--model", "log", "-o", str(small)]) == 0
    assert run_command(["check", str(small)]) == 1


def test_nothing_that_is_printed_is_wider_than_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run_command(["check", str(stale(tmp_path / "history.jsonl"))]) == 1
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_the_certificate_is_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = history(tmp_path / "history.jsonl", ("invoke", 0, "write", 1), ("ok", 0, "write", 1))
    assert run_command(["check", str(path)]) == 0
    assert "certificate: 1 linearization of 1 operation, verified" in capsys.readouterr().out
    assert run_command(["check", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["keys"][0]["certificate"] == 1


def test_a_deadline_that_is_too_short_is_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events: list[tuple[str, int, str, object]] = []
    for kind in ("invoke", "ok"):
        events += [(kind, process, "add", process) for process in range(14)]
    events += [("invoke", 0, "read", None), ("ok", 0, "read", -1)]
    path = history(tmp_path / "history.jsonl", *events)
    assert run_command(["check", str(path), "--model", "counter", "--engine", "wgl", "--deadline", "0.01"]) == 2
    assert "the deadline passed" in capsys.readouterr().out


def test_a_valid_history_has_nothing_to_shrink(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = history(tmp_path / "history.jsonl", ("invoke", 0, "write", 1), ("ok", 0, "write", 1))
    assert run_command(["shrink", str(path)]) == 254
    assert "no counterexample" in capsys.readouterr().err
    assert not (tmp_path / "history.shrunk.jsonl").exists()


def test_serve_without_a_store_is_254(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["serve", "--store", str(tmp_path / "none")]) == 254
    said = capsys.readouterr().err
    assert "cannot serve" in said
    assert "--port" not in said


def test_serve_on_a_port_that_is_taken_names_the_mend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert run_command(["serve", "--store", str(tmp_path), "--port", str(taken.getsockname()[1])]) == 254
    assert "--port 0 picks a free one" in capsys.readouterr().err


def test_an_empty_store_is_served_and_written_as_a_site(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    with make(store) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/") as answer:
            assert answer.status == 200
        server.shutdown()
        thread.join()
    assert run_command(["report", "--site", str(tmp_path / "site"), "--store", str(store)]) == 0
    assert (tmp_path / "site" / "index.html").exists()


# -- what stands at a file's end, what it is instead, and where a register starts ------------------------------------


def said_of(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit code of checking the file, and all that was said."""
    code = run_command(["check", str(path), *words])
    out, err = capsys.readouterr()
    return code, out + err


@pytest.mark.parametrize(
    ("end", "note"),
    [
        (b'{"index":16,"ti', "the last line was torn and is left out (15 bytes)"),
        (b'{"in\0\0\0', "the last line was torn and is left out (7 bytes, 3 of them NUL)"),
        (b"\0" * 70000, "70000 NUL bytes at the end were left out: what had been written there was lost"),
    ],
)
@pytest.mark.parametrize("large", [False, True])
def test_what_was_left_out_at_the_end_is_said(
    end: bytes, note: str, large: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = history(tmp_path / "history.jsonl", ("invoke", 0, "write", 1), ("ok", 0, "write", 1))
    monkeypatch.setattr(
        "harness.files.read_any", lambda file, model, **_: read_any(file, model=model, large=0 if large else 1 << 30)
    )
    assert "note" not in said_of(path, capsys)[1]
    path.write_bytes(path.read_bytes() + end)
    code, said = said_of(path, capsys)
    assert (code, f"note: {note}\n" in said) == (0, True), said
    assert json.loads(said_of(path, capsys, "--json")[1])["note"] == note


def test_nuls_at_the_end_of_a_text_are_refused_and_a_log_without_an_end_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history.edn"
    path.write_bytes(EDN_GOOD.encode() + b"\0" * 9)
    code, said = said_of(path, capsys)
    assert (code, f"head -c {len(EDN_GOOD)} FILE" in said) == (254, True), said
    log = tmp_path / "jepsen.log"
    log.write_text("INFO jepsen.util - 0 :invoke :write 12\nINFO jepsen.util - 0 :ok :write 12")
    code, said = said_of(log, capsys)
    assert (code, "note: the last line does not end in a newline" in said) == (0, True), said
    log.write_text(log.read_text() + "\n")
    assert "note" not in said_of(log, capsys)[1]


@pytest.mark.parametrize("name", ["jsonl", "edn"])
def test_a_completion_of_another_value_is_refused_by_its_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = history(tmp_path / "history.jsonl", ("invoke", 0, "write", 1), ("ok", 0, "write", 2))
    if name == "edn":
        path = tmp_path / "history.edn"
        path.write_text(
            "\n" + EDN_GOOD.replace(":type :ok, :f :write, :value [1 7]", ":type :ok, :f :write, :value [1 8]")
        )
    code, said = said_of(path, capsys)
    assert (code, "line 3: a write of " in said) == (254, True), said


@pytest.mark.parametrize(
    ("dress", "message"),
    [
        (lambda data: gzip.compress(gzip.compress(data)), "byte 0: expected a history, but this is gzip"),
        (lambda data: gzip.compress(data)[:-9], "the gzip data of this line is damaged"),
        (bz2.compress, "this is bzip2"),
        (lzma.compress, "this is xz"),
        (lambda data: data.decode().encode("utf-16"), "this is UTF-16: convert it to UTF-8 first"),
    ],
)
def test_packed_files_are_named(
    dress: Callable[[bytes], bytes], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history.edn"
    path.write_bytes(dress(EDN_GOOD.encode()))
    code, said = said_of(path, capsys)
    assert (code, message in said) == (254, True), said


@pytest.mark.parametrize("valid", ["true", "false", ":unknown", "nil", None])
@pytest.mark.parametrize("text", [EDN_GOOD, EDN_BAD])
def test_a_directory_of_jepsens_store(
    valid: str | None, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The best history in it is read, and compared with what Jepsen said, also by key."""
    (tmp_path / "history.edn").write_text(text)
    (tmp_path / "jepsen.log").write_text("INFO jepsen.util: nothing\n")
    if valid is not None:
        results = f"{{:valid? {valid} :workload {{:valid? {valid} :results {{7 {{:valid? false}}}} :failures [7]}}}}"
        (tmp_path / "results.edn").write_text(results)
    code, said = said_of(tmp_path, capsys)
    assert code == (0 if text == EDN_GOOD else 1)
    assert "history.edn was read, and not jepsen.log" in said
    if valid in ("true", "false", ":unknown"):
        agree = valid == ("true" if text == EDN_GOOD else "false")
        assert ("says valid, too" in said or "says invalid, too" in said) == agree
        assert "invalid there and not here: key 7" in said
        assert ("invalid here and not there: key 1" in said) == (text == EDN_BAD)
    else:
        assert "results.edn" in said


def test_gzip_is_read_as_what_is_packed_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, code in ((EDN_GOOD, 0), (EDN_BAD, 1)):
        path = tmp_path / "history.edn.gz"
        path.write_bytes(gzip.compress(text.encode()))
        assert said_of(path, capsys)[0] == code
    path.write_bytes(gzip.compress(EDN_GOOD.replace(":ok", ":okay", 1).encode()))
    code, said = said_of(path, capsys)
    assert (code, f"{path}: line 2: :type must be" in said) == (254, True), said


@pytest.mark.parametrize("name", ["history.jsonl", "history.edn"])
def test_a_byte_order_mark_is_passed_over(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    data = EDN_GOOD.encode() if name.endswith("edn") else stale(tmp_path / "other.jsonl").read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" + data)
    assert said_of(path, capsys)[0] == (0 if name.endswith("edn") else 1)


def starting_with_5(path: Path) -> Path:
    return history(
        path, ("invoke", 0, "read", None), ("ok", 0, "read", 5), ("invoke", 0, "write", 6), ("ok", 0, "write", 6),
        ("invoke", 1, "read", None), ("ok", 1, "read", 6),
    )  # fmt: skip


@pytest.mark.parametrize("words", [[], ["--model", "cas-register"], ["--model", "cas-register-strict"]])
def test_a_register_may_start_with_a_value(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = starting_with_5(tmp_path / "history.jsonl")
    assert said_of(path, capsys, *words)[0] == 1
    assert said_of(path, capsys, *words, "--initial", "5")[0] == 0
    code, said = said_of(path, capsys, *words, "--initial", "6")
    assert (code, "no process ever wrote 5" in " ".join(said.split())) == (1, True), said
    assert said_of(path, capsys, *words, "--initial", '"5"')[0] == 1


def test_the_initial_value_may_be_a_word_and_is_every_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "history.edn"
    path.write_text(
        '{:process 0 :type :invoke :f :read :key "a"}{:process 0 :type :ok :f :read :key "a" :value "new"}'
        '{:process 0 :type :invoke :f :read :key "b"}{:process 0 :type :ok :f :read :key "b" :value "new"}'
    )
    assert said_of(path, capsys, "--initial", "new")[0] == 0
    path.write_text(path.read_text()[:-1].removesuffix('"new"') + '"old"}')
    code, said = said_of(path, capsys, "--initial", "new")
    assert (code, "b: invalid" in said) == (1, True), said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "fenced-lock", "--initial", "5"], "a fenced-lock has no initial value to choose"),
        (["--model", "register-unknown", "--initial", "5"], "a register that starts with any value has no initial"),
        (["--model", "set", "--initial", "5"], "a set starts with a list, such as '[1, 2]', not with 5"),
        (["--initial", "[1]"], "a register starts with a number, a word, true, false or null"),
    ],
)  # fmt: skip
def test_where_no_initial_value_can_be_the_mend_is_named(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = said_of(starting_with_5(tmp_path / "history.jsonl"), capsys, *words)
    assert (code, message in said) == (254, True), said


def test_what_is_shrunk_may_start_with_a_value_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = starting_with_5(tmp_path / "history.jsonl")
    assert run_command(["shrink", str(path), "--initial", "6"]) == 0
    assert "no process ever wrote 5" in capsys.readouterr().out
    assert run_command(["shrink", str(path), "--initial", "5"]) == 254


@pytest.mark.parametrize("initial", ["7", "new"])
def test_what_is_shrunk_remembers_the_value_that_it_starts_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], initial: str
) -> None:
    """Without it the same operations contradict each other for another reason, or not at all."""
    path = tmp_path / "history.jsonl"
    history(path, ("invoke", 0, "read", None), ("ok", 0, "read", None))
    assert said_of(path, capsys)[0] == 0
    assert run_command(["shrink", str(path), "--initial", initial]) == 0
    shrunk = path.with_name("history.shrunk.jsonl")
    assert said_of(shrunk, capsys)[0] == 1
    assert said_of(shrunk, capsys, "--initial", "null")[0] == 0
    assert said_of(shrunk, capsys, "--model", "fenced-lock")[0] == 254


def test_a_runs_directory_is_shrunk_by_its_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stale(tmp_path / "history.jsonl")
    assert run_command(["shrink", str(tmp_path)]) == 0
    assert check(tmp_path / "history.shrunk.jsonl").verdict == "invalid"
    (tmp_path / "empty").mkdir()
    capsys.readouterr()
    assert run_command(["shrink", str(tmp_path / "empty")]) == 254
    assert "no run there; give a run's directory, or `latest`" in capsys.readouterr().err


def test_a_run_of_the_store_is_shrunk_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store" / "test" / "one").mkdir(parents=True)
    (tmp_path / "store" / "latest").symlink_to("test/one")
    stale(tmp_path / "store" / "test" / "one" / "history.jsonl")
    monkeypatch.chdir(tmp_path)
    for name, small in (("latest", "first.jsonl"), ("test/one", "second.jsonl")):
        assert run_command(["shrink", name, "-o", small]) == 0
        assert check(tmp_path / small).verdict == "invalid"
    capsys.readouterr()
    assert run_command(["shrink", "nosuch"]) == 254
    said = capsys.readouterr().err
    assert "nosuch: there is no such file or run; give a history file, a run's directory, or `latest`" in said


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_a_terminal_of_few_signs_gets_others_that_are_alike(encoding: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "harness", "check", str(stale(tmp_path / "history.jsonl"))],
        capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, b"")
    assert re.search(r"\|-+x-+\|", done.stdout.decode(encoding))


@pytest.mark.parametrize("words", ["check -", "check FILE", "report FILE", "shrink FILE", "ingest FILE"])
def test_a_full_temporary_directory_is_our_failure_and_not_the_files(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = b'{"process": 0, "type": "invoke", "f": "write", "value": 1}\n'
    file = tmp_path / "history.json.gz"
    file.write_bytes(gzip.compress(line))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", lambda **_: Path("/dev/full").open("wb"))  # noqa: SIM115
    assert run_command(words.replace("FILE", str(file)).split()) == 255
    assert "TMPDIR" in capsys.readouterr().err
