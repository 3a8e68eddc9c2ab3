"""Check and shrink history files that a user names, with errors that name the file and the place in it.

Also finds the wording that a history's model uses for its operations.
"""

from __future__ import annotations

import errno
import json
import shutil
import stat
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from checker import ModelError, Report, as_events, check
from checker.check import with_makers
from checker.core.model import Model, Register
from checker.foreign import Taken, as_plain_events, first_misfit, fitting, has_null_reads, take, without_null_reads
from checker.models.bank import Bank, balances
from checker.models.registry import MODELS, model_named
from checker.models.transactions import Transactions
from checker.per_key import by_key, check_operations
from harness.errors import StoreError, UsageError
from harness.jepsen_store import client_files, history_in, notes_on
from history import Counterexample, Event, FormatError, Header, HistoryWriter, KeyVerdict, Operation, worst
from history.codes import CAS, FAIL, OK
from history.readers import Foreign, OperationColumns, read_any
from history.readers.formats import FORMATS, LARGE, format_of, kind_of
from history.readers.formats import MODELS as FORMAT_MODELS
from history.readers.mapping import FieldMap, MappingError
from history.readers.read import unpacked
from history.readers.scanned import NotColumnarError
from history.readers.transactions.columns import DEFAULT_LEVEL
from history.records.events import INITIAL, load_json, read_header
from history.records.text import quoted
from history.records.verdicts import failure_text
from history.schema import hint
from reports.style.wording import Wording, by_values

if TYPE_CHECKING:
    from history.recording import Recording

#: At most this many characters of a line are shown in an error.
_LONGEST_LINE: Final = 160


def file_type(path: Path) -> int:
    """Return the type of a file as in ``stat``, or 0 if the file does not exist or its name is invalid.

    ``-`` (standard input) counts as a pipe.
    """
    try:
        return stat.S_IFIFO if str(path) == "-" else stat.S_IFMT(path.stat().st_mode)
    except (OSError, ValueError):
        return 0


@contextmanager
def at_rest(path: Path) -> Iterator[Path]:
    """Yield a file that can be read more than once: the path itself, or a temporary copy of a pipe's content.

    For a report of etcd's robustness tests, the copy has the files of all clients, one after the other.
    """
    of_clients = client_files(path)
    if file_type(path) != stat.S_IFIFO and not of_clients:
        yield path
        return
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="harness-") as copy:
        for part in of_clients or [path]:
            with nullcontext(sys.stdin.buffer) if str(part) == "-" else part.open("rb") as source:
                shutil.copyfileobj(source, copy)
        copy.flush()
        yield Path(copy.name)


