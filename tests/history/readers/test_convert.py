"""Foreign texts as our own history: by pieces the same bytes as row by row, and the same lines in what is wrong."""

from __future__ import annotations

import json
import random
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from history import FormatError, read_history
from history.readers import read as reading
from history.readers import read_any
from history.readers.convert import convert_history
from tests.support.history.foreign_files import edn, kv, log

PIECE = 700


def written(path: Path, **options: Any) -> bytes:
    target = path.with_name("history.jsonl")
    convert_history(path, target, **options)
    return target.read_bytes()


def made(seed: int, name: str) -> bytes:
    """A history of that format with everything that it may hold, in no plain order."""
    rng = random.Random(seed)
    style = rng.choice(["numbers", "pairs", "keyed", "keyed cas", "anything"])
    style = "texts" if name == "porcupine-kv" else style
    records: list[dict[str, Any]] = []
    for index in range(rng.randrange(1, 120)):
        process: Any = rng.randrange(5)
        f = rng.choice(
            ("get", "put", "append") if style == "texts" else ("read", "write", "cas", "txn")[: 3 + seed % 2]
        )
        record = {"type": rng.choice(["invoke", "ok", "fail", "info"]), "process": process, "f": f}
        if style == "texts":
            record |= {"key": rng.choice(["1", "k", "ö"]), "value": rng.choice(["", "x y", 'q"', "ß", "\x7f"])}
        else:
            record["value"] = value_of(rng, style, f)
            if rng.random() < 0.1 and style == "anything":
                record["key"] = rng.choice(["a", 3])
        if name != "jepsen-log":
            record |= {"index": 3 * index} if seed % 3 else {}
            record |= {"time": 1000 * index + rng.choice([0, 0.5])} if seed % 2 else {}
            record |= {"node": "n1"} if rng.random() < 0.1 else {}
        if rng.random() < 0.05 and style != "texts":
            record |= {"process": "nemesis", "f": "start", "value": rng.choice([None, [1, 2], "cut"])}
            record.pop("key", None)
        records.append(record)
    data = {"edn": edn, "porcupine-kv": kv, "jepsen-log": log}[name](records)
    if name == "jepsen-log":
        lines = data.split(b"\n")
        for _ in range(rng.randrange(4)):
            lines.insert(rng.randrange(len(lines)), rng.choice([b"", b"WARN jepsen.db - up", "INFO x - ü".encode()]))
        data = b"\n".join(lines)
    return data


def value_of(rng: random.Random, style: str, f: str) -> Any:
    plain = rng.choice([None, 3, -7, 10**17])
    if style == "keyed":
        return [rng.randrange(4), plain]
    if style == "keyed cas":
        return [rng.randrange(4), [1, plain] if f in ("cas", "txn") else plain]
    if style == "pairs" and f == "cas":
        return [plain, 4]
    if style == "anything":
        return rng.choice([plain, "text", "ü", [1, 2, 3], [], 2**70, [1, [2, 3]], True])
    return plain


@pytest.mark.parametrize("name", ["edn", "jepsen-log", "porcupine-kv"])
@pytest.mark.parametrize("dress", ["plain", "bom", "crlf", "cut"])
def test_the_same_bytes_by_pieces_as_row_by_row(name: str, dress: str, tmp_path: Path) -> None:
    dresses: dict[str, Callable[[bytes], bytes]] = {
        "plain": lambda data: data,
        "bom": lambda data: BOM_UTF8 + data,
        "crlf": lambda data: data.replace(b"\n", b"\r\n"),
        "cut": lambda data: data.rstrip(b"\n"),
    }
    path = tmp_path / "some-history"
    for seed in range(12):
        path.write_bytes(dresses[dress](made(seed, name)))
        try:
            rows = written(path)
        except FormatError as error:
            # Anything but FormatError here would be a mistake of the one way or the other.
            with pytest.raises(FormatError, match=error.place):
                written(path, large=0, piece=PIECE)
            continue
        # No way back to the rows: by_rows is 0.
        assert written(path, large=0, piece=PIECE, by_rows=0) == rows
        assert read_history(path.with_name("history.jsonl")).header.test == "some-history"


def plain(number: int) -> bytes:
    return edn([{"type": "invoke", "process": i, "f": "write", "value": i, "index": i} for i in range(number)])


