"""Whatever holds a history, as a run's directory: one on this machine, a single file, or files as bytes."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from history import FormatError, Header, RunFiles
from history.foreign.reading import kind_of, read_text
from pipeline.warehouse import run_name

RECORDED = ("history.jsonl", "probes.jsonl", "plan.json", "results.json")
"""The files of a run that its tables and its row are made from."""


@contextlib.contextmanager
def staged(place: Path) -> Iterator[tuple[str, RunFiles]]:
    """The name and the files of the run in ``place``: a run's directory, its history, or a history of any name.

    A single file (ours, Jepsen's ``history.edn`` or console log, porcupine's kv) gets a directory of its own for as
    long as the block lasts; its name is that of the file and of the directory that it is in.  Raises FileNotFoundError,
    FormatError with the file's own name.
    """
    if place.name == "history.jsonl":
        place = place.parent
    if not place.is_file():
        run = RunFiles(place)
        yield run_name(run), run
        return
    whole = place.resolve()
    with tempfile.TemporaryDirectory(prefix="harness-stage-") as directory:
        run = RunFiles(Path(directory))
        _as_history(whole, run.history)
        with _named(directory, str(place)):
            yield f"{whole.parent.name}/{whole.name}", run


@contextlib.contextmanager
def staged_bytes(name: str, files: Mapping[str, bytes]) -> Iterator[RunFiles]:
    """A run from the contents of its files, by their names in :data:`RECORDED`."""
    with tempfile.TemporaryDirectory(prefix="harness-stage-") as directory:
        for file, content in files.items():
            Path(directory, file).write_bytes(content)
        with _named(directory, name):
            yield RunFiles(Path(directory))


def _as_history(file: Path, history: Path) -> None:
    """Put the history of any format where a run has its own.  Raises FormatError, OSError."""
    kind = kind_of(file)
    if kind == "jsonl":
        history.symlink_to(file)
        return
    if kind == "parquet":
        raise FormatError(str(file), "byte 0", "expected a history, found a table; give the directory of its run")
    read = read_text(file)
    header = Header(test=file.name, model=read.model or "register")
    lines = [header.to_json(), *(event.to_json() for event in read.history.events)]
    history.write_text("".join(json.dumps(line, ensure_ascii=True) + "\n" for line in lines))


@contextlib.contextmanager
def _named(directory: str, place: str) -> Iterator[None]:
    """Let errors speak of the place that the user knows, not of where it was put."""
    try:
        yield
    except FormatError as error:
        source = error.source.replace(f"{directory}/", f"{place}/").removesuffix("/history.jsonl")
        raise FormatError(source, error.place, error.message) from None