@dataclass(frozen=True, slots=True)
class FileCheckOptions:
    """Options for checking a history file.

    ``model`` defaults to the model that the file names, or else to a register.  ``initial`` is the initial state, as
    JSON or as a plain word; None means the model's default.  ``null`` says what an ok read of null means: that the
    object was ``absent``, or that nothing is known (``unknown``).  ``format`` forces a foreign format, ``fields`` maps
    its fields to ours (``history.readers.mapping``).  ``level`` is the level that the history must satisfy.
    """

    model: str | None = None
    initial: str | None = None
    engine: str | None = None
    deadline_s: float = 60.0
    null: Literal["absent", "unknown"] = "absent"
    format: str | None = None
    fields: str | None = None
    level: str | None = None

    def given(self) -> dict[str, Any]:
        """Return the options that change how a file is read and are not the defaults, by command-line name."""
        default = FileCheckOptions()
        options = {
            "--model": "model", "--initial": "initial", "--null": "null", "--format": "format", "--map": "fields",
        }  # fmt: skip
        values = {option: getattr(self, name) for option, name in options.items()}
        return {option: value for option, value in values.items() if value != getattr(default, options[option])}


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check: the report, the name of the model used, and the history as the model sees it.

    ``failure`` describes a crash of the checker; each key was then judged separately.  ``notes`` name the assumptions,
    and each convention that decides the verdict, with the option that changes it.
    """

    report: Report
    model: str
    history: Foreign
    failure: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def wording(self) -> Wording:
        """The words that the model uses for operations."""
        return _wording(model_named(self.model))


def check_file(path: Path, options: FileCheckOptions) -> Checked:
    """Check one history file or pipe (``-`` is standard input), or the history in a directory of Jepsen's store.

    Raises UsageError if the file is not a history, or not a history of that model.
    """
    if (stored := history_in(path)) is not None:
        checked = check_file(stored, options)
        return replace(checked, notes=(*notes_on(path, stored, checked.report), *checked.notes))
    with _errors_named(path), at_rest(path) as file:
        history = read_foreign(file, options)
        name = _model_of(history, options, path)
        initial = history.initial if options.initial is None else json_or_word(options.initial)
        taken = take(without_null_reads(history) if options.null == "unknown" else history, name, initial)
        name, read = _name_of(taken.model, name), taken.history
        started = time.monotonic()
        failure = None
        try:
            report = check(read, taken.model, deadline_s=options.deadline_s, engine=options.engine)
        except ModelError as error:
            raise _misfit(error, taken, history, file, path) from None
        except (FormatError, ImportError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 (whatever is wrong with the checker is wrong on some key)
            left = max(options.deadline_s - (time.monotonic() - started), 0.0)
            report = _apart(read, taken.model, replace(options, deadline_s=left))
            failure = f"the checker failed: {failure_text(error)}"
        left = max(options.deadline_s - (time.monotonic() - started), 0.0)
        deciding = () if failure else _deciding(report, history, name, taken, options, left)
        notes = (*_assumed(history, path), *taken.notes, *deciding, *_level(report, taken.model, options, history))
        return Checked(_worth(report, read, taken.model), name, read, failure, notes)


def describe_format(path: Path, options: FileCheckOptions) -> list[str]:
    """Describe, line by line, the format recognized in a history file and how it is read.

    Raises UsageError.
    """
    path = history_in(path) or path
    with _errors_named(path), at_rest(path) as file:
        history = read_foreign(file, options)
    title = FORMATS[history.format].title if history.format in FORMATS else "our own"
    lines = [f"format: {history.format} ({title})"]
    mapped = ", ".join(f"{ours} from {theirs}" for ours, theirs in history.mapping.items())
    lines.append(f"fields: {mapped or 'as the format names them'}")
    columns = history.columns
    operations = history.operations or []
    if columns is not None:
        kind = "registers" if isinstance(columns, OperationColumns) else "transactions"
        return [*lines, f"operations: {columns.invoke.size}, of {kind}"]
    keys = {operation.key for operation in operations}
    lines.append("keys: none" if keys <= {None} else f"keys: {len(keys)}, such as {next(iter(keys))!r}")
    for f in dict.fromkeys(operation.f for operation in operations):
        mine = [operation for operation in operations if operation.f == f]
        ends = Counter(operation.outcome for operation in mine)
        known = next((operation for operation in mine if operation.outcome == "ok"), mine[0])
        asks, answers = (json.dumps(value, ensure_ascii=False)[:60] for value in (known.value, known.result))
        lines.append(
            f"operations: {len(mine)} {f} ({', '.join(f'{count} {end}' for end, count in ends.items())}), "
            f"such as {asks} answered by {answers}"
        )
    names = list(fitting(operations))
    lines.append(f"models that have such operations: {', '.join(names) or 'none'}")
    return [*lines, *(f"note: {text}" for text in (*history.assumed, *([history.note] if history.note else [])))]


@contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    """Turn errors of the block into a UsageError that names the user's file, or a StoreError if the disk is full."""
    try:
        yield
    except FormatError as error:
        raise UsageError(f"{path}: {error.place}: {error.message}") from None
    except (ModelError, MappingError) as error:
        raise UsageError(f"{path}: {error}") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):  # of the copy of a pipe or an archive
            import tempfile

            why = f"{tempfile.gettempdir()} has no room for a copy: make room, or name another directory in TMPDIR"
            raise StoreError(f"{path}: {why}") from None
        raise UsageError(f"{path}: {error.strerror or error}") from None


