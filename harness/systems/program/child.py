"""A child process that reads lines of JSON on its standard input, and answers them on its standard output.

It is trusted only as long as its lines are correct.  If it dies, answers a request that was not sent, answers twice, or
does not answer in time, it is killed with all its children; the next request restarts it.  Its unanswered requests are
lost: they may have had an effect.  Only a request of which no byte was written certainly had none.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from harness.clients.wire import LostError, NoAnswerError, NotSentError
from history.json_object import load_object, nests_deeper

log = logging.getLogger("harness.systems.program.child")

#: Minimum seconds between two starts, for a program that ends at once.
START_AGAIN_S: Final = 0.5
LONGEST_LINE: Final = 1 << 20
#: At most this many levels of lists and objects in an answer.  A few hundred more could be read here, but not where the
#: stack is deeper: when the answer is written, read again, judged or drawn.
DEEPEST: Final = 100
#: Seconds to wait for the exit code of a program that closed its output.
_EXIT_CODE_S: Final = 0.02
_LAST_WORDS: Final = 2000


@dataclass(frozen=True, slots=True)
class Program:
    """A program to start: the words of its command line, its directory, and additional environment variables."""

    argv: tuple[str, ...]
    directory: Path
    environment: tuple[tuple[str, str], ...] = ()


class LineProgram:
    """A program that is started at the first request, and restarted after each failure.

    Requests may overlap; each gets the answer with its own ``id``.  For one event loop.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._child: _Child | None = None
        self._ended: list[_Child] = []
        self._id = 0
        self._not_before = 0.0
        self.starts = 0

    def open(self) -> None:
        """Start the program ahead of the first request.  If that fails, the first request will report why."""
        if not self.is_running:
            with suppress(NotSentError):
                self._start(asyncio.get_running_loop())

    async def ask(self, request: Mapping[str, Any], timeout: float) -> dict[str, Any]:
        """Send one request and wait for its answer, ``timeout`` seconds in all.  Raises NotSentError or LostError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while (wait := self._not_before - loop.time()) > 0 and self._running is None:
            if wait > deadline - loop.time():
                raise NotSentError("the program exited and has not been restarted yet")
            await asyncio.sleep(wait)
        child = self._running or self._start(loop)
        self._id += 1
        sent = _Request(self._id, loop.create_future())
        try:
            async with asyncio.timeout_at(deadline):
                return await child.ask(sent, _line({"id": self._id, **request}))
        except TimeoutError:
            child.end(f"no answer within {timeout:g} s")
            raise sent.error(child.why) from None
        finally:
            child.open.pop(sent.id, None)
            # A late answer would match no open request, and the rest of a half-written line would corrupt the next one.
            if sent.begun and (sent.answer.cancelled() or not sent.answer.done()):
                child.end("a request was abandoned")

    @property
    def is_running(self) -> bool:
        """Whether the program has been started and has not failed yet."""
        return self._running is not None

    @property
    def _running(self) -> _Child | None:
        return self._child if self._child is not None and not self._child.why else None

    def _start(self, loop: asyncio.AbstractEventLoop) -> _Child:
        self._reap()
        self._not_before = loop.time() + START_AGAIN_S
        try:
            self._child = _Child(self._program, loop)
        except OSError as error:
            raise NotSentError(f"{self._program.argv[0]} cannot be started: {error.strerror or error}") from None
        self.starts += 1
        return self._child

    def _reap(self) -> None:
        if self._child is not None:
            self._ended.append(self._child)
            self._child = None
        self._ended = [child for child in self._ended if child.process.poll() is None]

    def restart(self, why: str) -> None:
        """Kill the program because its answer was unusable; the next request restarts it."""
        if self._child is not None:
            self._child.end(why)

    def close(self) -> None:
        """Kill the program.  A later request would restart it."""
        if self._child is not None:
            self._child.end("closed")
        self._reap()
        for child in self._ended:
            child.process.wait()
        self._ended = []


@dataclass(slots=True, eq=False)
class _Request:
    """One request to the program.

    ``answer`` resolves to None if there will be none.  ``begun`` says that some of the request was written, ``whole``
    that all of it was.
    """

    id: int
    answer: asyncio.Future[dict[str, Any] | None]
    begun: bool = False
    whole: bool = False

    def error(self, why: str) -> NoAnswerError:
        return LostError(why) if self.begun else NotSentError(f"never written to the program: {why}")


class _Child:
    """One life of the program.  ``why`` says how it ended, ``distrusted`` that its last answers prove nothing."""

    def __init__(self, program: Program, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._name = shlex.join(program.argv)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the child)
        try:
            self.process = subprocess.Popen(
                program.argv, cwd=program.directory, env={**os.environ, **dict(program.environment)},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, bufsize=0, start_new_session=True,
            )  # fmt: skip
        except BaseException:
            self._errors.close()
            raise
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin, self.process.stdout
        os.set_blocking(self._in.fileno(), False)
        os.set_blocking(self._out.fileno(), False)
        self._buffer = b""
        self._writing = asyncio.Lock()
        self._room: asyncio.Future[None] | None = None
        self.open: dict[int, _Request] = {}
        self.why = ""
        self.distrusted = False
        loop.add_reader(self._out.fileno(), self._read)

    async def ask(self, request: _Request, line: bytes) -> dict[str, Any]:
        self.open[request.id] = request
        async with self._writing:
            await self._write(request, line)
        answer = await request.answer
        if answer is None or self.distrusted:
            raise request.error(self.why)
        return answer

    async def _write(self, request: _Request, line: bytes) -> None:
        """Write the line, waiting for room in the pipe.  If the program ends meanwhile, the answer is resolved."""
        rest = memoryview(line)
        while rest and not self.why:
            try:
                rest = rest[os.write(self._in.fileno(), rest) :]
                request.begun, request.whole = True, not rest
            except BlockingIOError:
                self._room = self._loop.create_future()
                self._loop.add_writer(self._in.fileno(), self._has_room)
                await self._room
            except OSError as error:
                self.end(f"its standard input is closed: {error.strerror}")
        if self.why and not request.answer.done():  # it ended before this request was registered
            request.answer.set_result(None)

    def _has_room(self) -> None:
        self._loop.remove_writer(self._in.fileno())
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    def _read(self) -> None:
        try:
            data = os.read(self._out.fileno(), 1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.end(self._last_end())
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self._take(line)
        if len(self._buffer) > LONGEST_LINE:
            self._distrust(f"a line of more than {LONGEST_LINE} bytes")

    def _take(self, line: bytes) -> None:
        if self.why:
            return
        try:
            answer = load_object(line, msgspec.json.decode)  # strict, so that every accepted answer can be recorded
        except ValueError as error:
            self._distrust(f"{error}: {_shown(line)}")
            return
        if nests_deeper(line, answer, DEEPEST):
            self._distrust(f"an answer that is nested too deeply: {_shown(line)}")
            return
        number = answer.get("id")
        request = self.open.get(number) if type(number) is int else None
        if request is None or not request.whole or request.answer.done():
            self._distrust(f"an answer to no open request: {_shown(line)}")
        else:
            request.answer.set_result(answer)

    def _distrust(self, why: str) -> None:
        self.distrusted = True
        self.end(why)

    def _last_end(self) -> str:
        try:
            code = self.process.wait(_EXIT_CODE_S)
        except subprocess.TimeoutExpired:
            return "it closed its standard output"
        return f"it exited with code {code}" if code >= 0 else f"it was killed by signal {-code}"

    def end(self, why: str) -> None:
        """Kill the process and its children, and resolve the open requests.  The owner waits for the exit."""
        if self.why:
            return
        self.why = why
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if not self._loop.is_closed():
            self._loop.remove_reader(self._out.fileno())
            self._has_room()
        if why != "closed":
            self.why += self._last_words()
            log.warning("restarting %s: %s", self._name, self.why)
        self._in.close()
        self._out.close()
        self._errors.close()
        for request in self.open.values():
            if not request.answer.done():
                request.answer.set_result(None)

    def _last_words(self) -> str:
        """Return the last line of the program's standard error, in brackets, or nothing."""
        size = os.fstat(self._errors.fileno()).st_size
        words = os.pread(self._errors.fileno(), _LAST_WORDS, max(0, size - _LAST_WORDS)).decode(errors="replace")
        return f" ({words.splitlines()[-1].strip()[:200]})" if words.strip() else ""


def _line(request: Mapping[str, Any]) -> bytes:
    return json.dumps(request, separators=(",", ":")).encode() + b"\n"


def _shown(line: bytes) -> str:
    return line[:80].decode(errors="replace")
