"""history.jsonl: what the writer puts down, the reader gets back, whatever happened to the file in between."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import count
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from history import Event, FormatError, Header, HistoryWriter, read_history
from history.records.events import parse_event, parse_object, plain_events, read_event
from history.records.writer import MAX_BUFFERED, UnwritableError

HEADER = Header("demo", "register", 7, "2026-01-01T00:00:00+00:00", {"nodes": ["n1", "n2"]})
GOOD_HEADER = {"format": "harness-history", "version": 1}
GOOD = {"index": 0, "time": 5, "type": "invoke", "process": 0, "f": "write", "value": 7}
LINE = {**GOOD, "index": 2}


def writer_at(path: Path, header: Header = HEADER) -> HistoryWriter:
    ticks = count(1_000, 10)
    return HistoryWriter(path, header, started_ns=1_000, clock=lambda: next(ticks))


def written(path: Path, records: list[object]) -> Path:
    path.write_text("".join(f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records))
    return path


def sample(path: Path) -> list[Event]:
    writer = writer_at(path)
    events = [
        writer.append("invoke", 0, "write", value=7, key="k0", node="n1", phase="warm-up"),
        writer.append("invoke", "nemesis", "kill-one", value={"action": "inject", "id": 0}, phase="main"),
        writer.append("invoke", 1, "read", key=3, node="n2", phase="main", due=1_016),
        writer.append("info", 0, "write", value=7, key="k0", node="n1", error="no answer, süß", phase="warm-up"),
        writer.append("ok", 1, "read", value=None, key=3, node="n2", phase="final"),
    ]
    writer.sync()
    writer.close()
    return events


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    events = sample(tmp_path / "h")
    history = read_history(tmp_path / "h")
    assert history.header == HEADER
    assert history.events == events
    assert not history.torn


def test_index_and_time_are_given_by_the_writer(tmp_path: Path) -> None:
    assert [(event.index, event.time) for event in sample(tmp_path / "h")] == [(n, 10 * n) for n in range(5)]


def test_absent_fields_are_left_out_and_the_value_never_is(tmp_path: Path) -> None:
    assert Event(0, 1, "invoke", 0, "read", None).to_json() == {
        "index": 0, "time": 1, "type": "invoke", "process": 0, "f": "read", "value": None,
    }  # fmt: skip


def test_a_file_cut_at_any_byte_reads_up_to_its_last_whole_line(tmp_path: Path) -> None:
    events = sample(tmp_path / "whole")
    data, cut = (tmp_path / "whole").read_bytes(), tmp_path / "cut"
    first_line = data.index(b"\n") + 1
    for size in range(len(data) + 1):
        cut.write_bytes(data[:size])
        if size < first_line:
            with pytest.raises(FormatError, match="line 1: expected a history header, found no whole line"):
                read_history(cut)
            continue
        history = read_history(cut)
        assert history.events == events[: data[:size].count(b"\n") - 1]
        assert history.torn == (data[size - 1 : size] != b"\n")


def test_events_are_on_disk_after_a_sync_and_the_nemesis_is_there_at_once(tmp_path: Path) -> None:
    writer = writer_at(tmp_path / "h")
    for number in range(3):
        writer.append("invoke", number, "read")
        writer.sync()
        assert len(read_history(tmp_path / "h").events) == number + 1
    writer.append("invoke", 3, "read")
    assert len(read_history(tmp_path / "h").events) == 3
    writer.append("invoke", "nemesis", "kill-one", value={"action": "inject", "id": 0})
    assert len(read_history(tmp_path / "h").events) == 5
    writer.close()


def test_a_long_buffer_is_written_without_a_sync(tmp_path: Path) -> None:
    writer = writer_at(tmp_path / "h")
    for number in range(MAX_BUFFERED):
        writer.append("invoke", number, "read")
    assert len(read_history(tmp_path / "h").events) == MAX_BUFFERED
    writer.close()


def test_an_intended_time_is_never_after_the_invocation(tmp_path: Path) -> None:
    writer = writer_at(tmp_path / "h")
    assert writer.append("invoke", 0, "read", due=993).intended == -7
    writer.append("ok", 0, "read")
    assert writer.append("invoke", 0, "read", due=1_021).intended == 20
    writer.close()
    assert [event.intended for event in read_history(tmp_path / "h").events] == [-7, None, 20]


def test_the_scanner_knows_the_lines_with_an_intended_time(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    from history.readers import jsonl_kernel as kernel
    from history.readers.jsonl_columns import Scan
    from history.readers.scanned import read_bytes

    writer = writer_at(tmp_path / "h")
    writer.append("invoke", 0, "write", value=7, key="k0", node="n1", phase="main", due=997)
    writer.append("ok", 0, "write", value=7, key="k0", node="n1", phase="main")
    writer.close()
    _, data, start = read_bytes(tmp_path / "h")
    scan = Scan(data, start, tmp_path / "h")
    assert scan.rows[:, kernel.SHAPE].tolist() == [kernel.INTEGER, kernel.INTEGER]


@pytest.mark.parametrize(
    "value", [2**70, "\ud800", [1, "\udcff"], {"a": [1.5, None]}, [[]], 1e300, -0.5, [True, 2**64]]
)
def test_what_the_quick_encoder_cannot_write_is_written_all_the_same(tmp_path: Path, value: object) -> None:
    writer = writer_at(tmp_path / "h")
    writer.append("invoke", 0, "write", value=value, key="k")
    writer.close()
    (event,) = read_history(tmp_path / "h").events
    assert (event.value, event.key) == (value, "k")


def test_a_number_that_is_none_is_never_written_as_null(tmp_path: Path) -> None:
    """Null is an answer: absent."""
    writer = writer_at(tmp_path / "h")
    deep: object = None
    for _ in range(600):
        deep = [deep]
    for value in (float("nan"), [1, float("inf")], {"a": [float("-inf")]}, 10**4300, [10**4300], {1, 2}, b"x", deep):
        with pytest.raises(UnwritableError):
            writer.append("ok", 0, "read", value=value)
    writer.append("invoke", 0, "read")
    writer.close()
    assert [event.index for event in read_history(tmp_path / "h").events] == [0]


def test_an_existing_history_is_never_overwritten(tmp_path: Path) -> None:
    sample(tmp_path / "h")
    with pytest.raises(FileExistsError):
        writer_at(tmp_path / "h")


def test_a_closed_writer_refuses_and_may_be_closed_and_synced_again(tmp_path: Path) -> None:
    writer = writer_at(tmp_path / "h")
    writer.close()
    writer.close()
    writer.sync()
    with pytest.raises(OSError, match="the history is closed"):
        writer.append("invoke", 0, "read")


@pytest.mark.parametrize("taken", [0, 1, 40])
def test_half_a_line_is_cut_off_again_and_nothing_is_appended_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    writer, write = writer_at(tmp_path / "h"), os.write
    writer.append("invoke", 0, "write", value=1)
    writer.sync()
    monkeypatch.setattr(os, "write", lambda fd, line: write(fd, line[:taken]))
    writer.append("invoke", 1, "write", value=2)
    with pytest.raises(OSError, match=f"only {taken} of"):
        writer.sync()
    monkeypatch.undo()
    with pytest.raises(OSError, match=f"only {taken} of"):
        writer.sync()
    with pytest.raises(OSError, match=f"only {taken} of"):
        writer.append("invoke", 2, "write", value=3)
    writer.close()
    history = read_history(tmp_path / "h")
    assert [event.value for event in history.events] == [1]
    assert not history.torn


FULL_DISK = """
import resource, sys
from itertools import count
from pathlib import Path
from history import Header, HistoryWriter
ticks = count()
writer = HistoryWriter(Path(sys.argv[1]), Header(), started_ns=0, clock=lambda: next(ticks))
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
done, failures = 0, []
for number in range(100):
    try:
        writer.append("invoke", number, "write", value=number)
        if number % 3 == 2:
            writer.sync()
        done += 1
    except OSError as error:
        failures.append(error)