def read_foreign(file: Path, options: FileCheckOptions, large: int = LARGE) -> Foreign:
    """Read a history file according to the options.  Raises FormatError, MappingError, OSError."""
    if options.format is not None and options.format not in FORMATS:
        raise UsageError(f"--format: there is no format {options.format!r}; {hint(options.format, tuple(FORMATS))}")
    fields = None if options.fields is None else FieldMap.parse(_mapping(options.fields))
    return read_any(file, model=options.model, large=large, name=options.format, fields=fields)


def _model_of(history: Foreign, options: FileCheckOptions, path: Path) -> str:
    """Return the name of the model that judges a history.  Raises UsageError if no model can."""
    if options.model is None and history.model is None and history.format == "jsonl":
        raise UsageError(
            f"{path}: a check of its system judges this history, not a model: give the run's directory, or --model"
        )
    model = options.model or history.model or "register"
    return model if options.level is None else f"{model}:{options.level}"


def _assumed(history: Foreign, path: Path) -> tuple[str, ...]:
    """Return notes on what was assumed about a file.

    For a single file of etcd's operations, this includes that it has the operations of all clients.
    """
    if history.format != "etcd" or file_type(path) != stat.S_IFREG:
        return history.assumed
    note = (
        "these must be the operations of all clients, or else a value put by another client looks like a "
        "violation: give the directory of the report, or `cat client-*/operations.json | harness check -`"
    )
    return (note, *history.assumed)


def _mapping(text: str) -> str:
    """Return the text of a field mapping, read from a file if it is ``@NAME``.

    The file has one item per line, and ``#`` starts a comment.  Raises UsageError.
    """
    if not text.startswith("@"):
        return text
    try:
        lines = Path(text[1:]).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(f"--map {text}: {getattr(error, 'strerror', None) or error}") from None
    return ",".join(line.partition("#")[0].strip() for line in lines)


def _misfit(error: ModelError, taken: Taken, recorded: Foreign, file: Path, path: Path) -> UsageError:
    """Return an error that names the line of an operation that the model lacks, and the models that would fit.

    ``recorded`` is the history before the conventions of the model were applied.
    """
    operations = taken.history.operations or _one_of_each(taken.history)
    misfit = first_misfit(operations, taken.model)
    if misfit is None:
        return UsageError(f"{path}: {error}")
    operation, why = misfit
    where = ""
    if taken.history.line is not None:
        index = operation.return_index if operation.outcome == "ok" else None
        place = taken.history.line(operation.invoke_index if index is None else index)
        where = f"{place}: "
        if (text := _line_at(file, place)) is not None:
            why = f"{why}, in {text}"
    models = [f"--model {name}" for name in fitting(recorded.operations or operations)]
    fits = (
        f"models that fit: {', '.join(models)}" if models
        else "no model has all operations of this file; "
        f"--map {quoted(f'f.{operation.f}=…')} renames this one"
    )  # fmt: skip
    return UsageError(f"{path}: {where}{why}; {fits}")


def _one_of_each(history: Foreign) -> list[Operation]:
    """Return the first operation of each function and outcome from columns."""
    if not isinstance(columns := history.columns, OperationColumns):
        return []
    _, first = np.unique(np.stack((columns.kind, columns.outcome)), axis=1, return_index=True)
    return [columns.operation(row) for row in sorted(first.tolist())]


def _line_at(file: Path, place: str) -> str | None:
    """Return the text of a place such as ``line 7``, shortened, or None if the place is not a line of text."""
    word, _, number = place.partition(" ")
    if word != "line" or not number.isdigit():
        return None
    with unpacked(file) as plain, plain.open("rb") as lines:
        line = next(islice(lines, int(number) - 1, None), b"").decode(errors="replace").strip()
    return None if not line else line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


