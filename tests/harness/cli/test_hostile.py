"""Whatever a command line names, the answer is one line and a documented code: no traceback, and no verdict."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli.main import run_command
from harness.execution import run as run_module

DEEP = 5000


def _unreadable(path: Path) -> None:
    path.write_text("x")
    path.chmod(0)


def _loop(path: Path) -> None:
    path.symlink_to(path)


#: What stands under the name that a command line gives.
PLACES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "directory": Path.mkdir,
    "binary": lambda path: path.write_bytes(b"\x00\x01\xff\xfe"),
    "latin-1": lambda path: path.write_bytes("# f\xfcr".encode("latin-1")),
    "gzip": lambda path: path.write_bytes(gzip.compress(b"keys = 1")),
    "JSON list": lambda path: path.write_text("[1, 2]"),
    "JSON of another kind": lambda path: path.write_text('{"a": [1]}'),
    "deep JSON list": lambda path: path.write_text("[" * DEEP + "]" * DEEP),
    "deep JSON object": lambda path: path.write_text('{"a":' * DEEP + "1" + "}" * DEEP),
    "deep TOML": lambda path: path.write_text("a = " + "[" * DEEP + "]" * DEEP),
    "half a JSON": lambda path: path.write_text('{"format": "harness-plan", "keys"'),
    "loop": _loop,
    "unreadable": _unreadable,
}
#: ``{}`` is the name.
VERBS = [
    "run --plan {}",
    "run --schedule {}",
    "run --cluster inventory:{}",
    "suite {} --dry-run",
    "nightly {} --dry-run",
    "check {} --no-spark",
    "shrink {} -o out",
    "show {}",
    "ack {} --reason x",
    "replay {}",
    "report {}",
    "ingest {} --no-spark",
    "serve --port 0 --store {}/below",
    "show --store {}/below",
    "ingest --no-spark --store {}/below",
    "report --site out --store {}/below",
    "cluster status --cluster inventory:{}",
    "heal --cluster inventory:{}",
]


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it was run")

    monkeypatch.setattr(run_module, "create_run", never)


def refused(words: list[str], capsys: pytest.CaptureFixture[str], codes: tuple[int, ...] = (254,)) -> str:
    """What was said, which is one line."""
    sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # as Python has it outside of pytest
    code = run_command(words)
    out, err = capsys.readouterr()
    assert "Traceback" not in err, err[-2000:]
    assert code in codes, (code, err)
    assert err.startswith("harness: "), err
    assert (err.count("\n"), out) == (1, ""), err
    return err


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("verb", VERBS)
def test_a_place_that_is_none(verb: str, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    if place == "unreadable" and os.geteuid() == 0:
        pytest.skip("root reads everything")
    name = "some.json" if "JSON" in place else "some.toml"
    PLACES[place](Path(name))
    if verb.startswith("ingest {}") and Path(name).is_file():  # a run that cannot be read is named, others are brought
        assert run_command(verb.format(name).split()) == 1
        said = capsys.readouterr()
        way, *failed = said.err.splitlines()
        assert way.startswith("working in this process: "), said
        assert len(failed) == 1, said
        run, _, why = failed[0].partition(": ")
        assert (run, name in why) == (f"{Path.cwd().name}/{name}", True), said
        assert said.out == "0 added, 0 unchanged, 1 failed: store/warehouse\n"
        return
    refused(verb.format(name).split(), capsys)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "name", ["x" * 5000, "n\udcff", "/dev/null/x", "a/" * 3000], ids=["long", "bytes", "below a device", "deep"]
)
def test_a_name_that_can_be_none(verb: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    refused(verb.format(name).split(), capsys)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("serve --store . --port 99999", "99999 is not in the range 0<=x<=65535"),
        ("serve --store . --port -1", "-1 is not in the range"),
        ("serve --store . --port x", "'x' is not a valid integer"),
        ("serve --store . --host nowhere.invalid", "cannot serve"),
        ("serve --store . --host 999.1.1.1", "cannot serve"),
        ("ingest nope", "nope: no run there"),
        ("ingest nope --deadline nan", "--deadline must be above 0"),
        ("ingest nope --deadline inf", "--deadline must be above 0"),
        ("ack nope --reason", "requires an argument"),
        ("show a b", "unexpected extra argument"),
        ("show latest", "no run there"),
        ("replay latest", "no run there"),
        ("run --seed 1.5", "not a valid integer"),
        ("run --seed " + "9" * 4000, "--seed must be a whole number from 0 to 9223372036854775807, not 99999"),
        ("run --seed " + "9" * 5000, "not a valid integer"),
        ("run --weights =", "--weights"),
        ("run -n kill-one --weights kill-one=1e309", "--weights"),
        ("run --fault-options loss=nan", "--fault-options"),
        ("run --cluster netns:" + "x" * 99, "at most 31"),
        ("run --cluster inventory:", "--cluster inventory:"),
        ("run --dledger-version 9", "not one of"),
        ("cluster up --nodes 0", "--nodes must be between"),
        ("cluster up --nodes 1000", "--nodes must be between"),
    ],
)
def test_a_value_that_cannot_be(arguments: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refused(arguments.split(), capsys)


@pytest.mark.parametrize("verb", ["run", "show", "serve", "ingest", "report", "ack x --reason y", "replay", "check x"])
def test_a_store_without_a_name(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It would be the working directory."""
    assert "'--store': it is empty" in refused([*verb.split(), "--store", ""], capsys)
