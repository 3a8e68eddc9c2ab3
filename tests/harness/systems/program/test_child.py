"""A child process that answers lines, against real ones that misbehave."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from harness.clients.wire import LostError, NotSentError
from harness.systems.program import child
from harness.systems.program.child import LineProgram, Program
from tests.support.harness.line_programs import misbehaving, program
from tests.support.machine import is_running

PATIENCE_S = 5.0
WRITE = {"f": "write", "key": "x", "value": 3}


def against(what: Program, talk: Callable[[LineProgram], Awaitable[None]]) -> LineProgram:
    lines = LineProgram(what)

    async def scene() -> None:
        try:
            await talk(lines)
        finally:
            lines.close()

    asyncio.run(scene())
    return lines


def is_gone(pid: int) -> bool:
    """Whether it has ended, reaped by whom it belongs to or not."""
    deadline = time.monotonic() + 60
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_running(pid)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "START_AGAIN_S", 0.0)


def test_requests_share_a_process_and_have_numbers(tmp_path: Path) -> None:
    async def talk(lines: LineProgram) -> None:
        assert await lines.ask(WRITE, PATIENCE_S) == {"id": 1, "type": "ok", "value": None}
        assert (await lines.ask(WRITE, PATIENCE_S))["id"] == 2

    assert against(misbehaving(tmp_path, "right"), talk).starts == 1


def test_the_request_is_one_line_of_json(tmp_path: Path) -> None:
    async def talk(lines: LineProgram) -> None:
        assert (await lines.ask({"f": "write", "key": "ä\n", "value": [1, None]}, PATIENCE_S))["type"] == "ok"

    against(program(tmp_path, 'head -n 1 > seen; echo \'{"id":1,"type":"ok"}\'; cat'), talk)
    assert (tmp_path / "seen").read_text() == '{"id":1,"f":"write","key":"\\u00e4\\n","value":[1,null]}\n'


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("dies", "it exited with code 3"),
        ("dies-with-a-word", r"it exited with code 3 \(no such table\)"),
        ("is-killed", "it was killed by signal 9"),
        ("dies-half-way", "it exited with code 0"),
        ("garbage", "expected a JSON object: .*Connected to n1"),
        ("no-object", "expected a JSON object, found list"),
        ("not-a-number", "expected a JSON object: "),
        ("no-line", "a line of more than 1048576 bytes"),
        ("foreign", 'an answer to no open request: {"id":99'),
        ("text-id", "an answer to no open request"),
        ("no-id", "an answer to no open request"),
        ("twice", "an answer to no open request"),
    ],
)
def test_what_it_was_asked_is_lost_and_it_is_started_anew(tmp_path: Path, way: str, why: str) -> None:
    async def talk(lines: LineProgram) -> None:
        with pytest.raises(LostError, match=why):
            await lines.ask(WRITE, PATIENCE_S)
        assert (await lines.ask(WRITE, PATIENCE_S))["type"] == "ok"

    assert against(misbehaving(tmp_path, way, once=True), talk).starts == 2


@pytest.mark.parametrize("way", ["late", "silent"])
def test_no_answer_in_time_is_lost_and_never_taken_for_that_of_the_next(tmp_path: Path, way: str) -> None:
    async def talk(lines: LineProgram) -> None:
        began = time.monotonic()
        with pytest.raises(LostError, match=r"no answer within 0\.5 s"):
            await lines.ask(WRITE, 0.5)
        assert time.monotonic() - began < 5
        assert (await lines.ask(WRITE, PATIENCE_S))["id"] == 2

    assert against(misbehaving(tmp_path, way, once=True), talk).starts == 2


def test_a_second_answer_after_the_first_was_taken_costs_what_is_open_then(tmp_path: Path) -> None:
    async def talk(lines: LineProgram) -> None:
        assert (await lines.ask(WRITE, PATIENCE_S))["id"] == 1
        with pytest.raises(LostError, match="an answer to no open request"):
            await lines.ask(WRITE, PATIENCE_S)
        assert (await lines.ask(WRITE, PATIENCE_S))["id"] == 3

    script = """