@pytest.mark.parametrize("line", [0, 57, 99])
@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (b"{:type :invoke, :process 1", "expected '}'"),
        (b"{:type :invoke, :process 1}", "the field :f is missing"),
        (b"{:type :begin, :process 1, :f :write}", ":type must be one of"),
        (b"{:type :ok, :process 1, :f :write, :value ##NaN}", ":value must be comparable"),
        (b"{:type :ok, :process 1, :f :write, :index -1}", "the events are out of order"),
        (b'{:type :ok, :process 1, :f :write, :index "x"}', "the events are out of order"),
        (b"7 8", "2 forms in a line"),
        (b"\xff", "expected UTF-8|can't decode"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line_however_large_the_file(
    bad: bytes, complaint: str, line: int, tmp_path: Path
) -> None:
    path = tmp_path / "history.edn"
    lines = plain(100).splitlines()
    lines[line] = bad
    # The format must still be recognized by the first lines.
    path.write_bytes(b"\n".join([*lines[:line], bad, *lines[line + 1 :]]) if line else b"\n".join([plain(1), *lines]))
    with pytest.raises(FormatError, match=complaint) as caught:
        written(path, large=0, piece=PIECE, by_rows=0)
    assert f"line {line + (3 if line == 0 else 1)}:" in str(caught.value)


def test_where_an_event_stands(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    lines = [b"INFO jepsen.core - up"] * 50
    for place in (3, 4, 20, 49):
        lines[place] = f"INFO  jepsen.util - {place}\t:invoke\t:read\tnil".encode()
    path.write_bytes(b"\n".join(lines) + b"\n")
    for options in ({}, {"large": 0, "piece": 200}):
        line = convert_history(path, tmp_path / "history.jsonl", **options)
        assert [line(index) for index in range(4)] == ["line 4", "line 5", "line 21", "line 50"]


def test_a_file_that_is_no_line_after_line(tmp_path: Path) -> None:
    """Read row by row up to a size, and refused beyond it."""
    path = tmp_path / "history.edn"
    path.write_bytes(b"[" + b" ".join(plain(60).splitlines()) + b"]")
    with pytest.raises(FormatError, match="a file of over 0 MB must be read line by line: the line at byte 0"):
        written(path, large=0, piece=PIECE, by_rows=0)
    assert len(written(path, large=0, piece=PIECE).splitlines()) == 61


def test_a_check_of_a_text_too_large_for_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BY_ROWS", 0)
    path = tmp_path / "history.edn"
    story = b"{:process 0, :type :invoke, :f :read, :value nil}\n"
    cases = {
        story + b"7 8\n": "line 2: 2 forms in a line",
        story + b"{:process 1, :type :invoke}\n": "line 2: the field :f is missing",
        story + story: "the events do not pair; `harness ingest` gives details",
    }
    for data, complaint in cases.items():
        path.write_bytes(data)
        with pytest.raises(FormatError, match=complaint):
            read_any(path, large=0)
    path.write_bytes(story)
    assert read_any(path, large=0).columns is not None


def test_no_event_at_all(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    path.write_bytes(b"INFO nothing\n" * 100)
    with pytest.raises(FormatError, match="found no event"):
        written(path, large=0, piece=PIECE, by_rows=0)


def test_the_lines_are_compact(tmp_path: Path) -> None:
    """As our own writer writes them."""
    path = tmp_path / "history.edn"
    path.write_bytes(plain(3))
    for options in ({}, {"large": 0}):
        lines = written(path, **options).decode().splitlines()[1:]
        assert lines == [json.dumps(json.loads(line), separators=(",", ":")) for line in lines]


@pytest.mark.parametrize("words", ["##NaN", "{[1 2] ##Inf}", '{{:a 1} #{"n1"}}'])
@pytest.mark.parametrize("large", [0, 1 << 30])
def test_what_a_nemesis_says_is_written_as_json_whatever_it_is(words: str, large: int, tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(
        f"{{:process :nemesis :type :info :f :kill :value {words}}}\n" + "{:process 0 :type :invoke :f :read}\n"
    )
    convert_history(path, tmp_path / "history.jsonl", large=large)
    assert [event.f for event in read_history(tmp_path / "history.jsonl").events] == ["kill", "read"]