assert failures and all(error is failures[0] for error in failures), failures
print(done)
"""


def test_a_full_disk_leaves_whole_lines_only(tmp_path: Path) -> None:
    """A file-size limit makes the kernel take part of a line and then refuse, as a full disk does."""
    path = tmp_path / "h"
    done = subprocess.run([sys.executable, "-c", FULL_DISK, path], capture_output=True, text=True, check=True)
    history = read_history(path)
    # Three lines are written together: of those at the end of the space some are taken.
    assert int(done.stdout) - 3 < len(history.events) <= int(done.stdout) + 1
    assert 0 < len(history.events) < 100
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "expected a JSON object"),
        ("[1]", "expected a JSON object, found list"),
        ("\udcff", "expected a JSON object"),
        ("", "expected a JSON object"),
        ("[" * 100_000, "expected a JSON object"),
        ('{"index":2,"value":1e999}', "1e999 is too large"),
        ({**LINE, "index": "0"}, "'index' must be int, found '0'"),
        ({**LINE, "index": True}, "'index' must be int, found True"),
        ({**LINE, "time": 1.5}, "'time' must be int, found 1.5"),
        ({**LINE, "f": None}, "'f' must be str, found None"),
        ({name: LINE[name] for name in LINE if name != "time"}, "the field 'time' is missing"),
        ({**LINE, "type": "done"}, "type must be one of invoke, ok, fail, info; found 'done'"),
        ({**LINE, "process": "n1"}, "process must be an integer or 'nemesis', found 'n1'"),
        ({**LINE, "process": False}, "process must be an integer"),
        ({name: LINE[name] for name in LINE if name != "process"}, "process must be an integer"),
        ({**LINE, "phase": "middle"}, "phase must be one of warm-up, main, final; found 'middle'"),
        ({**LINE, "key": ["k", 1]}, "key must be a string or an integer, found"),
        ({**LINE, "key": 1.5}, "key must be a string or an integer, found 1.5"),
        ({**LINE, "node": 3}, "'node' must be a string, found 3"),
        ({**LINE, "error": {}}, "'error' must be a string, found {}"),
        ({**LINE, "intended": 1.5}, "'intended' must be an integer, found 1.5"),
        ({**LINE, "intended": True}, "'intended' must be an integer, found True"),
        ({**LINE, "index": 3}, "expected index 2, found 3"),
        ({**LINE, "time": 4}, "time 4 is before that of the line above"),
    ],
)
def test_a_bad_line_is_named_with_its_number(tmp_path: Path, line: object, complaint: str) -> None:
    path = tmp_path / "h"
    records = [GOOD_HEADER, GOOD, {**GOOD, "index": 1}, line]
    path.write_bytes(
        b"".join(
            (item if isinstance(item, str) else json.dumps(item)).encode("utf-8", "surrogateescape") + b"\n"
            for item in records
        )
    )
    with pytest.raises(FormatError) as caught:
        read_history(path)
    assert caught.value.place == "line 4"
    assert complaint in caught.value.message
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        ({"format": "other", "version": 1}, 'expected {"format":"harness-history"'),
        ({"format": "harness-history", "version": 2}, "version 2 is not one that this release reads"),
        ({"format": "harness-history"}, "version None is not one"),
        (GOOD, 'expected {"format"'),
        ("nonsense", "expected a JSON object"),
    ],
)
def test_a_bad_header_is_line_1(tmp_path: Path, header: object, complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_history(written(tmp_path / "h", [header, GOOD]))
    assert caught.value.place == "line 1"
    assert complaint in caught.value.message


def test_unknown_fields_of_the_header_are_kept(tmp_path: Path) -> None:
    assert read_history(written(tmp_path / "h", [{**GOOD_HEADER, "nodes": ["a"]}])).header.extra == {"nodes": ["a"]}


def test_an_empty_file_and_a_missing_one(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(FormatError, match="line 1"):
        read_history(tmp_path / "empty")
    with pytest.raises(FileNotFoundError):
        read_history(tmp_path / "none")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
appended = st.tuples(
    st.sampled_from(["invoke", "ok", "fail", "info"]),
    st.integers(0, 100) | st.just("nemesis"),
    st.text(min_size=1, max_size=8),
    st.fixed_dictionaries(
        {},
        optional={
            "value": json_values,
            "key": st.text(max_size=4) | st.integers(),
            "node": st.text(max_size=4),
            "error": st.text(max_size=20),
            "phase": st.sampled_from(["warm-up", "main", "final"]),
            "due": st.integers(-(2**40), 2**40),
        },
    ),
)


def test_lines_are_written_as_the_record_says(tmp_path: Path) -> None:
    """The quick encoder and the slow one write the same bytes: batches of lines are read by their exact form."""
    events = sample(tmp_path / "h")
    lines = (tmp_path / "h").read_text().splitlines()[1:]
    assert lines == [json.dumps(event.to_json(), ensure_ascii=False, separators=(",", ":")) for event in events]


@settings(max_examples=60)
@given(st.lists(appended, max_size=6))
def test_any_event_survives_the_file(tmp_path_factory: pytest.TempPathFactory, events: list) -> None:
    path = tmp_path_factory.mktemp("any") / "h"
    writer = writer_at(path)
    recorded = [writer.append(kind, process, f, **more) for kind, process, f, more in events]
    writer.close()
    assert read_history(path).events == recorded


def test_a_history_that_no_model_judges_says_so(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(json.dumps(Header(model=None).to_json()) + "\n")
    assert read_history(path).header.model is None
    path.write_text('{"format":"harness-history","version":1}\n')
    assert read_history(path).header.model == "register"


FRAGMENTS = ["index", "time", "type", "process", "f", "value", "key", "node", "error", "phase", "intended", "x"]
FRAGMENTS += ['x\\"value', "v\\u0061lue"]
VALUES = [
    "0", "-1", "1.0", "true", "null", '"ok"', '"invoke"', '"nemesis"', '"read"', '"main"', '"k\\":z"', "[]", "[1,2]",
    '{"a":1}', '{"a":1,"a":2}', '"a b"', '"\\ud800"', "1e400", "NaN", "123456789012345678901234", '{"value":1}',
    '[null,"value"]', '"é"', "[" * 499 + "]" * 499, "[" * 500 + "]" * 500,
]  # fmt: skip
PLAIN = {"index": "0", "time": "1", "type": '"ok"', "process": "0", "f": '"read"', "value": "1"}


def test_the_quick_reader_takes_nothing_that_the_strict_one_refuses_and_reads_it_alike() -> None:
    """Fields that are missing, unknown, given twice or of another type, and white space that could hide that."""
    rng, quick = Random(1), 0

    def blank() -> str:
        return rng.choice(["", "", "", "", "", "", " ", "\t", "\r"])

    for _ in range(6000):
        fields = list(PLAIN.items())
        for _ in range(rng.randrange(3)):
            place = rng.randrange(len(fields))
            if rng.random() < 0.3:
                fields.pop(place)
            else:
                fields.insert(place, (rng.choice(FRAGMENTS), rng.choice(VALUES)))
        text = ",".join(f'{blank()}"{name}"{blank()}:{blank()}{value}{blank()}' for name, value in fields)
        line, path = f"{{{text}}}\n".encode(), Path("h")
        try:
            strict: object = parse_event(parse_object(line, path, 2), path, 2)
        except FormatError as error:
            strict = str(error)
        try:
            found: object = read_event(line, path, 2)
        except FormatError as error:
            found = str(error)
        assert repr(found) == repr(strict), line
        quick += isinstance(found, Event)
    assert quick > 500


def strict_events(lines: list[bytes]) -> list[Event] | None:
    try:
        return [parse_event(parse_object(line, Path("h"), 2), Path("h"), 2) for line in lines]
    except FormatError:
        return None


def test_a_line_without_a_value_is_refused_though_another_names_one_twice() -> None:
    fields = {**PLAIN, "value": '{"value":3}'}
    nested = ",".join(f'"{name}":{value}' for name, value in fields.items())
    without = ",".join(f'"{name}":{value}' for name, value in PLAIN.items() if name != "value")
    lines = [f"{{{nested}}}".encode(), f"{{{without}}}".encode()]
    assert strict_events(lines) is None
    assert plain_events(b"\n".join([*lines, b""])) is None


def test_lines_read_at_once_are_those_that_the_strict_reader_reads() -> None:
    """Also where objects share a line, one goes over several, or one line makes up for what another one lacks."""
    rng, quick, refused = Random(2), 0, 0
    cuts = [b"\n", b"\n", b"\n", b"\n", b"", b" ", b"\n\n", b" \n", b"\r\n", b"\n \n"]
    for _ in range(6000):
        body = b""
        for _ in range(rng.randint(1, 4)):
            fields = list(PLAIN.items())
            for _ in range(rng.choice([0, 0, 0, 1, 2])):
                place = rng.randrange(len(fields))
                if rng.random() < 0.3:
                    fields.pop(place)
                else:
                    fields.insert(place, (rng.choice(FRAGMENTS), rng.choice([*VALUES, "{}", "\n{}", "\n5", '"}{"'])))
            text = ",".join(f'"{name}":{value}' for name, value in fields)
            body += f"{{{text}}}".encode() + (rng.choice(cuts) if rng.random() < 0.3 else b"\n")
        if not body.endswith(b"\n"):
            body += b"\n"
        lines = body.split(b"\n")[:-1]
        found, strict = plain_events(body), strict_events(lines)
        assert found is None or repr(found) == repr(strict), body
        quick += found is not None
        refused += found is None and strict is None
    assert min(quick, refused) > 1000