#: The isolation level of transactions that takes real time into account.
_STRICT: Final = "strict-serializable"
#: Each model that demands more than another: the weaker model, and the convention that makes the difference.
_STRICTER: Final = {
    "set": (
        "g-set",
        "this verdict depends on reads that lack an acknowledged element; where replicas may lag at first",
    ),
    "counter": ("pn-counter", "this verdict depends on reads before the last add; where replicas may lag at first"),
    "queue": (
        "unordered-queue",
        "this verdict depends on the order of the dequeues; by Jepsen's queue, which has no order",
    ),
    "unordered-queue": (
        "total-queue",
        "this verdict depends on items that were dequeued again; by Jepsen's total-queue",
    ),
}


def _deciding(
    report: Report, recorded: Foreign, name: str, taken: Taken, options: FileCheckOptions, left_s: float
) -> Iterator[str]:
    """Name the conventions without which an invalid history would be valid, and the option for each."""
    if report.verdict != "invalid":
        return
    for note, history, model in (*_other_models(taken), *_other_values(recorded, name, taken, options)):
        with suppress(ModelError):
            if check(history, model, deadline_s=left_s / 2, proofs=False).verdict == "valid":
                yield note


def _other_models(taken: Taken) -> Iterator[tuple[str, Foreign, Model]]:
    """Yield the model with another convention, and the note if the history is valid under it."""
    model = taken.model
    if model.name in _STRICTER:
        twin, words = _STRICTER[model.name]
        yield f"{words}, this history is valid: --model {twin}", taken.history, model_named(twin)
    unknown = f"{model.name}-unknown"
    if isinstance(model, Register) and model.initial is None and unknown in MODELS:
        note = (
            "this verdict depends on the register's initial value: we assume that it was absent; with another "
            f"value this history is valid: --initial VALUE, or --model {unknown}"
        )
        yield note, taken.history, model_named(unknown)


def _other_values(
    recorded: Foreign, name: str, taken: Taken, options: FileCheckOptions
) -> Iterator[tuple[str, Foreign, Model]]:
    """Yield the history without reads of nil and with another state at the start, and the note if it is valid then.

    ``recorded`` is the history before the conventions of the model with that ``name`` were applied.
    """
    initial = recorded.initial if options.initial is None else json_or_word(options.initial)
    if options.null == "absent" and has_null_reads(recorded):
        other = take(without_null_reads(recorded), name, initial)
        note = (
            "this verdict depends on reads of nil: we assume that nil means absent; in Knossos the answer of an "
            "ok read of nil is unknown, and then this history is valid: --null unknown"
        )
        yield note, other.history, other.model
    operations = taken.history.operations
    start = None if operations is None or initial is not None else taken.model.likely_start(operations)
    if operations and start:
        note = (
            f"this verdict depends on the initial state of the {taken.model.noun or taken.model.name}: we assume "
            f"that it was empty; with another state this history is valid: --initial {quoted(json.dumps(start))}"
        )
        other = take(taken.history, taken.model, start)
        yield note, other.history, other.model


def _level(report: Report, model: Model, options: FileCheckOptions, history: Foreign) -> Iterator[str]:
    """Name the level at which transactions are valid, if it is only the default and they violate the strict one."""
    chosen = options.level is not None or ":" in (options.model or history.model or "")
    if report.verdict != "valid" or chosen or not isinstance(model, Transactions) or model.level != DEFAULT_LEVEL:
        return
    if any(_STRICT not in key.levels for key in report.keys):
        yield (
            f"this verdict depends on the level: we checked {DEFAULT_LEVEL}; {_STRICT}, the default of Jepsen's "
            f"and Maelstrom's tests, does not hold: --level {_STRICT}"
        )


def _apart(history: Foreign, model: str | Model, options: FileCheckOptions) -> Report:
    """Judge every key separately, so that a checker crash on one key does not affect the verdicts on the others."""
    columns, started = history.columns, time.monotonic()
    rows = history.operations if columns is None else [columns.operation(row) for row in range(columns.invoke.size)]
    verdicts = []
    for key, operations in by_key(rows or ()).items():
        left = max(options.deadline_s - (time.monotonic() - started), 0.0)
        try:
            key_verdict = check_operations(operations, model, deadline_s=left, engine=options.engine)
        except (ModelError, ImportError):
            raise
        except Exception as error:  # noqa: BLE001 (see above)
            key_verdict = KeyVerdict.of_failure(key, len(operations), error)
        verdicts.append(key_verdict)
    return Report(worst(verdict.verdict for verdict in verdicts), tuple(verdicts))


