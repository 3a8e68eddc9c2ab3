"""Check and shrink history files that a user names, with errors that name file and place.

Also the words of their operations, which are those of their model.
"""

from __future__ import annotations

import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker import ModelError, Report, as_events, check
from checker.check import with_makers
from checker.core.model import Model
from checker.models.registry import model_named, starting_with
from checker.per_key import by_key, check_operations
from harness.errors import StoreError, UsageError
from history import Counterexample, FormatError, Header, HistoryWriter, KeyVerdict, worst
from history.codes import FAIL, OK
from history.readers import Foreign, read_any
from history.records.events import INITIAL, load_json, read_header
from history.records.verdicts import failure_text
from reports.style.wording import Wording, by_values

if TYPE_CHECKING:
    from history.recording import Recording


def file_type(path: Path) -> int:
    """The type of a file as in ``stat``; 0 where there is none, also for an impossible name.

    ``-``, standard input, counts as a pipe.
    """
    try:
        return stat.S_IFIFO if str(path) == "-" else stat.S_IFMT(path.stat().st_mode)
    except (OSError, ValueError):
        return 0


@contextmanager
def _at_rest(path: Path) -> Iterator[Path]:
    """The file itself, or a copy of a pipe's content, because readers read a file more than once."""
    if file_type(path) != stat.S_IFIFO:
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="harness-") as copy:
        with nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb") as pipe:
            shutil.copyfileobj(pipe, copy)
        copy.flush()
        yield Path(copy.name)


@dataclass(frozen=True, slots=True)
class FileCheckOptions:
    """Options for checking a history file; ``model`` None: the one that it names, else a register.

    ``initial`` is the value with which the register starts, as JSON or as a plain word (None: absent).
    """

    model: str | None = None
    initial: str | None = None
    engine: str | None = None
    deadline_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Checked:
    """The report, the name of the model that the history was checked as, and the history.

    ``failure`` is how the checker itself broke down; each key was then judged for itself.
    """

    report: Report
    model: str
    history: Foreign
    failure: str | None = None

    @property
    def wording(self) -> Wording:
        """The words of the model for operations."""
        return _wording(model_named(self.model))


def check_file(path: Path, asked: FileCheckOptions) -> Checked:
    """Check one history file or pipe (``-``: standard input).

    Raises UsageError for a file that is no history, or no history of that model.
    """
    if not 0 < asked.deadline_s < float("inf"):
        raise UsageError(f"--deadline must be above 0, not {asked.deadline_s:g}")
    try:
        with _at_rest(path) as file:
            history = read_any(file, model=asked.model)
        if asked.model is None and history.model is None and history.format == "jsonl":
            raise UsageError(
                f"{path}: no model judges this history, but a check of its system: give the run's directory, or --model"
            )
        name = asked.model or history.model or "register"
        model = name if asked.initial is None else starting_with(name, _scalar(asked.initial))
        started = time.monotonic()
        try:
            report = check(history, model, deadline_s=asked.deadline_s, engine=asked.engine)
        except (FormatError, ModelError, ImportError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 (whatever is wrong with the checker is wrong on some key)
            left = max(asked.deadline_s - (time.monotonic() - started), 0.0)
            report = _apart(history, model, replace(asked, deadline_s=left))
            return Checked(_worth(report, history, model), name, history, f"the checker failed: {failure_text(error)}")
        return Checked(_worth(report, history, model), name, history)
    except FormatError as error:
        raise UsageError(f"{path}: {error.place}: {error.message}") from None
    except ModelError as error:
        raise UsageError(f"{path}: {error}") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def _apart(history: Foreign, model: str | Model, asked: FileCheckOptions) -> Report:
    """Judge every key for itself: one on which the checker fails is unknown, and the verdicts on the others stand."""
    columns, started = history.columns, time.monotonic()
    rows = history.operations if columns is None else [columns.operation(row) for row in range(columns.invoke.size)]
    verdicts = []
    for key, operations in by_key(rows or ()).items():
        left = max(asked.deadline_s - (time.monotonic() - started), 0.0)
        try:
            found = check_operations(operations, model, deadline_s=left, engine=asked.engine)
        except (ModelError, ImportError):
            raise
        except Exception as error:  # noqa: BLE001 (see above)
            found = KeyVerdict.of_failure(key, len(operations), error)
        verdicts.append(found)
    return Report(worst(verdict.verdict for verdict in verdicts), tuple(verdicts))


def _scalar(text: str) -> Any:
    """A JSON scalar, or the text itself if it is no JSON.  Raises UsageError."""
    try:
        value = load_json(text)
    except (ValueError, RecursionError):
        value = text
    if isinstance(value, (list, dict)):
        raise UsageError(f"--initial must be a number, a word, true, false or null, not {text}")
    return value


def _worth(report: Report, history: Foreign, model: str | Model) -> Report:
    """The verdict unknown for a history that proves nothing: no operation took part that was not in doubt."""
    if report.verdict != "valid":
        return report
    # What a strict register refused proves something, too.
    proofs = {"ok", OK} | ({"fail", FAIL} if "refused" in model_named(model).reads else set())
    columns = history.columns
    outcomes = (one.outcome for one in history.operations or ()) if columns is None else iter(columns.outcome)
    if any(key.operations for key in report.keys) and any(outcome in proofs for outcome in outcomes):
        return report
    reason = "there was no operation to judge: none certainly took effect or was answered"
    return Report("unknown", (KeyVerdict(None, "unknown", "none", 0, 0.0, reason=reason),))


def wording_of(history: Path | Recording) -> Wording:
    """The words for operations of the model that a history names; none where it is not known, or has none."""
    try:
        name = (read_header(history) if isinstance(history, Path) else history.header).model
        return by_values if name is None else _wording(model_named(name))
    except (ModelError, OSError, ValueError):
        return by_values


def _wording(model: Model) -> Wording:
    return by_values if type(model).wording is Model.wording else model.wording


def shrink_file(path: Path, asked: FileCheckOptions, target: Path) -> tuple[Counterexample, int]:
    """Write the first counterexample of a history as a history of its own; return it and its number of operations.

    Raises UsageError when the history has none or ``target`` exists, StoreError when it cannot be written.
    """
    checked = check_file(path, asked)
    report, name, history = checked.report, checked.model, checked.history
    if not report.counterexamples:
        raise UsageError(f"{path}: the history is {report.verdict}: there is no counterexample to write")
    example = report.counterexamples[0]
    whole, has_gaps = example, model_named(name).has_gaps
    if name in ("log", "set") or has_gaps:
        whole = with_makers(example, history.operations or (), has_gaps=has_gaps)
    events = as_events(whole)
    times = iter([event.time for event in events])
    try:
        writer = HistoryWriter(target, _shrunk_header(path, checked, asked), started_ns=0, clock=lambda: next(times))
    except FileExistsError:
        raise UsageError(f"{target} is there already; name another file with --output") from None
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error.strerror}") from None
    for event in events:
        writer.append(event.type, event.process, event.f, value=event.value, key=event.key, node=event.node)
    writer.close()
    return example, len(whole.operations)


def _shrunk_header(path: Path, checked: Checked, asked: FileCheckOptions) -> Header:
    initial = checked.history.initial if asked.initial is None else _scalar(asked.initial)
    extra = {} if initial is None else {INITIAL: initial}
    return Header(test=f"shrunk from {path.name}", model=checked.model, extra=extra)
