"""Writers of one warehouse on two hosts with a small disk, killed and paused; their history as that of a set.

An element is a run.  A run that appears twice, or not with all rows of all tables, reads as an element with another
name, which nothing ever added.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from history import Operation
from history.tables.schemas import ALL_TABLES
from history.tables.warehouse import files_of, in_newest

WRITER = """
import json, sys, time
from pathlib import Path
from pipeline import ingest
{twin}
warehouse, log, *roots = sys.argv[1:]
with open(log, "a", buffering=1) as file:
    def note(root, type, **more):
        event = {{"run": "/".join(Path(root).parts[-2:]), "type": type, "time": time.monotonic_ns(), **more}}
        file.write(json.dumps(event) + "\\n")
    for few in (roots[place:place + 3] for place in range(0, len(roots), 3)):
        for root in few:
            note(root, "invoke")
        try:
            errors = [outcome.error for outcome in ingest(few, Path(warehouse), deadline_s=60)]
        except OSError as error:
            errors = [str(error)] * len(few)
        for root, error in zip(few, errors):
            note(root, "info" if error else "ok", error=error)
"""

#: A writer that forgets to rename: what it lands can be seen while it is being written.
TWIN = """
import uuid
from history.tables.warehouse import written_schema
from pipeline.warehouse import landing
def publish(self, parts):
    fresh = self._warehouse / landing.LANDING / uuid.uuid4().hex
    fresh.mkdir(parents=True)
    for (table, month), content in sorted(parts.items(), key=lambda part: part[0][0] != "runs"):
        landing.write_month(fresh, table, month, written_schema(table), content)
        time.sleep(0.3)
landing.Landing._publish = publish
"""

OTHER_HOST = """
hostname other-host
echo 00000000-0000-4000-8000-000000000000 > "$0"
mount --bind "$0" /proc/sys/kernel/random/boot_id
exec "$@"
"""


@dataclass
class Writer:
    """A process that adds runs one after another, and is started again with those that it had not begun."""

    warehouse: Path
    log: Path
    roots: Sequence[Path]
    elsewhere: bool = False
    twin: bool = False
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def start(self) -> None:
        begun = len([event for event in self.events() if event["type"] == "invoke"])
        program = WRITER.format(twin=TWIN if self.twin else "")
        words = [sys.executable, "-c", program, str(self.warehouse), str(self.log), *map(str, self.roots[begun:])]
        if self.elsewhere:
            host = ["unshare", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
            words = [*host, "sh", "-c", OTHER_HOST, str(self.log.with_suffix(".boot")), *words]
        self._process = subprocess.Popen(words, start_new_session=True)

    def events(self) -> list[dict[str, Any]]:
        """Return what it wrote down, without a line in which it was killed."""
        lines = self.log.read_text().splitlines(keepends=True) if self.log.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def done(self) -> bool:
        return not self.running and len([e for e in self.events() if e["type"] == "invoke"]) == len(self.roots)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it and to all processes that it started."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            if number == signal.SIGKILL:
                self._process.wait()


def read(warehouse: Path, expected: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return the runs in the newest version; a run that is incomplete or appears twice has another name."""

    def rows(version: Path) -> dict[str, Counter[str]]:
        return {table: sum(map(_runs, files_of(version, table)), Counter()) for table in (*ALL_TABLES, "runs")}

    try:
        found = in_newest(warehouse, rows)
    except FileNotFoundError:
        return []
    there = {run for counts in found.values() for run in counts}
    return sorted(_name(run, {table: counts[run] for table, counts in found.items()}, expected) for run in there)


def _runs(path: Path) -> Counter[str]:
    try:
        return Counter(pq.ParquetFile(path).read(["run"])["run"].to_pylist())
    except pa.ArrowInvalid:
        return Counter({f"what is in {path.name}, which is no Parquet": 1})


def _name(run: str, rows: Mapping[str, int], expected: Mapping[str, Mapping[str, int]]) -> str:
    whole = {**expected.get(run, {}), "runs": 1}
    wrong = [f"{count} rows of {table}" for table, count in rows.items() if whole.get(table) != count]
    return f"{run}: {', '.join(wrong)}" if wrong else run


def history_of(writers: Sequence[Writer], reads: Sequence[tuple[int, int, list[str]]]) -> list[Operation]:
    """Return the reported adds, and the reads, as operations on a set."""
    events: list[tuple[int, int, str]] = []
    calls: list[dict[str, Any]] = []
    for writer in writers:
        begun: dict[str, int] = {}
        for event in writer.events():
            if event["type"] == "invoke":
                begun[event["run"]] = len(calls)
                calls.append({"f": "add", "value": event["run"], "outcome": "info"})
                events.append((event["time"], len(calls) - 1, "invoked"))
            else:
                calls[begun[event["run"]]] |= {"outcome": event["type"], "error": event.get("error")}
                events.append((event["time"], begun[event["run"]], "returned"))
    for invoked, returned, runs in reads:
        calls.append({"f": "read", "result": runs, "outcome": "ok"})
        events += [(invoked, len(calls) - 1, "invoked"), (returned, len(calls) - 1, "returned")]
    for index, (moment, number, what) in enumerate(sorted(events)):
        calls[number] |= {what: moment, "invoke_index" if what == "invoked" else "return_index": index}
    plain = {"key": None, "value": None, "result": None, "returned": None, "return_index": None}
    return [Operation(process=number, **(plain | call)) for number, call in enumerate(calls)]


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[Callable[[], None]]:
    """Mount a small file system at ``place``; yield a function that fills it."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)], check=True)

    def fill() -> None:
        with suppress(OSError), (place / "ballast").open("wb") as file:
            while True:
                file.write(bytes(1 << 16))
                file.flush()

    try:
        yield fill
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def disturb(writers: Sequence[Writer], fill: Callable[[], None], ballast: Path, rng: random.Random, look: Any) -> None:
    """Until all are done, kill and restart, pause and continue, fill and empty the disk; call ``look`` in between."""
    for writer in writers:
        writer.start()
    while not all(writer.done for writer in writers):
        time.sleep(rng.uniform(0.2, 1.5))
        writer, what = rng.choice(writers), rng.choice(["kill", "pause", "fill", "look"])
        if what == "kill":
            writer.signal(signal.SIGKILL)
        elif what == "pause":
            writer.signal(signal.SIGSTOP)
            time.sleep(rng.uniform(0.5, 3))
            writer.signal(signal.SIGCONT)
        elif what == "fill":
            fill()
            time.sleep(rng.uniform(0.5, 1.5))
            ballast.unlink()
        look()
        for one in writers:
            if not one.running and not one.done:
                one.start()