def json_or_word(text: str) -> Any:
    """Parse a string as JSON, or return it unchanged if it is not JSON."""
    try:
        return load_json(text)
    except (ValueError, RecursionError):
        return text


def _worth(report: Report, history: Foreign, model: str | Model) -> Report:
    """Return the report, or the verdict unknown if the history proves nothing because every operation is in doubt."""
    if report.verdict != "valid":
        return report
    # A failed operation is evidence only in models where a refusal says something about the state.
    proofs = {"ok", OK} | ({"fail", FAIL} if "refused" in model_named(model).reads else set())
    columns = history.columns
    outcomes = (op.outcome for op in history.operations or ()) if columns is None else iter(columns.outcome)
    if any(key.operations for key in report.keys) and any(outcome in proofs for outcome in outcomes):
        return report
    reason = "there was nothing to judge: no operation was answered or is known to have taken effect"
    return Report("unknown", (KeyVerdict(None, "unknown", "none", 0, 0.0, reason=reason),))


def wording_of(history: Path | Recording) -> Wording:
    """Return the wording for operations of the model that a history names.

    Falls back to the generic wording if the history names no model, or an unknown one.
    """
    try:
        name = (read_header(history) if isinstance(history, Path) else history.header).model
        return by_values if name is None else _wording(model_named(name))
    except (ModelError, OSError, ValueError):
        return by_values


def _wording(model: Model) -> Wording:
    return by_values if type(model).wording is Model.wording else model.wording


def shrink_file(path: Path, options: FileCheckOptions, target: Path) -> tuple[Counterexample, int]:
    """Write the first counterexample of a history to its own file, and return it with its number of operations.

    The written file has been judged and is invalid.  Raises UsageError if the history has no counterexample or
    ``target`` exists, StoreError if the file cannot be written.
    """
    checked = check_file(path, options)
    report, name, history = checked.report, checked.model, checked.history
    if not report.counterexamples:
        raise UsageError(f"{path}: the history is {report.verdict}, so there is no counterexample to write")
    example = report.counterexamples[0]
    header = _shrunk_header(path, checked, options)
    import tempfile

    with tempfile.TemporaryDirectory(prefix="harness-") as directory:
        for number, whole in enumerate(_parts(example, history, model_named(name))):
            written = Path(directory, f"{number}.jsonl")
            write_events(as_events(whole), header, written)
            if check_file(written, FileCheckOptions(deadline_s=options.deadline_s)).report.verdict == "invalid":
                break
        else:
            raise UsageError(f"{path}: no invalid part found within {options.deadline_s:g} s")
        try:
            with target.open("xb") as file:
                file.write(written.read_bytes())
        except FileExistsError:
            raise UsageError(f"{target} already exists; name another file with --output") from None
        except OSError as error:
            raise StoreError(f"cannot write {target}: {error.strerror}") from None
    return example, len(whole.operations)


def _parts(example: Counterexample, history: Foreign, model: Model) -> Iterator[Counterexample]:
    """Yield the counterexample, then larger and larger parts of the history around it.

    The whole history is certainly invalid, but the counterexample alone need not be: for a log with a hole it may show
    a read, but not which appends are missing.
    """
    key, columns = example.operations[0].key, history.columns
    rows = history.operations or []
    if isinstance(columns, OperationColumns):
        rows = [columns.operation(row) for row in np.flatnonzero(columns.key == columns.keys.index(key)).tolist()]
    mine = [operation for operation in rows if operation.key == key]
    if model.name in ("log", "set") or model.has_gaps:
        yield with_makers(example, mine, has_gaps=model.has_gaps)
    else:
        yield example
    end = max(operation.end_index for operation in example.operations)
    yield replace(example, operations=tuple(operation for operation in mine if operation.invoke_index <= end))
    yield replace(example, operations=tuple(mine))


