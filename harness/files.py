"""History files that a user names: checked and shrunk, with errors that name the file and the place in it."""

from __future__ import annotations

import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from checker import ModelError, Report, as_events, check
from checker.whole import with_makers
from harness.errors import StoreError, UsageError
from history import Counterexample, FormatError, Header, HistoryWriter, KeyVerdict
from history.foreign import Foreign, read_any


def file_type(path: Path) -> int:
    """What stands there, as ``stat`` numbers it: 0 for nothing, also under what can be no file's name.

    ``-``, standard input, counts as a pipe.
    """
    try:
        return stat.S_IFIFO if str(path) == "-" else stat.S_IFMT(path.stat().st_mode)
    except (OSError, ValueError):
        return 0


@contextmanager
def _at_rest(path: Path) -> Iterator[Path]:
    """The file itself, or a copy of what a pipe brings: readers look at a file more than once."""
    if file_type(path) != stat.S_IFIFO:
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="harness-") as copy:
        with nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb") as pipe:
            shutil.copyfileobj(pipe, copy)
        copy.flush()
        yield Path(copy.name)


def check_file(path: Path, model: str | None, engine: str | None, deadline_s: float) -> Report:
    """Check one history file, or what a pipe (``-``: standard input) brings.

    Raises UsageError for a file that is no history, or no history of that model.
    """
    return _checked(path, model, engine, deadline_s)[0]


def _checked(path: Path, model: str | None, engine: str | None, deadline_s: float) -> tuple[Report, str, Foreign]:
    """The report, the model that the history was checked as, and the history."""
    if not 0 < deadline_s < float("inf"):
        raise UsageError(f"--deadline must be above 0, not {deadline_s:g}")
    try:
        with _at_rest(path) as file:
            history = read_any(file, model=model)
        name = model or history.model or "register"
        return _worth(check(history, name, deadline_s=deadline_s, engine=engine)), name, history
    except FormatError as error:
        raise UsageError(f"{path}: {error.place}: {error.message}") from None
    except ModelError as error:
        raise UsageError(f"{path}: {error}") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def _worth(report: Report) -> Report:
    """A history of which no operation takes part proves nothing: it is unknown, not valid."""
    if report.verdict != "valid" or any(key.operations for key in report.keys):
        return report
    reason = "there was no operation to judge: none took effect or was answered"
    return Report("unknown", (KeyVerdict(None, "unknown", "none", 0, 0.0, reason=reason),))


def shrink_file(path: Path, model: str | None, deadline_s: float, target: Path) -> tuple[Counterexample, int]:
    """Write the first counterexample of a history as a history of its own; answers how many operations stand in it.

    Raises UsageError when the history has none or ``target`` exists, StoreError when it cannot be written.
    """
    report, name, history = _checked(path, model, None, deadline_s)
    if not report.counterexamples:
        raise UsageError(f"{path}: the history is {report.verdict}: there is no counterexample to write")
    example = report.counterexamples[0]
    whole = with_makers(example, history.operations or ()) if name in ("log", "set") else example
    events = as_events(whole)
    times = iter([event.time for event in events])
    try:
        writer = HistoryWriter(
            target, Header(test=f"shrunk from {path.name}", model=name), started_ns=0, clock=lambda: next(times)
        )
    except FileExistsError:
        raise UsageError(f"{target} is there already; name another file with --output") from None
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error.strerror}") from None
    for event in events:
        writer.append(event.type, event.process, event.f, value=event.value, key=event.key, node=event.node)
    writer.close()
    return example, len(whole.operations)