read -r line; echo '{"id":1,"type":"ok"}'; read -r line; mkdir once 2>/dev/null || exec cat
echo '{"id":1,"type":"ok"}'; cat
"""
    script = f'if [ -d once ]; then read -r line; echo \'{{"id":3,"type":"ok"}}\'; exec cat; fi; {script}'
    assert against(program(tmp_path, script), talk).starts == 2


def test_a_second_answer_while_nothing_is_open_costs_nothing(tmp_path: Path) -> None:
    async def talk(lines: LineProgram) -> None:
        assert (await lines.ask(WRITE, PATIENCE_S))["id"] == 1
        while lines.is_running:
            await asyncio.sleep(0.01)
        assert (await lines.ask(WRITE, PATIENCE_S))["id"] == 2

    assert against(misbehaving(tmp_path, "twice-later"), talk).starts == 2


def test_what_shares_a_process_is_lost_with_it(tmp_path: Path) -> None:
    async def talk(lines: LineProgram) -> None:
        asked = [lines.ask({"f": "write", "n": number}, PATIENCE_S) for number in range(3)]
        assert [type(answer) for answer in await asyncio.gather(*asked, return_exceptions=True)] == [LostError] * 3

    assert against(program(tmp_path, "read -r a; read -r b; read -r c; exit 1"), talk).starts == 1


def test_answers_come_in_any_order(tmp_path: Path) -> None:
    async def talk(lines: LineProgram) -> None:
        answers = await asyncio.gather(*(lines.ask(WRITE, PATIENCE_S) for _ in range(3)))
        assert [answer["v"] for answer in answers] == ["a", "b", "c"]

    both = "read -r a; read -r b; read -r c; printf '%s\\n' "
    both += """'{"id":3,"v":"c"}' '{"id":1,"v":"a"}' '{"id":2,"v":"b"}'; cat"""
    against(program(tmp_path, both), talk)


def test_it_can_be_started_ahead(tmp_path: Path) -> None:
    async def talk(lines: LineProgram) -> None:
        lines.open()
        lines.open()
        assert (lines.is_running, lines.starts) == (True, 1)
        assert (await lines.ask(WRITE, PATIENCE_S))["id"] == 1

    assert against(misbehaving(tmp_path, "right"), talk).starts == 1

    async def in_vain(lines: LineProgram) -> None:
        lines.open()
        assert not lines.is_running

    against(Program(("no-such-program",), tmp_path), in_vain)


def test_what_cannot_be_started_was_never_written(tmp_path: Path) -> None:
    async def talk(lines: LineProgram) -> None:
        for _ in range(2):
            with pytest.raises(NotSentError, match="no-such-program cannot be started: No such file"):
                await lines.ask(WRITE, PATIENCE_S)

    assert against(Program(("no-such-program",), tmp_path), talk).starts == 0


def test_a_request_to_a_closed_input_was_never_written(tmp_path: Path) -> None:
    async def talk(lines: LineProgram) -> None:
        assert (await lines.ask(WRITE, PATIENCE_S))["id"] == 1
        while not (tmp_path / "closed").exists():
            await asyncio.sleep(0.01)
        with pytest.raises(NotSentError, match="its standard input is closed: Broken pipe"):
            await lines.ask(WRITE, PATIENCE_S)

    script = "read -r line; echo '{\"id\":1}'; exec 0<&-; mkdir closed; exec sleep 30"
    against(program(tmp_path, script), talk)


def test_a_request_that_found_no_room_in_the_pipe_was_never_written(tmp_path: Path) -> None:
    """The first one fills the pipe of a program that reads nothing; it may be read some day, the second cannot."""

    async def talk(lines: LineProgram) -> None:
        large = asyncio.create_task(lines.ask({"f": "write", "value": "x" * 1_000_000}, 30))
        await asyncio.sleep(0.2)
        with pytest.raises(NotSentError, match=r"no answer within 0\.3 s"):
            await lines.ask(WRITE, 0.3)
        with pytest.raises(LostError):
            await large

    against(program(tmp_path, "exec sleep 30"), talk)


def test_an_answer_to_a_request_that_it_cannot_have_read_yet_proves_nothing(tmp_path: Path) -> None:
    """The second waits for room behind the first, of which the program reads nothing before it answers both."""

    async def talk(lines: LineProgram) -> None:
        large = asyncio.create_task(lines.ask({"f": "write", "value": "x" * 500_000}, PATIENCE_S))
        await asyncio.sleep(0)
        with pytest.raises(NotSentError, match="an answer to no open request"):
            await lines.ask(WRITE, PATIENCE_S)
        with pytest.raises(LostError):
            await large

    script = 'sleep 0.3; echo "{\\"id\\":2,\\"type\\":\\"ok\\"}"; sleep 0.3; exec cat'
    against(program(tmp_path, script), talk)


def test_what_is_given_up_half_written_is_not_the_beginning_of_the_next(tmp_path: Path) -> None:
    async def talk(lines: LineProgram) -> None:
        large = asyncio.create_task(lines.ask({"f": "write", "value": "x" * 500_000}, PATIENCE_S))
        await asyncio.sleep(0.2)
        large.cancel()
        with pytest.raises(asyncio.CancelledError):
            await large
        assert not lines.is_running
        assert (await lines.ask(WRITE, PATIENCE_S))["value"] == WRITE["value"]

    against(program(tmp_path, "sleep 0.5; exec cat"), talk)


def test_a_long_request_goes_through_the_pipe_piece_by_piece(tmp_path: Path) -> None:
    async def talk(lines: LineProgram) -> None:
        assert await lines.ask({"value": "x" * 500_000}, PATIENCE_S) == {"id": 1, "value": "x" * 500_000}

    against(Program(("cat",), tmp_path), talk)


def test_one_that_ends_at_once_is_not_started_all_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "START_AGAIN_S", 0.3)

    async def talk(lines: LineProgram) -> None:
        began = time.monotonic()
        for _ in range(3):
            with pytest.raises(LostError):
                await lines.ask(WRITE, PATIENCE_S)
        assert time.monotonic() - began >= 0.6
        with pytest.raises(NotSentError, match="not been restarted yet"):
            await lines.ask(WRITE, 0.01)

    assert against(misbehaving(tmp_path, "dies"), talk).starts == 3


def test_it_ends_with_all_that_it_started(tmp_path: Path) -> None:
    async def talk(lines: LineProgram) -> None:
        answer: dict[str, Any] = await lines.ask(WRITE, PATIENCE_S)
        pids.extend(answer["pids"])

    pids: list[int] = []
    script = 'sleep 60 & read -r line; echo "{\\"id\\":1,\\"pids\\":[$$,$!]}"; wait'
    lines = against(program(tmp_path, script), talk)
    assert all(is_gone(pid) for pid in pids)
    assert not lines.is_running


def test_a_request_that_is_given_up_ends_it(tmp_path: Path) -> None:
    async def talk(lines: LineProgram) -> None:
        asked = asyncio.create_task(lines.ask(WRITE, 30))
        while not (tmp_path / "asked").exists():
            await asyncio.sleep(0.01)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert not lines.is_running

    against(program(tmp_path, "read -r line; mkdir asked; exec sleep 30"), talk)


def test_it_has_its_directory_and_environment(tmp_path: Path) -> None:
    async def talk(lines: LineProgram) -> None:
        assert (await lines.ask(WRITE, PATIENCE_S))["where"] == [str(tmp_path), "blue"]

    script = 'read -r line; echo "{\\"id\\":1,\\"where\\":[\\"$PWD\\",\\"$COLOUR\\"]}"; cat'
    against(Program(("sh", "-c", script), tmp_path, (("COLOUR", "blue"),)), talk)
    assert "COLOUR" not in os.environ
