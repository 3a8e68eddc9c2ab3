"""Draw the page of a history file, which is like the page of a run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from heapq import merge
from operator import attrgetter
from pathlib import Path
from typing import Final

from msgspec import structs

from harness.errors import StoreError
from harness.files import Checked, FileCheckOptions, check_file, plainly, write_events
from harness.jepsen_store import history_in, notes_on
from harness.judge.judge import counts, isolation, linearizability
from harness.judge.violation_times import violation_times
from harness.store import json_bytes
from history import Event, Results, RunFiles
from history.readers import Foreign
from history.readers.nemesis import fault_events
from history.readers.transactions.columns import TRANSACTION_OBJECTS
from history.recording import Recording
from history.safe_open import UnsafeFileError, write_below
from reports.words.of_clients import answer_to_clients

#: Larger than any file, so that files are read event by event: only that reader keeps the events of the nemesis.
_BY_EVENTS: Final = 1 << 62


def draw_file(path: Path, options: FileCheckOptions, target: Path) -> list[str]:
    """Judge a history file, write its page to ``target`` and return warnings.

    Raises UsageError if the file is not a history, StoreError if the page cannot be written.
    """
    import reports

    stored = history_in(path)
    with tempfile.TemporaryDirectory(prefix="harness-") as directory:
        plain, history = plainly(stored or path, options, large=_BY_EVENTS)
        if not _has_times(history):
            note = "the file has no times, so this page gives each event a millisecond"
            plain = replace(plain, events=_spread(plain.events), notes=(*plain.notes, note))
            history = replace(history, nemesis=tuple(_spread(history.nemesis)))
        files = RunFiles(Path(directory, "file", path.name))
        files.root.mkdir(parents=True)
        events = list(merge(plain.events, fault_events(history.nemesis), key=attrgetter("time")))
        write_events(events, plain.header, files.history)
        checked = check_file(files.history, FileCheckOptions(engine=options.engine, deadline_s=options.deadline_s))
        notes = (*(notes_on(path, stored, checked.report) if stored else ()), *plain.notes, *checked.notes)
        files.results.write_bytes(json_bytes(_results(checked, Recording(files.root), notes).to_json()))
        outcome = reports.write_report(Recording(files.root), checked.wording)
        if not outcome.paths:
            raise StoreError(f"{target} was not rendered: {'; '.join(outcome.warnings)}")
        try:
            write_below(target.parent, target, files.report.read_bytes())
        except UnsafeFileError as error:
            raise StoreError(f"cannot write {target}: {error.message}") from None
        except OSError as error:
            raise StoreError(f"cannot write {target}: {error.strerror}") from None
        return outcome.warnings


def _has_times(history: Foreign) -> bool:
    """Return whether the events have real times, and not just their positions."""
    operations = history.operations or ()
    return any((op.invoked, op.returned) != (op.invoke_index, op.return_index) for op in operations)


def _spread(events: Iterable[Event]) -> list[Event]:
    return [structs.replace(event, time=event.time * 1_000_000) for event in events]


def _results(checked: Checked, run: Recording, notes: tuple[str, ...]) -> Results:
    keys, operations = checked.report.keys, run.operations
    if checked.model.startswith(TRANSACTION_OBJECTS):
        times = violation_times(operations, keys, run.receipts, "isolation")
        check = isolation(keys, checked.model, operations, times)
    else:
        check = linearizability(keys, len(operations), violation_times(operations, keys, run.receipts))
    if check.name == "linearizable" and ":" in checked.model:
        check = replace(check, asked=f"{checked.model}: the operations satisfy this level")
    return Results(
        verdict=check.verdict,
        sentence=answer_to_clients(check, keys),
        checks=(check,),
        keys=tuple(keys),
        counts=counts(operations),
        receipts=tuple(receipt.to_json() for receipt in run.receipts),
        windows=(),
        harness_failure=checked.failure,
        warnings=notes,
    )
