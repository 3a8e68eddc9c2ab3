"""Histories to work on, and one Spark session for all tests that need it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from history import Header, HistoryWriter, Probe, RunFiles
from history.records.probes import probes_header

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Make = Callable[..., RunFiles]
MS = 1_000_000


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """How a session starts is tested before this process has one: a process gets its JVM once."""
    items.sort(key=lambda item: item.path.name != "test_session.py")


class Recorder:
    """Writes a history with times of the test's own choosing (milliseconds)."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.run = RunFiles(root)
        self.now = 0
        self._writer = HistoryWriter(self.run.history, Header(), started_ns=0, clock=lambda: self.now * MS)

    def at(self, ms: int) -> Recorder:
        self.now = ms
        return self

    def event(self, kind: str, process: Any, f: str, **fields: Any) -> Recorder:
        self._writer.append(kind, process, f, **fields)  # type: ignore[arg-type]
        return self

    def call(self, process: int, f: str, value: Any = None, result: Any = None, **fields: Any) -> Recorder:
        """An ok operation without duration."""
        self.event("invoke", process, f, value=value, **fields)
        return self.event("ok", process, f, value=result if f == "read" else value, **fields)

    def fault(self, kind: str, number: int, action: str, name: str = "partition", **value: Any) -> Recorder:
        if kind == "ok" and action == "inject":
            value.setdefault("witness", {"dropped": 3})
        value = {"action": action, "id": number, **value}
        return self.event(kind, "nemesis", name, value=value)

    def close(self) -> RunFiles:
        self._writer.close()
        return self.run


def random_run(root: Path, seed: int, *, operations: int = 60, keys: tuple[Any, ...] = ("a", "b", 3, None)) -> RunFiles:
    """A well-formed history of any content: wrong reads, failures, retired processes, faults, unfinished calls."""
    rng = random.Random(seed)
    recorder = Recorder(root)
    open_calls: dict[int, tuple[str, Any, Any]] = {}
    nemesis: list[tuple[int, str]] = []
    process, written = 0, 0
    phases = [None] if seed % 5 == 0 else ["warm-up", "main", "final"]
    for step in range(2 * operations):
        recorder.at(recorder.now + rng.choice([0, 1, 7, 40, 400]))
        phase = phases[step * len(phases) // (2 * operations)]
        if rng.random() < 0.05:
            _disturb(recorder, rng, nemesis)
        elif len(open_calls) < 4 and rng.random() < 0.5:
            process += 1
            f, key = rng.choice(["read", "write"]), rng.choice(keys)
            written += f == "write"
            value = rng.choice([written, written, written, 1]) if f == "write" else None
            open_calls[process] = (f, key, value)
            recorder.event("invoke", process, f, value=value, key=key, node=rng.choice(["n1", None]), phase=phase,
                           due=(recorder.now - step % 3) * MS if step % 4 else None)  # fmt: skip
        elif open_calls:
            who = rng.choice(sorted(open_calls))
            f, key, value = open_calls.pop(who)
            kind = rng.choice(["ok", "ok", "ok", "fail", "info"])
            answer = rng.choice([None, written, 1]) if f == "read" and kind == "ok" else value
            error = None if kind == "ok" else "timeout: “ö”"
            recorder.event(kind, who, f, value=answer, key=key, node=rng.choice(["n2", None]), error=error, phase=phase)
    return recorder.close()


def _disturb(recorder: Recorder, rng: random.Random, nemesis: list[tuple[int, str]]) -> None:
    if nemesis and rng.random() < 0.6:
        number, name = nemesis.pop(rng.randrange(len(nemesis)))
        recorder.fault("invoke", number, "heal", name)
        if rng.random() < 0.9:
            recorder.fault("ok", number, "heal", name)
        return
    number, name = recorder.now * 1000 + rng.randrange(1000), rng.choice(["kill", "partition"])
    recorder.fault("invoke", number, "inject", name, nodes=["n1"], targets={"n1": ["n2"]}, leader="n3")
    kind = rng.choice(["ok", "fail", "info", None])
    if kind is not None:
        recorder.fault(kind, number, "inject", name, reason=None if kind == "ok" else "why not")
    nemesis.append((number, name))


def write_probes(run: RunFiles, probes: list[Probe]) -> None:
    run.probes.write_text("\n".join([probes_header(), *(json.dumps(probe.to_json()) for probe in probes), ""]))


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "run")


@pytest.fixture
def make_random(tmp_path: Path) -> Make:
    def make(seed: int, **options: Any) -> RunFiles:
        return random_run(tmp_path / f"random-{seed}", seed, **options)

    return make


@pytest.fixture(name="write_probes")
def _write_probes() -> Callable[[RunFiles, list[Probe]], None]:
    return write_probes


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from pipeline import start_session

    session = start_session("local[2]", app="tests", memory="512m", brief=True)
    yield session
    session.stop()