@dataclass(frozen=True, slots=True)
class PlainHistory:
    """A history that can be judged by anyone who knows the name of its model; ``notes`` name what was assumed."""

    header: Header
    events: list[Event]
    notes: tuple[str, ...] = ()


def plainly(path: Path, options: FileCheckOptions, large: int = LARGE) -> tuple[PlainHistory, Foreign]:
    """Read a history file and apply its model's conventions; return the plain history and the history as read.

    Files of at least ``large`` bytes are read as columns.  Raises UsageError if the file is not a history, or not a
    history of that model.
    """
    with _errors_named(path), at_rest(path) as file:
        history = read_foreign(file, options, large)
        if (columns := history.columns) is not None:
            rows = [columns.operation(row) for row in range(columns.invoke.size)]
            history = replace(history, operations=rows, columns=None)
        name = _model_of(history, options, path)
        initial = history.initial if options.initial is None else json_or_word(options.initial)
        taken = take(without_null_reads(history) if options.null == "unknown" else history, name, initial)
        if misfit := first_misfit(taken.history.operations or [], taken.model):
            raise _misfit(ModelError(misfit[1]), taken, history, file, path)
        model = _name_of(taken.model, name)
        if initial is not None and isinstance(taken.model, Bank):
            model, initial = f"{model}-unknown", balances(initial)
        header = Header(test=path.name, model=model)
        return PlainHistory(header, as_plain_events(taken, initial), (*_assumed(history, path), *taken.notes)), history


def write_plainly(path: Path, options: FileCheckOptions, target: Path) -> None:
    """Write a history file in the plain form of :func:`plainly`.  Raises UsageError and OSError."""
    plain, _ = plainly(path, options)
    write_events(plain.events, plain.header, target)


def needs_convention(path: Path, large: int = LARGE) -> bool:
    """Return whether the conventions of its model must be applied to a history file before the model can judge it.

    Files of at least ``large`` bytes are exempt if they are porcupine's logs, contain only reads and writes, or are our
    own histories.  Our own histories of registers are searched for operations that the header's model lacks.
    """
    from history.readers.jsonl_columns import read_columns

    try:
        if path.stat().st_size < large:
            return True
        if kind_of(path) == "jsonl":
            parsed = read_columns(path)
            one_of_each = _one_of_each(Foreign("jsonl", columns=parsed.columns))
            return first_misfit(one_of_each, model_named(parsed.header.model or "register")) is not None
        if format_of(path) in FORMAT_MODELS:
            return False
        columns = read_any(path, large=large).columns
    except NotColumnarError:
        return False
    except (FormatError, ModelError, OSError):
        return True
    return not isinstance(columns, OperationColumns) or bool((columns.kind == CAS).any())


def _name_of(model: Model, name: str) -> str:
    """Return the name of a model that was requested as ``name``, which conventions may have replaced by a variant."""
    if model.name in (name, model_named(name).name):
        return name
    return f"{model.name}:{model.level}" if isinstance(model, Transactions) else model.name


def write_events(events: Sequence[Event], header: Header, path: Path) -> None:
    """Write a ``history.jsonl`` in which each event's position becomes its index.  Raises OSError."""
    times = iter([event.time for event in events])
    writer = HistoryWriter(path, header, started_ns=0, clock=lambda: next(times))
    for event in events:
        writer.append(
            event.type, event.process, event.f, value=event.value, key=event.key, node=event.node, error=event.error
        )
    writer.close()


def _shrunk_header(path: Path, checked: Checked, options: FileCheckOptions) -> Header:
    initial = checked.history.initial if options.initial is None else json_or_word(options.initial)
    # For other models, the operations that create the initial state are written to the file with the rest.
    stated = initial is not None and isinstance(model_named(checked.model).start_with(initial), Model)
    return Header(test=f"shrunk from {path.name}", model=checked.model, extra={INITIAL: initial} if stated else {})
